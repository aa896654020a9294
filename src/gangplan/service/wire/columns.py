"""Fields of very many messages of one type, read from their bytes all at once.

Asking a message for a field takes a tenth of a microsecond, and a job has thirty. Here one step reads one
field of all messages: the tags at which they stand are compared as an array, and those that have it move on.
It counts on what protobuf writes, fields in the order of their numbers. A message that says anything else, or
anything that was not asked for, is not *clean*; whoever reads it looks at the message itself then.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Span = tuple[Ints, Ints]
"""First byte and the one after the last, of each message; both 0 where the field is not set."""

_VARINT, _DOUBLE, _LENGTH = 0, 1, 2
_NANOS = 10**9
_EXACT = 2**53
_LATEST = 2**33
"""Seconds up to which a total of nanoseconds is a 64-bit integer; later ones are read one by one."""
_LONGEST_VARINT = 10
_PADDING = bytes(16)
_MOST = 1024
"""Most entries of a repeated field that are read here."""


class Columns:
    """Messages of one type, each read up to the same field.

    The reading methods are called in the order of fields' numbers. Each gives a column: an entry for every
    message, which is the field's default where it is not set.

    Args:
        data: all bytes, and at least 16 more.
        start: where each message begins.
        stop: where each one ends.
    """

    __slots__ = ("_at", "_clean", "_data", "_stop")

    def __init__(self, data: npt.NDArray[np.uint8], start: Ints, stop: Ints) -> None:
        self._data = data
        self._at = start.copy()
        self._stop = stop
        self._clean = np.ones(len(start), dtype=np.bool_)

    @classmethod
    def of(cls, encoded: Sequence[bytes]) -> tuple[Columns, bytes]:
        """Of messages' bytes, and all these bytes, in which spans are."""
        data = b"".join([*encoded, _PADDING])
        stop = np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)))
        start = np.concatenate([np.zeros(1, np.int64), stop[:-1]]) if len(stop) else stop
        return cls(np.frombuffer(data, np.uint8), start, stop), data

    def __len__(self) -> int:
        return len(self._at)

    def clean(self) -> Bools:
        """Which messages said nothing beyond what was read, and nothing that was refused."""
        clean: Bools = self._clean & (self._at == self._stop)
        return clean

    def rest(self) -> Span:
        """Where the bytes are that were not read yet."""
        return self._at, self._stop

    def refuse(self, which: Bools) -> None:
        """These are not clean."""
        self._clean &= ~which

    def _mask(self, here: Ints) -> Bools:
        found = np.zeros(len(self._at), np.bool_)
        found[here] = True
        return found

    def integer(self, number: int) -> tuple[Ints, Bools]:
        """A varint, as a signed integer, and where it is set; 0 where it is not."""
        here = self._having(number, _VARINT)
        values = np.zeros(len(self._at), np.int64)
        values[here] = self._varint(here)
        return values, self._mask(here)

    def real(self, number: int) -> tuple[Reals, Bools]:
        """A double, and where it is set; 0 where it is not."""
        here = self._having(number, _DOUBLE)
        values = np.zeros(len(self._at))
        if len(here):
            at = self._at[here]
            self._move(here, at + 8)
            values[here] = self._data[at[:, None] + np.arange(8)].view("<f8")[:, 0]
        return values, self._mask(here)

    def span(self, number: int) -> tuple[Span, Bools]:
        """Where the bytes of a text, a message or a packed list are, and where it is set."""
        here, (starts, stops) = self._length(number)
        start, stop = np.zeros((2, len(self._at)), np.int64)
        start[here], stop[here] = starts, stops
        return (start, stop), self._mask(here)

    def skip_all(self, number: int) -> None:
        """Pass over a repeated field of texts or messages; whoever has very many of them is not clean."""
        here: Ints | None = None
        for _ in range(_MOST):
            here, _ = self._length(number, here)
            if not len(here):
                break

    def each(self, number: int) -> tuple[Ints, Columns]:
        """All messages of a repeated field: whose each is, ascending, and the messages.

        What is not clean among them is for the caller to refuse here. Whoever has very many of them is not
        clean.
        """
        owners, starts, stops = [], [], []
        here: Ints | None = None
        for _ in range(_MOST):
            here, (start, stop) = self._length(number, here)
            if not len(here):
                break
            owners.append(here)
            starts.append(start)
            stops.append(stop)
        if not owners:
            return np.zeros(0, np.int64), Columns(self._data, *np.zeros((2, 0), np.int64))
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        start, stop = np.concatenate(starts)[order], np.concatenate(stops)[order]
        return owner[order], Columns(self._data, start, stop)

    def inner(self, number: int) -> tuple[Columns, Bools]:
        """The message of a field, which says nothing where it is not set, and where it is set.

        What is not clean among them is for the caller to refuse here.
        """
        span, there = self.span(number)
        return self.within(span), there

    def within(self, span: Span) -> Columns:
        """Messages of which the bytes are there."""
        return Columns(self._data, *span)

    def seconds(self, number: int, longest: int, least: int = 0) -> tuple[Reals, Bools]:
        """A Duration or a Timestamp in seconds, rounded to the nearest double, and where it is set.

        Args:
            number: of the field.
            longest: so many seconds and more are not clean.
            least: fewest nanoseconds in all.
        """
        time, there = self.inner(number)
        whole, _ = time.integer(1)
        nanos, _ = time.integer(2)
        wrong = (whole < 0) | (whole >= min(longest, _LATEST)) | (nanos < 0) | (nanos >= _NANOS)
        whole[wrong] = 0
        total = whole * _NANOS + nanos
        self.refuse(wrong | (there & (total < least)) | ~time.clean())
        return nearest(whole, nanos, total), there

    def _having(self, number: int, kind: int, among: Ints | None = None) -> Ints:
        """Which messages, of all or of some, stand at a field; they move past its tag."""
        tag = number << 3 | kind
        at, stop = (self._at, self._stop) if among is None else (self._at[among], self._stop[among])
        if tag < 128:
            having = (self._data[at] == tag) & (at < stop)
        else:
            low, high = self._data[at] == (tag & 127 | 128), self._data[at + 1] == tag >> 7
            having = low & high & (at + 1 < stop)
        here = np.flatnonzero(having) if among is None else among[having]
        self._at[here] += 1 if tag < 128 else 2
        return here

    def _varint(self, here: Ints) -> Ints:
        """The varints at which the messages at ``here`` stand; they move past them."""
        at = self._at[here]
        byte = self._data[at]
        values = (byte & 127).astype(np.uint64)
        at += 1
        more = np.flatnonzero(byte >= 128)
        for place in range(1, _LONGEST_VARINT):
            if not len(more):
                break
            byte = self._data[at[more]]
            values[more] |= (byte & 127).astype(np.uint64) << np.uint64(7 * place)
            at[more] += 1
            more = more[byte >= 128]
        self._move(here, at)
        return values.view(np.int64)

    def _length(self, number: int, among: Ints | None = None) -> tuple[Ints, Span]:
        here = self._having(number, _LENGTH, among)
        if not len(here):
            return here, (here, here)
        length = self._varint(here)
        start = self._at[here]
        room = self._stop[here] - start
        wrong = (length < 0) | (length > room)
        stop = start + np.where(wrong, 0, length)
        self._at[here] = stop
        self._clean[here[wrong]] = False
        return here, (start, stop)

    def _move(self, here: Ints, at: Ints) -> None:
        """Move on; whoever would pass its end is not clean, and stays there."""
        stop = self._stop[here]
        self._clean[here[at > stop]] = False
        self._at[here] = np.minimum(at, stop)


def nearest(whole: Ints, nanos: Ints, total: Ints) -> Reals:
    """The doubles nearest to ``total`` nanoseconds in seconds.

    Below 2^53 ns the total is a double, and so the quotient is the nearest. From 2^20 s on, the sum of the
    seconds and the double nearest to the rest is: a total is at least 2^9 / (10^9 2^(53-e)) s from the
    middle of two doubles near 2^e s (or on one), and the rest's error is at most 2^-54 s.
    """
    return np.where(total < _EXACT, total / _NANOS, whole + nanos / _NANOS)


def or_none(values: Reals, there: Bools) -> list[float | None]:
    """A column as Python's numbers; None where the field is not set."""
    found: list[float | None] = values.tolist()
    for index in np.flatnonzero(~there).tolist():
        found[index] = None
    return found


def lists(span: Span) -> tuple[list[int], list[int]]:
    """Where each begins and ends, as Python's numbers."""
    return span[0].tolist(), span[1].tolist()


def packed(encoded: bytes) -> list[int]:
    """The numbers of a packed list of 32-bit integers."""
    numbers = []
    value = shift = 0
    for byte in encoded:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append((value + 2**31) % 2**32 - 2**31)
            value = shift = 0
    return numbers
