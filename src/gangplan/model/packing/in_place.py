"""Resizing in place instead of elsewhere: the same option, the same value, nobody's room (decision 18)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gangplan.model.formulation.nesting import is_nested, present_tasks
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.occupancy import Occupancy
from gangplan.model.packing.resize import amounts, resize_in_place
from gangplan.model.packing.ways import is_way


def prefer_in_place(occupancy: Occupancy, assignment: Assignment) -> Assignment:
    """Let jobs that get another count somewhere else have it where they are, if there is room in the end.

    Args:
        occupancy: what is free beside everybody; changed.
        assignment: who runs where.
    """
    instance = occupancy.instance
    placed = dict(assignment.placed)
    for j in sorted(placed.keys() & instance.placements.keys()):
        before, now = present_tasks(instance, j), placed[j]
        if _counts(before) == instance.option_at(now.option).counts or is_nested(before, dict(now.spots)):
            continue
        free = occupancy.free.copy()
        _give_back(instance, occupancy, j, now)
        spots = resize_in_place(occupancy, j, now.option)
        if spots is not None and is_way(instance, now.option, spots):
            placed[j] = Placed(now.option, spots)
        else:
            occupancy.free[:] = free
    return replace(assignment, placed=placed)


def _counts(tasks: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(np.array(list(tasks.values())).sum(axis=0).tolist())


def _give_back(instance: Instance, occupancy: Occupancy, j: int, placed: Placed) -> None:
    occupancy.note(node for node, _ in placed.spots)
    for node, tasks in placed.spots:
        occupancy.free[node] += amounts(instance, j, tasks)
