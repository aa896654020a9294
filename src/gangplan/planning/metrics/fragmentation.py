"""Free devices that a typical job could not use, and what the used ones cost, over a played history."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from gangplan.domain.job import WHOLE_DEVICE, Job, TaskPlacement
from gangplan.planning.rounds.loop import Played
from gangplan.planning.rounds.state import Span

_HOUR = 3600.0


def fragmentation(played: Played) -> float:
    """Share of all device-seconds, from the first to the last start, free and of no use to a typical job.

    Weng et al., *Beware of Fragmentation* (USENIX ATC 2023, section 4.1): on a node, the devices left that a
    task cannot use, over the tasks of the workload by how often they occur. Here a task is what the history's
    jobs put on one node when they are packed: all that they ask for, or a whole node of the largest. Nodes
    that fail count as if they did not; parts of devices count as parts.
    """
    template = played.history.template
    room = {n.name: float(n.usable_device_count) for n in template.cluster.nodes if n.usable_device_count}
    largest = max(room.values(), default=0.0)
    blocks = Counter(min(played.paces.size(arrival.job.name), largest) for arrival in played.history.arrivals)
    typical = sum(blocks.values())
    changes: list[tuple[float, str, float]] = []
    jobs = {arrival.job.name: arrival.job for arrival in played.history.arrivals}
    for name, span in _spans(played):
        for node, devices in _held(jobs[name], span.placements).items():
            if node in room:
                changes += [(span.begins, node, -devices), (span.ends, node, devices)]
    changes.sort()
    if not changes or not typical:
        return 0.0
    free, lost = dict(room), {node: _lost(left, blocks) / typical for node, left in room.items()}
    total, wasted, at = math.fsum(lost.values()), 0.0, changes[0][0]
    for time, node, change in changes:
        wasted += total * (time - at)
        at = time
        free[node] += change
        now = _lost(free[node], blocks) / typical
        total += now - lost[node]
        lost[node] = now
    seconds = changes[-1][0] - changes[0][0]
    return max(0.0, wasted / (seconds * math.fsum(room.values()))) if seconds > 0 else 0.0


def cost_micros(played: Played) -> float | None:
    """Millionths of the currency that the devices held have cost by the hour; None: no type has a price."""
    template = played.history.template
    prices = {kind.name: kind.price_micros_per_hour for kind in template.accelerators}
    if not any(prices.values()):
        return None
    kinds = {node.name: node.accelerator_type for node in template.cluster.nodes}
    jobs = {arrival.job.name: arrival.job for arrival in played.history.arrivals}
    return math.fsum(
        devices * (span.ends - span.begins) / _HOUR * (prices.get(kinds[node] or "") or 0)
        for name, span in _spans(played)
        for node, devices in _held(jobs[name], span.placements).items()
    )


def _lost(free: float, blocks: Counter[float]) -> float:
    """Devices free on a node times the jobs whose block does not fit there."""
    return free * sum(times for block, times in blocks.items() if block > free + 1e-9)


def _spans(played: Played) -> Iterable[tuple[str, Span]]:
    """Every time for which a job held the same devices; those that still run, until now."""
    for name, state in played.state.jobs.items():
        for span in state.spans:
            yield name, span
        if state.running is not None and state.running.started_at is not None:
            since = max(state.running.started_at, played.history.template.now)
            yield name, Span(since, played.state.now, state.running.placements, state.throughput)


def _held(job: Job, placements: tuple[TaskPlacement, ...]) -> dict[str, float]:
    """Devices by node, parts of one counted as parts."""
    milli = {group.name: group.device_milli for group in job.component.task_groups}
    found: dict[str, float] = {}
    for place in placements:
        held = place.tasks * milli[place.group] / WHOLE_DEVICE
        if held:
            found[place.node] = found.get(place.node, 0.0) + held
    return found
