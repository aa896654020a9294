"""Queues on the wire -> :class:`~gangplan.domain.queue.Queue`."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from gangplan.domain.queue import Queue
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_topology import find_cycles
from gangplan.v1 import queue_pb2


def read_queues(
    messages: Sequence[queue_pb2.Queue], path: str, types: frozenset[str], fields: Fields
) -> tuple[Queue, ...]:
    """The quota tree: every parent known, no cycle."""
    seen: dict[str, str] = {}
    queues = []
    for index, message in enumerate(messages):
        here = f"{path}queues[{index}]."
        name = fields.name(message.name, here, "name")
        fields.unique(seen, name, f"{here}name")
        by_type = dict(sorted(message.device_limit_by_type.items()))
        for type_, limit in by_type.items():
            at = f'device_limit_by_type["{type_}"]'
            fields.known(type_, types, here, at, "catalogued accelerator type")
            fields.integer(limit, here, at, 0, limits.QUEUE_DEVICES)
        limit_of_all = None
        if message.HasField("device_limit"):
            limit_of_all = fields.integer(message.device_limit, here, "device_limit", 0, limits.QUEUE_DEVICES)
        guarantee = None
        if message.HasField("device_guarantee"):
            guarantee = fields.integer(
                message.device_guarantee, here, "device_guarantee", 0, limits.QUEUE_DEVICES
            )
        weight, received = 1.0, None
        if message.HasField("weight"):
            weight = fields.real(
                message.weight, here, "weight", limits.SMALLEST_FACTOR, limits.LARGEST_FACTOR
            )
        if message.HasField("service_received"):
            received = fields.real(message.service_received, here, "service_received", 0.0, limits.WORK)
        queues.append(
            Queue(
                name,
                message.parent or None,
                limit_of_all,
                MappingProxyType(by_type),
                weight,
                received,
                guarantee,
            )
        )
    parents = {queue.name: queue.parent for queue in queues}
    cycles = find_cycles(parents)
    for index, queue in enumerate(queues):
        if queue.parent is None:
            continue
        here = f"{path}queues[{index}]."
        fields.known(queue.parent, parents, here, "parent", "queue")
        if queue.name in cycles:
            fields.refuse(f"{here}parent", f"{queue.name!r} is its own ancestor: {cycles[queue.name]}")
    return tuple(queues)
