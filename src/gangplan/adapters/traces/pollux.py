"""Pollux: elastic jobs that adapt their batch size, and the tables that say how fast and how well they learn.

Source: Qiao et al., *Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning*, OSDI 2021.
A workload has ``name``, ``time``, ``application``, ``num_replicas`` (GPUs asked for) and ``batch_size``
(total). There is no duration: a job ends with its application's last epoch, the work that it is given here.
A folder among the paths holds the tables (:mod:`~gangplan.adapters.traces.goodput_tables`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.goodput_tables import measured
from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import Cells, GPUs, Number, Text, gang, job, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord, Measurement

NAME = "pollux"
ABOUT = "Pollux' elastic jobs (workload-N.csv), and its folder of profiles"
SOURCE = Source(
    name="Pollux",
    url="https://github.com/petuum/adaptdl/tree/osdi21-artifact",
    licence="Apache-2.0",
    cite="Qiao et al., Pollux, OSDI 2021",
    raw_units="seconds",
)
EPOCHS = {"bert": 2, "cifar10": 100, "ncf": 10, "imagenet": 90, "deepspeech2": 80, "yolov3": 50}
"""The last epoch of each application."""


class Row(Cells):
    """A row of a workload; Sia's are alike."""

    name: Text
    time: Number
    application: Text
    num_replicas: GPUs
    batch_size: Number


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord | Measurement]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        if path.is_dir():
            yield from measured(path, ledger)
            continue
        for line in rows(path, Row, ledger):
            row = line.cells
            epochs = EPOCHS.get(row.application)
            yield from job(
                line,
                path,
                ledger,
                id=row.name,
                submit_s=row.time,
                groups=gang(row.num_replicas),
                work=epochs,
                work_unit="epochs" if epochs else "",
                model=row.application,
                batch_size=row.batch_size,
                batch_mode="goodput",
            )
