"""Where a task leaves the least that nobody can use: fragmentation, against what is asked for in the round.

What a node has left is of use to a task when the task fits there; of its devices, those that are too full
for it are of none. The mean over all tasks that wait, held ones with them, is what is lost of a node, and a
task goes where that grows least: fragmentation gradient descent (Weng et al., "Beware of Fragmentation:
Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023, section 4). It decides
between places that are worth the same to the objective. Who knows what is to come can say so by jobs that are
held.

Two things are otherwise than there. Devices count as far as the CPU beside them goes: where it is enough for
one task, it was as good as enough for all. And only tasks count that may be started: one whose work is worth
less than the rest of the device that it leaves (``terms/fragmentation.py``) is waited for by nobody.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from gangplan.model.compiled import compiled
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.sites import task_vector
from gangplan.model.instance.stranding import stranded
from gangplan.model.instance.throughput import size
from gangplan.model.program import BoolArray, FloatArray, IntArray

_MOST_KINDS = 64
_ALIKE = 25.0
"""Losses that differ by less than a 25th of a device are alike: the first such node is filled. Told apart to
the last digit they spread tasks over half-empty nodes (openb's cluster then takes a point less)."""


class Kinds(NamedTuple):
    """Kinds of tasks that are asked for, T of them, the most frequent first.

    Attributes:
        demand: shape (T, 3), devices (in parts), CPU and memory.
        may: shape (T, types), accelerator types that they may run on; no matter for tasks without devices.
        share: shape (T,), how frequent each is; sums to 1.
    """

    demand: IntArray
    may: BoolArray
    share: FloatArray


def kinds_of(instance: Instance) -> Kinds:
    """The kinds of tasks of all jobs that wait and are worth their devices; where there are none, of all."""
    found: Counter[tuple[tuple[int, int, int], tuple[int, ...]]] = Counter()
    parts, speeds = instance.nodes.parts, instance.speeds
    welcome = _welcome(instance)
    waiting = [job for job, may in zip(instance.jobs, welcome, strict=True) if may and job.running is None]
    for job in waiting or instance.jobs:
        for group in job.component.task_groups:
            types = speeds.allowed_types(group) if group.devices_per_task else ()
            found[task_vector(group, parts), types] += group.count
    ranked = sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_MOST_KINDS]
    may = np.zeros((len(ranked), len(speeds.type_names)), dtype=np.bool_)
    for t, ((_, types), _) in enumerate(ranked):
        may[t, list(types)] = True
    share = np.array([number for _, number in ranked], dtype=np.float64)
    return Kinds(
        np.array([demand for (demand, _), _ in ranked], dtype=np.int64).reshape(-1, 3),
        may,
        share / max(1.0, share.sum()),
    )


def _welcome(instance: Instance) -> list[bool]:
    """Whether each job's work at its reference is worth more than the rest of a device that it leaves."""
    policy = instance.round.policy
    if not policy.fragmentation_weight:
        return [True] * len(instance.jobs)
    rest = stranded(instance.jobs)
    return [
        not rest[j]
        or instance.weight[j] * size(job.component, policy.reference_host) ** policy.size_exponent
        > policy.fragmentation_weight * rest[j]
        for j, job in enumerate(instance.jobs)
    ]


@compiled
def least_lost(
    free: IntArray,
    left: IntArray,
    held: BoolArray,
    type_of: IntArray,
    kinds: Kinds,
    nodes: IntArray,
    demand: IntArray,
    parts: int,
) -> tuple[int, int]:
    """The node, and the device for a part, that lose least by taking one task; (-1, -1) without room.

    Args:
        free: shape (nodes, 4), as in ``shared_devices``.
        left: shape (nodes, devices), parts that are left of each device.
        held: shape (nodes, devices), whether somebody runs there now.
        type_of: shape (nodes,).
        kinds: what is asked for.
        nodes: to choose from, ascending.
        demand: shape (4,), of the task.
        parts: of a device.
    """
    part = demand[0] % parts > 0
    opened = np.empty(left.shape[1] + 1, np.int64)
    chosen, device, top = -1, -1, -(2**62)
    for i in range(len(nodes)):
        n = nodes[i]
        fits = True
        for r in range(4):
            fits = fits and free[n, r] >= demand[r]
        if not fits:
            continue
        number, whole = 0, max(0, free[n, 3]) // parts
        for d in range(left.shape[1]):
            if 0 < left[n, d] < parts:
                opened[number] = left[n, d]
                number += 1
        before = _lost(opened[:number], whole, free[n, 1], free[n, 2], type_of[n], kinds, parts)
        cpu, memory = free[n, 1] - demand[1], free[n, 2] - demand[2]
        if not part:
            rest = whole - demand[0] // parts
            after = _lost(opened[:number], rest, cpu, memory, type_of[n], kinds, parts)
            score = _score(before - after, parts)
            if score > top:
                chosen, device, top = n, -1, score
            continue
        for o in range(number):
            size = opened[o]
            if size < demand[0]:
                continue
            opened[o] = size - demand[0]
            after = _lost(opened[:number], whole, cpu, memory, type_of[n], kinds, parts)
            score = _score(before - after, parts)
            opened[o] = size
            if score > top:
                for d in range(left.shape[1]):
                    if left[n, d] == size:
                        device = d
                chosen, top = n, score
        if whole > 0:
            opened[number] = parts - demand[0]
            after = _lost(opened[: number + 1], whole - 1, cpu, memory, type_of[n], kinds, parts)
            score = _score(before - after, parts)
            if score > top:
                fresh = -1
                for d in range(left.shape[1]):  # one that nobody gives up for it comes first
                    if left[n, d] == parts and (fresh < 0 or (held[n, fresh] and not held[n, d])):
                        fresh = d
                if fresh >= 0:
                    chosen, device, top = n, fresh, score
    return chosen, device


@compiled
def _score(gain: float, parts: int) -> int:
    return int(np.floor(_ALIKE * gain / parts))


@compiled
def _lost(opened: IntArray, whole: int, cpu: int, memory: int, type_: int, kinds: Kinds, parts: int) -> float:
    """Device parts of a node that a task of the round cannot use, on average.

    Were all that is left on the node for tasks of one kind, the parts of devices with room for them would be
    of use as far as CPU and memory go.
    """
    total = whole * parts
    for o in range(len(opened)):
        total += opened[o]
    lost = 0.0
    for t in range(len(kinds.share)):
        asked, usable = kinds.demand[t, 0], 0.0
        enough = kinds.demand[t, 1] <= cpu and kinds.demand[t, 2] <= memory
        if enough and asked > 0 and type_ >= 0 and kinds.may[t, type_]:
            copies = float(whole * parts) / asked
            if asked % parts > 0:
                copies = float(whole * (parts // asked))
                usable = float(whole * parts)
                for o in range(len(opened)):
                    if opened[o] >= asked:
                        usable += opened[o]
                        copies += opened[o] // asked
            elif whole * parts >= asked:
                usable = float(whole * parts)
            for beside, r in ((cpu, 1), (memory, 2)):
                if kinds.demand[t, r] * copies > beside:
                    usable *= beside / (kinds.demand[t, r] * copies)
                    copies = beside / kinds.demand[t, r]
        lost += kinds.share[t] * (total - usable)
    return lost
