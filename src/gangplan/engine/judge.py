"""Candidates for the answer: every plan goes through the verifier, and the best verified one is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from gangplan.domain.plan import Action, Plan, Stage
from gangplan.engine.budget import Budget
from gangplan.engine.runner import Cancellation
from gangplan.kept import Kept
from gangplan.model.constraints import guarantee, tier
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.free_blocks import without_free_blocks
from gangplan.model.packing.order import PlanWriter
from gangplan.model.verifier.facts import RoundFacts
from gangplan.model.verifier.verify import Verification, prepare, verify
from gangplan.model.verifier.violation import Violation

_RESERVE_SECONDS = 0.03
_LEAST_FACTOR = 1.0
_RESERVE_FACTOR = 3.0
_MOST_RESERVE = 0.3
"""The reserve: multiples of the slowest verification so far, and the most of the whole budget."""
_ANSWERING_FACTS, _ANSWERING_JUDGED = 1.2, 0.8
"""What verdicts cost, in times that the verifier's constants took (.8 at S and XL to 1.4 at M and L), and in
slowest verifications (.8 at XL to 2 at M): the larger, since a session keeps constants."""
_UNEXPLAINED = 0.3
"""What an answer without reasons takes, in slowest verifications (.25 at XL and XXL)."""
_AGAIN = 1.2
"""What one more verification takes, in the last one: only the first prepares the others."""
_LOOK = 0.5
"""What a look at the bundles of a plan takes, in its verification (.4 to .5 at XL and XXL)."""
_FLOORS = frozenset({*guarantee.RULES, *tier.RULES})


@dataclass(frozen=True, eq=False)
class Candidate:
    """A verified plan.

    Attributes:
        name: the step that made it.
        assignment: who runs where.
        plan: the same as actions.
        verification: what the verifier found; no violation.
    """

    name: str
    assignment: Assignment
    plan: Plan
    verification: Verification

    @property
    def value(self) -> float:
        """Verified objective."""
        return self.verification.objective

    @cached_property
    def action_of(self) -> Mapping[str, Action]:
        """What the plan says of every job that it changes or keeps."""
        return {action.job: action for action in self.plan.actions}


class Rejection(NamedTuple):
    """A candidate that breaks a rule.

    Attributes:
        name: the step that made it.
        violation: the first of those found.
    """

    name: str
    violation: Violation

    @property
    def below_floor(self) -> bool:
        """Whether it only falls short of a stage's floor, as plans do that prices try on the way to it."""
        return self.violation.rule in _FLOORS

    def __str__(self) -> str:
        return f"{self.name}: {self.violation}"


@dataclass(slots=True)
class Judge:
    """Verifies candidates and remembers the best one.

    Attributes:
        instance: the round as arrays.
        facts: the verifier's constants of the round.
        budget: for the times of the stages.
        on_stage: called with every stage, as soon as it is known.
        on_better: called with this judge and every candidate that is better than all before it.
        cancellation: of the round.
        work: counters of work done, which grow with a round's size and not with a machine's slowness.
        best: the best verified candidate so far.
        bound: no plan is worth more.
        stages: all candidates in the order in which they were judged.
        slowest_seconds: longest time that one candidate took.
        latest_seconds: time that the last one took.
        rejected: candidates that broke a rule.
        remarks: what else the caller should know, one sentence each.
        kept: the model's own of an earlier round; None: nothing.
    """

    instance: Instance
    facts: RoundFacts
    budget: Budget
    on_stage: Callable[[Stage], None] | None = None
    cancellation: Cancellation | None = None
    work: dict[str, int] = field(default_factory=dict)
    best: Candidate | None = None
    bound: float = float("inf")
    stages: list[Stage] = field(default_factory=list)
    slowest_seconds: float = 0.0
    latest_seconds: float = 0.0
    rejected: list[Rejection] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    on_better: Callable[[Judge, Candidate], None] | None = None
    kept: Kept | None = None
    _writer: PlanWriter = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._writer = PlanWriter(self.instance, self.kept)

    @property
    def cancelled(self) -> bool:
        """Whether the round is called off."""
        return self.cancellation is not None and self.cancellation.cancelled

    @property
    def hurried(self) -> bool:
        """Whether the round is called off, or its budget leaves no time to judge one more and to answer."""
        return not self.has_time_for(1.0)

    @property
    def reserve_seconds(self) -> float:
        """What is kept back for binding, verifying, taking back and answering."""
        wanted = self.least_reserve_seconds + (_RESERVE_FACTOR - _LEAST_FACTOR) * self.slowest_seconds
        if not self.budget.limited:
            return wanted
        most = _MOST_RESERVE * (self.budget.elapsed + self.budget.remaining)
        return max(self.least_reserve_seconds, min(wanted, most))

    @property
    def least_reserve_seconds(self) -> float:
        """What is kept back at least: for verifying once more and answering."""
        return _RESERVE_SECONDS + self.answering_seconds + _LEAST_FACTOR * self.slowest_seconds

    def has_seconds(self, needed: float) -> bool:
        """Whether the round goes on, and its budget leaves so much time."""
        return not self.cancelled and (not self.budget.limited or self.budget.remaining >= needed)

    def has_time_for(self, candidates: float) -> bool:
        """Whether so many more can be judged, none of them slower than the slowest so far, and answered."""
        return self.has_seconds(candidates * self.slowest_seconds + self.answering_seconds)

    @property
    def has_time_to_put_back(self) -> bool:
        """Whether one more like the last can be judged and answered, if need be without reasons."""
        return self.has_seconds(_AGAIN * self.latest_seconds + _UNEXPLAINED * self.slowest_seconds)

    @property
    def has_time_to_leave_out(self) -> bool:
        """Whether one more like the last can be judged, looked at, and answered without reasons."""
        return self.has_seconds((_AGAIN + _LOOK) * self.latest_seconds + _UNEXPLAINED * self.slowest_seconds)

    @property
    def answering_seconds(self) -> float:
        """What the verdicts of the answer will about take."""
        facts = self.budget.seconds_by_phase.get("facts", 0.0)
        return max(_ANSWERING_FACTS * facts, _ANSWERING_JUDGED * self.slowest_seconds)

    @property
    def gap(self) -> float:
        """Relative gap of the best candidate; infinite while nothing bounds it."""
        if self.best is None or self.bound == float("inf"):
            return float("inf")
        return (self.bound - self.best.value) / max(1.0, abs(self.bound))

    def lower(self, bound: float) -> None:
        """Take note of a bound; the least counts."""
        self.bound = min(self.bound, bound)

    def note(self, remark: str, work: Mapping[str, int]) -> None:
        """Take note of a step before: what the caller should know of it, and its counters."""
        self.remarks += [remark] if remark else []
        self.work.update(work)

    def count(self, counter: str, number: int) -> None:
        """Add to a counter of work done."""
        self.work[counter] = self.work.get(counter, 0) + number

    def prepare(self) -> None:
        """Put together what all verifications share, before there is anything to verify."""
        with self.budget.phase("verify"):
            prepare(self.facts)

    def consider(self, name: str, assignment: Assignment) -> Candidate | None:
        """Verify ``assignment``; keep it when it is the best. None when it breaks a rule."""
        began = self.budget.elapsed
        assignment = without_free_blocks(self.instance, assignment)
        self.count("candidates", 1)
        with self.budget.phase("verify"):
            plan = self._writer.plan(assignment)
            verification = verify(self.instance.round, plan, self.facts)
        self.latest_seconds = self.budget.elapsed - began
        self.slowest_seconds = max(self.slowest_seconds, self.latest_seconds)
        if not verification.valid:
            self.rejected.append(Rejection(name, verification.violations[0]))
            self._stage(name, None)
            return None
        candidate = Candidate(name, assignment, plan, verification)
        better = self.best is None or candidate.value > self.best.value
        if better:
            self.best = candidate
        self._stage(name, candidate.value)
        if better and self.on_better is not None:
            self.on_better(self, candidate)
        return candidate

    def prefer(self, candidate: Candidate) -> None:
        """Make ``candidate`` the best where none is worth more, whichever was judged first."""
        if self.best is None or candidate.value >= self.best.value:
            self.best = candidate

    def _stage(self, name: str, value: float | None) -> None:
        bound = self.bound if self.bound < float("inf") else None
        stage = Stage(name=name, seconds=self.budget.elapsed, objective=value, bound=bound)
        self.stages.append(stage)
        if self.on_stage is not None:
            self.on_stage(stage)
