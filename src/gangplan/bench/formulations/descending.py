"""Greedy binding of chosen configurations: largest gangs first, each on the tightest nodes that take it.

What schedulers do whose programme knows no nodes (Sia, SOSP 2023, places allocations so after its programme).
It works on our exact node state, so that every device, CPU, byte and quota counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import fill, place_gangs, stay_where_free
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.resize import resize_in_place


@dataclass(frozen=True, slots=True)
class Bound:
    """Configurations on nodes.

    Attributes:
        assignment: before anything was filled.
        filled: the same after what it left free was filled by value per device.
        unbound_gangs: chosen gangs that found no nodes.
        unbound_devices: devices that those asked for.
    """

    assignment: Assignment
    filled: Assignment
    unbound_gangs: int
    unbound_devices: int


def bind_descending(instance: Instance, staying: set[int], chosen: Mapping[int, int]) -> Bound:
    """Bind ``chosen[k]`` gangs of every option ``k`` beside the running classes that stay.

    A running job whose gang finds no nodes stays where it is if its place is still free. One that must run is
    put back for certain: everything is bound anew around it. Such gangs still count as unbound.

    Args:
        instance: the round as arrays.
        staying: running classes that stay.
        chosen: gangs by index of the instance's option arrays.
    """
    put_back: set[int] = set()
    while True:
        rest = {k: n for k, n in chosen.items() if int(instance.option_class[k]) not in put_back}
        bound, homeless = _once(instance, staying | put_back, rest)
        if not homeless:
            break
        put_back |= homeless
    again = [k for k in chosen if int(instance.option_class[k]) in put_back]
    return Bound(
        bound.assignment,
        bound.filled,
        bound.unbound_gangs + len(again),
        bound.unbound_devices + sum(int(instance.devices[k]) for k in again),
    )


def _once(instance: Instance, staying: set[int], chosen: Mapping[int, int]) -> tuple[Bound, set[int]]:
    """Bind once; also the classes that must run and have no place."""
    occupancy = Occupancy(instance, staying)
    placed: dict[int, Placed] = {}
    members = {c: list(instance.classes[c].jobs) for c in {int(instance.option_class[k]) for k in chosen}}
    gangs = devices = 0
    for k in sorted(chosen, key=lambda k: (-int(instance.devices[k]), -float(instance.gain[k]), k)):
        c = int(instance.option_class[k])
        left = chosen[k]
        for spots in _places(occupancy, c, k, left):
            placed[members[c].pop(0)] = occupancy.placed(k, spots)
            left -= 1
        gangs += left
        devices += left * int(instance.devices[k])
    staying = staying | stay_where_free(occupancy, staying, placed)
    kept = frozenset(instance.classes[c].jobs[0] for c in staying)
    homeless = {
        c
        for c, job_class in enumerate(instance.classes)
        if job_class.must_run and c not in staying and job_class.jobs[0] not in placed
    }
    assignment = Assignment(kept=kept, placed=placed, unbound=gangs)
    filled = fill(occupancy, assignment, Fit.BEST)
    return Bound(assignment, filled, gangs, devices), homeless


def _places(
    occupancy: Occupancy, c: int, k: int, count: int
) -> list[tuple[tuple[int, tuple[int, ...]], ...]]:
    """Nodes for up to ``count`` gangs of option ``k``; a job that may not move is resized in place."""
    instance = occupancy.instance
    job_class = instance.classes[c]
    job = job_class.jobs[0]
    if not job_class.kept or instance.jobs[job].capabilities.movable:
        return list(place_gangs(occupancy, k, count, Fit.BEST))
    if not occupancy.members_allowed(job_class, instance.option_at(k)):
        return []
    spots = resize_in_place(occupancy, job, k)
    if spots is None:
        return []
    occupancy.take_quota(job_class, instance.option_at(k), 1)
    return [spots]
