"""Schedulers of one pod at a time: fragmentation gradient descent, best fit, random."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from gangplan.bench.filling.arrivals import Integers, Trace
from gangplan.bench.filling.ledger import Filled
from gangplan.bench.filling.typical import Typical, typical_pods
from gangplan.model.compiled import compiled

_FGD, _BEST_FIT, _RANDOM = 0, 1, 2
POLICIES: Mapping[str, int] = MappingProxyType({"fgd": _FGD, "best-fit": _BEST_FIT, "random": _RANDOM})
"""Policies by name."""
_LARGEST_CPU, _LARGEST_DEVICES = 128_000.0, 8_000.0
"""What best fit measures free CPU and devices by: thousandths of the largest machine."""


def fill(trace: Trace, order: Integers, policy: str, seed: int) -> Filled:
    """Place pods in the order of their arrival; one that does not fit then is gone.

    A node fits when CPU and memory do and enough of its devices have ``milli`` free. Of the nodes of the best
    score the first counts, in an order that is drawn once for the whole run. (Drawn anew for every pod, as a
    scheduler of Kubernetes does, it costs the gradient descent five points: its whole-number scores tie
    often, and ties then spread pods over half-empty nodes.) Scores are whole numbers from 0 to 100:

    * ``fgd`` (Weng et al. 2023, section 4.2): 100 sigmoid(F before - F after), with F the devices left on the
      node that a typical pod cannot use, over the popularity of typical pods; a share goes to the device by
      which the score is highest.
    * ``best-fit``: 100 (1 - half of the CPU left / 128 - half of the devices left / 8); a share goes to the
      fullest device that has room.
    * ``random``: any node, drawn anew for every pod; a share goes to any device that has room.

    Whole devices are taken in the order of their numbers.

    Args:
        trace: cluster and classes of pods.
        order: class of each arriving pod, (A,).
        policy: one of :data:`POLICIES`.
        seed: of the order of nodes and the draws.

    Returns:
        Where each pod went.

    Raises:
        KeyError: there is no such policy.
    """
    nodes, classes, expected = trace.nodes, trace.classes, typical_pods(trace)
    rng = np.random.default_rng(seed)
    queue = rng.permutation(len(nodes.cpu))
    node, devices = _fill(
        POLICIES[policy],
        (nodes.cpu[queue], nodes.memory[queue], nodes.devices[queue], nodes.model[queue]),
        (classes.cpu, classes.memory, classes.count, classes.milli, classes.models),
        _arrays(expected),
        order,
        rng.random((len(order), 2)),
    )
    return Filled(np.where(node >= 0, queue[node], -1), devices)


def fragmentation(trace: Trace, expected: Typical | None = None) -> NDArray[np.float64]:
    """F of each node of the empty cluster, in thousandths of devices, (N,)."""
    nodes, arrays = trace.nodes, _arrays(expected or typical_pods(trace))
    return np.array(
        [
            _fragmentation(nodes.cpu[n], nodes.devices[n], nodes.model[n], arrays)
            for n in range(len(nodes.cpu))
        ]
    )


_Typical = tuple[Integers, Integers, Integers, Integers, NDArray[np.float64]]
_Nodes = tuple[Integers, Integers, Integers, Integers]
_Classes = tuple[Integers, Integers, Integers, Integers, Integers]


def _arrays(expected: Typical) -> _Typical:
    return expected.cpu, expected.count, expected.milli, expected.models, expected.share


@compiled
def _fragmentation(cpu: int, devices: Integers, model: int, expected: _Typical) -> float:
    """F of one node: thousandths left that a typical pod cannot use, on average.

    All of it where the pod needs no device, may not run there, or does not fit; else what is left in devices
    too full for it.
    """
    cpus, counts, millis, models, shares = expected
    total = 0
    for g in range(len(devices)):
        total += devices[g]
    found = 0.0
    for t in range(len(cpus)):
        lost = total
        if counts[t] > 0 and models[t] & model != 0 and cpus[t] <= cpu:
            roomy, small = 0, 0
            for g in range(len(devices)):
                if devices[g] >= millis[t]:
                    roomy += 1
                else:
                    small += devices[g]
            if roomy >= counts[t]:
                lost = small
        found += shares[t] * lost
    return found


@compiled
def _take(devices: Integers, count: int, milli: int, device: int) -> int:
    """Take a share of ``device``, or ``count`` whole devices (``device`` is -1); which, as bits."""
    if device >= 0:
        devices[device] -= milli
        return 1 << device
    bits = 0
    for g in range(len(devices)):
        if count > 0 and devices[g] >= 1000:
            devices[g] -= 1000
            count -= 1
            bits |= 1 << g
    return bits


@compiled
def _judge(
    policy: int,
    cpu: int,
    devices: Integers,
    model: int,
    pod: tuple[int, int, int],
    before: float,
    expected: _Typical,
) -> tuple[int, int]:
    """Score of a node that has room, and which device a share goes to (-1: whole devices)."""
    need, count, milli = pod
    share = count == 1 and milli < 1000
    if policy == _BEST_FIT:
        free = 0
        fullest = -1
        for g in range(len(devices)):
            free += devices[g]
            if devices[g] >= milli and (fullest < 0 or devices[g] < devices[fullest]):
                fullest = g
        left = 0.5 * (cpu - need) / _LARGEST_CPU + 0.5 * (free - count * milli) / _LARGEST_DEVICES
        return int((1.0 - left) * 100.0), fullest if share else -1
    best, chosen = -1, -1
    after = devices.copy()
    if not share:
        _take(after, count, milli, -1)
        gain = (before - _fragmentation(cpu - need, after, model, expected)) / 1000.0
        return int(100.0 / (1.0 + np.exp(-gain))), -1
    for g in range(len(devices)):
        if devices[g] >= milli:
            seen = False
            for other in range(g):
                seen = seen or devices[other] == devices[g]
            if not seen:
                after[g] -= milli
                gain = (before - _fragmentation(cpu - need, after, model, expected)) / 1000.0
                after[g] += milli
                score = int(100.0 / (1.0 + np.exp(-gain)))
                if score > best:
                    best, chosen = score, g
    return best, chosen


@compiled
def _fits(cpu: int, memory: int, devices: Integers, model: int, pod: tuple[int, int, int, int, int]) -> bool:
    """Whether a node has room for a pod (CPU, memory, devices, thousandths, models)."""
    need, bytes_, count, milli, models = pod
    if need > cpu or bytes_ > memory or models & model == 0:
        return False
    for g in range(len(devices)):
        if count > 0 and devices[g] >= milli:
            count -= 1
    return count == 0


@compiled
def _fill(
    policy: int,
    nodes: _Nodes,
    classes: _Classes,
    expected: _Typical,
    order: Integers,
    draws: NDArray[np.float64],
) -> tuple[Integers, Integers]:
    """The loop of :func:`fill`; scores are kept until their node changes."""
    cpu, memory, devices, model = nodes
    cpus, memories, counts, millis, models = classes
    n_nodes, n_classes = len(cpu), len(cpus)
    score = np.full((n_nodes, n_classes), -2, np.int64)  # -2: not known; -1: no room
    device = np.full((n_nodes, n_classes), -1, np.int64)
    before = np.zeros(n_nodes)
    if policy == _FGD:
        for n in range(n_nodes):
            before[n] = _fragmentation(cpu[n], devices[n], model[n], expected)
    went_to = np.full(len(order), -1, np.int64)
    bits = np.zeros(len(order), np.int64)
    for at in range(len(order)):
        k = order[at]
        best, ties = -1, 0
        for n in range(n_nodes):
            if score[n, k] == -2:
                room = _fits(
                    cpu[n],
                    memory[n],
                    devices[n],
                    model[n],
                    (cpus[k], memories[k], counts[k], millis[k], models[k]),
                )
                if not room:
                    score[n, k] = -1
                elif policy == _RANDOM:
                    score[n, k] = 0
                else:
                    score[n, k], device[n, k] = _judge(
                        policy,
                        cpu[n],
                        devices[n],
                        model[n],
                        (cpus[k], counts[k], millis[k]),
                        before[n],
                        expected,
                    )
            if score[n, k] > best:
                best, ties = score[n, k], 1
            elif score[n, k] == best:
                ties += 1
        if best >= 0:
            wanted = int(draws[at, 0] * ties) if policy == _RANDOM else 0
            for n in range(n_nodes):
                if score[n, k] == best:
                    if wanted == 0:
                        break
                    wanted -= 1
            chosen = device[n, k]
            if policy == _RANDOM and counts[k] == 1 and millis[k] < 1000:
                roomy = 0
                for g in range(devices.shape[1]):
                    roomy += devices[n, g] >= millis[k]
                wanted = int(draws[at, 1] * roomy)
                for g in range(devices.shape[1]):
                    if devices[n, g] >= millis[k]:
                        if wanted == 0:
                            chosen = g
                        wanted -= 1
            bits[at] = _take(devices[n], counts[k], millis[k], chosen)
            cpu[n] -= cpus[k]
            memory[n] -= memories[k]
            went_to[at] = n
            score[n, :] = -2
            if policy == _FGD:
                before[n] = _fragmentation(cpu[n], devices[n], model[n], expected)
    return went_to, bits
