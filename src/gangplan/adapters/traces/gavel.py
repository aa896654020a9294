"""Gavel: jobs of 26 types by their steps, with or without the table of steps per second.

Source: Narayanan et al., *Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads*, OSDI
2020, and its public code (``parse_trace``). Tab-separated and without a header, in two forms: ten fields (job
type, command, working directory, steps argument, needs data directory, total steps, scale factor, priority
weight, SLO, arrival time), and seven for the traces made of Philly's virtual clusters (job type, command,
steps argument, needs data directory, total steps, arrival time, scale factor). The scale factor is the
number of GPUs, the SLO a multiple of the duration, below 0 none. With a throughput table (``.json``) among
the files, durations are steps over the throughput alone and together on V100.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.step_tables import measured
from gangplan.adapters.traces.table import Cells, GPUs, Number, Seconds, Text, gang, header_of, job, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord, Measurement

NAME = "gavel"
ABOUT = "Gavel's jobs by their steps (.trace, seven or ten fields), and its throughput table (.json)"
SOURCE = Source(
    name="Gavel",
    url="https://github.com/stanford-futuredata/gavel",
    licence="MIT",
    cite="Narayanan et al., Gavel, OSDI 2020",
    raw_units="seconds; tables: steps per second",
)
TEN = (
    "job_type",
    "command",
    "working_directory",
    "num_steps_arg",
    "needs_data_dir",
    "total_steps",
    "scale_factor",
    "priority_weight",
    "SLO",
    "arrival_time",
)
SEVEN = (
    "job_type",
    "command",
    "num_steps_arg",
    "needs_data_dir",
    "total_steps",
    "arrival_time",
    "scale_factor",
)
_TRACED = "v100"


class _Row(Cells):
    job_type: Text
    total_steps: Seconds
    scale_factor: GPUs
    priority_weight: Number = 1.0
    SLO: Number = -1.0
    arrival_time: Number


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord | Measurement]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    alone: dict[tuple[str, int], float] = {}
    for path in (path for path in paths if path.suffix == ".json"):
        for cell in measured(path):
            if cell.table == "throughput" and not cell.spread and cell.accelerator == _TRACED and cell.gpus:
                alone[cell.model, cell.gpus] = cell.throughput or 0.0
            yield cell
    for path in (path for path in paths if path.suffix != ".json"):
        columns = SEVEN if len(header_of(path, "\t")) == len(SEVEN) else TEN
        for line in rows(path, _Row, ledger, delimiter="\t", columns=columns, quoted=False):
            row = line.cells
            speed = alone.get((row.job_type, row.scale_factor), 0.0)
            yield from job(
                line,
                path,
                ledger,
                id=f"{path.stem}-{line.number:05}",
                submit_s=row.arrival_time,
                groups=gang(row.scale_factor),
                duration_s=row.total_steps / speed if speed > 0 else None,
                traced_type=_TRACED if speed > 0 else "",
                work=row.total_steps,
                work_unit="steps",
                model=row.job_type,
                weight=row.priority_weight,
                deadline_factor=row.SLO if row.SLO > 0 else None,
            )
