"""What became of the pods, and whether that can be: counted anew, whoever placed them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.bench.filling.arrivals import Integers, Trace


@dataclass(frozen=True, slots=True)
class Filled:
    """Where arriving pods went.

    Attributes:
        node: of each arrival, (A,); -1: nowhere.
        devices: those that it got, or got a share of, as bits, (A,): device g is ``1 << g``.
    """

    node: Integers
    devices: Integers


def allocated(trace: Trace, order: Integers, filled: Filled) -> Integers:
    """Thousandths of devices that are allocated after each arrival, (A,).

    Raises:
        ValueError: a pod is where there is no room for it, or where it may not be.
    """
    nodes, classes = trace.nodes, trace.classes
    cpu, memory, free = nodes.cpu.copy(), nodes.memory.copy(), nodes.devices.copy()
    taken = np.zeros(len(order), np.int64)
    for at, k in enumerate(order):
        n, bits = int(filled.node[at]), int(filled.devices[at])
        if n < 0:
            continue
        count, milli = int(classes.count[k]), int(classes.milli[k])
        cpu[n] -= classes.cpu[k]
        memory[n] -= classes.memory[k]
        chosen = [g for g in range(free.shape[1]) if bits >> g & 1]
        free[n, chosen] -= milli
        taken[at] = count * milli
        allowed = not count or int(classes.models[k]) & int(nodes.model[n])
        if not allowed or len(chosen) != count or min(cpu[n], memory[n], free[n].min(initial=0)) < 0:
            raise ValueError(f"arrival {at}, of class {k}, has no room on {nodes.names[n]}")
    return np.cumsum(taken)
