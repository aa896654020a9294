"""Muri: jobs of four stages for interleaving.

Source: Zhao et al., *Multi-Resource Interleaving for Deep Learning Training*, SIGCOMM 2022. One table,
``job_id``, ``num_gpu``, ``submit_time``, ``iterations``, ``model_name``, ``batch_size``, ``duration``,
``interval``, ``iteration_time``, ``resource_time_0..2`` (one iteration's time on storage and CPU, GPU,
network) and ``priority``. All times are milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import (
    Cells,
    GPUs,
    MaybeWhole,
    Number,
    Seconds,
    Text,
    Whole,
    gang,
    job,
    rows,
)
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord

NAME = "muri"
ABOUT = "Muri's jobs with times on storage, GPU and network (.csv, in milliseconds)"
SOURCE = Source(
    name="Muri",
    url="https://github.com/Rivendile/Muri",
    licence="Apache-2.0",
    cite="Zhao et al., Muri, SIGCOMM 2022",
    raw_units="milliseconds",
)


class _Row(Cells):
    job_id: Text
    num_gpu: GPUs
    submit_time: Number
    iterations: Whole
    model_name: str
    batch_size: MaybeWhole
    duration: Seconds
    priority: int


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        for line in rows(path, _Row, ledger):
            row = line.cells
            yield from job(
                line,
                path,
                ledger,
                id=row.job_id,
                submit_s=row.submit_time / 1000,
                groups=gang(row.num_gpu),
                duration_s=row.duration / 1000,
                work=row.iterations,
                work_unit="iterations",
                model=row.model_name,
                batch_size=row.batch_size,
                priority=row.priority,
            )
