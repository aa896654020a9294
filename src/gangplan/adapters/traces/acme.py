"""Acme: Shanghai AI Lab's clusters Seren and Kalos, jobs that develop large language models.

Format: the README of github.com/InternLM/AcmeTrace (Hu et al., *Characterization of Large Language Model
Development in the Datacenter*, NSDI 2024). ``trace_seren.csv`` and ``trace_kalos.csv``: ``job_id``, ``user``,
``node_num``, ``gpu_num``, ``cpu_num``, ``type``, ``state``, ``submit_time``, ``start_time``, ``end_time``
(with zone), ``duration``, ``queue``, ``gpu_time``; only Kalos ``mem_per_pod_GB``, ``shared_mem_per_pod``,
``fail_time``, ``stop_time``.

A fork converted 319 finished GPU jobs of Kalos for another simulator: ``job_id``, ``arrival_time``,
``num_iteration`` (of half a second each: that is the duration), ``gpu_workers`` (nodes), ``gpu_per_worker``,
``cpu_per_gpu_worker`` and columns that the converter made up, which are kept raw only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.slurm_states import status_of
from gangplan.adapters.traces.table import (
    Cells,
    GPUs,
    Instant,
    MaybeInstant,
    MaybeNumber,
    MaybeSeconds,
    MaybeWhole,
    Number,
    Seconds,
    Text,
    gang,
    gib,
    header_of,
    job,
    rows,
)
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import Group, JobRecord

NAME = "acme"
ABOUT = "Acme's clusters (trace_seren.csv, trace_kalos.csv), or Kalos as converted for a simulator"
SOURCE = Source(
    name="Acme",
    url="https://github.com/InternLM/AcmeTrace",
    licence="CC BY 4.0",
    cite="Hu et al., NSDI 2024",
    time_zero="1970-01-01 UTC; of the converted trace its own",
    raw_units="seconds, GB",
)
_ITERATION_SECONDS = 0.5


class _Row(Cells):
    job_id: Text
    user: str
    node_num: MaybeWhole
    gpu_num: GPUs
    cpu_num: MaybeWhole
    memory_gb: MaybeNumber = Field(default=None, alias="mem_per_pod_GB")
    type: str
    state: Text
    submit_time: Instant
    start_time: MaybeInstant
    end_time: MaybeInstant
    duration: MaybeSeconds


class _Converted(Cells):
    job_id: Text
    arrival_time: Number
    num_iteration: Seconds
    gpu_workers: GPUs
    gpu_per_worker: GPUs
    cpu_per_gpu_worker: Seconds


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        converted = "gpu_workers" in header_of(path)
        yield from _converted(path, ledger) if converted else _own(path, ledger)


def _own(path: Path, ledger: Ledger) -> Iterator[JobRecord]:
    for line in rows(path, _Row, ledger):
        row = line.cells
        if not row.gpu_num and not row.cpu_num:
            ledger.leave_out("jobs that ask for nothing")
            continue
        groups = gang(row.gpu_num, row.node_num, row.cpu_num)
        if row.memory_gb is not None and groups[0].tasks == row.node_num:  # a pod is a node's part
            groups = (groups[0].model_copy(update={"memory_bytes": gib(row.memory_gb)}),)
        yield from job(
            line,
            path,
            ledger,
            id=row.job_id,
            submit_s=row.submit_time,
            groups=groups,
            duration_s=row.duration,
            model=row.type,
            user=row.user,
            status=status_of(row.state),
            start_s=row.start_time,
            end_s=row.end_time,
        )


def _converted(path: Path, ledger: Ledger) -> Iterator[JobRecord]:
    for line in rows(path, _Converted, ledger):
        row = line.cells
        if not row.gpu_workers:
            ledger.leave_out("jobs that ask for nothing")
            continue
        group = Group(
            tasks=row.gpu_workers,
            gpus_per_task=row.gpu_per_worker,
            cpu_milli=round(1000 * row.cpu_per_gpu_worker),
        )
        yield from job(
            line,
            path,
            ledger,
            id=row.job_id,
            submit_s=row.arrival_time,
            groups=(group,),
            duration_s=row.num_iteration * _ITERATION_SECONDS,
            work=row.num_iteration,
            work_unit="iterations",
            status="completed",
        )
