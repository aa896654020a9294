"""Queues: nodes of the quota tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_NO_LIMITS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Queue:
    """A tenant, team or project.

    Attributes:
        name: unique.
        parent: enclosing queue; a limit holds for the whole subtree. None for a root.
        device_limit: most devices of all types that jobs of the subtree may hold; None is
            unlimited, 0 is none at all.
        device_limit_by_type: the same per accelerator type; a type that is not listed is unlimited.
    """

    name: str
    parent: str | None = None
    device_limit: int | None = None
    device_limit_by_type: Mapping[str, int] = field(default_factory=lambda: _NO_LIMITS)
