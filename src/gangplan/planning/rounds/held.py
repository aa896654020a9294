"""Who held which devices when, in a played history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gangplan.domain.job import WHOLE_DEVICE
from gangplan.planning.rounds.loop import Played


@dataclass(frozen=True, slots=True)
class Held:
    """Devices of one node that a job held.

    Attributes:
        job, node: their names.
        kind: accelerator type; empty: a node without devices.
        count: devices, parts counted as parts.
        devices: their indices; empty where the node reports none.
        begins, ends: seconds since the beginning of the history.
    """

    job: str
    node: str
    kind: str
    count: float
    devices: tuple[int, ...]
    begins: float
    ends: float


def held(played: Played) -> Iterator[Held]:
    """All that was held, job by job in order of submission; who still runs holds it until the end."""
    start, now = played.history.template.now, played.state.now
    kinds = {node.name: node.accelerator_type or "" for node in played.history.template.cluster.nodes}
    arrivals = sorted(played.history.arrivals, key=lambda a: (a.job.submit_time or 0.0, a.job.name))
    for arrival in arrivals:
        state = played.state.jobs.get(arrival.job.name)
        if state is None:
            continue
        each = {group.name: group.device_milli for group in arrival.job.component.task_groups}
        spans = [(span.begins, span.ends, span.placements) for span in state.spans]
        if state.running is not None:
            begins = start if state.running.started_at is None else state.running.started_at
            spans.append((begins, now, state.running.placements))
        for begins, ends, placements in spans:
            for one in placements:
                yield Held(
                    arrival.job.name,
                    one.node,
                    kinds.get(one.node, ""),
                    one.tasks * each[one.group] / WHOLE_DEVICE,
                    tuple(one.devices),
                    max(0.0, begins - start),
                    ends - start,
                )
