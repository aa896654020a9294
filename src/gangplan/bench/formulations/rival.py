"""What every formulation of a round is told, and what it hands back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gangplan.domain.plan import Plan
from gangplan.model.instance.instance import Instance
from gangplan.model.program import Program, SolveParameters


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard to try; the same for every formulation.

    Attributes:
        time_limit_seconds: wall time of each solver call; None: no limit.
        relative_gap: a solver may stop here.
        node_limit: branch-and-bound nodes; None: no limit.
        threads: of the solver.
        seed: of the solver, and of whatever a formulation draws.
    """

    time_limit_seconds: float | None = 30.0
    relative_gap: float = 1e-6
    node_limit: int | None = None
    threads: int = 1
    seed: int = 0

    def parameters(self, *, relax: bool = False) -> SolveParameters:
        """The same as a backend reads it; ``relax`` asks for the linear relaxation."""
        return SolveParameters(
            time_limit_seconds=self.time_limit_seconds,
            relative_gap=self.relative_gap,
            node_limit=self.node_limit,
            threads=self.threads,
            seed=self.seed,
            relax=relax,
        )


@dataclass(frozen=True, slots=True)
class Size:
    """How large a programme is, all its parts together; zeros for greedies."""

    columns: int = 0
    rows: int = 0
    nonzeros: int = 0

    @classmethod
    def of(cls, *programs: Program) -> Size:
        """Of one programme, or of the parts of one."""
        return cls(
            sum(program.columns for program in programs),
            sum(program.rows for program in programs),
            sum(program.nonzeros for program in programs),
        )


@dataclass(frozen=True, slots=True)
class Unbound:
    """What the programme chose and no nodes could take.

    Attributes:
        gangs: how many.
        devices: that those asked for.
    """

    gangs: int = 0
    devices: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What a formulation made of a round. Nothing of it is believed: the verifier judges the plans.

    Attributes:
        plan: the plan at the end; None when there was no solution within the limits.
        before_refill: the plan before what it left free was filled; None where that is no plan of its own.
        size: of its programme.
        build_seconds: from the round as arrays to its programme.
        solve_seconds: in solvers, one call after the other.
        bind_seconds: from the solution to the plan, refill included.
        objective: what its programme promised before binding, GPU-equivalents; None without a programme.
        bound: upper limit on what its own programme can promise; ``inf`` when unknown.
        bound_holds: whether that is one on every plan of the round, too.
        unbound: what it chose and no nodes could take.
        nodes, iterations: the solver's counters.
        solver: name and version.
        limited: whether a limit stopped a solver.
        detail: anything odd, one sentence.
        more: further columns of the row.
    """

    plan: Plan | None
    before_refill: Plan | None = None
    size: Size = Size()
    build_seconds: float = 0.0
    solve_seconds: float = 0.0
    bind_seconds: float = 0.0
    objective: float | None = None
    bound: float = float("inf")
    bound_holds: bool = False
    unbound: Unbound = Unbound()
    nodes: int = 0
    iterations: int = 0
    solver: str = ""
    limited: bool = False
    detail: str = ""
    more: Mapping[str, float | int | str | None] = field(default_factory=dict)


Formulation = Callable[[Instance, str, Limits], Answer]
"""The round as arrays, the name of the backend, and the limits."""
