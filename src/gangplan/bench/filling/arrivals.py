"""The trace as arrays, and who arrives when."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gangplan.adapters.traces.openb import find_lists
from gangplan.errors import FieldViolation, InvalidInputError

WHOLE = 1000
"""Thousandths of a device."""
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Nodes:
    """Nodes that have devices, N of them, with at most G devices.

    Attributes:
        names: N names, in the list's order.
        cpu: thousandths of CPUs, (N,).
        memory: MiB, (N,).
        devices: thousandths that are free at first, (N, G): 1000 for each device, 0 where there is none.
        model: bit of the node's model, (N,).
        models: names of the models; model k has the bit ``1 << k``.
    """

    names: tuple[str, ...]
    cpu: Integers
    memory: Integers
    devices: Integers
    model: Integers
    models: tuple[str, ...]

    @property
    def milli(self) -> int:
        """Thousandths of devices in all."""
        return int(self.devices.sum())


@dataclass(frozen=True, slots=True)
class PodClasses:
    """Classes of alike pods, K of them; members of a class differ by their name alone.

    Attributes:
        cpu, memory: of one pod, (K,), in the nodes' units.
        count: devices of one pod, (K,).
        milli: thousandths of each of its devices, (K,): 1000, or less where ``count`` is 1.
        models: bits of the models that it may run on, (K,); -1 is any.
    """

    cpu: Integers
    memory: Integers
    count: Integers
    milli: Integers
    models: Integers

    @property
    def demand(self) -> Integers:
        """Thousandths of devices that one pod asks for, (K,)."""
        return self.count * self.milli


@dataclass(frozen=True, slots=True)
class Trace:
    """A cluster and a list of pods.

    Attributes:
        nodes: the cluster.
        classes: K classes of pods.
        listed: the class of each pod of the list, in the list's order, (P,).
    """

    nodes: Nodes
    classes: PodClasses
    listed: Integers

    def popularity(self) -> Integers:
        """How many pods of the list are of each class, (K,)."""
        return np.bincount(self.listed, minlength=len(self.classes.cpu)).astype(np.int64)


def read_trace(folder: Path, *, pods: str = "default") -> Trace:
    """The nodes with devices and one list of pods.

    Args:
        folder: holds the trace's CSV files, itself or in a folder ``alibaba_openb_v2023``.
        pods: which list, e.g. ``default``.

    Raises:
        InvalidInputError: a file is missing or is no such list.
    """
    inner = folder / "alibaba_openb_v2023"
    node_list, pod_list = find_lists(inner if inner.is_dir() else folder, nodes="gpu_node", pods=pods)
    try:
        return _trace(_table(node_list), _table(pod_list))
    except (KeyError, ValueError) as error:
        raise InvalidInputError([FieldViolation(str(folder), f"holds a wrong list: {error!r}")]) from error


def every_nth(trace: Trace, n: int) -> Trace:
    """The same pods for a cluster of every n-th node of each model: small enough for a round per pod."""
    nodes = trace.nodes
    order = np.argsort(nodes.model, kind="stable")
    kept = np.sort(order[::n])
    return replace(
        trace,
        nodes=replace(
            nodes,
            names=tuple(nodes.names[i] for i in kept),
            cpu=nodes.cpu[kept],
            memory=nodes.memory[kept],
            devices=nodes.devices[kept],
            model=nodes.model[kept],
        ),
    )


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def _trace(nodes: Sequence[dict[str, str]], pods: Sequence[dict[str, str]]) -> Trace:
    nodes = [row for row in nodes if int(row["gpu"])]
    models = tuple(sorted({row["model"] for row in nodes}))
    bit = {model: 1 << k for k, model in enumerate(models)}
    most = max((int(row["gpu"]) for row in nodes), default=0)
    free = np.zeros((len(nodes), most), np.int64)
    for at, row in enumerate(nodes):
        free[at, : int(row["gpu"])] = WHOLE
    kinds: dict[tuple[int, int, int, int, int], int] = {}
    listed = []
    for row in pods:
        count = int(row["num_gpu"])
        allowed = {model for model in row.get("gpu_spec", "").split("|") if model}
        bits = sum(bit.get(model, 0) for model in allowed) if count and allowed else -1
        milli = int(row["gpu_milli"]) if count else 0
        kind = (int(row["cpu_milli"]), int(row["memory_mib"]), count, milli, bits)
        listed.append(kinds.setdefault(kind, len(kinds)))
    columns = np.array(list(kinds), np.int64).reshape(-1, 5).T
    return Trace(
        Nodes(
            names=tuple(row["sn"] for row in nodes),
            cpu=np.array([int(row["cpu_milli"]) for row in nodes], np.int64),
            memory=np.array([int(row["memory_mib"]) for row in nodes], np.int64),
            devices=free,
            model=np.array([bit[row["model"]] for row in nodes], np.int64),
            models=models,
        ),
        PodClasses(*(np.ascontiguousarray(column) for column in columns)),
        np.array(listed, np.int64),
    )


def arrivals(trace: Trace, seed: int, demand: float = 1.3) -> Integers:
    """The class of each arriving pod, in order.

    The list, shuffled; then pods drawn from it with replacement while all that arrived ask for less than
    ``demand`` times the cluster's devices. A longer list is cut there.

    Args:
        trace: cluster and list.
        seed: of the shuffle and the draws.
        demand: thousandths asked for over thousandths there are.
    """
    rng = np.random.default_rng(seed)
    wanted = demand * trace.nodes.milli
    order = rng.permutation(trace.listed)
    ask = trace.classes.demand
    while ask[order].sum() < wanted and ask[trace.listed].any():
        order = np.concatenate([order, rng.choice(trace.listed, len(trace.listed))])
    reached = np.searchsorted(np.cumsum(ask[order]), wanted)
    return order[: int(reached) + 1]
