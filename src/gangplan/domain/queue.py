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
        device_guarantee: devices that jobs of the subtree are owed whenever they can use them: they are
            served before tiers and terms count, and others give way; None or 0: none is promised.
        weight: positive; the queue is owed this share of what its parent has, relative to those of its
            siblings that have jobs. Jobs that are in a queue itself, beside child queues, together count as
            one child of weight 1, and so do all jobs without a queue.
        service_received: what the jobs of its subtree have received so far, carried and decayed by the
            caller; None: unknown, then the queue is neither ahead nor behind. In device-seconds for fairness
            of device time, in device-seconds of the reference device's work for that of effective
            throughput: all siblings in the same unit.
    """

    name: str
    parent: str | None = None
    device_limit: int | None = None
    device_limit_by_type: Mapping[str, int] = field(default_factory=lambda: _NO_LIMITS)
    weight: float = 1.0
    service_received: float | None = None
    device_guarantee: int | None = None
