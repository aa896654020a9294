"""Adopt somebody else's plan: match its actions to our options, and complete it.

A plan from outside may be partial, out of date or wrong. What it says of a job counts where it is one of the
job's options, on nodes that take it, with room left; everything else it says is dropped. Device indices,
scopes and waits are ours to find.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from gangplan.domain.job import TaskPlacement
from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.model.formulation.nesting import is_nested, present_tasks
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed, Spot
from gangplan.model.packing.fill import fill, stay_where_free
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.resize import amounts
from gangplan.model.packing.ways import is_way
from gangplan.model.program import IntArray

_STARTS = frozenset({ActionKind.KEEP, ActionKind.PLACE, ActionKind.MIGRATE, ActionKind.RESIZE})


@dataclass(frozen=True, slots=True)
class Adopted:
    """What became of a plan.

    Attributes:
        assignment: complete, and meant to break no rule; the verifier has the last word.
        dropped: actions that name no job, say nothing that the job may do, or found no room.
    """

    assignment: Assignment
    dropped: int


def adopt(instance: Instance, plan: Plan, order: IntArray | None = None) -> Adopted:
    """Make a plan our own.

    Running jobs that it does not mention stay where they are, if their place is still free. Where that would
    stop one that may not stop, or more than the disruption limit allows, they come first, and if need be all
    who run. What is free in the end is filled with waiting jobs.

    Args:
        instance: the round as arrays.
        plan: actions for any jobs.
        order: positions of options in the order in which free room is filled; None: as keep and fill does.
    """
    wanted = _read(instance, plan)
    if order is not None:
        order = order[~instance.kept[instance.option_class[order]]]  # who runs is not filled in elsewhere
    mentioned = wanted.stays | wanted.leaves | {int(instance.class_of_job[j]) for j in wanted.places}
    running = set(np.flatnonzero(instance.kept).tolist())
    moves = {int(instance.class_of_job[j]) for j in wanted.places} & running
    must = {c for c in running if instance.classes[c].must_run}
    limit = instance.round.policy.disruption_limit
    for held in (wanted.stays | (must - moves), running - wanted.leaves - moves):
        found, dropped = _complete(instance, held, wanted.places, running - mentioned, order)
        stopped = sum(instance.classes[c].jobs[0] not in found.kept for c in running)
        runs = found.kept | found.placed.keys()
        if all(instance.classes[c].jobs[0] in runs for c in must) and (limit is None or stopped <= limit):
            return Adopted(found, wanted.dropped + dropped)
    starts = {
        j: placed for j, placed in wanted.places.items() if int(instance.class_of_job[j]) not in running
    }
    found, dropped = _complete(instance, running - wanted.leaves, starts, set(), order)
    return Adopted(found, wanted.dropped + dropped + len(wanted.places) - len(starts))


def as_assigned(instance: Instance, plan: Plan) -> Assignment | None:
    """Exactly what a plan decides; None where it names a job or a place that is none of our options."""
    kept: set[int] = set()
    placed: dict[int, Placed] = {}
    for action in plan.actions:
        if action.kind not in _STARTS:
            continue
        j = instance.job_index.get(action.job, -1)
        spots = _spots(instance, j, action) if j >= 0 else None
        if spots is None or j in kept or j in placed:
            return None
        here = j in instance.placements and spots == _present(instance, j)
        if here and (action.kind is ActionKind.KEEP or instance.jobs[j].running is None):
            kept.add(j)
            continue
        k = _option(instance, j, spots)
        if k is None:
            return None
        placed[j] = Placed(k, spots, _part_of(instance, j, action))
    return Assignment(kept=frozenset(kept), placed=placed)


@dataclass(slots=True)
class _Wanted:
    """What a plan says that can be.

    Attributes:
        stays, leaves: classes of running jobs that it keeps and evicts.
        places: new places by job, in its order.
        dropped: actions that cannot be.
    """

    stays: set[int] = field(default_factory=set)
    leaves: set[int] = field(default_factory=set)
    places: dict[int, Placed] = field(default_factory=dict)
    dropped: int = 0


def _read(instance: Instance, plan: Plan) -> _Wanted:
    wanted = _Wanted()
    limit = instance.round.policy.disruption_limit
    seen: set[int] = set()
    disruptions = 0
    for action in plan.actions:
        j = instance.job_index.get(action.job, -1)
        if j < 0 or j in seen:
            wanted.dropped += 1
            continue
        seen.add(j)
        c = int(instance.class_of_job[j])
        kept = bool(instance.kept[c])
        if action.kind is ActionKind.EVICT:
            free = kept and not instance.classes[c].must_run and (limit is None or disruptions < limit)
            if free:
                wanted.leaves.add(c)
                disruptions += 1
            elif kept or j not in instance.forced:
                wanted.dropped += 1
            continue
        spots = _spots(instance, j, action)
        if spots is not None and kept and spots == _present(instance, j):
            wanted.stays.add(c)
            continue
        k = None if spots is None else _option(instance, j, spots)
        if spots is None or k is None or (kept and limit is not None and disruptions >= limit):
            wanted.dropped += 1
            continue
        wanted.places[j] = Placed(k, spots, _part_of(instance, j, action))
        disruptions += kept
    return wanted


def _complete(
    instance: Instance,
    held: Iterable[int],
    places: dict[int, Placed],
    unmentioned: set[int],
    order: IntArray | None,
) -> tuple[Assignment, int]:
    """Hold, place, let stay, and fill; and how many places had no room."""
    staying = set(held)
    occupancy = Occupancy(instance, sorted(staying))
    placed: dict[int, Placed] = {}
    homeless = set()
    for j, place in places.items():
        if _has_room(occupancy, j, place):
            placed[j] = occupancy.take_placed(j, place)
        elif instance.kept[instance.class_of_job[j]]:
            homeless.add(int(instance.class_of_job[j]))
    for c in sorted((unmentioned | homeless) - staying):
        if occupancy.can_stay(c):
            occupancy.stay(c)
            staying.add(c)
    kept = frozenset(instance.classes[c].jobs[0] for c in staying)
    filled = fill(occupancy, Assignment(kept=kept, placed=placed), Fit.BEST, order)
    # Who was to leave and whose place nobody took stays: nobody is stopped for nobody's good (property P5).
    staying |= stay_where_free(occupancy, staying, filled.placed)
    kept = frozenset(instance.classes[c].jobs[0] for c in staying)
    return Assignment(kept=kept, placed=filled.placed), len(places) - len(placed)


def _has_room(occupancy: Occupancy, j: int, place: Placed) -> bool:
    instance = occupancy.instance
    job_class = instance.classes[int(instance.class_of_job[j])]
    if occupancy.members_allowed(job_class, instance.option_at(place.option)) < 1:
        return False
    block = instance.block_index[instance.option_at(place.option).demands[0].block]
    if occupancy.is_part(block):
        return bool(occupancy.copies(block, np.array([place.spots[0][0]])).all())
    return all((occupancy.free[node] >= amounts(instance, j, tasks)).all() for node, tasks in place.spots)


def _spots(instance: Instance, j: int, action: Action) -> tuple[Spot, ...] | None:
    """Tasks by node, in order of the nodes; None where there is no such node, group or number."""
    return None if action.kind not in _STARTS else _tasks_by_node(instance, j, action.placements)


def _present(instance: Instance, j: int) -> tuple[Spot, ...] | None:
    return _tasks_by_node(instance, j, instance.placements[j])


def _tasks_by_node(
    instance: Instance, j: int, placements: Iterable[TaskPlacement]
) -> tuple[Spot, ...] | None:
    groups = {group.name: g for g, group in enumerate(instance.jobs[j].component.task_groups)}
    found: dict[int, list[int]] = {}
    for placement in placements:
        node, g = instance.nodes.index.get(placement.node), groups.get(placement.group)
        if node is None or g is None or placement.tasks < 1:
            return None
        found.setdefault(node, [0] * len(groups))[g] += placement.tasks
    return tuple((node, tuple(tasks)) for node, tasks in sorted(found.items())) or None


def _part_of(instance: Instance, j: int, action: Action) -> int:
    """The device of which the action gives the job a part; -1 where it takes none, or none is named."""
    group = instance.jobs[j].component.task_groups[0]
    devices = [device for placement in action.placements for device in placement.devices]
    return devices[0] if group.device_share is not None and len(devices) == 1 else -1


def _option(instance: Instance, j: int, spots: tuple[Spot, ...]) -> int | None:
    """The best option of the job that these spots are a way of taking; None when there is none."""
    c = int(instance.class_of_job[j])
    job_class = instance.classes[c]
    if (
        job_class.kept
        and not instance.jobs[j].capabilities.movable
        and not is_nested(present_tasks(instance, j), dict(spots))
    ):
        return None
    best = None
    for k in range(job_class.start, job_class.stop):
        if (best is None or instance.gain[k] > instance.gain[best]) and is_way(instance, k, spots):
            best = k
    return best
