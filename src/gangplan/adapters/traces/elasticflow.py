"""ElasticFlow: jobs with deadlines, and tables of iterations per second by number of GPUs.

Source: the simulator's inputs (Gu et al., *ElasticFlow*, ASPLOS 2023). A trace has ``job_id``,
``submit_time``, ``iteration``, ``model_name``, ``ddl`` (absolute), ``batch_size``, ``num_gpu``, ``duration``
and perhaps ``best_effort``. A table ``throughputs_<type>/<model>.csv`` has ``global_batch_size`` and a
column for every number of GPUs; empty, ``nan`` and 0 mean that it cannot run so, or was not measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import Cells, GPUs, MaybeWhole, Number, Seconds, Text, gang, job, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord, Measurement

NAME = "elasticflow"
ABOUT = "ElasticFlow's jobs with deadlines (.csv), and its folders throughputs_TYPE"
SOURCE = Source(
    name="ElasticFlow",
    url="https://github.com/pkusys/ElasticFlow",
    licence="Apache-2.0",
    cite="Gu et al., ElasticFlow, ASPLOS 2023",
    raw_units="seconds; tables: iterations per second",
)
_PREFIX = "throughputs_"


class _Row(Cells):
    job_id: Text
    submit_time: Number
    iteration: Seconds
    model_name: Text
    ddl: Number
    batch_size: MaybeWhole
    num_gpu: GPUs
    duration: Seconds
    best_effort: MaybeWhole = None


class _Speeds(Cells):
    global_batch_size: Seconds


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord | Measurement]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        if path.is_dir():
            for table in sorted(path.glob("*.csv")):
                yield from _measured(table, path.name.removeprefix(_PREFIX), ledger)
            continue
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
                work=row.iteration,
                work_unit="iterations",
                model=row.model_name,
                batch_size=row.batch_size,
                deadline_s=None if row.best_effort else row.ddl,
                deadline_kind="strict",
            )


def _measured(path: Path, accelerator: str, ledger: Ledger) -> Iterator[Measurement]:
    for line in rows(path, _Speeds, ledger):
        for column, cell in line.raw.items():
            if column == "global_batch_size":
                continue
            try:
                gpus, speed = int(column), float("0" if cell.strip().lower() in {"", "nan"} else cell)
            except ValueError:
                ledger.refuse(f"{path}:{line.number}", f"{column}: {cell!r} is no throughput on so many GPUs")
                continue
            yield Measurement(
                table="throughput",
                model=path.stem,
                accelerator=accelerator,
                gpus=gpus,
                batch_size=line.cells.global_batch_size,
                throughput=speed,
                unit="iterations",
                raw={"global_batch_size": line.raw["global_batch_size"], column: cell},
            )
