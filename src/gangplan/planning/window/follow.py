"""A policy that follows a schedule made beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.packing.assignment import Assignment, Placed, Spot
from gangplan.model.packing.fill import fill, stay_where_free
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.order import make_plan
from gangplan.model.packing.ways import is_way
from gangplan.planning.window.solve import Schedule


@dataclass(frozen=True, slots=True)
class Follow:
    """Gives every job the place that the schedule has for it in this round, and fills what is left.

    Jobs that lost work which the schedule does not know of may need more rounds than it has: they, too, get
    what is left.

    Attributes:
        schedule: on the grain of nodes.
        start: of round 0, seconds since the epoch.
        name: of the policy.
    """

    schedule: Schedule
    start: float
    name: str = "window"

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        number = round((round_.now - self.start) / round_.round_seconds)
        instance = build_instance(round_)
        wanted = self._wanted(instance, number)
        staying = {
            c
            for c, job_class in enumerate(instance.classes)
            if job_class.kept and wanted.get(job_class.jobs[0]) == _present(instance, job_class.jobs[0])
        }
        occupancy = Occupancy(instance, sorted(staying))
        placed: dict[int, Placed] = {}
        for j, spots in wanted.items():
            c = int(instance.class_of_job[j])
            if c in staying:
                continue
            job_class = instance.classes[c]
            ways = [k for k in range(job_class.start, job_class.stop) if is_way(instance, k, spots)]
            if ways and _has_room(occupancy, j, spots):
                placed[j] = Placed(max(ways, key=lambda k: float(instance.gain[k])), spots)
                occupancy.take_placed(j, placed[j])
        staying |= stay_where_free(occupancy, staying, placed)
        kept = frozenset(instance.classes[c].jobs[0] for c in staying)
        return make_plan(instance, fill(occupancy, Assignment(kept, placed), Fit.BEST))

    def _wanted(self, instance: Instance, number: int) -> dict[int, tuple[Spot, ...]]:
        """The places of this round by job."""
        window = self.schedule.window
        found: dict[int, tuple[Spot, ...]] = {}
        for job in window.jobs:
            j = instance.job_index.get(job.name)
            k = self.schedule.chosen[job.name][number] if number < window.rounds else -1
            if j is not None and k >= 0:
                spots = ((instance.nodes.index[node], (tasks,)) for node, tasks in job.ways[k].tasks)
                found[j] = tuple(sorted(spots))
        return found


def _present(instance: Instance, j: int) -> tuple[Spot, ...]:
    tasks: dict[int, int] = {}
    for placement in instance.placements[j]:
        node = instance.nodes.index[placement.node]
        tasks[node] = tasks.get(node, 0) + placement.tasks
    return tuple((node, (count,)) for node, count in sorted(tasks.items()))


def _has_room(occupancy: Occupancy, j: int, spots: tuple[Spot, ...]) -> bool:
    group = occupancy.instance.jobs[j].component.task_groups[0]
    each = group.resources_per_task
    need = (group.devices_per_task, each.cpu_milli, each.memory_bytes)
    return all(
        all(occupancy.free[node][r] >= amount * tasks[0] for r, amount in enumerate(need))
        for node, tasks in spots
    )
