"""What the smaller calls answer, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PlanViolation:
    """One rule that a plan breaks.

    Attributes:
        rule: machine-readable name of the rule.
        subject: the action, job, node or queue concerned.
        message: one sentence with numbers.
    """

    rule: str
    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule} {self.subject}: {self.message}"


@dataclass(frozen=True, slots=True)
class Validation:
    """What the independent verifier says of a plan.

    Attributes:
        valid: no rule is broken.
        violations: every broken rule.
        objective: value in GPU-equivalents; None when rules are broken.
        objective_by_term: its parts; empty when rules are broken.
    """

    valid: bool
    violations: tuple[PlanViolation, ...] = ()
    objective: float | None = None
    objective_by_term: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SolverDescription:
    """One solver backend of the service.

    Attributes:
        name: as the calls take it.
        available: it can be used there.
        version: of its library; empty when unknown.
        reason: why it cannot be used, and what to do about it; empty when it can.
        features: what it can do, e.g. ``INTEGER``.
    """

    name: str
    available: bool
    version: str = ""
    reason: str = ""
    features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceCapabilities:
    """What a service can do.

    Attributes:
        version: e.g. ``gangplan 0.1.0``.
        methods: full names of the methods that can be called.
        planned: request fields and enum values that are refused until they are built.
        maximum_request_bytes: largest request.
        maximum_time_budget_seconds: longest time budget that is honoured; None: any.
        maximum_concurrent_calls: more are refused with RESOURCE_EXHAUSTED.
        proposers: names of the installed proposers.
        presets: what each policy with a name is for, by name.
    """

    version: str
    methods: tuple[str, ...]
    planned: tuple[str, ...]
    maximum_request_bytes: int
    maximum_time_budget_seconds: float | None
    maximum_concurrent_calls: int
    proposers: tuple[str, ...] = ()
    presets: Mapping[str, str] = field(default_factory=dict)
