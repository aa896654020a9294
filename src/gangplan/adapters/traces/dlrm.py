"""Alibaba's disaggregated recommendation models: serving instances with limits on how many share a node.

Source: the folder ``cluster-trace-gpu-v2025`` of Alibaba's cluster data. One row per instance:
``instance_sn``, ``role`` (CN: without a GPU, HN: with one), ``app_name``, requests and limits of CPU, GPU,
RDMA (percent of a card), memory and disk (GiB), ``max_instance_per_node`` (-1: no limit), ``creation_time``,
``scheduled_time``, ``deletion_time``. An instance without creation time is older than the trace, one without
deletion time is still there at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import Cells, GPUs, MaybeSeconds, Number, Seconds, Text, gib, job, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import Group, JobRecord

NAME = "dlrm"
ABOUT = "Alibaba's DLRM serving instances (disaggregated_DLRM_trace.csv)"
SOURCE = Source(
    name="Alibaba DLRM 2025",
    url="https://github.com/alibaba/clusterdata",
    licence="none stated",
    raw_units="seconds, CPUs, GiB, RDMA in percent of a card",
)


class _Row(Cells):
    instance_sn: Text
    role: Literal["CN", "HN"]
    app_name: Text
    cpu_request: Seconds
    gpu_request: GPUs
    memory_request: Seconds
    max_instance_per_node: Number
    creation_time: MaybeSeconds
    scheduled_time: MaybeSeconds
    deletion_time: MaybeSeconds


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        for line in rows(path, _Row, ledger):
            row = line.cells
            limit = int(row.max_instance_per_node)
            ran = None
            if row.deletion_time is not None and row.scheduled_time is not None:
                ran = row.deletion_time - row.scheduled_time
            group = Group(
                name=row.role,
                gpus_per_task=row.gpu_request,
                cpu_milli=round(1000 * row.cpu_request),
                memory_bytes=gib(row.memory_request),
            )
            yield from job(
                line,
                path,
                ledger,
                id=row.instance_sn,
                submit_s=row.creation_time or 0.0,
                older=row.creation_time is None,
                groups=(group,),
                duration_s=ran,
                open_ended=row.deletion_time is None,
                model=row.app_name,
                max_per_node=limit if limit > 0 else None,
                status="completed" if row.deletion_time is not None else "running",
                start_s=row.scheduled_time,
                end_s=row.deletion_time,
            )
