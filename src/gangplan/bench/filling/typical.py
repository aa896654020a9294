"""The pods that are expected: what fragmentation is measured against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gangplan.bench.filling.arrivals import Integers, PodClasses, Trace

POPULARITY = 0.95
"""The share of a list's pods that its typical pods cover, as in the published runs."""


@dataclass(frozen=True, slots=True)
class Typical:
    """T kinds of pods without memory, most popular first.

    Attributes:
        cpu, count, milli, models: as of :class:`~gangplan.bench.filling.arrivals.PodClasses`, (T,).
        share: how probable each is, (T,); sums to 1.
    """

    cpu: Integers
    count: Integers
    milli: Integers
    models: Integers
    share: NDArray[np.float64]


def typical_pods(trace: Trace, popularity: float = POPULARITY) -> Typical:
    """The most popular kinds that together cover ``popularity`` of the list, pods without devices included.

    Weng et al. 2023, section 4.1: a workload is its kinds of tasks with their popularity. Kinds are told
    apart by CPU, devices and models, not by memory; of equally popular ones the larger comes first.
    """
    classes, counts = trace.classes, trace.popularity()
    pods: dict[tuple[int, int, int, int], int] = {}
    for k, number in enumerate(counts):
        kind = _kind(classes, k)
        pods[kind] = pods.get(kind, 0) + int(number)
    ranked = sorted(pods.items(), key=lambda item: (item[1], item[0]), reverse=True)
    covered = np.cumsum([number for _, number in ranked])
    last = int(np.searchsorted(covered, popularity * counts.sum())) + 1
    kinds = np.array([kind for kind, _ in ranked[:last]], np.int64).reshape(-1, 4)
    share = np.array([number for _, number in ranked[:last]], float)
    cpu, milli, count, models = (np.ascontiguousarray(column) for column in kinds.T)
    return Typical(cpu, count, milli, models, share / share.sum())


def _kind(classes: PodClasses, k: int) -> tuple[int, int, int, int]:
    return int(classes.cpu[k]), int(classes.milli[k]), int(classes.count[k]), int(classes.models[k])
