"""What no packing can exceed: a linear programme over patterns of devices."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gangplan.bench.filling.arrivals import WHOLE, Integers, Trace
from gangplan.errors import BackendError
from gangplan.model.program import FloatArray, Program, SolveParameters
from gangplan_solvers import catalog


def ceiling(trace: Trace, order: Integers) -> float:
    """An upper bound on the thousandths of devices that any packing of these pods allocates.

    All arrivals are known at once, nodes of one shape are one, and nothing need be whole: x[k, s] pods of
    class k on nodes of shape s, and y[p, s] devices with the pattern p, a multiset of shares that fit on one
    device and to which none can be added. Rows: pods of a class that arrived; CPU and memory of a shape;
    devices of a shape, for whole ones and patterns together; shares of a size within what patterns hold; for
    each number of devices c > 1, pods of c devices or more within what nodes of the shape hold side by side
    (patterns: Gilmore and Gomory, "A Linear Programming Approach to the Cutting-Stock Problem", 1961).

    Raises:
        BackendError: the linear programme was not solved.
    """
    rows = _Rows(trace, np.bincount(order, minlength=len(trace.classes.cpu)))
    solution = catalog.usable("highs").solve(rows.program(), SolveParameters(relax=True))
    if not np.isfinite(solution.bound):
        raise BackendError(f"no bound: {solution.status.value}; {solution.detail}")
    return min(float(solution.bound), float(trace.nodes.milli))


def patterns(sizes: Integers) -> Integers:
    """All maximal multisets of ``sizes`` (ascending, thousandths) on one device, (P, len(sizes))."""
    if not len(sizes):
        return np.zeros((0, 0), np.int64)

    def parts(at: int, room: int) -> Iterator[tuple[int, ...]]:
        if at < 0:
            yield ()
            return
        for number in range(room // int(sizes[at]), -1, -1):
            for rest in parts(at - 1, room - number * int(sizes[at])):
                yield (*rest, number)

    found = np.array(list(parts(len(sizes) - 1, WHOLE)), np.int64).reshape(-1, len(sizes))
    maximal: Integers = found[WHOLE - found @ sizes < sizes[0]]
    return maximal


class _Rows:
    """The programme, put together."""

    def __init__(self, trace: Trace, arrived: Integers) -> None:
        nodes, classes = trace.nodes, trace.classes
        slots = (nodes.devices > 0).sum(1)
        shapes, number = np.unique(
            np.stack([nodes.cpu, nodes.memory, slots, nodes.model], 1), axis=0, return_counts=True
        )
        share = (classes.count == 1) & (classes.milli < WHOLE)
        sizes = np.unique(classes.milli[share])
        held = patterns(sizes)
        self._entries: list[tuple[Integers, Integers, FloatArray]] = []
        self._limits: list[float] = []
        may = (
            (classes.cpu[:, None] <= shapes[:, 0])
            & (classes.memory[:, None] <= shapes[:, 1])
            & (classes.count[:, None] <= shapes[:, 2])
            & ((classes.models[:, None] & shapes[:, 3]) != 0)
            & (arrived[:, None] > 0)
        )
        pod, shape = np.nonzero(may)
        self._objective = np.concatenate(
            [classes.demand[pod].astype(float), np.zeros(len(held) * len(shapes))]
        )
        column = np.arange(len(pod))
        pattern_column = len(pod) + np.arange(len(held) * len(shapes)).reshape(len(shapes), len(held))
        for k in np.unique(pod):
            self._row(column[pod == k], np.ones(int((pod == k).sum())), float(arrived[k]))
        for s, (cpu, memory, devices, _) in enumerate(shapes):
            here = shape == s
            mine, at = pod[here], column[here]
            self._row(at, classes.cpu[mine].astype(float), float(cpu * number[s]))
            self._row(at, classes.memory[mine].astype(float), float(memory * number[s]))
            whole = np.where(share[mine], 0, classes.count[mine]).astype(float)
            self._row(
                np.concatenate([at, pattern_column[s]]),
                np.concatenate([whole, np.ones(len(held))]),
                float(devices * number[s]),
            )
            for v, size in enumerate(sizes):
                those = share[mine] & (classes.milli[mine] == size)
                self._row(
                    np.concatenate([at[those], pattern_column[s]]),
                    np.concatenate([np.ones(int(those.sum())), -held[:, v].astype(float)]),
                    0.0,
                )
            for count in np.unique(classes.count[classes.count > 1]):
                blocks = (classes.count[mine] // count).astype(float)
                self._row(at, blocks, float(devices // count * number[s]))

    def _row(self, columns: Integers, values: FloatArray, limit: float) -> None:
        kept = values != 0
        row = np.full(int(kept.sum()), len(self._limits), np.int64)
        self._entries.append((row, columns[kept], values[kept]))
        self._limits.append(limit)

    def program(self) -> Program:
        rows, columns, values = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        size = len(self._objective)
        upper = np.full(size, 1e9)
        return Program(
            objective=self._objective,
            lower=np.zeros(size),
            upper=upper,
            integer=np.zeros(size, np.bool_),
            row_start=np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(self._limits)))]),
            column_index=columns,
            value=values,
            row_lower=np.full(len(self._limits), -np.inf),
            row_upper=np.array(self._limits),
        )
