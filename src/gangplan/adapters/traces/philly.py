"""Microsoft Philly: 117,325 jobs of late 2017, as published and as derived for Pollux.

Format: the README of github.com/msr-fiddle/philly-traces (Jeon et al., *Analysis of Large-Scale Multi-Tenant
GPU Clusters for DNN Training Workloads*, USENIX ATC 2019). ``cluster_job_log`` is one JSON array of jobs:
``jobid``, ``user``, ``vc``, ``submitted_time``, ``status`` (Pass, Killed, Failed) and ``attempts``, each with
``start_time``, ``end_time`` and ``detail`` (``ip``, ``gpus``). Times are local wall clock and may be
missing; a job without attempts never started, one whose last attempt has no end was still running. The GPUs
are those of the last attempt, the duration is that of all attempts together.

The derived table has ``timestamp``, ``duration``, ``num_gpus``, ``gpu_time`` and ``cluster`` (a virtual
cluster); not in order, without ids, with 65 repeated rows that are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.json_array import elements
from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import (
    Cells,
    GPUs,
    Instant,
    Line,
    MaybeInstant,
    Seconds,
    Text,
    checked,
    gang,
    job,
    rows,
)
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import Group, JobRecord, Status

NAME = "philly"
ABOUT = "Microsoft Philly, cluster_job_log (JSON) or the table derived from it (philly.csv)"
SOURCE = Source(
    name="Microsoft Philly",
    url="https://github.com/msr-fiddle/philly-traces",
    licence="CC BY 4.0",
    cite="Jeon et al., USENIX ATC 2019",
    time_zero="1970-01-01, local wall clock read as UTC",
    raw_units="seconds",
)
_STATUS: dict[str, Status] = {"Pass": "completed", "Killed": "cancelled", "Failed": "failed"}


class _Row(Cells):
    timestamp: Instant
    duration: Seconds
    num_gpus: GPUs
    cluster: str


class _Server(Cells):
    ip: str
    gpus: tuple[str, ...]


class _Attempt(Cells):
    start_time: MaybeInstant = None
    end_time: MaybeInstant = None
    detail: tuple[_Server, ...] = ()


class _Job(Cells):
    jobid: Text
    user: str = ""
    vc: str = ""
    status: str
    submitted_time: MaybeInstant
    attempts: tuple[_Attempt, ...]


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        derived = path.name.removesuffix(".gz").endswith(".csv")
        yield from _derived(path, ledger) if derived else _published(path, ledger)


def _derived(path: Path, ledger: Ledger) -> Iterator[JobRecord]:
    for line in rows(path, _Row, ledger):
        row = line.cells
        yield from job(
            line,
            path,
            ledger,
            id=f"philly-{line.number:06}",
            submit_s=row.timestamp,
            groups=gang(row.num_gpus),
            duration_s=row.duration,
            queue=row.cluster,
        )


def _published(path: Path, ledger: Ledger) -> Iterator[JobRecord]:
    for number, raw in elements(path):
        found = checked(_Job, raw, f"{path}:{number}", ledger)
        if found is None:
            continue
        if found.submitted_time is None:
            ledger.leave_out("jobs without a submission time")
            continue
        servers = found.attempts[-1].detail if found.attempts else ()
        if not any(server.gpus for server in servers):
            ledger.leave_out("jobs whose GPUs are not recorded (never scheduled)")
            continue
        times = [
            (attempt.start_time, attempt.end_time)
            for attempt in found.attempts
            if attempt.start_time is not None and attempt.end_time is not None
        ]
        last = found.attempts[-1]
        running = last.start_time is not None and last.end_time is None
        yield from job(
            Line(number, found, raw),
            path,
            ledger,
            id=found.jobid,
            submit_s=found.submitted_time,
            groups=_groups([len(server.gpus) for server in servers if server.gpus]),
            duration_s=sum(max(0.0, end - start) for start, end in times) if times else None,
            open_ended=running,
            user=found.user,
            queue=found.vc,
            status="running" if running else _STATUS.get(found.status, "unknown"),
            start_s=next((a.start_time for a in found.attempts if a.start_time is not None), None),
            end_s=last.end_time,
        )


def _groups(gpus: list[int]) -> tuple[Group, ...]:
    """One task per server where they are alike; otherwise one per GPU."""
    if len(set(gpus)) == 1:
        return (Group(tasks=len(gpus), gpus_per_task=gpus[0]),)
    return gang(sum(gpus))
