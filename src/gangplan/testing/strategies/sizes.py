"""How large drawn rounds are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Size = Literal["tiny", "small", "medium"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large rounds of one size are: (least, most)."""

    nodes: tuple[int, int]
    jobs: tuple[int, int]
    devices: tuple[int, ...]
    counts: tuple[int, ...]
    domains: int


BOUNDS: Mapping[str, Bounds] = {
    "tiny": Bounds((2, 3), (3, 4), (2, 4, 1, 3, 2, 8), (1, 2, 1, 3, 2, 3, 4, 5, 6, 7, 8), 2),
    "small": Bounds((2, 8), (2, 12), (1, 2, 4, 4, 6, 8), (1, 1, 2, 2, 3, 4, 5, 6, 7, 8), 3),
    "medium": Bounds((8, 24), (10, 40), (2, 4, 8, 8), (1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 12, 16), 4),
}
