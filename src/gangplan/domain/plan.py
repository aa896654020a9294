"""What comes out: actions, verdicts, and how good the plan is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from gangplan.domain.job import TaskPlacement
from gangplan.domain.outlook import Outlook, Reservation

_NO_VALUES: Mapping[str, float] = MappingProxyType({})


class ActionKind(Enum):
    """What is done to a job. Every running job gets exactly one action (decision 17)."""

    KEEP = "KEEP"
    """Same nodes, devices and counts."""
    PLACE = "PLACE"
    """A waiting job starts."""
    MIGRATE = "MIGRATE"
    """A running job stops and starts elsewhere (decision 18)."""
    RESIZE = "RESIZE"
    """A running job stops and starts with another task count, on a nested set of nodes and devices."""
    EVICT = "EVICT"
    """A running job stops and waits."""
    RESERVE = "RESERVE"
    """A waiting job is promised a place, from a time on (decision 19)."""


class ForcedReason(Enum):
    """Why an action was not the planner's choice; it costs no churn budget (decision 17)."""

    NODE_GONE = "NODE_GONE"
    NODE_UNHEALTHY = "NODE_UNHEALTHY"
    NODE_DRAINED = "NODE_DRAINED"
    NODE_TAINTED = "NODE_TAINTED"
    DEVICE_UNHEALTHY = "DEVICE_UNHEALTHY"
    DEVICE_LOST_TO_OTHERS = "DEVICE_LOST_TO_OTHERS"
    GANG_BROKEN = "GANG_BROKEN"
    STOPPING = "STOPPING"
    PROMISE_DUE = "PROMISE_DUE"
    """It holds what is promised to another, and that is due; it gives notice as in a stop by choice."""
    IDLE = "IDLE"
    """It is interactive, and has been idle for longer than its limit."""


@dataclass(frozen=True, slots=True)
class Precondition:
    """An object that an action read; refuse the action when the revision differs (property P29)."""

    kind: str
    name: str
    revision: str


@dataclass(frozen=True, slots=True)
class Action:
    """One step of a plan.

    Attributes:
        id: unique in the plan.
        kind: what is done.
        job: to which job.
        placements: where it runs afterwards; empty for EVICT.
        scope: narrowest level that holds all its tasks; empty for EVICT.
        throughput: work units per second there; 0 for EVICT.
        depends_on: ids of EVICT, MIGRATE and RESIZE actions whose *stop* must have happened before this
            action's *start*. Stops wait for nothing, so there is no cycle, and capacity is never
            exceeded in any order that respects it.
        beneficiaries: jobs for whose placement this one is evicted, moved or resized; empty when forced
            or undisrupted.
        forced: why, when the planner had no choice.
        cost_by_term: objective contribution by term in GPU-equivalents (what this action is worth).
        preconditions: revisions of the objects that were read.
        not_before: seconds since the epoch; it does not start before, since the stops that it waits for give
            notice. None: as soon as those have happened.
        reservation: for RESERVE: the promise, with its place. The caller hands it back with every round until
            the job runs or the promise expires.
    """

    id: str
    kind: ActionKind
    job: str
    placements: tuple[TaskPlacement, ...] = ()
    scope: str = ""
    throughput: float = 0.0
    depends_on: tuple[str, ...] = ()
    beneficiaries: tuple[str, ...] = ()
    forced: ForcedReason | None = None
    cost_by_term: Mapping[str, float] = field(default_factory=lambda: _NO_VALUES)
    preconditions: tuple[Precondition, ...] = ()
    not_before: float | None = None
    reservation: Reservation | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A waiting job's right to capacity that stops are freeing (property P8).

    Handed back with the next round, it keeps the place for the job, and the job to the place, until it runs
    there or the claim expires.

    Attributes:
        job: who has it.
        placements: where.
        expires_at: seconds since the epoch; it is void from then on.
        freed_by: ids of the actions of its plan that free it.
    """

    job: str
    placements: tuple[TaskPlacement, ...]
    expires_at: float
    freed_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """Ordered actions, and the claims of those that must wait for others to stop.

    A waiting job without an action goes on waiting.
    """

    actions: tuple[Action, ...] = ()
    claims: tuple[Claim, ...] = ()
    tier_floors: tuple[float, ...] = ()
    """What the plan says to reach in every tier of the policy: the least weighted count of jobs that run."""
    guarantee_floors: Mapping[str, float] = field(default_factory=lambda: _NO_VALUES)
    """What queues have at least of what they are guaranteed, as the plan says: devices by name; others 0."""


class VerdictKind(Enum):
    """Why a job has no placement (design, section 7)."""

    INVALID = "INVALID"
    NEVER_FITS = "NEVER_FITS"
    NO_FIT_NOW = "NO_FIT_NOW"
    NOT_FOUND_IN_BUDGET = "NOT_FOUND_IN_BUDGET"
    WAITING_FOR_VICTIMS = "WAITING_FOR_VICTIMS"
    HELD_BY_POLICY = "HELD_BY_POLICY"
    NOT_CHOSEN = "NOT_CHOSEN"
    NOT_ATTEMPTED = "NOT_ATTEMPTED"


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """One change of the round with which a job starts; tried, by a plan that the verifier accepts.

    Attributes:
        message: one sentence for people.
        jobs: names of jobs that would have to end, or not to start; sorted.
        queue: whose limit would be higher by ``amount``; empty: none.
        nodes: names of closed nodes that would be open; sorted.
        node_like: a node of which there would be ``copies`` beside it; empty: none.
        copies: how many.
        gate: code of the gate that would be open; empty: none.
        resource: what there would be more of; empty: nothing.
        amount: how much more, in its base unit.
        level: in one domain of which; empty: anywhere.
    """

    message: str
    jobs: tuple[str, ...] = ()
    queue: str = ""
    nodes: tuple[str, ...] = ()
    node_like: str = ""
    copies: int = 0
    gate: str = ""
    resource: str = ""
    amount: int = 0
    level: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why one job waits: short, counted, deterministic.

    Attributes:
        job: the job's name.
        kind: the class of reason.
        code: machine-readable reason within the kind, e.g. ``TASK_LARGER_THAN_ANY_NODE``, ``QUEUE_LIMIT``.
        message: one sentence for people, e.g. ``3 of 4 tasks fit in one rack; short of 8 devices``.
        resource: the short resource (``devices``, ``cpu``, ``memory``), empty when not applicable.
        level: the topology level concerned, empty when not applicable.
        shortfall: how much is short, in the resource's base unit; None when not applicable.
        regret: for NOT_CHOSEN: how much worse, in GPU-equivalents, the plan would be at least with this
            job placed; None when unknown.
        earliest_start: seconds since the epoch; the look-ahead's estimate, not before the next round; None
            when unknown.
        latest_start: seconds since the epoch; it starts by then whatever arrives, under the conditions that
            :mod:`gangplan.engine.wait_bound` lists; None: nothing bounds its wait.
        conflict_set: what together excludes it, as ``job:NAME``, ``queue:NAME``, ``node:NAME`` or
            ``gate:CODE``; only where one job is explained at length.
        counterfactuals: what would let it start; only there.
    """

    job: str
    kind: VerdictKind
    code: str
    message: str
    resource: str = ""
    level: str = ""
    shortfall: int | None = None
    regret: float | None = None
    earliest_start: float | None = None
    latest_start: float | None = None
    conflict_set: tuple[str, ...] = ()
    counterfactuals: tuple[Counterfactual, ...] = ()


@dataclass(frozen=True, slots=True)
class Notice:
    """Something in the input that was tolerated, but that the caller should know (property P25)."""

    code: str
    field: str
    message: str


class TerminationReason(Enum):
    """What is known about the plan."""

    OPTIMAL = "OPTIMAL"
    """Proved best, to a relative gap of 1e-6 (decision 23)."""
    FEASIBLE = "FEASIBLE"
    """Verified; not proved best."""


class TerminationLimit(Enum):
    """Why the search stopped."""

    NONE = "NONE"
    TIME = "TIME"
    NODE = "NODE"
    CANCELLED = "CANCELLED"
    FAILURE = "FAILURE"
    """A solver crashed or lied; the plan is the best verified one without it."""


@dataclass(frozen=True, slots=True)
class TierQuality:
    """How well one tier is served (decision 8): weighted counts of jobs that run.

    Attributes:
        value: of the plan.
        best: the best found in its stage.
        bound: no plan within the floors of the tiers above serves more.
        floor: the least that a plan had to serve from then on.
    """

    value: float
    best: float
    bound: float
    floor: float


@dataclass(frozen=True, slots=True)
class Quality:
    """How good the plan is (decision 22). Values in weighted GPU-equivalents.

    Attributes:
        objective: value of the plan: waiting counts 0, evicted minus its cost, running its value.
        bound: no plan is worth more.
        absolute_gap, relative_gap, gap_of_gain: see :func:`gaps`.
        keep_and_fill: value of the plan that keeps everything and fills.
        objective_by_term: sums to ``objective``.
        guarantees: how much of what queues are guaranteed they have, in devices of all together; None: no
            queue is guaranteed any. Decided before the tiers.
        tiers: by tier of the policy; with any, ``objective``, ``bound`` and the gaps are those of the last
            stage, among plans within all floors.
    """

    objective: float
    bound: float
    absolute_gap: float
    relative_gap: float
    gap_of_gain: float
    keep_and_fill: float
    objective_by_term: Mapping[str, float] = field(default_factory=lambda: _NO_VALUES)
    tiers: tuple[TierQuality, ...] = ()
    guarantees: TierQuality | None = None


GAP_TOLERANCE = 1e-9
"""What counts as 0 in a gap, in weighted GPU-equivalents."""


def gaps(objective: float, bound: float, keep_and_fill: float) -> tuple[float, float, float]:
    """Absolute gap, relative gap and gap of gain of a plan (decision 22), none of them negative.

    ``bound - objective``; that over ``max(|bound|, tolerance)``; and that over ``bound - keep_and_fill``, 0
    when this denominator is within the tolerance.

    Args:
        objective: value of the plan.
        bound: no plan is worth more.
        keep_and_fill: value of the plan that keeps everything and fills.
    """
    absolute = max(0.0, bound - objective)
    nothing = max(absolute, abs(bound)) <= 2 * GAP_TOLERANCE  # a bound is rounded outward
    relative = 0.0 if nothing else absolute / max(abs(bound), GAP_TOLERANCE)
    gain = bound - keep_and_fill
    of_gain = absolute / gain if gain > GAP_TOLERANCE * max(1.0, abs(bound)) else 0.0
    return absolute, relative, of_gain


@dataclass(frozen=True, slots=True)
class Stage:
    """One candidate plan on the way: which step made it, when, and how good it was.

    Attributes:
        name: e.g. ``keep_and_fill``, ``greedy``, ``exact``.
        seconds: since the round came in.
        objective: its verified value; None when it failed verification.
        bound: the bound known then.
    """

    name: str
    seconds: float
    objective: float | None
    bound: float | None


@dataclass(frozen=True, slots=True)
class RoundResult:
    """The whole answer to a round.

    Attributes:
        plan: verified.
        verdicts: one for each job without a placement, by job name.
        notices: tolerated defects of the input.
        quality: objective, bound, gaps.
        reason: what is known about the plan.
        limit: why the search stopped.
        detail: one sentence on a failure or fallback; empty when all went well.
        stages: candidates in the order they were found.
        seconds_by_phase: wall time.
        pipeline: which steps ran (``full``, ``greedy``).
        solver: backend of the winning bound and its version, e.g. ``highs 1.16.0``; empty for greedy.
        statistics: sizes and counters: columns, rows, classes, bind failures, ...
        seed: the seed used.
        verified: always true in an answer.
        warm_start: opaque, for the next round's request (decision 33).
        outlook: what the plan was made to follow, for the next round's request (decision 31); None: nothing.
    """

    plan: Plan
    verdicts: tuple[Verdict, ...]
    notices: tuple[Notice, ...]
    quality: Quality
    reason: TerminationReason
    limit: TerminationLimit
    detail: str = ""
    stages: tuple[Stage, ...] = ()
    seconds_by_phase: Mapping[str, float] = field(default_factory=lambda: _NO_VALUES)
    pipeline: str = "full"
    solver: str = ""
    statistics: Mapping[str, float] = field(default_factory=lambda: _NO_VALUES)
    seed: int = 0
    verified: bool = True
    warm_start: bytes = b""
    outlook: Outlook | None = None
