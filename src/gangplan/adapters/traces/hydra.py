"""Hydra: one batch of jobs with a run time for each GPU type, a fifth with deadlines.

Source: the input of Hydra (Yang et al., *Hydra: Deadline-Aware and Efficiency-Oriented Scheduling for Deep
Learning Jobs on Heterogeneous GPUs*, IEEE Transactions on Computers, 2023), drawn from Alibaba's PAI trace.
The first column, without a name, is a row number; then ``job_name``, ``norm_job_submit_time``, ``ddl`` (after
submission; ``inf``: none) and a column of seconds on one GPU for each type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import Field

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import Cells, Number, Text, gang, job, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord

NAME = "hydra"
ABOUT = "Hydra's jobs with a run time for each GPU type (.csv)"
SOURCE = Source(
    name="Hydra",
    url="https://github.com/dos-lab/Hydra",
    licence="none stated; derives from Alibaba PAI 2020, CC BY 4.0",
    cite="Yang et al., Hydra, IEEE Transactions on Computers 2023",
    raw_units="seconds; deadlines after submission",
)
_OTHERS = frozenset({"", "job_name", "norm_job_submit_time", "ddl"})


class _Row(Cells):
    job_name: Text
    norm_job_submit_time: Number
    ddl: float = Field(gt=0)


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        for line in rows(path, _Row, ledger):
            row = line.cells
            seconds = {column: cell for column, cell in line.raw.items() if column not in _OTHERS}
            yield from job(
                line,
                path,
                ledger,
                id=row.job_name,
                submit_s=row.norm_job_submit_time,
                groups=gang(1),
                duration_by_type=seconds,
                deadline_s=None if row.ddl == float("inf") else row.norm_job_submit_time + row.ddl,
            )
