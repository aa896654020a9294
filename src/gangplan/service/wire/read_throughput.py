"""Throughput profiles on the wire -> :class:`~gangplan.domain.job.ThroughputProfile`."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from functools import cache

from gangplan.domain.cells import Cell, Cells
from gangplan.domain.job import ThroughputProfile
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.twins import twin_maker
from gangplan.v1 import throughput_pb2

_profile = twin_maker(ThroughputProfile)
_SHORT = 127
"""Longest name, and most bytes, whose length takes one byte on the wire."""
_THROUGHPUTS = bytes((throughput_pb2.ThroughputProfile.THROUGHPUTS_FIELD_NUMBER << 3 | 2,))
_DOUBLE = 8
_MOST_BYTES = 1 << 14
"""Bytes whose length takes three bytes on the wire, or more."""


def read_profiles(
    messages: Sequence[throughput_pb2.ThroughputProfile],
    path: str,
    types: frozenset[str],
    scopes: frozenset[str],
    fields: Fields,
) -> tuple[ThroughputProfile, ...]:
    """The shared profiles; every cell with known names, and each cell once."""
    seen: dict[str, str] = {}
    grids = _Grids(types, scopes, fields)
    profiles = []
    names = [message.name for message in messages]
    sure = fields.surely_names(names)
    for index, (name, message) in enumerate(zip(names, messages, strict=True)):
        here = f"{path}profiles[{index}]."
        if not sure:
            fields.name(name, here, "name")
            fields.unique(seen, name, f"{here}name")
        profiles.append(_profile(name, grids.read(message, name, here)))
    return tuple(profiles)


class _Grids:
    """Reads cells; those of profiles that list the same types, counts and scopes are looked at once.

    Args:
        types: catalogued accelerator types.
        scopes: level names.
        fields: collects what is wrong.
    """

    def __init__(self, types: frozenset[str], scopes: frozenset[str], fields: Fields) -> None:
        self._types = types
        self._scopes = scopes
        self._fields = fields
        self._known: dict[bytes, dict[Cell, int]] = {}
        self._bare = throughput_pb2.ThroughputProfile()

    def read(self, message: throughput_pb2.ThroughputProfile, name: str, path: str) -> Cells:
        """The cells of the profile ``name`` with their throughputs."""
        key, values = _split(message, name) or self._slowly(message)
        place = self._known.get(key)
        if place is not None and len(place) == len(values) and _surely_in_range(values):
            return Cells(place, values)
        before = len(self._fields.invalid)
        found = self._checked(message, values, path)
        place = {cell: at for at, cell in enumerate(found)}
        if len(self._fields.invalid) == before:
            self._known[key] = place
        return Cells(place, array("d", found.values()))

    def _slowly(self, message: throughput_pb2.ThroughputProfile) -> tuple[bytes, array[float]]:
        bare = self._bare
        bare.CopyFrom(message)
        bare.ClearField("name")
        bare.ClearField("throughputs")
        return bare.SerializeToString(), array("d", message.throughputs)

    def _checked(
        self, message: throughput_pb2.ThroughputProfile, values: array[float], path: str
    ) -> dict[Cell, float]:
        fields = self._fields
        types, counts, scopes = list(message.accelerator_types), list(message.counts), list(message.scopes)
        lengths = {"accelerator_types": len(types), "counts": len(counts), "scopes": len(scopes)}
        for name, length in lengths.items():
            if length != len(values):
                fields.refuse(
                    f"{path}{name}",
                    f"has {length} entries beside {len(values)} throughputs; they run in parallel",
                )
        cells: dict[Cell, float] = {}
        for index, (type_, count, scope, value) in enumerate(
            zip(types, counts, scopes, values, strict=False)
        ):
            at = f"[{index}]"
            fields.known(type_, self._types, path, f"accelerator_types{at}", "catalogued accelerator type")
            fields.known(scope, self._scopes, path, f"scopes{at}", "level")
            fields.integer(count, path, f"counts{at}", 1, limits.TASKS)
            fields.real(value, path, f"throughputs{at}", 0.0, limits.THROUGHPUT)
            if (type_, count, scope) in cells:
                fields.refuse(f"{path}throughputs[{index}]", f"({type_}, {count}, {scope}) is there twice")
            cells[type_, count, scope] = value
        return cells


def _split(message: throughput_pb2.ThroughputProfile, name: str) -> tuple[bytes, array[float]] | None:
    """What stands between a profile's name and its throughputs on the wire, and these; None: look closer.

    Fields are written in the order of their numbers, so that the name comes first, and the throughputs last
    where nothing is set that is not built. The bytes between them are the same for profiles with the same
    cells.
    """
    encoded = message.SerializeToString()
    length = _DOUBLE * len(message.throughputs)
    begin, end = len(name.encode()), len(encoded) - length
    if not (0 < begin <= _SHORT and 0 < length < _MOST_BYTES and sys.byteorder == "little"):
        return None
    head = _head(length)
    if not encoded.endswith(head, 0, end):
        return None
    values = array("d")
    values.frombytes(encoded[end:])
    return encoded[begin + 2 : end - len(head)], values


@cache
def _head(length: int) -> bytes:
    """What stands before so many bytes of throughputs on the wire."""
    low, high = length & _SHORT, length >> 7
    return _THROUGHPUTS + (bytes((low | 128, high)) if high else bytes((low,)))


def _surely_in_range(values: array[float]) -> bool:
    """Whether all throughputs are surely numbers from 0 to the limit: their sum is NaN if one of them is."""
    return not len(values) or (min(values) >= 0.0 and sum(values) <= limits.THROUGHPUT)
