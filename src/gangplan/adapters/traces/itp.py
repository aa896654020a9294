"""Microsoft's ITP clusters: two months of production jobs, with and without deadlines.

Source: the traces published with ElasticFlow (Gu et al., *ElasticFlow: An Elastic Serverless Training
Platform for Distributed Deep Learning*, ASPLOS 2023). One table, ``job_id``, ``submission_time``,
``duration``, ``num_gpu``; with deadlines, which like models and iterations are drawn at random, also
``num_iteration``, ``model_name``, ``batch_size`` and ``deadline`` (absolute).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import (
    Cells,
    GPUs,
    MaybeNumber,
    MaybeText,
    MaybeWhole,
    Number,
    Seconds,
    Text,
    gang,
    job,
    rows,
)
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord

NAME = "itp"
ABOUT = "Microsoft ITP clusters (ElasticFlow's traces), raw or with deadlines: clusterNN.csv"
SOURCE = Source(
    name="Microsoft ITP",
    url="https://github.com/microsoft/elasticflow-traces",
    licence="MIT",
    cite="Gu et al., ElasticFlow, ASPLOS 2023",
    raw_units="seconds",
)


class _Row(Cells):
    job_id: Text
    submission_time: Number
    duration: Seconds
    num_gpu: GPUs
    num_iteration: MaybeWhole = None
    model_name: MaybeText = None
    batch_size: MaybeWhole = None
    deadline: MaybeNumber = None


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
                submit_s=row.submission_time,
                groups=gang(row.num_gpu),
                duration_s=row.duration,
                work=row.num_iteration,
                work_unit="iterations" if row.num_iteration is not None else "",
                model=row.model_name or "",
                batch_size=row.batch_size,
                deadline_s=row.deadline,
            )
