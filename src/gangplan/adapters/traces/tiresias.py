"""Tiresias: a small trace, good to check by hand.

Source: Gu et al., *Tiresias: A GPU Cluster Manager for Distributed Deep Learning*, NSDI 2019. One table,
``job_id``, ``num_gpu``, ``submit_time``, ``iterations``, ``model_name``, ``duration``, ``interval``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import Cells, GPUs, Number, Seconds, Text, Whole, gang, job, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord

NAME = "tiresias"
ABOUT = "Tiresias' jobs (.csv)"
SOURCE = Source(
    name="Tiresias",
    url="https://github.com/SymbioticLab/Tiresias",
    licence="Apache-2.0",
    cite="Gu et al., Tiresias, NSDI 2019",
    raw_units="seconds",
)


class _Row(Cells):
    job_id: Text
    num_gpu: GPUs
    submit_time: Number
    iterations: Whole
    model_name: str
    duration: Seconds


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
                submit_s=row.submit_time,
                groups=gang(row.num_gpu),
                duration_s=row.duration,
                work=row.iterations,
                work_unit="iterations",
                model=row.model_name,
            )
