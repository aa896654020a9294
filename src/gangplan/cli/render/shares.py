"""Fair shares as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gangplan.cli.render.figures import count, share

if TYPE_CHECKING:
    from gangplan.v1 import placement_service_pb2


def shares_tables(found: placement_service_pb2.ComputeFairSharesResponse) -> RenderableType:
    """Jobs, queues, and what there is to be shared."""
    usable = ", ".join(f"{count(n)} {kind}" for kind, n in sorted(found.usable_devices_by_type.items()))
    parts: list[RenderableType] = [Text(f"usable devices: {usable or 'none'}")]
    jobs = _table("job", "queue", "share", "devices", "rho", "device time", "throughput", "weight")
    for job in found.jobs:
        jobs.add_row(
            job.job,
            job.queue,
            share(job.share),
            f"{job.entitled_devices:.3g}",
            f"{job.fairness_ratio:.3f}",
            f"{job.device_time_ratio:.3f}",
            f"{job.effective_throughput_ratio:.3f}",
            f"{job.weight:.3f}",
        )
    parts.append(jobs)
    if found.queues:
        queues = _table("queue", "", "share", "devices", "owed / received")
        for queue in found.queues:
            queues.add_row(
                queue.queue, "", share(queue.share), f"{queue.devices:.3g}", f"{queue.service_ratio:.3f}"
            )
        parts += [Text(), queues]
    parts.append(
        Text(
            "rho, device time, throughput: owed over had if it waits this round; above 1 is too little", "dim"
        )
    )
    return Group(*parts)


def _table(*names: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(names):
        table.add_column(name, justify="left" if place < 2 else "right")
    return table
