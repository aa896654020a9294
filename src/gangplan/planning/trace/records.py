"""The records of a trace file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

FORMAT = "gangplan-trace/v1"

Count = Annotated[int, Field(ge=0, le=2**40)]
Some = Annotated[int, Field(ge=1, le=2**20)]
Amount = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Status = Literal[
    "completed", "failed", "cancelled", "timeout", "node-failed", "running", "waiting", "unknown"
]
Measured = Literal["throughput", "shared", "placement", "scalability", "validation", "relative-speed"]


class Part(BaseModel):
    """What all records and their parts have in common: finite numbers, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Header(Part):
    """The first record.

    Attributes:
        format: of the file.
        name: of the trace.
        reader: which one read it; empty: none.
        files: names of the files that were read.
        source: where it was published.
        licence: under which.
        cite: the paper.
        time_zero: what second 0 is.
        raw_units: what the raw columns are measured in.
    """

    kind: Literal["header"] = "header"
    format: Literal["gangplan-trace/v1"]
    name: str
    reader: str = ""
    files: tuple[str, ...] = ()
    source: str = ""
    licence: str = ""
    cite: str = ""
    time_zero: str = "the trace's own"
    raw_units: str = ""


class Group(Part):
    """Alike tasks of a job.

    Attributes:
        name: the role.
        tasks: how many.
        gpus_per_task: whole GPUs of each; 1 where it takes a part of one.
        gpu_milli: the part of its one GPU that a task takes, thousandths; None: all of each.
        cpu_milli: CPU of each task, thousandths; None: unknown.
        memory_bytes: of each task; None: unknown.
    """

    name: str = "worker"
    tasks: Some = 1
    gpus_per_task: Annotated[int, Field(ge=0, le=4096)] = 1
    gpu_milli: Annotated[int, Field(ge=1, le=999)] | None = None
    cpu_milli: Count | None = None
    memory_bytes: Annotated[int, Field(ge=0, le=2**60)] | None = None

    @property
    def gpus(self) -> float:
        """GPUs of all its tasks, parts counted as parts."""
        return self.tasks * self.gpus_per_task * (1.0 if self.gpu_milli is None else self.gpu_milli / 1000)


class DeadlineValue(Part):
    """What it is worth to end by then.

    Attributes:
        by_s: seconds, as ``submit_s``.
        value: of ending by then, in the trace's own unit.
    """

    by_s: float
    value: float


class JobRecord(Part):
    """One job.

    Attributes:
        id: unique in the trace.
        submit_s: when it was submitted.
        older: it was there when the trace began; ``submit_s`` is that beginning.
        groups: what it asks for, at least one.
        duration_s: for how long it ran on what it asked for, waiting left out; None: unknown.
        traced_type: on which GPU type that was; empty: not said.
        open_ended: it ran on when the trace ended, at least for ``duration_s``.
        duration_by_type: for how long it runs on each GPU type.
        work, work_unit: how much it does, e.g. 12000 ``steps``.
        model: what it trains or serves; measurements carry the same name.
        batch_size: of all its tasks together.
        batch_mode: how the batch size adapts: ``static``, or the trace's word.
        gpu_types: on which it may run; empty: any.
        max_per_node: most jobs of its model on one node; None: no limit.
        deadline_s: when it should have ended; None: none.
        deadline_factor: the same as a multiple of its duration, after submission.
        deadline_kind: what missing it means, as in :class:`gangplan.domain.job.DeadlineKind`, in small
            letters.
        deadline_values: for ``soft``: what each of several is worth, earliest first.
        priority: higher is more; None: not said.
        weight: base weight; None: not said.
        user, queue: whose, and in which (virtual cluster, partition).
        status: how it ended.
        start_s, end_s: when it first started and when it ended there; None: unknown.
        line: of its source, from 1; 0: unknown.
        raw: the record as its source has it, every column.
    """

    kind: Literal["job"] = "job"
    id: Annotated[str, Field(min_length=1, max_length=253)]
    submit_s: float
    older: bool = False
    groups: Annotated[tuple[Group, ...], Field(min_length=1)]
    duration_s: Amount | None = None
    traced_type: str = ""
    open_ended: bool = False
    duration_by_type: dict[str, Positive] = {}
    work: Amount | None = None
    work_unit: str = ""
    model: str = ""
    batch_size: Positive | None = None
    batch_mode: str = ""
    gpu_types: tuple[str, ...] = ()
    max_per_node: Some | None = None
    deadline_s: float | None = None
    deadline_factor: Positive | None = None
    deadline_kind: Literal["target", "strict", "soft"] = "target"
    deadline_values: tuple[DeadlineValue, ...] = ()
    priority: int | None = None
    weight: Positive | None = None
    user: str = ""
    queue: str = ""
    status: Status = "unknown"
    start_s: float | None = None
    end_s: float | None = None
    line: Count = 0
    raw: dict[str, JsonValue] = {}

    @property
    def gpus(self) -> float:
        """GPUs that it asks for, parts counted as parts."""
        return sum(group.gpus for group in self.groups)


class Measurement(Part):
    """One cell of a table of what was measured.

    Attributes:
        table: of which. ``throughput``: alone; ``shared``: with another on the same GPUs; ``placement``: by
            GPUs on each node; ``scalability``: by number of nodes and GPUs; ``validation``: progress epoch by
            epoch; ``relative-speed``: to all on one node.
        model: of what.
        accelerator: on which type; empty: not said.
        gpus: on how many.
        nodes: over how many.
        placement: GPUs on each node, one digit a node, e.g. ``112``.
        spread: over as many nodes as it takes, not together on as few as can be.
        batch_size: of all GPUs together.
        batch_size_per_gpu: of each.
        throughput: so many ``unit`` per second of the whole job; 0: it cannot run so.
        unit: e.g. ``steps``.
        other: who shares the GPUs.
        other_throughput: of that one.
        step_s, sync_s: one step, and the part of it in which GPUs exchange gradients.
        epoch: number, from 1, of ``validation``.
        raw: the cell or row as its source has it.
    """

    kind: Literal["measurement"] = "measurement"
    table: Measured
    model: str
    accelerator: str = ""
    gpus: Some | None = None
    nodes: Some | None = None
    placement: str = ""
    spread: bool = False
    batch_size: Positive | None = None
    batch_size_per_gpu: Positive | None = None
    throughput: Amount | None = None
    unit: str = ""
    other: str = ""
    other_throughput: Amount | None = None
    step_s: Amount | None = None
    sync_s: Amount | None = None
    epoch: Some | None = None
    raw: dict[str, JsonValue] = {}


class End(Part):
    """The last record.

    Attributes:
        jobs, measurements: how many there are.
        left_out: of what was read, how many are not here, by reason.
    """

    kind: Literal["end"] = "end"
    jobs: Count
    measurements: Count = 0
    left_out: dict[str, Count] = {}


Record = Header | JobRecord | Measurement | End
RECORDS: TypeAdapter[Record] = TypeAdapter(Annotated[Record, Field(discriminator="kind")])
"""Reads a record of any kind."""
