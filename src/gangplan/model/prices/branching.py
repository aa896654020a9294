"""Branching on large gangs: what prices cannot decide, and a tighter bound for it.

One price for all leaves a gap where a single gang is a good part of the cluster: at the best prices it is
torn between two places, or between running and waiting. Each way of deciding it is a smaller problem whose
prices are found in a few evaluations from the parent's; the bound is the largest of all that are open (branch
and bound with Lagrangian bounds; Geoffrion, *Lagrangean relaxation for integer programming*, 1974).
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.program import BoolArray, FloatArray

_STEPS = 80
_STRETCH = 0.02
_LEAST_DEVICES = 2
_FORCE = 1e3
_LARGEST = 1e6
_TORN = 0.02
"""A choice made less often than this, or more often than one less this, is a decision."""


class Branching:
    """The open ways of deciding large gangs, the most promising first.

    Attributes:
        bound: no plan is worth more.
        nodes: searches made beside the root's.
    """

    def __init__(self, root: PriceSearch) -> None:
        self._order = itertools.count()
        self._open: list[tuple[float, int, PriceSearch]] = [(-root.bound, next(self._order), root)]
        self._whole = -np.inf
        self.nodes = 0

    @property
    def bound(self) -> float:
        """The largest bound of what is open or cannot be decided further."""
        return max(self._whole, -self._open[0][0] if self._open else -np.inf)

    def expand(self, worth: float, stop: Callable[[], bool]) -> list[PriceSearch]:
        """Decide the gang that tears the most promising search most.

        Args:
            worth: a plan at hand; what cannot be better is closed.
            stop: true ends a walk.

        Returns:
            The two searches; none when nothing is torn or open any more.
        """
        while self._open and -self._open[0][0] > worth:
            _, _, parent = heapq.heappop(self._open)
            ways = _decisions(parent)
            if ways is None:  # whole already: it counts, and there is nothing to decide
                self._whole = max(self._whole, parent.bound)
                continue
            for search in ways:
                search.improve(_STEPS, stop, _STRETCH)
                search.bound = min(search.bound, parent.bound)
                self.nodes += 1
                if search.bound > worth:
                    heapq.heappush(self._open, (-search.bound, next(self._order), search))
            return list(ways)
        return []


def _decisions(search: PriceSearch) -> tuple[PriceSearch, PriceSearch] | None:
    """Two ways of deciding what tears ``search`` most: who runs on a type, or who stays.

    Classes of several alike jobs are left alone: not one of them is torn, but their number.
    """
    instance = search.instance
    least = _LEAST_DEVICES * instance.nodes.parts
    torn = np.minimum(search.chosen, 1.0 - search.chosen) * instance.devices
    torn[(instance.devices < least) | (search.chosen < _TORN) | (search.chosen > 1.0 - _TORN)] = 0.0
    torn[instance.members[instance.option_class] > 1] = 0.0
    held = _held(instance)
    kept = np.minimum(search.kept_share, 1.0 - search.kept_share) * held
    kept[(held < least) | (search.kept_share < _TORN) | (search.kept_share > 1.0 - _TORN)] = 0.0
    kept[search.market.fixed] = 0.0
    k, c = int(torn.argmax()) if len(torn) else -1, int(kept.argmax()) if len(kept) else -1
    most = float(torn[k]) if k >= 0 else 0.0
    if c >= 0 and kept[c] >= most and kept[c] > 0.0:
        return staying(search, [c]), _leave(search, c)
    if most <= 0.0:
        return None
    c = int(instance.option_class[k])
    types = search.market.option_devices[instance.option, :-1] > 0
    same = (instance.option_class == c) & (types == types[k]).all(axis=1)
    return _take(search, same), _refuse(search, same)


def _held(instance: Instance) -> FloatArray:
    return instance.keeps.devices[:, -1].astype(np.float64)


def _force(search: PriceSearch) -> float:
    """Worth added to what must be, and taken off again; large, and small enough to lose no digits by it."""
    instance = search.instance
    largest = max(np.abs(instance.gain).max(initial=0.0), np.abs(instance.keep_gain).max(initial=0.0))
    return _FORCE * (1.0 + min(float(largest), _LARGEST))


def staying(search: PriceSearch, classes: Sequence[int]) -> PriceSearch:
    """The search in which the running jobs of ``classes`` stay where they are."""
    force = _force(search)
    keep_gain = search.wishes.keep_gain.copy()
    keep_gain[list(classes)] += force
    return search.child(search.wishes._replace(keep_gain=keep_gain), force * len(classes))


def _leave(search: PriceSearch, c: int) -> PriceSearch:
    keep_gain = search.wishes.keep_gain.copy()
    keep_gain[c] -= _force(search)
    return search.child(search.wishes._replace(keep_gain=keep_gain), 0.0)


def _take(search: PriceSearch, same: BoolArray) -> PriceSearch:
    force = _force(search)
    gain = search.wishes.gain.copy()
    gain[same] += force
    return search.child(search.wishes._replace(gain=gain), force)


def _refuse(search: PriceSearch, same: BoolArray) -> PriceSearch:
    gain = search.wishes.gain.copy()
    gain[same] -= _force(search)
    return search.child(search.wishes._replace(gain=gain), 0.0)
