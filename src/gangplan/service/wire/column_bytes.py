"""Fields of very many messages as protobuf writes them, encoded for all messages at once.

Numbers come as arrays, in which NaN stands for a field that is not set; each gives the bytes of its field,
none where it is not set.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from gangplan.service.wire.put_together import head

Reals = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_NANOS = 10**9
_LONGEST = 2.0**33
"""Seconds that are encoded here: those below."""
_DOUBLE = 1
_REAL = np.dtype([("tag", "u1"), ("value", "<f8")])


def column(values: Sequence[float | None]) -> tuple[Reals, Bools]:
    """Values as an array, NaN for None, and which are sure to be read back from it: all but NaN itself."""
    given = np.array(values, dtype=np.float64)
    missing = np.isnan(given)
    if np.count_nonzero(missing) == values.count(None):
        return given, np.ones(len(given), np.bool_)
    return given, ~missing | np.fromiter([value is None for value in values], np.bool_, len(values))


def are_moments(seconds: Reals) -> Bools:
    """Which of these are encoded by :func:`moments`, or not set."""
    found: Bools = np.isnan(seconds) | ((seconds >= 0.0) & (seconds < _LONGEST))
    return found


def reals(number: int, values: Reals) -> list[bytes]:
    """Doubles in a field below 16."""
    there = np.flatnonzero(~np.isnan(values))
    table = np.empty(len(there), _REAL)
    table["tag"] = number << 3 | _DOUBLE
    table["value"] = values[there]
    return _cut(table.tobytes(), _REAL.itemsize, there, [b""] * len(values))


def moments(number: int, seconds: Reals) -> list[bytes]:
    """Durations or timestamps in a field below 16, rounded to the nanosecond; see :func:`are_moments`."""
    found = [b""] * len(seconds)
    there = np.flatnonzero(~np.isnan(seconds))
    given = seconds[there]
    floor = np.floor(given)
    nanos = np.rint((given - floor) * _NANOS).astype(np.int64)
    whole = floor.astype(np.int64) + (nanos == _NANOS)
    nanos[nanos == _NANOS] = 0
    kinds = _bytes_of(whole) * 16 + _bytes_of(nanos)
    for kind in np.unique(kinds).tolist():
        here = np.flatnonzero(kinds == kind)
        parts = [_varints(1, whole[here], kind // 16), _varints(2, nanos[here], kind % 16)]
        start = np.frombuffer(head(number, sum(part.shape[1] for part in parts)), np.uint8)
        table = np.concatenate([np.broadcast_to(start, (len(here), len(start))), *parts], axis=1)
        found = _cut(table.tobytes(), table.shape[1], there[here], found)
    return found


def _cut(encoded: bytes, size: int, where: Ints, found: list[bytes]) -> list[bytes]:
    """Put pieces of one size where they belong."""
    pieces = [encoded[at : at + size] for at in range(0, len(encoded), size)]
    if len(pieces) == len(found):
        return pieces
    for index, piece in zip(where.tolist(), pieces, strict=True):
        found[index] = piece
    return found


def _bytes_of(values: Ints) -> Ints:
    """Bytes of their varints; none for 0, which is not written."""
    lengths = np.zeros(len(values), np.int64)
    for place in range(5):
        lengths += values >> (7 * place) > 0
    return lengths


def _varints(number: int, values: Ints, length: int) -> npt.NDArray[np.uint8]:
    """Varints of one length in a field below 16, with its tag; shape (values, bytes)."""
    if not length:
        return np.zeros((len(values), 0), np.uint8)
    table = np.empty((len(values), length + 1), np.uint8)
    table[:, 0] = number << 3
    for place in range(length):
        table[:, place + 1] = (values >> (7 * place) & 127) | (128 if place < length - 1 else 0)
    return table
