"""Queues."""

from __future__ import annotations

from gangplan.planning.scenario.quantities import Name, Positive, Whole
from gangplan.planning.scenario.schema.amounts import Amount
from gangplan.planning.scenario.schema.part import Part


class QueuePart(Part):
    """A queue; limits hold for its whole subtree.

    Attributes:
        name: unique.
        parent: enclosing queue.
        limit: most devices of all types; None is unlimited, 0 is none at all.
        limits: the same by accelerator type.
        guarantee: devices that it is owed whenever it has work for them; None or 0: none.
        weight: what it is owed, relative to its siblings.
        received: what its subtree has received so far, decayed: device-seconds, or device time such as 40h;
            None: unknown.
    """

    name: Name
    parent: Name | None = None
    limit: Whole | None = None
    limits: dict[Name, Whole] = {}
    guarantee: Whole | None = None
    weight: Positive = 1.0
    received: Amount | None = None
