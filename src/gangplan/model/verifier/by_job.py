"""Something of every job of a round, by name, each put together when it is first asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

V = TypeVar("V")


class ByJob(Mapping[str, V]):
    """What the names are known of before anything else is; who inherits says what each of them has.

    Args:
        names: of all jobs, in the round's order.
    """

    __slots__ = ("_names",)

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names
