"""Shockwave: jobs whose batch size changes while they run.

Source: Zheng et al., *Shockwave: Fair and Efficient Cluster Scheduling for Dynamic Adaptation in Machine
Learning*, NSDI 2023. As Gavel's ten fields, with ``mode`` after the scale factor (``static``, ``accordion``
or ``gns``: how the batch size adapts) and ``duration`` before the arrival time: twelve. Its table of steps
per second (``.json``) was measured again on V100.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.step_tables import measured
from gangplan.adapters.traces.table import Cells, GPUs, Number, Seconds, Text, gang, job, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord, Measurement

NAME = "shockwave"
ABOUT = "Shockwave's jobs with changing batch sizes (.trace, twelve fields), and its throughput table (.json)"
SOURCE = Source(
    name="Shockwave",
    url="https://github.com/uw-mad-dash/shockwave",
    licence="MIT",
    cite="Zheng et al., Shockwave, NSDI 2023",
    raw_units="seconds; tables: steps per second",
)
TWELVE = (
    "job_type",
    "command",
    "working_directory",
    "num_steps_arg",
    "needs_data_dir",
    "total_steps",
    "scale_factor",
    "mode",
    "priority_weight",
    "SLO",
    "duration",
    "arrival_time",
)


class _Row(Cells):
    job_type: Text
    total_steps: Seconds
    scale_factor: GPUs
    mode: Text
    priority_weight: Number
    SLO: Number
    duration: Seconds
    arrival_time: Number


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord | Measurement]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        if path.suffix == ".json":
            yield from measured(path)
            continue
        for line in rows(path, _Row, ledger, delimiter="\t", columns=TWELVE, quoted=False):
            row = line.cells
            yield from job(
                line,
                path,
                ledger,
                id=f"{path.stem}-{line.number:05}",
                submit_s=row.arrival_time,
                groups=gang(row.scale_factor),
                duration_s=row.duration,
                traced_type="v100",
                work=row.total_steps,
                work_unit="steps",
                model=row.job_type,
                batch_mode=row.mode,
                weight=row.priority_weight,
                deadline_factor=row.SLO if row.SLO > 0 else None,
            )
