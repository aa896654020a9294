"""Helios: SenseTime's clusters, half a year of Slurm jobs.

Format: the README of github.com/S-Lab-System-Group/HeliosData (Hu et al., *Characterization and Prediction of
Deep Learning Workloads in Large-Scale GPU Datacenters*, SC 2021). ``cluster_log.csv``: ``job_id``, ``user``,
``vc``, ``gpu_num``, ``cpu_num``, ``node_num``, ``state``, ``submit_time``, ``start_time``, ``end_time``
(local wall clock), ``duration`` and ``queue`` (seconds).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.slurm_states import status_of
from gangplan.adapters.traces.table import (
    Cells,
    GPUs,
    Instant,
    MaybeInstant,
    MaybeSeconds,
    MaybeWhole,
    Text,
    gang,
    job,
    rows,
)
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord

NAME = "helios"
ABOUT = "SenseTime's Helios clusters (cluster_log.csv)"
SOURCE = Source(
    name="Helios",
    url="https://github.com/S-Lab-System-Group/HeliosData",
    licence="CC BY 4.0",
    cite="Hu et al., SC 2021",
    time_zero="1970-01-01, local wall clock read as UTC",
    raw_units="seconds",
)


class _Row(Cells):
    job_id: Text
    user: str
    vc: str
    gpu_num: GPUs
    cpu_num: MaybeWhole
    node_num: MaybeWhole
    state: Text
    submit_time: Instant
    start_time: MaybeInstant
    end_time: MaybeInstant
    duration: MaybeSeconds


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        for line in rows(path, _Row, ledger):
            row = line.cells
            if not row.gpu_num and not row.cpu_num:
                ledger.leave_out("jobs that ask for nothing")
                continue
            yield from job(
                line,
                path,
                ledger,
                id=row.job_id,
                submit_s=row.submit_time,
                groups=gang(row.gpu_num, row.node_num, row.cpu_num),
                duration_s=row.duration,
                user=row.user,
                queue=row.vc,
                status=status_of(row.state),
                start_s=row.start_time,
                end_s=row.end_time,
            )
