"""What a job holds: tasks and pinned devices, by group and node."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from gangplan.domain.job import DeviceShare, TaskPlacement


class Held(NamedTuple):
    """Tasks of one group on one node, and the device indices they hold (none where they are not pinned).

    ``shares`` says what of each device in ascending order they hold; empty: all of it.
    """

    tasks: int
    devices: frozenset[int]
    shares: tuple[DeviceShare, ...] = ()


Holding = Mapping[tuple[str, str], Held]
"""What a job holds, by (group, node)."""

NOTHING: Holding = MappingProxyType({})
_NO_DEVICES: frozenset[int] = frozenset()


def holding(placements: tuple[TaskPlacement, ...]) -> Holding:
    """What ``placements`` hold together."""
    if len(placements) == 1:
        only = placements[0]
        devices = frozenset(only.devices) if only.devices else _NO_DEVICES
        return {(only.group, only.node): Held(only.tasks, devices, only.shares)}
    found: dict[tuple[str, str], Held] = {}
    for placement in placements:
        key = (placement.group, placement.node)
        known = found.get(key, Held(0, _NO_DEVICES))
        found[key] = Held(
            known.tasks + placement.tasks,
            known.devices | frozenset(placement.devices),
            known.shares + placement.shares,
        )
    return found


def minus(one: Holding, other: Holding) -> Holding:
    """What ``one`` has and ``other`` has not."""
    left: dict[tuple[str, str], Held] = {}
    for key, held in one.items():
        known = other.get(key)
        if known is None:
            left[key] = held
        elif held.tasks > known.tasks or held.devices - known.devices:
            left[key] = Held(max(0, held.tasks - known.tasks), held.devices - known.devices, held.shares)
    return left


def counts(one: Holding) -> dict[str, int]:
    """Tasks by group."""
    found: dict[str, int] = {}
    for (group, _), held in one.items():
        found[group] = found.get(group, 0) + held.tasks
    return found


def within(inner: Holding, outer: Holding, group: str) -> bool:
    """Whether all that ``inner`` holds for ``group``, ``outer`` holds too."""
    for key, held in inner.items():
        if key[0] == group:
            known = outer.get(key)
            if known is None or held.tasks > known.tasks or not held.devices <= known.devices:
                return False
    return True
