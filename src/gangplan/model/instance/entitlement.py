"""What every job and every queue is owed: shares that go down the tree of queues."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from gangplan.domain.job import WHOLE_DEVICE, Component, Job
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.model.instance.throughput import Speeds
from gangplan.model.program import FloatArray

RATIO_CLIP = (0.25, 8.0)


class Entitlement:
    """Shares of the cluster, computed when a form of fairness asks.

    At every node of the tree of queues, its child queues that have jobs share by their weights what the node
    has; the jobs that are in the node itself count together as one more child of weight 1, and share by their
    base weights. The jobs without a queue are those of the tree's root.

    Args:
        round_: the round.
        jobs: in the order of all job arrays.
        base: shape (jobs,), base weights; 0 for who does not contend, and is owed nothing.
        speeds: throughput of any group anywhere.
        fleet: usable devices by type.
    """

    def __init__(
        self, round_: Round, jobs: Sequence[Job], base: FloatArray, speeds: Speeds, fleet: Mapping[int, int]
    ) -> None:
        self._round, self._jobs, self._base, self._speeds, self._fleet = round_, jobs, base, speeds, fleet
        self._children: dict[str | None, list[Queue]] = defaultdict(list)
        for queue in sorted(round_.queues, key=lambda queue: queue.name):
            self._children[queue.parent].append(queue)
        self._shares: FloatArray | None = None

    @cached_property
    def _members(self) -> dict[str | None, list[int]]:
        """Who contends in each queue, ascending."""
        found: dict[str | None, list[int]] = defaultdict(list)
        for j in np.flatnonzero(self._base).tolist():
            found[self._jobs[j].queue].append(j)
        return found

    def shares(self) -> FloatArray:
        """The fraction of the cluster that each job is owed, shape (jobs,); they add up to 1."""
        if self._shares is None:
            self._shares = np.zeros(len(self._jobs))
            self._share_out(None, 1.0, self._shares)
        return self._shares

    def _share_out(self, node: str | None, fraction: float, shares: FloatArray) -> None:
        mine = self._members.get(node, [])
        children = [child for child in self._children[node] if self._has_jobs(child.name)]
        total = sum(child.weight for child in children) + (1.0 if mine else 0.0)
        if mine:
            base = self._base[mine]
            shares[mine] = fraction / total * base / base.sum()
        for child in children:
            self._share_out(child.name, fraction * child.weight / total, shares)

    def _has_jobs(self, node: str) -> bool:
        return bool(self._members.get(node)) or any(
            self._has_jobs(child.name) for child in self._children[node]
        )

    def devices(self) -> FloatArray:
        """Devices owed, of the types that each job may use and no more than it asks for, shape (jobs,)."""
        usable: dict[object, tuple[float, float]] = {}
        owed = np.zeros(len(self._jobs))
        for j, share in enumerate(self.shares().tolist()):
            component = self._jobs[j].component
            key = _what_counts(component)
            if key not in usable:
                types = {
                    t
                    for g in component.task_groups
                    if g.devices_per_task
                    for t in self._speeds.allowed_types(g)
                }
                usable[key] = (float(sum(self._fleet.get(t, 0) for t in types)), _asked(component))
            fleet, asked = usable[key]
            owed[j] = min(asked, share * fleet)
        return owed

    def equal_rate(self) -> FloatArray:
        """Work units per second with an equal share of every type (X-equal of Gavel), shape (jobs,)."""
        rates: dict[object, tuple[FloatArray, FloatArray]] = {}
        found = np.zeros(len(self._jobs))
        for j, share in enumerate(self.shares().tolist()):
            key = _what_counts(self._jobs[j].component)
            if key not in rates:
                rates[key] = self._by_type(self._jobs[j].component)
            rate, part = rates[key]
            if len(rate):
                found[j] = float(rate @ part) * share / max(1.0, share * float(part.sum()))
        return found

    def _by_type(self, component: Component) -> tuple[FloatArray, FloatArray]:
        """Throughput on each type on which the gang runs, and how many of it the fleet holds."""
        groups = [group for group in component.task_groups if group.devices_per_task]
        if not groups:
            return np.zeros(0), np.zeros(0)
        packed = len(self._speeds.scopes) - 1
        references = [self._speeds.reference(group) for group in groups]
        rate, part = [], []
        for t in set.intersection(*(set(self._speeds.allowed_types(group)) for group in groups)):
            x = [self._speeds.group(group, t, group.count, packed) for group in groups]
            if min(x) > 0.0 and self._fleet.get(t, 0):
                relative = min(a / b for a, b in zip(x, references, strict=True))
                rate.append(relative * references[0])
                part.append(self._fleet[t] / _asked(component))
        return np.array(rate), np.array(part)

    def queue_ratios(self, power: float) -> FloatArray:
        """What each job's queue is owed over what it has received, to ``power``, shape (jobs,).

        At every level the siblings that have jobs and say what they have received are compared: the share
        owed by weight over the share received, with one round of what is owed added to each one's service,
        so that two new queues are equal. Ratios multiply down the tree, and are clipped to [1/4, 8] as rho
        is. The measure is that of Slurm's fair tree (usage over shares, decayed).
        """
        ratios = np.ones(len(self._jobs))
        if power > 0.0 and any(queue.service_received is not None for queue in self._round.queues):
            self._compare(None, 1.0, ratios)
        return np.clip(ratios, *RATIO_CLIP) ** power

    def _compare(self, node: str | None, ratio: float, ratios: FloatArray) -> None:
        ratios[self._members.get(node, [])] = ratio
        children = [child for child in self._children[node] if self._has_jobs(child.name)]
        level = {child.name: 1.0 for child in children}
        rated = [child for child in children if child.service_received is not None]
        if len(rated) > 1:
            owed = np.array([child.weight for child in rated])
            owed /= owed.sum()
            round_ = sum(self._fleet.values()) * self._round.round_seconds
            had = np.array([child.service_received or 0.0 for child in rated]) + owed * round_
            if (had > 0.0).all():
                level |= dict(
                    zip([child.name for child in rated], (owed * had.sum() / had).tolist(), strict=True)
                )
        for child in children:
            self._compare(child.name, ratio * level[child.name], ratios)


def _asked(component: Component) -> float:
    return sum(group.count * group.device_milli for group in component.task_groups) / WHOLE_DEVICE


def _what_counts(component: Component) -> tuple[object, ...]:
    """What the throughput of a component at its requested counts depends on."""
    return tuple(
        (group.profile, group.accelerator_types, group.count, group.device_milli)
        for group in component.task_groups
    )
