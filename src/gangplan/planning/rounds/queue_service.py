"""What queues have received so far, decayed: the caller's part of fairness between queues."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from gangplan.domain.job import WHOLE_DEVICE, Job, TaskPlacement
from gangplan.domain.queue import Queue
from gangplan.planning.rounds.history import Arrival
from gangplan.planning.rounds.state import JobState, State

HALF_LIFE_SECONDS = 7 * 86_400.0
"""After so long a device-second counts half, as by default in Slurm (PriorityDecayHalfLife)."""


def with_service(
    queues: tuple[Queue, ...],
    arrivals: Mapping[str, Arrival],
    state: State,
    began: float,
    half_life: float = HALF_LIFE_SECONDS,
) -> tuple[Queue, ...]:
    """The queues with what their subtrees have received by ``state.now``, in device-seconds.

    Those that do not say what they had at first do not say it later either.

    Args:
        queues: as they were at first.
        arrivals: by job name.
        state: what has happened.
        began: when the history began, and the queues had what they say.
        half_life: seconds.
    """
    if all(queue.service_received is None for queue in queues):
        return queues
    parent = {queue.name: queue.parent for queue in queues}
    got = dict.fromkeys(parent, 0.0)
    for name, job in state.jobs.items():
        service = _service(arrivals[name].job, job, state.now, began, half_life)
        queue = arrivals[name].job.queue
        while queue is not None:
            got[queue] += service
            queue = parent[queue]
    faded = 0.5 ** ((state.now - began) / half_life)
    return tuple(
        queue
        if queue.service_received is None
        else replace(queue, service_received=queue.service_received * faded + got[queue.name])
        for queue in queues
    )


def _service(job: Job, state: JobState, now: float, began: float, half_life: float) -> float:
    """Decayed device-seconds of one job: the integral of what it held, each second faded since."""
    spans = [(span.begins, span.ends, span.placements) for span in state.spans]
    if state.running is not None:
        since = began if state.running.started_at is None else state.running.started_at
        spans.append((since, now, state.running.placements))
    rate = math.log(2.0) / half_life
    return math.fsum(
        _devices(job, placements)
        * (math.exp(rate * (ends - now)) - math.exp(rate * (max(begins, began) - now)))
        / rate
        for begins, ends, placements in spans
        if ends > began
    )


def _devices(job: Job, placements: tuple[TaskPlacement, ...]) -> float:
    milli = {group.name: group.device_milli for group in job.component.task_groups}
    return sum(place.tasks * milli[place.group] for place in placements) / WHOLE_DEVICE
