"""Plain greedies by value per device: what a scheduler without optimisation does.

``keep_and_fill`` leaves everything where it runs and places waiting jobs on what is free, best value per
device first (our own floor, decision 22). ``from_empty`` forgets who runs where and places all jobs anew into
an empty cluster, in the same order, as schedulers do that sort a queue every round. A running job ranks by
what it is worth over being stopped, so that what a stop loses (moved or not) is in no rank; the verifier then
charges all its moves. Jobs that may neither be stopped nor moved stay, also in the second; with a disruption
limit only so many jobs are taken up, those of least value per device.
"""

from __future__ import annotations

import time

import numpy as np

from gangplan.bench.formulations.rival import Answer, Limits
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import by_density, fill, keep_and_fill, place_gangs, stay_where_free
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.order import make_plan


def keep_then_fill(instance: Instance, solver: str, limits: Limits) -> Answer:
    """Keep everything, fill what is free."""
    began = time.perf_counter()
    plan = make_plan(instance, keep_and_fill(instance))
    return Answer(plan, bind_seconds=time.perf_counter() - began)


def from_empty(instance: Instance, solver: str, limits: Limits) -> Answer:
    """Place all jobs anew, best value per device first, first fit."""
    began = time.perf_counter()
    plan = make_plan(instance, _place_all(instance))
    return Answer(plan, bind_seconds=time.perf_counter() - began)


def _place_all(instance: Instance) -> Assignment:
    leaving = _leaving(instance)
    kept = {c for c, job_class in enumerate(instance.classes) if job_class.kept}
    staying = kept - leaving
    occupancy = Occupancy(instance, staying)
    left = {c: list(job_class.jobs) for c, job_class in enumerate(instance.classes) if c not in staying}
    placed: dict[int, Placed] = {}
    full: set[int] = set()
    for k in by_density(instance).tolist():
        c, distinct = int(instance.option_class[k]), int(instance.option[k])
        if not left.get(c) or distinct in full:
            continue
        allowed = min(len(left[c]), occupancy.members_allowed(instance.classes[c], instance.option_at(k)))
        spots = list(place_gangs(occupancy, k, allowed, Fit.FIRST)) if allowed else []
        for where in spots:
            placed[left[c].pop(0)] = occupancy.placed(k, where)
        if len(spots) < allowed:
            full.add(distinct)
    staying |= stay_where_free(occupancy, staying, placed)
    stays = frozenset(instance.classes[c].jobs[0] for c in staying)
    return fill(occupancy, Assignment(kept=stays, placed=placed), Fit.FIRST)


def _leaving(instance: Instance) -> set[int]:
    """Running classes that are taken up: all that may be stopped and moved, up to the disruption limit."""
    held = np.array([max(1, sum(a[0] for a in use.values())) for use in instance.keep_use], dtype=np.float64)
    density = instance.keep_gain / held if len(held) else held
    may = [
        c
        for c, job_class in enumerate(instance.classes)
        if job_class.kept and not job_class.must_run and instance.jobs[job_class.jobs[0]].capabilities.movable
    ]
    may.sort(key=lambda c: (float(density[c]), c))
    return set(may[: instance.round.policy.disruption_limit])
