"""Chronus: Philly's jobs with strict, soft and no deadlines, and what spreading costs.

Source: Gao et al., *Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training Jobs*, SoCC 2021. A
trace has ``job_id``, ``user`` (a virtual cluster), ``num_gpu``, ``submit_time`` (not in order),
``iterations``, ``model_name``, ``duration``, ``interval``, ``expect_time_list`` (deadlines after submission,
joined by ``-``), ``expect_value_list`` (what each is worth), ``best_effort`` and ``job_type``. Best-effort
rows repeat their submission as a deadline, which means nothing. ``model_info.json`` has the speed relative
to one node, by model, GPUs and nodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import Cells, GPUs, Number, Seconds, Text, Whole, gang, job, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import DeadlineValue, JobRecord, Measurement

NAME = "chronus"
ABOUT = "Chronus' jobs with strict and soft deadlines (.csv), and its model_info.json"
SOURCE = Source(
    name="Chronus",
    url="https://github.com/S-Lab-System-Group/ChronusArtifact",
    licence="MIT",
    cite="Gao et al., Chronus, SoCC 2021",
    raw_units="seconds; deadlines after submission",
)


class _Row(Cells):
    job_id: Text
    user: str
    num_gpu: GPUs
    submit_time: Number
    iterations: Whole
    model_name: str
    duration: Seconds
    expect_time_list: str
    expect_value_list: str
    best_effort: Whole
    job_type: Literal["strict", "soft", "best"]


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord | Measurement]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        if path.suffix == ".json":
            yield from _measured(path)
            continue
        for line in rows(path, _Row, ledger):
            row = line.cells
            if not row.num_gpu:
                ledger.leave_out("jobs that ask for no GPU")
                continue
            by = _deadlines(row, f"{path}:{line.number}", ledger)
            soft = row.job_type == "soft"
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
                queue=row.user,
                deadline_s=by[0].by_s if by else None,
                deadline_kind="soft" if soft else "strict" if by else "target",
                deadline_values=by if soft else (),
            )


def _deadlines(row: _Row, place: str, ledger: Ledger) -> tuple[DeadlineValue, ...]:
    if row.best_effort:
        return ()
    try:
        times = [float(time) for time in row.expect_time_list.split("-")]
        values = [float(value) for value in row.expect_value_list.split("-")]
        found = [DeadlineValue(by_s=row.submit_time + t, value=v) for t, v in zip(times, values, strict=True)]
    except ValueError as error:
        ledger.refuse(place, f"expect_time_list, expect_value_list: {error}")
        return ()
    return tuple(sorted(found, key=lambda deadline: deadline.by_s))


def _measured(path: Path) -> Iterator[Measurement]:
    for model, by_gpus in json.loads(path.read_text(encoding="utf-8")).items():
        for gpus, by_nodes in by_gpus.items():
            for nodes, speed in by_nodes.items():
                yield Measurement(
                    table="relative-speed",
                    model=model,
                    gpus=int(gpus),
                    nodes=int(nodes),
                    throughput=speed,
                    unit="speed on one node",
                    raw={model: {gpus: {nodes: speed}}},
                )
