"""Pods placed by gangplan, so many a round.

A round has the pods that just came, all waiting with equal weight, and what is left of the cluster: devices
that are all taken (or have less than a tenth free, which the planner may only lose by), CPU and memory are
used by others, and the pods on a device of which a part is free are running jobs that may be neither stopped
nor moved. So nothing moves, as in the published experiment. Who is
not placed in its round is gone: nothing ever leaves, and the planner fills what it can. A sample of the list
is there as jobs that are held, which tells the planner what is to come as the other policies are told.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain

import numpy as np

from gangplan.bench.filling.arrivals import WHOLE, Integers, Trace
from gangplan.bench.filling.ledger import Filled
from gangplan.domain.cluster import AcceleratorType, Cluster, Node, OtherUse, Resources
from gangplan.domain.job import (
    Capabilities,
    Component,
    DeviceShare,
    Gate,
    Job,
    Running,
    TaskGroup,
    TaskPlacement,
)
from gangplan.domain.plan import ActionKind
from gangplan.domain.policy import Policy
from gangplan.domain.presets import PRESETS
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round

_MIB = 2**20
_LEAST = 100
"""Thousandths: a device with less left is all taken."""
_EXPECTED = 100
"""About so many held jobs."""
_STAYS = Capabilities(pausable=False, movable=False, resizable=False)
_DEVICES = Policy(fairness_power=0.0, reference_host=Resources(1_000_000_000, 2**60))
"""What counts is devices: a pod without any is worth next to nothing."""


def fill_in_rounds(
    trace: Trace,
    order: Integers,
    pods_per_round: int,
    parameters: PlanParameters,
    preset: str | None = None,
) -> Filled:
    """Let gangplan place the arrivals ``order``, so many at a time.

    Args:
        trace: cluster and classes of pods.
        order: class of each arriving pod, (A,).
        pods_per_round: pods that it sees together.
        parameters: how each round is planned.
        preset: name of a policy that holds; None: all pods weigh what they ask for, and nothing else counts.

    Raises:
        KeyError: there is no such preset.
    """
    left = _Left(trace, _DEVICES if preset is None else PRESETS[preset].over(_DEVICES))
    node, devices = np.full(len(order), -1, np.int64), np.zeros(len(order), np.int64)
    groups = [_task_group(trace, k) for k in range(len(trace.classes.cpu))]
    expected = _expected(trace, groups)
    for begin in range(0, len(order), pods_per_round):
        here = range(begin, min(begin + pods_per_round, len(order)))
        waiting = [Job(f"pod-{at:06}", Component((groups[order[at]],))) for at in here]
        plan = plan_round(left.round([*expected, *waiting]), parameters).plan
        for action in plan.actions:
            if action.kind is ActionKind.PLACE:
                (placement,) = action.placements
                at = int(action.job.removeprefix("pod-"))
                node[at] = left.index[placement.node]
                devices[at] = sum(1 << device for device in placement.devices)
                left.take(int(node[at]), placement.devices, int(order[at]), at)
    return Filled(node, devices)


def _expected(trace: Trace, groups: list[TaskGroup]) -> list[Job]:
    """Jobs that are held, of each class as many as it is popular."""
    popularity = trace.popularity()
    number = np.round(popularity * (_EXPECTED / popularity.sum())).astype(int)
    return [
        Job(f"expected-{k:04}-{i:04}", Component((groups[k],)), gate=Gate(held=True))
        for k in range(len(groups))
        for i in range(number[k])
    ]


def _task_group(trace: Trace, k: int) -> TaskGroup:
    """What a pod of class ``k`` asks for."""
    classes, models = trace.classes, trace.nodes.models
    count, milli, bits = int(classes.count[k]), int(classes.milli[k]), int(classes.models[k])
    allowed = () if bits < 0 else tuple(model for m, model in enumerate(models) if bits >> m & 1)
    return TaskGroup(
        devices_per_task=count,
        device_share=DeviceShare(milli) if 0 < count * milli < WHOLE else None,
        resources_per_task=Resources(int(classes.cpu[k]), int(classes.memory[k]) * _MIB),
        accelerator_types=allowed,
    )


class _Left:
    """What is left of the cluster; only nodes that changed are written anew."""

    def __init__(self, trace: Trace, policy: Policy) -> None:
        self._trace, self._policy = trace, policy
        nodes = trace.nodes
        self.index = {name: n for n, name in enumerate(nodes.names)}
        self._cpu, self._memory, self._free = nodes.cpu.copy(), nodes.memory.copy(), nodes.devices.copy()
        self._types = tuple(AcceleratorType(model) for model in nodes.models)
        self._nodes = [self._node(n) for n in range(len(nodes.names))]
        self._held: dict[tuple[int, int], list[Job]] = defaultdict(list)

    def round(self, waiting: list[Job]) -> Round:
        """The next round."""
        return Round(
            cluster=Cluster(nodes=tuple(self._nodes)),
            accelerators=self._types,
            jobs=(*chain.from_iterable(self._held.values()), *waiting),
            policy=self._policy,
        )

    def take(self, n: int, devices: tuple[int, ...], k: int, at: int) -> None:
        """Let arrival ``at``, a pod of class ``k``, hold its place."""
        classes = self._trace.classes
        self._cpu[n] -= classes.cpu[k]
        self._memory[n] -= classes.memory[k]
        for g in devices:
            self._free[n, g] -= classes.milli[k]
            if self._free[n, g] >= _LEAST:
                self._held[n, g].append(self._holder(n, g, int(classes.milli[k]), at))
            else:
                self._held.pop((n, g), None)
        self._nodes[n] = self._node(n)

    def _node(self, n: int) -> Node:
        nodes = self._trace.nodes
        there = [g for g in range(nodes.devices.shape[1]) if nodes.devices[n, g]]
        full = frozenset(g for g in there if self._free[n, g] < _LEAST)
        used = Resources(int(nodes.cpu[n] - self._cpu[n]), int(nodes.memory[n] - self._memory[n]) * _MIB)
        return Node(
            name=nodes.names[n],
            accelerator_type=nodes.models[int(nodes.model[n]).bit_length() - 1],
            device_count=len(there),
            resources=Resources(int(nodes.cpu[n]), int(nodes.memory[n]) * _MIB),
            used_by_others=OtherUse(full, len(full), used),
        )

    def _holder(self, n: int, g: int, milli: int, at: int) -> Job:
        """A pod on a device of which a part is free; its CPU and memory are with those used by others."""
        share = DeviceShare(milli)
        place = TaskPlacement("worker", self._trace.nodes.names[n], 1, (g,), (share,))
        group = TaskGroup(devices_per_task=1, device_share=share)
        return Job(f"held-{at:06}", Component((group,)), capabilities=_STAYS, running=Running((place,)))
