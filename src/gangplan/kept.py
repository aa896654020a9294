"""What a round leaves to the next one that is much the same: results, by what they were made from.

A session's rounds share most of their jobs and nodes, as the same objects. A result is used again where all
that it was made from is the same: the same object, or an equal number or text. So a round with something kept
comes out exactly as one without, and nothing has to be declared out of date.

Only what the last round used is kept. Whoever computes with it must not change a result, and must give
every input that the result hangs on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class _Each(NamedTuple):
    """Results of one computation, by thing.

    Attributes:
        beside: what else they were made from.
        among: what they look things up in.
        found: by id of the thing: the thing, which keeps the id its own, and the result.
    """

    beside: tuple[object, ...]
    among: Mapping[str, object]
    found: dict[int, tuple[Any, Any]]


class Kept:
    """Results of the last round. May be used by several rounds at once: a set of results is never changed,
    only replaced by the next.
    """

    __slots__ = ("_each", "_once")

    def __init__(self) -> None:
        self._once: dict[str, tuple[tuple[object, ...], Any]] = {}
        self._each: dict[str, _Each] = {}

    def once(self, name: str, beside: tuple[object, ...], make: Callable[[], R]) -> R:
        """``make()``, or what it gave the last time if ``beside`` is the same.

        Args:
            name: of the computation.
            beside: all that the result hangs on.
            make: computes it.
        """
        last = self._once.get(name)
        if last is not None and _same(last[0], beside):
            found: R = last[1]
            return found
        made = make()
        self._once[name] = beside, made
        return made

    def alike(self, name: str, made: R, equal: Callable[[R, R], bool]) -> R:
        """``made``, or what was given here last if that is equal, so that what hangs on it is kept, too."""
        last = self._once.get(name)
        if last is not None and equal(last[1], made):
            found: R = last[1]
            return found
        self._once[name] = (), made
        return made

    def each(
        self,
        name: str,
        things: Iterable[T],
        make: Callable[[T], R],
        *,
        beside: tuple[object, ...] = (),
        among: Mapping[str, object] | None = None,
        looks_up: Callable[[T], Iterable[str]] | None = None,
    ) -> list[R]:
        """``make(thing)`` of all things, computed for those only for which something is new.

        Args:
            name: of the computation.
            things: in any order.
            make: computes the result of one.
            beside: all that every result hangs on, beside the thing.
            among: in which results look things up, maybe in vain; None: in nothing.
            looks_up: the keys under which the result of a thing looks something up.
        """
        among = {} if among is None else among
        last = self._each.get(name)
        known: dict[int, tuple[Any, Any]] = {}
        other: set[str] = set()
        if last is not None and _same(last.beside, beside):
            known = last.found
            if last.among is not among:
                other = _other(last.among, among)
        found: dict[int, tuple[Any, Any]] = {}
        results: list[R] = []
        for thing in things:
            here = id(thing)
            entry = known.get(here)
            if (
                entry is None
                or entry[0] is not thing
                or (other and looks_up is not None and not other.isdisjoint(looks_up(thing)))
            ):
                entry = thing, make(thing)
            found[here] = entry
            results.append(entry[1])
        self._each[name] = _Each(beside, among, found)
        return results

    def together(
        self,
        name: str,
        things: Sequence[T],
        make: Callable[[Sequence[int]], list[R]],
        *,
        beside: tuple[object, ...] = (),
    ) -> list[R]:
        """Results of all things, computed at once for those for which something is new.

        Args:
            name: of the computation.
            things: in any order.
            make: computes the results of the things at some positions, ascending, in that order.
            beside: all that every result hangs on, beside the thing.
        """
        last = self._each.get(name)
        known = last.found if last is not None and _same(last.beside, beside) else {}
        entries = [known.get(id(thing)) for thing in things]
        new = [
            i
            for i, (entry, thing) in enumerate(zip(entries, things, strict=True))
            if entry is None or entry[0] is not thing
        ]
        for i, made in zip(new, make(new) if new else [], strict=True):
            entries[i] = things[i], made
        results = [entry for entry in entries if entry is not None]
        self._each[name] = _Each(beside, {}, {id(thing): (thing, found) for thing, found in results})
        return [found for _, found in results]


def _same(before: Sequence[object], after: Sequence[object]) -> bool:
    return len(before) == len(after) and all(
        one is other or (type(one) is type(other) and isinstance(one, _PLAIN) and one == other)
        for one, other in zip(before, after, strict=True)
    )


_PLAIN = (int, float, str, bytes, frozenset)


def _other(before: Mapping[str, object], after: Mapping[str, object]) -> set[str]:
    """Keys under which there is another object now, or none any more, or one only now."""
    nothing = object()
    other = {key for key, value in after.items() if before.get(key, nothing) is not value}
    other.update(before.keys() - after.keys())
    return other


class KeptRound(NamedTuple):
    """What the rounds of one session keep; the model and the verifier each have their own.

    Attributes:
        model: of the model's arrays.
        verifier: of the verifier's facts.
    """

    model: Kept
    verifier: Kept

    @classmethod
    def empty(cls) -> KeptRound:
        """Nothing yet."""
        return cls(Kept(), Kept())
