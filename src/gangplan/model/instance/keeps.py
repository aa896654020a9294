"""What the running jobs that may stay hold, as flat arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.model.instance.sites import Vector
from gangplan.model.program import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Keeps:
    """One entry for every node of every kept class, class by class.

    Attributes:
        class_of: shape (entries,).
        node: shape (entries,), node indices.
        amounts: shape (entries, 3), devices, CPU (milli) and memory (bytes).
        devices: shape (classes, types + 1), devices that each class holds by type, and in all in the last
            column.
    """

    class_of: IntArray
    node: IntArray
    amounts: IntArray
    devices: IntArray


def flatten_keeps(keep_use: Sequence[Mapping[int, Vector]], type_of: IntArray, types: int) -> Keeps:
    """Write what every class holds by node as arrays.

    Args:
        keep_use: by class, what it holds by node index.
        type_of: shape (nodes,), accelerator type of each node; -1: none.
        types: their number.
    """
    entries = [(c, node, amounts) for c, use in enumerate(keep_use) if use for node, amounts in use.items()]
    class_of = np.array([c for c, _, _ in entries], dtype=np.int64)
    node = np.array([n for _, n, _ in entries], dtype=np.int64)
    amounts = np.array([a for _, _, a in entries], dtype=np.int64).reshape(len(entries), 3)
    devices = np.zeros((len(keep_use), types + 1), dtype=np.int64)
    some = amounts[:, 0] > 0
    np.add.at(devices, (class_of[some], type_of[node[some]]), amounts[some, 0])
    devices[:, -1] = devices[:, :-1].sum(axis=1)
    return Keeps(class_of, node, amounts, devices)
