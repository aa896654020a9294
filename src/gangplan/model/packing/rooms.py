"""How many copies of a block every domain of a level has room for, kept right as nodes change.

Looking at all nodes for every gang takes gangs times nodes; here only what has changed since the last look is
looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gangplan.model.instance.sites import NO_DOMAIN
from gangplan.model.program import IntArray

_MOST = 2**31


class Rooms:
    """The room for one block in the domains of one level.

    Args:
        nodes: that could take the block when empty, ascending.
        domain_at: shape (nodes of the cluster,), their domains at the level.
        copies: how many copies each of some nodes takes now.
        seen: how many entries of the log of changes ``copies`` knows of.
    """

    def __init__(
        self, nodes: IntArray, domain_at: IntArray, copies: Callable[[IntArray], IntArray], seen: int
    ) -> None:
        at = domain_at[nodes]
        order = np.argsort(at[at != NO_DOMAIN], kind="stable")
        self._nodes: IntArray = nodes[at != NO_DOMAIN][order]
        self._at: IntArray = domain_at[self._nodes]
        domains = int(self._at[-1]) + 1 if len(self._at) else 0
        self._start: IntArray = np.searchsorted(self._at, np.arange(domains + 1))
        self._position: IntArray = np.full(len(domain_at), -1, dtype=np.int64)
        self._position[self._nodes] = np.arange(len(self._nodes))
        self._copies: IntArray = copies(self._nodes).clip(0, _MOST)
        self._room: IntArray = np.bincount(self._at, weights=self._copies).astype(np.int64)
        self._seen = seen

    def look(self, log: Sequence[int], copies: Callable[[IntArray], IntArray]) -> None:
        """Look again at the nodes of ``log``, which grows, that were added since the last time."""
        if self._seen == len(log):
            return
        changed = self._position[list(set(log[self._seen :]))]
        self._seen = len(log)
        changed = changed[changed >= 0]
        if not len(changed):
            return
        now = copies(self._nodes[changed]).clip(0, _MOST)
        np.add.at(self._room, self._at[changed], now - self._copies[changed])
        self._copies[changed] = now

    def enough(self, multiplicity: int) -> list[int]:
        """Domains with room for so many copies, tightest first."""
        enough = np.flatnonzero(self._room >= multiplicity)
        found: list[int] = enough[np.lexsort((enough, self._room[enough]))].tolist()
        return found

    def within(self, domain: int) -> IntArray:
        """The block's nodes in a domain, ascending."""
        if not 0 <= domain < len(self._start) - 1:
            return self._nodes[:0]
        return self._nodes[self._start[domain] : self._start[domain + 1]]
