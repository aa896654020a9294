"""What the running jobs that may stay hold, as flat arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from gangplan.model.instance.as_placed import AsPlaced
from gangplan.model.program import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Keeps:
    """One entry for every node of every kept class, class by class.

    Attributes:
        class_of: shape (entries,).
        node: shape (entries,), node indices.
        amounts: shape (entries, 3), devices, CPU (milli) and memory (bytes).
        devices: shape (classes, types + 1), devices that each class holds by type, and in all in the last
            column.
        scope: shape (classes,), index of the narrowest scope that holds all its tasks; 0 where it waits.
        throughput: shape (classes,), work units per second there; 0 where it waits.
    """

    class_of: IntArray
    node: IntArray
    amounts: IntArray
    devices: IntArray
    scope: IntArray
    throughput: FloatArray


def flatten_keeps(now_placed: Mapping[int, AsPlaced], classes: int, type_of: IntArray, types: int) -> Keeps:
    """Write what every class holds by node as arrays.

    Args:
        now_placed: by kept class, ascending: how it runs now.
        classes: their number.
        type_of: shape (nodes,), accelerator type of each node; -1: none.
        types: their number.
    """
    kept, placed_there = list(now_placed), list(now_placed.values())
    uses = [placed.use for placed in placed_there]
    class_of = np.repeat(
        np.array(kept, dtype=np.int64), np.fromiter(map(len, uses), dtype=np.int64, count=len(uses))
    )
    node = np.fromiter(chain.from_iterable(uses), dtype=np.int64, count=len(class_of))
    held = chain.from_iterable(chain.from_iterable(map(dict.values, uses)))
    amounts = np.fromiter(held, dtype=np.int64, count=3 * len(class_of)).reshape(-1, 3)
    devices = np.zeros((classes, types + 1), dtype=np.int64)
    some = amounts[:, 0] > 0
    np.add.at(devices, (class_of[some], type_of[node[some]]), amounts[some, 0])
    devices[:, -1] = devices[:, :-1].sum(axis=1)
    scope, throughput = np.zeros(classes, dtype=np.int64), np.zeros(classes)
    scope[kept] = [placed.scope for placed in placed_there]
    throughput[kept] = [placed.throughput for placed in placed_there]
    return Keeps(class_of, node, amounts, devices, scope, throughput)
