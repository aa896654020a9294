"""The scenario file as types: what may be written, field by field.

Only what one field can say about itself is checked here; what concerns two fields or more is in
:mod:`gangplan.planning.scenario.checks`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from gangplan.domain.policy import Policy
from gangplan.domain.presets import PRESETS
from gangplan.planning.scenario.quantities import (
    Count,
    Cpu,
    Duration,
    Instant,
    Memory,
    Name,
    NonNegative,
    Positive,
    PositiveDuration,
    SignedDuration,
    Whole,
    parse_duration,
)

_DEFAULTS = Policy()
_PATTERN = re.compile(r"\{(?::0(\d))?\}")


def is_pattern(name: str) -> bool:
    """Whether the name holds one place for a number, ``{}`` or ``{:03}``."""
    return len(_PATTERN.findall(name)) == 1


def numbered(name: str, number: int) -> str:
    """The name with the number in its place."""
    return _PATTERN.sub(lambda match: str(number).zfill(int(match[1] or 0)), name)


class Part(BaseModel):
    """Base of all parts: strict, nothing unknown, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Members(Part):
    """Alike things under numbered names, or under a list of names.

    Attributes:
        name: of the one, or with ``{}`` (``{:03}`` pads) for the number, from 1 on.
        count: how many.
        names: in place of name and count: every member's name.
    """

    name: Name | None = None
    count: Count = 1
    names: Annotated[list[Name], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_way_to_name(self) -> Self:
        if (self.name is None) == (self.names is None):
            raise ValueError("give it either `name` or `names`")
        if self.names is not None and "count" in self.model_fields_set:
            raise ValueError("`count` follows from `names`: leave it out")
        return self

    def numbered_names(self, places: int = 1) -> Iterator[str]:
        """All members' names, in order; ``places`` times ``count`` of them for a pattern."""
        if self.names is not None:
            yield from self.names
        elif self.name is not None:
            total = self.count * places
            if total == 1 and not is_pattern(self.name):
                yield self.name
            else:
                yield from (numbered(self.name, number) for number in range(1, total + 1))


class Settings(Part):
    """Time: decision 10.

    Attributes:
        now: start of the scenario.
        round: length of a round.
        horizon: expected time to the next change, over which switching costs are spread (decision 13).
    """

    now: Instant = 1_767_225_600.0
    round: PositiveDuration = 300.0
    horizon: PositiveDuration = 3600.0


class Solve(Part):
    """How to solve, where the command line does not say.

    Attributes:
        pipeline: which steps run (decision 36).
        solver: backend; None: whichever suits.
        time_limit: wall time.
        seed: of everything random.
    """

    pipeline: Literal["auto", "full", "greedy"] = "auto"
    solver: Name | None = None
    time_limit: PositiveDuration | None = None
    seed: Whole = 0


class Accelerator(Part):
    """A catalogue entry; a bare number is its speed.

    Attributes:
        speed: work per second of one device where a job brings no profile; the reference device has 1.
        price: of one device for an hour, in any currency, to the millionth; None: free.
    """

    speed: Positive = 1.0
    price: NonNegative | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        return {"speed": value} if isinstance(value, int | float) else value

    @model_serializer(mode="plain")
    def _to_number(self) -> float | dict[str, float]:
        return self.speed if self.price is None else {"speed": self.speed, "price": self.price}


class DomainGroup(Part):
    """Alike domains of the topology tree, with what they contain.

    Attributes:
        name: with ``{}`` for the number when there are several; numbers run on over all parents.
        count: how many in each parent.
        level: by default the level next below the parent's.
        domains: what each of them contains.
    """

    name: Name
    count: Count = 1
    level: Name | None = None
    domains: list[DomainGroup] = []


class TopologyPart(Part):
    """The topology tree.

    Attributes:
        levels: outermost first, without ``cluster`` and ``node``, which are always there.
        domains: nested.
    """

    levels: list[Name] = []
    domains: list[DomainGroup] = []


class TaintPart(Part):
    """A mark on a node that repels tasks without a toleration."""

    key: Name
    value: str = ""
    effect: Literal["NO_SCHEDULE", "NO_EXECUTE"] = "NO_SCHEDULE"


class TolerationPart(Part):
    """A task's consent to a taint; what is left out is any."""

    key: Name | None = None
    value: str | None = None
    effect: Literal["NO_SCHEDULE", "NO_EXECUTE"] | None = None


class OthersPart(Part):
    """What work outside this scheduler holds on each of the nodes.

    Attributes:
        gpus: device indices, or their number on COUNT_ONLY nodes.
        cpu: CPUs.
        memory: bytes.
    """

    gpus: Whole | list[Whole] = 0
    cpu: Cpu = 0
    memory: Memory = 0


class NodeGroup(Members):
    """Alike nodes.

    Attributes:
        count: how many in each domain.
        domain: innermost domain they are in; several, or a pattern such as ``rack-*``: as many nodes in each.
        type: accelerator type; None for CPU-only nodes.
        gpus: devices on each node.
        cpu: CPUs of each node.
        memory: bytes of each node.
        reporting: EXACT nodes pin device indices, COUNT_ONLY nodes do not (decision 21).
        unhealthy_gpus: device indices out of order, or their number on COUNT_ONLY nodes.
        others: what work outside this scheduler holds.
        labels: matched by selectors.
        taints: repel tasks without a toleration.
        cordoned: nothing new comes here.
        health: UNHEALTHY nodes run nothing.
        drain: from the start until the nodes are drained.
        revision: opaque version, echoed in preconditions.
    """

    domain: Name | list[Name] | None = None
    type: Name | None = None
    gpus: Annotated[Whole, Field(le=4096)] = 0
    cpu: Cpu = 0
    memory: Memory = 0
    reporting: Literal["EXACT", "COUNT_ONLY"] = "EXACT"
    unhealthy_gpus: Whole | list[Whole] = 0
    others: OthersPart = OthersPart()
    labels: dict[Name, str] = {}
    taints: list[TaintPart] = []
    cordoned: bool = False
    health: Literal["HEALTHY", "UNHEALTHY"] = "HEALTHY"
    drain: SignedDuration | None = None
    revision: str = ""


def _time(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


Probability = Annotated[float, Field(ge=0.001, le=0.999)]


def _ascending(value: dict[float, float]) -> dict[float, float]:
    ordered = dict(sorted(value.items()))
    amounts = list(ordered.values())
    if amounts != sorted(amounts):
        raise ValueError("the higher the probability, the more it must be")
    if not amounts or amounts[-1] == 0.0:
        raise ValueError("name at least one quantile above 0")
    return ordered


QuantilesPart = Annotated[
    dict[Probability, Annotated[NonNegative, BeforeValidator(_time)]], AfterValidator(_ascending)
]
"""Amounts by probability."""


class QueuePart(Part):
    """A queue; limits hold for its whole subtree.

    Attributes:
        name: unique.
        parent: enclosing queue.
        limit: most devices of all types; None is unlimited, 0 is none at all.
        limits: the same by accelerator type.
        guarantee: devices that it is owed whenever it has work for them; None or 0: none.
        weight: what it is owed, relative to its siblings.
        received: what its subtree has received so far, decayed: device-seconds, or device time such as 40h;
            None: unknown.
    """

    name: Name
    parent: Name | None = None
    limit: Whole | None = None
    limits: dict[Name, Whole] = {}
    guarantee: Whole | None = None
    weight: Positive = 1.0
    received: Annotated[NonNegative, BeforeValidator(_time)] | None = None


class HostPart(Part):
    """CPU and memory that go with one reference device (decision 41)."""

    cpu: Cpu = _DEFAULTS.reference_host.cpu_milli
    memory: Memory = _DEFAULTS.reference_host.memory_bytes


Form = Literal["WEIGHTS", "LOG", "NEGATIVE_POWER", "DEVICE_TIME", "EFFECTIVE_THROUGHPUT", "GITTINS"]
_FORMS: dict[Form, float] = {"WEIGHTS": 1.0}


class TierPart(Part):
    """Jobs for whose places all lower tiers yield (decision 8).

    Attributes:
        priorities: classes of priority in the tier.
        tolerance: how far below its best it may end, as a fraction.
    """

    priorities: Annotated[list[int], Field(min_length=1)]
    tolerance: Annotated[NonNegative, Field(le=1)] = 0.0


class PolicyPart(Part):
    """Weights and limits; the meaning of each stands in :class:`gangplan.domain.policy.Policy`.

    Attributes:
        preset: name of a policy that holds where nothing is written here; ``gangplan policies`` lists them.
        fairness_forms: a form's name, or several with their parts.
        service_quantiles: device time of jobs by probability, device-seconds or such as 40h.
    """

    preset: Name | None = None
    size_exponent: NonNegative = _DEFAULTS.size_exponent
    fairness_power: Annotated[NonNegative, Field(le=2)] = _DEFAULTS.fairness_power
    fairness_forms: Annotated[dict[Form, Annotated[Positive, Field(le=1)]], Field(min_length=1)] = _FORMS
    queue_fairness_power: Annotated[NonNegative, Field(le=2)] = _DEFAULTS.queue_fairness_power
    priority_weights: dict[int, Positive] = {}
    fairness_quantile: Probability = _DEFAULTS.fairness_quantile
    service_quantiles: QuantilesPart | None = None
    deadline_weight: NonNegative = _DEFAULTS.deadline_weight
    deadline_urgency: Annotated[NonNegative, Field(le=2)] = _DEFAULTS.deadline_urgency
    deadline_quantile: Probability = _DEFAULTS.deadline_quantile
    locality_weight: NonNegative = _DEFAULTS.locality_weight
    switching_weight: NonNegative = _DEFAULTS.switching_weight
    cost_weight: NonNegative = _DEFAULTS.cost_weight
    tracking_weight: NonNegative = _DEFAULTS.tracking_weight
    makespan_weight: NonNegative = _DEFAULTS.makespan_weight
    fragmentation_weight: NonNegative = _DEFAULTS.fragmentation_weight
    residual_weight: NonNegative = _DEFAULTS.residual_weight
    interactive_weight: NonNegative = _DEFAULTS.interactive_weight
    headroom: dict[Name, Annotated[Whole, Field(lt=2**31)]] = {}
    disruption_limit: Whole | None = _DEFAULTS.disruption_limit
    minimum_run: Duration = _DEFAULTS.minimum_run_seconds
    disruption_limit_per_job_hour: Whole | None = _DEFAULTS.disruption_limit_per_job_hour
    hysteresis: Annotated[NonNegative, Field(le=1)] = _DEFAULTS.hysteresis
    promise_after: Duration | None = _DEFAULTS.promise_after_seconds
    promise_quantile: Probability = _DEFAULTS.promise_quantile
    longest_run: Annotated[Duration, Field(gt=0)] | None = _DEFAULTS.longest_run_seconds
    tiers: list[TierPart] = []
    reference_host: HostPart = HostPart()

    @field_validator("preset")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        if value is not None and value not in PRESETS:
            raise ValueError(f"{value!r} is none; there are {', '.join(sorted(PRESETS))}")
        return value

    @field_validator("fairness_forms", mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {value: 1.0} if isinstance(value, str) else value

    @field_validator("fairness_forms")
    @classmethod
    def _at_most_all(cls, value: dict[Form, float]) -> dict[Form, float]:
        if sum(value.values()) > 1.0 + 1e-9:
            raise ValueError(f"the parts must add up to at most 1, not {sum(value.values()):g}")
        return value

    @model_serializer(mode="wrap")
    def _with_what_differs_from_the_preset(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """What is written beside a preset says something even where it is the default."""
        value: dict[str, Any] = handler(self)
        if self.preset is not None:
            unsaid = self.written - value.keys() - {"reference_host"}  # the same in all presets
            value |= {name: getattr(self, name) for name in sorted(unsaid)}
        return value

    @property
    def written(self) -> set[str]:
        """Names of the fields that hold whatever the preset says."""
        return self.model_fields_set - {"preset"}


def _counts_from_range(value: Any) -> Any:
    """``{min: 2, max: 8}`` is every count from 2 to 8."""
    if not isinstance(value, dict):
        return value
    if set(value) != {"min", "max"} or not all(type(bound) is int for bound in value.values()):
        raise ValueError("write a list of counts, or {min: 2, max: 8}")
    if value["min"] > value["max"]:
        raise ValueError(f"the minimum {value['min']} is above the maximum {value['max']}")
    if value["max"] - value["min"] >= 4096:
        raise ValueError("a range has at most 4096 counts")
    return list(range(value["min"], value["max"] + 1))


Counts = Annotated[list[Count], BeforeValidator(_counts_from_range), Field(min_length=1, max_length=4096)]


class Tasks(Part):
    """What one kind of task asks for.

    Attributes:
        tasks: how many start together.
        counts: every number of tasks it may run with, as a list or ``{min: 2, max: 8}``; by default only
            ``tasks``.
        gpus: devices of each task.
        gpu_milli: thousandths of its one device that the job's one task takes; None: all of it.
        cpu: CPUs of each task.
        memory: bytes of each task.
        types: accelerator types it may run on; empty: any.
        profile: name of its throughput profile; None: the catalogue's speeds.
        split: FREE, or WHOLE_NODES: on one node, or on whole nodes only.
        selector: labels that a node must carry.
        tolerations: taints that are tolerated.
    """

    tasks: Count = 1
    counts: Counts | None = None
    gpus: Annotated[Whole, Field(le=4096)] = 0
    gpu_milli: Annotated[Whole, Field(ge=1, le=1000)] | None = None
    cpu: Cpu = 0
    memory: Memory = 0
    types: list[Name] = []
    profile: Name | None = None
    split: Literal["FREE", "WHOLE_NODES"] = "FREE"
    selector: dict[Name, str] = {}
    tolerations: list[TolerationPart] = []


class Group(Tasks):
    """One role of a job with several, such as a leader beside its workers."""

    name: Name


Devices = Whole | list[Whole]
"""On one node: device indices, or the number of tasks (CPU-only tasks, COUNT_ONLY nodes)."""
Where = dict[Name, Devices | dict[Name, Devices]]
"""By node; for jobs with several groups by group, then by node."""


class RunningPart(Part):
    """Where a job runs at the start.

    Attributes:
        where: device indices, or number of tasks, by node; for jobs with groups by group and node.
        since: how long it has run; None: unknown.
        checkpoint: running time since its last checkpoint; None: unknown, the worst case.
        safe_point: from the start until it can be stopped without loss; it is left alone before.
        minimum_run: from the start until which it is promised to be left alone.
        stopping: it is being stopped, and holds its place until it has.
    """

    where: Annotated[Where, Field(min_length=1)]
    since: Duration | None = None
    checkpoint: Duration | None = None
    safe_point: Duration | None = None
    minimum_run: Duration | None = None
    stopping: bool = False


class InteractivePart(Part):
    """Work that somebody waits for at a screen.

    Attributes:
        start_within: objective for the time from submission to start.
        idle_limit: it is stopped once it has been idle for so long; None: it never is.
        idle: for how long nobody has used it, at the start; None: it is in use.
    """

    start_within: PositiveDuration
    idle_limit: PositiveDuration | None = None
    idle: Duration | None = None


class PromisedPart(Part):
    """A place that was promised to a job that waits; or, without ``where``, a wish for a promise.

    Attributes:
        where: as where a job runs; None: a wish.
        domain: a wish for a place within this domain; None: anywhere.
        by: from the start; the latest start that was promised.
        until: from the start until when it holds; None: a horizon after ``by``.
    """

    where: Annotated[Where, Field(min_length=1)] | None = None
    domain: Name | None = None
    by: Duration
    until: Duration | None = None


class JobClass(Tasks, Members):
    """A job, or a class of alike jobs.

    Attributes:
        groups: in place of tasks, gpus and the like: several roles that start together.
        required: level within one domain of which all tasks must be (``node``, a declared one, ``cluster``).
        preferred: a wider spread than this costs.
        queue: whose limits count.
        weight: base weight.
        priority: class; the policy gives its weight.
        age: time since submission; None: unknown.
        arrives: from the start until it is submitted; earlier rounds do not see it.
        every: between the arrivals of two members of the class, one after another in their order.
        work: left to do, in units of the profile, or (without one) in time on one reference device.
        work_quantiles: the same as a prediction, by probability, such as ``{0.5: 2h, 0.9: 8h}``.
        done: work done so far.
        user: whose it is.
        fair_progress: work that its fair self has done.
        fair_finish_age: age at which its fair self was done; None: it is not.
        received: device time that it has held so far, device-seconds or such as 40h; None: unknown.
        deadline: from the start; may have passed.
        deadline_kind: ``TARGET``, ``STRICT`` or ``SOFT``.
        decay: for SOFT: time after the deadline until nothing is left of its reward.
        restart: time from a stop to useful work again.
        checkpoint_every: useful running time between two checkpoints, in a simulation; 0: nothing is ever
            lost; None: as ``simulation`` says.
        notice: time that a stop by choice takes to write a checkpoint; 0: it stops at once, and loses work.
        pausable: may be evicted.
        movable: may be migrated.
        resizable: may be given another number of tasks.
        interactive: when it should start, if somebody waits for it; None: nobody does.
        held: it may not start.
        not_before: from the start; it may not start before.
        after: names of jobs that must be done before it starts; those of the scenario are not.
        held_time: how long it has been held so far.
        running: where it runs at the start; None: it waits.
        promised: what was promised to it; None: nothing.
        revision: opaque version, echoed in preconditions.
    """

    groups: Annotated[list[Group], Field(min_length=1)] | None = None
    required: Name | None = None
    preferred: Name | None = None
    queue: Name | None = None
    weight: Positive = 1.0
    priority: Annotated[int, Field(ge=-(2**31), lt=2**31)] = 0
    age: Duration | None = None
    arrives: Duration = 0.0
    every: Duration = 0.0
    work: Annotated[NonNegative, BeforeValidator(_time)] | None = None
    work_quantiles: QuantilesPart | None = None
    user: str = ""
    done: Annotated[NonNegative, BeforeValidator(_time)] = 0.0
    fair_progress: NonNegative = 0.0
    fair_finish_age: Duration | None = None
    received: Annotated[NonNegative, BeforeValidator(_time)] | None = None
    deadline: SignedDuration | None = None
    deadline_kind: Literal["TARGET", "STRICT", "SOFT"] = "TARGET"
    decay: Duration = 0.0
    restart: Duration = 0.0
    checkpoint_every: Duration | None = None
    notice: Duration = 0.0
    pausable: bool = True
    movable: bool = True
    resizable: bool = True
    interactive: InteractivePart | None = None
    held: bool = False
    not_before: Duration | None = None
    after: list[Name] = []
    held_time: Duration = 0.0
    running: RunningPart | None = None
    promised: PromisedPart | None = None
    revision: str = ""

    @model_validator(mode="after")
    def _tasks_or_groups(self) -> Self:
        written = sorted(set(Tasks.model_fields) & self.model_fields_set)
        if self.groups is not None and written:
            raise ValueError(
                f"with `groups`, write {', '.join(f'`{field}`' for field in written)} in each group"
            )
        return self

    @model_validator(mode="after")
    def _work_once(self) -> Self:
        if self.work is not None and self.work_quantiles is not None:
            raise ValueError("`work` is known, so nothing needs `work_quantiles`: write one of them")
        return self

    @model_validator(mode="after")
    def _decays_when_soft(self) -> Self:
        if self.deadline_kind != "TARGET" and self.deadline is None:
            raise ValueError("`deadline_kind` says what `deadline` means; there is none")
        if (self.deadline_kind == "SOFT") != (self.decay > 0):
            raise ValueError("`decay` is for SOFT deadlines, and there above 0")
        return self

    @property
    def roles(self) -> list[Group]:
        """Its groups; one named ``worker`` for the short form."""
        if self.groups is not None:
            return self.groups
        fields = {field: getattr(self, field) for field in Tasks.model_fields}
        return [Group.model_construct(name="worker", **fields)]


class GeneratedSource(Part):
    """The whole round from the generator of benchmark instances."""

    format: Literal["generated"]
    size: Literal["S", "M", "L", "XL", "XXL"]
    start: Literal["steady", "random"] = "steady"
    occupancy: Annotated[float, Field(ge=0, le=1)] = 0.5
    seed: Whole = 0
    host_limits: bool = False


class OpenbSource(Part):
    """Nodes, jobs or both from files in the format of the openb trace.

    Attributes:
        nodes: node list; a path relative to the scenario file.
        pods: pod list; likewise.
        fractional: ``refuse`` pods that ask for part of a GPU, count each as a ``whole`` one, or give
            each its ``share``.
    """

    format: Literal["openb"]
    nodes: str | None = None
    pods: str | None = None
    fractional: Literal["refuse", "whole", "share"] = "refuse"

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.nodes is None and self.pods is None:
            raise ValueError("name `nodes`, `pods` or both")
        return self


Source = Annotated[GeneratedSource | OpenbSource, Field(discriminator="format")]


class Statement(Part):
    """What holds for a job in every best plan; a bare word is its action.

    Attributes:
        action: what is done to it; WAIT: it goes on waiting.
        tasks: of its first group.
        type: accelerator type of its first group.
        scope: narrowest level that holds all its tasks.
        nodes: exactly the nodes it is on.
        domain: one domain that holds it.
        forced: why, where the planner had no choice.
        verdict: kind of reason for waiting.
    """

    action: Literal["KEEP", "PLACE", "MIGRATE", "RESIZE", "EVICT", "WAIT"] | None = None
    tasks: Count | None = None
    type: Name | None = None
    scope: Name | None = None
    nodes: list[Name] | None = None
    domain: Name | None = None
    forced: Name | None = None
    verdict: Name | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: Any) -> Any:
        return {"action": value} if isinstance(value, str) else value

    @model_serializer(mode="wrap")
    def _to_word(self, handler: SerializerFunctionWrapHandler) -> Any:
        written = handler(self)
        return written["action"] if set(written) == {"action"} else written


class Expected(Part):
    """The known best answer of the first round (decision 40).

    Attributes:
        argument: why it is the best, by hand.
        objective: value of the best plans.
        tolerance: relative; absolute below 1.
        taken_back: another plan has a better objective for this round alone, and decision 14 takes it back.
        plan: one best plan: where each job runs afterwards; jobs that are not listed do not run.
        jobs: statements that hold in every best plan.
        placed: number of jobs that run afterwards, by name pattern such as ``small-*``.
    """

    argument: Annotated[str, Field(min_length=40)]
    objective: float | None = None
    tolerance: Positive = 1e-6
    taken_back: bool = False
    plan: dict[Name, Where] | None = None
    jobs: dict[Name, Statement] = {}
    placed: dict[Name, Whole] = {}


ProfileCells = dict[Name, dict[Name, dict[int, NonNegative]]]
"""Work per second by accelerator type, scope and number of tasks."""


class FailurePart(Part):
    """A node that fails for a time, in a simulation.

    Attributes:
        node: its name.
        at: from the start.
        lasts: until it runs again.
    """

    node: Name
    at: Duration
    lasts: PositiveDuration


class SimulationPart(Part):
    """What becomes of the jobs, for ``gangplan simulate``.

    Attributes:
        told: what policies are told of the work left (decision 15): ``exact``; ``noisy``, off by up to
            ``noise`` either way; ``predicted``, from the jobs that have ended, by user, name and size;
            ``unknown``, nothing.
        noise: largest relative error of ``noisy``.
        seed: of these errors.
        rounds: after so many it ends, whoever is left.
        checkpoint_every: of jobs that do not say; None: they take no checkpoint, and a stop throws away all
            since their start.
        failures: nodes that fail.
    """

    told: Literal["exact", "noisy", "predicted", "unknown"] = "exact"
    noise: Annotated[NonNegative, Field(lt=1)] = 0.3
    seed: Whole = 0
    rounds: Count = 10_000
    checkpoint_every: Duration | None = None
    failures: list[FailurePart] = []


class Scenario(Part):
    """A whole scenario file.

    Attributes:
        gangplan: ``scenario/v1``; the file's first line.
        title: one line.
        about: what it shows.
        at: moments at which rounds are taken, from the start; the first by default. Later rounds see later
            arrivals; what runs is as written.
        settings: time.
        solve: how to solve.
        source: nodes and jobs from elsewhere.
        accelerators: the catalogue, speed by type.
        topology: levels and domains.
        nodes: groups of alike nodes.
        queues: the quota tree.
        profiles: measured throughput by name.
        policy: weights and limits.
        jobs: running and waiting.
        simulation: what becomes of them.
        expected: the known best answer.
    """

    gangplan: Literal["scenario/v1"]
    title: str = ""
    about: str = ""
    at: Annotated[list[Duration], Field(min_length=1)] = [0.0]
    settings: Settings = Settings()
    solve: Solve = Solve()
    source: Source | None = None
    accelerators: dict[Name, Accelerator] = {}
    topology: TopologyPart = TopologyPart()
    nodes: list[NodeGroup] = []
    queues: list[QueuePart] = []
    profiles: dict[Name, ProfileCells] = {}
    policy: PolicyPart = PolicyPart()
    jobs: list[JobClass] = []
    simulation: SimulationPart = SimulationPart()
    expected: Expected | None = None
