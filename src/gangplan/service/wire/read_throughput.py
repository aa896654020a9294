"""Throughput profiles on the wire -> :class:`~gangplan.domain.job.ThroughputProfile`."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from gangplan.domain.cells import Cell, Cells
from gangplan.domain.job import ThroughputProfile
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.twins import twin_maker
from gangplan.v1 import throughput_pb2

_profile = twin_maker(ThroughputProfile)


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
        values = message.throughputs[:]
        profiles.append(_profile(name, grids.read(message, values, here)))
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

    def read(self, message: throughput_pb2.ThroughputProfile, values: list[float], path: str) -> Cells:
        """The cells of a profile with their throughputs, ``values``."""
        bare = self._bare
        bare.CopyFrom(message)
        bare.ClearField("name")
        bare.ClearField("throughputs")
        key = bare.SerializeToString()
        place = self._known.get(key)
        if place is not None and len(place) == len(values) and _surely_in_range(values):
            return Cells(place, array("d", values))
        before = len(self._fields.invalid)
        found = self._checked(message, values, path)
        place = {cell: at for at, cell in enumerate(found)}
        if len(self._fields.invalid) == before:
            self._known[key] = place
        return Cells(place, array("d", found.values()))

    def _checked(
        self, message: throughput_pb2.ThroughputProfile, values: list[float], path: str
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


def _surely_in_range(values: list[float]) -> bool:
    """Whether all throughputs are surely numbers from 0 to the limit: their sum is NaN if one of them is."""
    return not values or (min(values) >= 0.0 and sum(values) <= limits.THROUGHPUT)
