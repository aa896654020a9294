"""Plans that serve jobs in a given order: the ground of the simple policies.

Each gets what it asks for, where that is worth most to it among the places with room; who runs stays where
it is, and is stopped only for somebody ahead of it. Nobody is moved and nobody is resized.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from gangplan.domain.job import Job
from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.instance.left import counted_left
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import place_gangs, stay_where_free
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.order import make_plan

Rank = Callable[[Instance, int], tuple[float | str, ...]]
"""What jobs, by their index, are sorted by: the least is served first."""


def serve_in_order(round_: Round, rank: Rank, *, preempt: bool, lease_seconds: float = 0.0) -> Plan:
    """Serve jobs one by one; who finds no room is passed by.

    Args:
        round_: a valid round.
        rank: their order; ties by name.
        preempt: whether who runs may be stopped for somebody ahead of it.
        lease_seconds: who was started less than so long ago is not stopped.
    """
    return _Service(build_instance(round_), rank, lease_seconds).plan(preempt=preempt)


def attained(instance: Instance, j: int) -> float:
    """Service that the job has had, device-seconds held (Tiresias, Gu et al., NSDI 2019, section 3.1).

    Where nobody says, by the work that is done, at its reference throughput.
    """
    job = instance.jobs[j]
    if job.service_received_device_seconds is not None:
        return job.service_received_device_seconds
    reference = _reference(instance, job)
    return job.work_done / reference * _devices(job) if reference > 0 else 0.0


def remaining(instance: Instance, j: int) -> float | None:
    """Seconds that the job still needs at its reference throughput; None: nobody knows."""
    job = instance.jobs[j]
    reference = _reference(instance, job)
    left = counted_left(job, instance.round.policy.fairness_quantile)
    return None if left is None or reference <= 0 else left / reference


def _reference(instance: Instance, job: Job) -> float:
    """Work units per second of the request on its best type, packed (decision 2)."""
    for group in job.component.task_groups:
        if group.devices_per_task:
            return instance.speeds.reference(group)
    return float(job.component.task_groups[0].count)


def _devices(job: Job) -> int:
    return max(1, sum(group.count * group.devices_per_task for group in job.component.task_groups))


class _Service:
    """One round, served in order."""

    def __init__(self, instance: Instance, rank: Rank, lease_seconds: float) -> None:
        self._instance = instance
        self._newest = instance.round.now - lease_seconds
        jobs = range(len(instance.jobs))
        self._order = sorted(jobs, key=lambda j: (*rank(instance, j), instance.jobs[j].name))
        self._place_of = {j: place for place, j in enumerate(self._order)}
        self._staying = {
            c: job_class.jobs[0] for c, job_class in enumerate(instance.classes) if job_class.kept
        }
        self._occupancy = Occupancy(instance, self._staying)
        self._placed: dict[int, Placed] = {}
        self._stops_left = instance.round.policy.disruption_limit

    def plan(self, *, preempt: bool) -> Plan:
        """The plan."""
        stopped: set[int] = set()
        for j in self._order:
            c = int(self._instance.class_of_job[j])
            if c in self._staying or c in stopped:
                continue
            if self._start(j, c):
                continue
            if preempt:
                stopped |= self._start_instead(j, c)
        # Nobody is stopped for nobody's good (property P5).
        staying = self._staying.keys() | stay_where_free(self._occupancy, self._staying, self._placed)
        kept = frozenset(self._instance.classes[c].jobs[0] for c in staying)
        return make_plan(self._instance, Assignment(kept, self._placed))

    def _start(self, j: int, c: int) -> bool:
        """Place the job on what is free; whether that went."""
        for k in self._ways(c):
            spots = next(place_gangs(self._occupancy, k, 1, Fit.BEST), None)
            if spots is not None:
                self._placed[j] = self._occupancy.placed(k, spots)
                return True
        return False

    def _ways(self, c: int) -> list[int]:
        """Options at the requested counts, the one worth most first; where there is none of these, all."""
        job_class, instance = self._instance.classes[c], self._instance
        groups = instance.jobs[job_class.jobs[0]].component.task_groups
        asked = tuple(group.count for group in groups)
        every = range(job_class.start, job_class.stop)
        exact = [k for k in every if instance.option_at(k).counts == asked]
        return sorted(exact or every, key=lambda k: (-instance.gain[k], k))

    def _start_instead(self, j: int, c: int) -> set[int]:
        """Stop those behind the job, last first, until it has room; nobody when that never helps."""
        behind = [
            other
            for other, runs in self._staying.items()
            if self._place_of[runs] > self._place_of[j]
            and not self._instance.classes[other].must_run
            and self._started(runs) <= self._newest
        ]
        behind.sort(key=lambda other: -self._place_of[self._staying[other]])
        gone: list[int] = []
        for other in behind:
            if self._stops_left is not None and len(gone) >= self._stops_left:
                break
            self._occupancy.leave(other)
            gone.append(other)
            if self._start(j, c):
                break
        if j in self._placed:
            if self._stops_left is not None:
                self._stops_left -= len(gone)
            for other in gone:
                del self._staying[other]
            return set(gone)
        for other in gone:
            self._occupancy.stay(other)
        return set()

    def _started(self, j: int) -> float:
        running = self._instance.jobs[j].running
        return -math.inf if running is None or running.started_at is None else running.started_at
