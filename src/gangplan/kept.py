"""What a round leaves to the next one that is much the same: results, by what they were made from.

A session's rounds share most of their jobs and nodes, as the same objects. A result is used again where all
that it was made from is the same: the same object, or an equal number or text. So a round with something kept
comes out exactly as one without, and nothing has to be declared out of date.

Only what the last round used is kept. Whoever computes with it must not change a result, and must give
every input that the result hangs on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress, count
from operator import is_not
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class _Each(NamedTuple):
    """Results of one computation, thing by thing.

    Attributes:
        beside: what else they were made from.
        among: what they look things up in.
        things: what they are of; keeps their ids their own.
        results: of each.
    """

    beside: tuple[object, ...]
    among: Mapping[str, object]
    things: Sequence[Any]
    results: list[Any]


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
        if last is not None and same(last[0], beside):
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

    def after(self, name: str, follow: Callable[[R | None], R]) -> R:
        """``follow(last)``, with what it gave here the last time; None: there was no last time."""
        last = self._once.get(name)
        made = follow(None if last is None else last[1])
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
        things = list(things)
        last = self._of(name, beside)
        results, new = _found(last, things)
        if looks_up is not None and last.among is not among and (other := _other(last.among, among)):
            touched = {i for i, one in enumerate(things) if not other.isdisjoint(looks_up(one))}
            new = sorted(touched.union(new))
        results = _with(results, new, [make(things[i]) for i in new])
        self._each[name] = _Each(beside, among, things, results)
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
        things = list(things)
        results, new = _found(self._of(name, beside), things)
        results = _with(results, new, make(new) if new else [])
        self._each[name] = _Each(beside, {}, things, results)
        return results

    def _of(self, name: str, beside: tuple[object, ...]) -> _Each:
        """What a computation left, if all that its results hang on is the same."""
        last = self._each.get(name)
        return last if last is not None and same(last.beside, beside) else _Each(beside, {}, (), [])


def moves(before: Sequence[object], things: Sequence[object]) -> tuple[list[int], list[tuple[int, int]]]:
    """The positions of those of ``things`` that were not there before, and ``(position, place before)`` of
    those that stood elsewhere; all others stand where they stood.

    Things are told apart by identity. Most stand where they stood, which is seen without asking for anything
    by its id.
    """
    other = list(compress(count(), map(is_not, before, things)))
    other += range(min(len(before), len(things)), max(len(before), len(things)))
    where = {id(before[i]): i for i in other if i < len(before)}
    new, moved = [], []
    for i in other:
        if i < len(things):
            at = where.get(id(things[i]))
            if at is None:
                new.append(i)
            else:
                moved.append((i, at))
    return new, moved


def _found(last: _Each, things: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """The results of ``things`` as far as they are known, and the positions of the others.

    Where all things stand where they stood, the results are the very list that there was.
    """
    new, moved = moves(last.things, things)
    if not new and not moved and len(last.things) == len(things):
        return last.results, []
    results: list[Any] = list(last.results[: len(things)])
    results += [None] * (len(things) - len(results))
    for i, at in moved:
        results[i] = last.results[at]
    return results, new


def _with(results: list[R], new: Sequence[int], made: Sequence[R]) -> list[R]:
    """``results`` with others at the positions ``new``; the list itself where there are none."""
    if not new:
        return results
    results = list(results)
    for i, result in zip(new, made, strict=True):
        results[i] = result
    return results


def same(before: Sequence[object], after: Sequence[object]) -> bool:
    """Whether all inputs of a computation are the same: the same objects, or equal numbers or texts."""
    if len(before) != len(after):
        return False
    return all(
        type(one) is type(other) and isinstance(one, _PLAIN) and one == other
        for one, other in compress(zip(before, after, strict=True), map(is_not, before, after))
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
