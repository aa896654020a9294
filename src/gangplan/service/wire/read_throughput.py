"""Throughput profiles on the wire -> :class:`~gangplan.domain.job.ThroughputProfile`."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from gangplan.domain.job import ThroughputProfile
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.v1 import throughput_pb2


def read_profiles(
    messages: Sequence[throughput_pb2.ThroughputProfile],
    path: str,
    types: frozenset[str],
    scopes: frozenset[str],
    fields: Fields,
) -> tuple[ThroughputProfile, ...]:
    """The shared profiles; every cell with known names, and each cell once."""
    seen: dict[str, str] = {}
    profiles = []
    for index, message in enumerate(messages):
        here = f"{path}profiles[{index}]."
        name = fields.name(message.name, here, "name")
        fields.unique(seen, name, f"{here}name")
        profiles.append(ThroughputProfile(name, _read_cells(message, here, types, scopes, fields)))
    return tuple(profiles)


def _read_cells(
    message: throughput_pb2.ThroughputProfile,
    path: str,
    types: frozenset[str],
    scopes: frozenset[str],
    fields: Fields,
) -> MappingProxyType[tuple[str, int, str], float]:
    size = len(message.throughputs)
    for name in ("accelerator_types", "counts", "scopes"):
        length = len(getattr(message, name))
        if length != size:
            fields.refuse(
                f"{path}{name}", f"has {length} entries beside {size} throughputs; they run in parallel"
            )
    cells: dict[tuple[str, int, str], float] = {}
    columns = (message.accelerator_types, message.counts, message.scopes, message.throughputs)
    for index, (type_, count, scope, value) in enumerate(zip(*columns, strict=False)):
        fields.known(type_, types, path, f"accelerator_types[{index}]", "catalogued accelerator type")
        fields.known(scope, scopes, path, f"scopes[{index}]", "level")
        fields.integer(count, path, f"counts[{index}]", 1, limits.TASKS)
        fields.real(value, path, f"throughputs[{index}]", 0.0, limits.THROUGHPUT)
        if (type_, count, scope) in cells:
            fields.refuse(f"{path}throughputs[{index}]", f"({type_}, {count}, {scope}) is there twice")
        cells[type_, count, scope] = value
    return MappingProxyType(cells)
