"""What each job would have had alone with its share: our own idea of that, and the peers'.

Ours is decision 11: a share of every type by weight among those who are there, integrated round by round. The
peers' are in :class:`Paces`, for their own measures of fairness (:mod:`gangplan.planning.metrics`).
"""

from __future__ import annotations

from dataclasses import replace

from gangplan.domain.job import Job
from gangplan.domain.topology import NODE
from gangplan.model.verifier.facts import job_size
from gangplan.model.verifier.throughput import Throughput
from gangplan.planning.rounds.history import History
from gangplan.planning.rounds.state import FairSelf


def integrated(fair: FairSelf, work: float | None, isolated: float, age: float, seconds: float) -> FairSelf:
    """The fair self after so many seconds more (decision 11).

    Args:
        fair: before.
        work: all its work; None: unknown, then it is never done.
        isolated: x_iso, work units per second.
        age: of the job at the beginning, seconds.
        seconds: how many.
    """
    if fair.finish_age is not None:
        return fair
    left = None if work is None else max(0.0, work - fair.progress)
    if left is not None and isolated > 0 and left <= isolated * seconds:
        return FairSelf(fair.progress + left, age + left / isolated)
    return replace(fair, progress=fair.progress + isolated * seconds)


def revised(fair: FairSelf, work: float | None, isolated: float, age: float) -> FairSelf:
    """The fair self when the work is thought to be more than it was: as if it had gone on without a pause.

    Args:
        fair: at ``age``.
        work: all its work, as it is thought of now; None: unknown.
        isolated: x_iso, work units per second.
        age: of the job now, seconds.
    """
    if fair.finish_age is None or work is None or isolated <= 0 or work <= fair.progress:
        return fair
    since = max(0.0, age - fair.finish_age)
    more = work - fair.progress
    if more <= isolated * since:
        return FairSelf(work, fair.finish_age + more / isolated)
    return FairSelf(fair.progress + isolated * since)


def completed(fair: FairSelf, work: float, isolated: float, age: float) -> FairSelf:
    """The fair self of a job that has ended before it, done at the pace that it has (decision 11).

    Args:
        fair: at ``age``.
        work: all its work.
        isolated: x_iso, work units per second; with 0 it is never done.
        age: seconds.
    """
    if fair.finish_age is not None or isolated <= 0:
        return fair
    left = max(0.0, work - fair.progress)
    return FairSelf(fair.progress + left, age + left / isolated)


class Paces:
    """How fast each job of a history runs alone on a type; packed, whatever is free.

    Args:
        history: its jobs, profiles and cluster. Nodes that fail count as if they did not.
    """

    def __init__(self, history: History) -> None:
        self._throughput = Throughput(history.template)
        self._policy = history.template.policy
        self._jobs = {arrival.job.name: arrival.job for arrival in history.arrivals}
        self._known: dict[str, dict[str, list[tuple[int, int, float]]]] = {}
        self.capacity: dict[str, int] = {}
        for node in history.template.cluster.nodes:
            if node.accelerator_type is not None and node.usable_device_count:
                had = self.capacity.get(node.accelerator_type, 0)
                self.capacity[node.accelerator_type] = had + node.usable_device_count

    def size(self, name: str) -> float:
        """Devices that the job asks for (decision 41)."""
        return job_size(self._jobs[name], self._policy)

    def reference(self, name: str) -> float:
        """Work units per second of the request on its best type that the cluster has; 0: on none."""
        size = self.size(name)
        here = [x for ways in self._ways(name).values() for _, devices, x in ways if devices == size]
        return max(here, default=0.0)

    def on_share(self, name: str, kind: str, devices: float) -> float:
        """Work units per second with so many devices of a type; a gang larger than that runs time-shared."""
        found = [min(1.0, devices / needed) * x for _, needed, x in self._ways(name).get(kind, ()) if needed]
        return max(found, default=0.0)

    def proportional(self, name: str, jobs: int) -> float:
        """Work units per second with an equal share of the time of every device, over all types.

        The isolated allocation of Gavel (Narayanan et al., OSDI 2020, section 4.1 and its public code): of
        type t the job has the share of time N_t / (jobs * gang), cut in proportion where they sum to more
        than 1.
        """
        size = self.size(name)
        shares = {kind: count / (jobs * size) for kind, count in self.capacity.items() if size}
        whole = max(1.0, sum(shares.values()))
        rates = {
            kind: max((x for _, devices, x in ways if devices == size), default=0.0)
            for kind, ways in self._ways(name).items()
        }
        return sum(share / whole * rates.get(kind, 0.0) for kind, share in shares.items())

    def _ways(self, name: str) -> dict[str, list[tuple[int, int, float]]]:
        """By type that the cluster has: tasks of the first group, devices, work units per second, packed."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._ways_of(self._jobs[name])
        return found

    def _ways_of(self, job: Job) -> dict[str, list[tuple[int, int, float]]]:
        component = job.component
        with_devices = [group for group in component.task_groups if group.devices_per_task]
        requested = {group.name: group.count for group in component.task_groups}
        found: dict[str, list[tuple[int, int, float]]] = {}
        for kind in self.capacity:
            if any(kind not in self._throughput.types(group) for group in with_devices):
                continue
            types: dict[str, str | None] = {group.name: kind for group in with_devices}
            single = len(with_devices) == 1
            for count in with_devices[0].allowed_counts if single else (0,):
                counts = requested | ({with_devices[0].name: count} if single else {})
                devices = sum(counts[group.name] * group.devices_per_task for group in with_devices)
                x = self._throughput.of_gang(component, counts, types, NODE)[1]
                if x > 0:
                    found.setdefault(kind, []).append((count, devices, x))
        return found
