"""What is in a trace: counts, span, sizes, durations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gangplan.planning.trace.records import End, Header, JobRecord, Measurement, Record

QUANTILES = (0.5, 0.9, 0.99)
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Description:
    """A trace in figures.

    Attributes:
        header: of the trace.
        jobs, measurements: how many.
        first_s, last_s: first and last submission, seconds; None without jobs.
        gpus: number of jobs by GPUs asked for, parts counted as parts.
        gpu_hours: GPUs times durations, of jobs with a duration.
        durations: quantiles of durations, seconds, by probability; of jobs with one.
        without_duration: jobs whose duration is unknown.
        deadlines: number of jobs by kind of deadline.
        statuses: number of jobs by how they ended.
        roles: jobs with several task groups.
        users, queues, models, gpu_types: how many there are.
        left_out: of the end record.
    """

    header: Header
    jobs: int
    measurements: int
    first_s: float | None
    last_s: float | None
    gpus: dict[float, int]
    gpu_hours: float
    durations: dict[float, float]
    without_duration: int
    deadlines: dict[str, int]
    statuses: dict[str, int]
    roles: int
    users: int
    queues: int
    models: int
    gpu_types: int
    left_out: dict[str, int]

    @property
    def span_days(self) -> float:
        """From the first submission to the last."""
        return 0.0 if self.first_s is None or self.last_s is None else (self.last_s - self.first_s) / _DAY


@dataclass(slots=True)
class _Sums:
    jobs: int = 0
    measurements: int = 0
    first: float | None = None
    last: float | None = None
    gpus: Counter[float] = field(default_factory=Counter)
    gpu_seconds: float = 0.0
    durations: list[float] = field(default_factory=list)
    deadlines: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    roles: int = 0
    names: dict[str, set[str]] = field(default_factory=lambda: {k: set() for k in ("user", "queue", "model")})
    types: set[str] = field(default_factory=set)

    def add(self, job: JobRecord) -> None:
        self.jobs += 1
        self.first = job.submit_s if self.first is None else min(self.first, job.submit_s)
        self.last = job.submit_s if self.last is None else max(self.last, job.submit_s)
        self.gpus[job.gpus] += 1
        if job.duration_s is not None:
            self.durations.append(job.duration_s)
            self.gpu_seconds += job.gpus * job.duration_s
        if job.deadline_s is not None or job.deadline_factor is not None:
            self.deadlines[job.deadline_kind] += 1
        self.statuses[job.status] += 1
        self.roles += len(job.groups) > 1
        for kind, names in self.names.items():
            names.add(getattr(job, kind))
        self.types |= {*job.gpu_types, *job.duration_by_type, job.traced_type}


def describe(records: Iterable[Record]) -> Description:
    """Sum up a trace, record by record.

    Quantiles are those of the sorted durations, linear between two of them.

    Raises:
        TraceError: what the records are read from is wrong.
    """
    sums, header, left_out = _Sums(), None, {}
    for record in records:
        match record:
            case Header():
                header = record
            case JobRecord():
                sums.add(record)
            case Measurement():
                sums.measurements += 1
            case End():
                left_out = record.left_out
    assert header is not None
    return Description(
        header=header,
        jobs=sums.jobs,
        measurements=sums.measurements,
        first_s=sums.first,
        last_s=sums.last,
        gpus=dict(sorted(sums.gpus.items())),
        gpu_hours=sums.gpu_seconds / 3600,
        durations=_quantiles(sums.durations),
        without_duration=sums.jobs - len(sums.durations),
        deadlines=dict(sorted(sums.deadlines.items())),
        statuses=dict(sorted(sums.statuses.items())),
        roles=sums.roles,
        users=len(sums.names["user"] - {""}),
        queues=len(sums.names["queue"] - {""}),
        models=len(sums.names["model"] - {""}),
        gpu_types=len(sums.types - {""}),
        left_out=dict(left_out),
    )


def _quantiles(values: list[float]) -> dict[float, float]:
    if not values:
        return {}
    import numpy as np

    found = np.quantile(np.asarray(values), QUANTILES)
    return dict(zip(QUANTILES, (float(value) for value in found), strict=True))
