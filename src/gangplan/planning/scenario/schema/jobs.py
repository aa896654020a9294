"""Jobs, one by one or in classes of alike ones."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gangplan.planning.scenario.quantities import (
    Count,
    Cpu,
    Duration,
    Memory,
    Name,
    NonNegative,
    Positive,
    PositiveDuration,
    SignedDuration,
    Whole,
)
from gangplan.planning.scenario.schema.amounts import Amount, QuantilesPart
from gangplan.planning.scenario.schema.cluster import TolerationPart
from gangplan.planning.scenario.schema.part import Members, Part


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
    work: Amount | None = None
    work_quantiles: QuantilesPart | None = None
    user: str = ""
    done: Amount = 0.0
    fair_progress: NonNegative = 0.0
    fair_finish_age: Duration | None = None
    received: Amount | None = None
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
