"""Pollux' tables of step times and of training progress, which Sia uses, too.

A folder has one folder per application, and these the tables ``placements*.csv`` (``placement``: GPUs on each
node, one digit a node; ``local_bsz``, ``step_time``, ``sync_time``), ``scalability*.csv`` (``num_nodes``,
``num_replicas`` in its place) and ``validation-<batch size>.csv`` (``progress``, ``iteration``, ``metric``,
``grad_sqr``, ``grad_var``, one row per epoch). What follows ``placements-`` and ``scalability-`` is the
cluster where it was measured. Columns come in any order. Throughput is GPUs x local batch size / step time
(Qiao et al., *Pollux*, OSDI 2021, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gangplan.adapters.traces.table import Cells, Number, Seconds, Text, Whole, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import Measurement

_OWN_CLUSTER = "t4"
"""Where tables without a cluster in their names were measured: servers of four T4."""


class _Placement(Cells):
    placement: Text
    local_bsz: Number
    step_time: Seconds
    sync_time: Seconds


class _Scalability(Cells):
    num_nodes: Whole
    num_replicas: Whole
    local_bsz: Number
    step_time: Seconds
    sync_time: Seconds


class _Epoch(Cells):
    progress: Number
    iteration: Number
    metric: Number
    grad_sqr: Number
    grad_var: Number


def measured(folder: Path, ledger: Ledger) -> Iterator[Measurement]:
    """Every row of every table in a folder of applications."""
    for table in sorted(folder.glob("*/*.csv")):
        kind, _, rest = table.stem.partition("-")
        if kind == "placements":
            yield from _placements(table, rest or _OWN_CLUSTER, ledger)
        elif kind == "scalability":
            yield from _scalability(table, rest or _OWN_CLUSTER, ledger)
        elif kind == "validation" and rest.isdigit():
            yield from _epochs(table, int(rest), ledger)
        else:
            ledger.leave_out(f"files that are no table of Pollux, as {table.name}")


def _placements(path: Path, cluster: str, ledger: Ledger) -> Iterator[Measurement]:
    for line in rows(path, _Placement, ledger):
        row = line.cells
        if not row.placement.isdigit():
            ledger.refuse(f"{path}:{line.number}", f"placement: {row.placement!r} is no digit for each node")
            continue
        gpus = sum(map(int, row.placement))
        yield Measurement(
            table="placement",
            model=path.parent.name,
            accelerator=cluster,
            gpus=gpus,
            nodes=len(row.placement.replace("0", "")),
            placement=row.placement,
            batch_size_per_gpu=row.local_bsz,
            throughput=gpus * row.local_bsz / row.step_time if row.step_time > 0 else None,
            unit="samples",
            step_s=row.step_time,
            sync_s=row.sync_time,
            raw=line.raw,
        )


def _scalability(path: Path, cluster: str, ledger: Ledger) -> Iterator[Measurement]:
    for line in rows(path, _Scalability, ledger):
        row = line.cells
        yield Measurement(
            table="scalability",
            model=path.parent.name,
            accelerator=cluster,
            gpus=row.num_replicas,
            nodes=row.num_nodes,
            batch_size_per_gpu=row.local_bsz,
            throughput=row.num_replicas * row.local_bsz / row.step_time if row.step_time > 0 else None,
            unit="samples",
            step_s=row.step_time,
            sync_s=row.sync_time,
            raw=line.raw,
        )


def _epochs(path: Path, batch_size: int, ledger: Ledger) -> Iterator[Measurement]:
    for epoch, line in enumerate(rows(path, _Epoch, ledger), 1):
        yield Measurement(
            table="validation",
            model=path.parent.name,
            batch_size=batch_size,
            epoch=epoch,
            raw=line.raw,
        )
