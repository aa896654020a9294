"""The line of those who wait, first come first, and those who run on."""

from __future__ import annotations

import math

from gangplan.model.instance.instance import Instance
from gangplan.planning.policies.wishes import Free, Wish, wish_as_asked


def line_of(instance: Instance) -> list[Wish]:
    """Who waits and may start somewhere, with the ways of its request, in the order of arrival."""
    waiting = [j for j in range(len(instance.jobs)) if j not in instance.placements]
    waiting.sort(key=lambda j: (_came(instance, j), instance.jobs[j].name))
    return wish_as_asked(instance, waiting)


def staying(instance: Instance, free: Free) -> tuple[list[Wish], Free]:
    """A wish of everybody who runs for what it has, and what is free beside them all.

    Args:
        instance: of the round.
        free: devices beside those who may not be stopped.
    """
    wishes = []
    left = Free(list(free.by_kind))
    for j in sorted(instance.placements):
        job_class = instance.classes[int(instance.class_of_job[j])]
        wishes.append(Wish(j, ()))
        if job_class.must_stay or job_class.must_run:
            continue  # counted already
        left.keep(instance, j)
    return wishes, left


def _came(instance: Instance, j: int) -> float:
    came = instance.jobs[j].submit_time
    return math.inf if came is None else came
