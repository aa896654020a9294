"""What a job may refer to by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gangplan.domain.cluster import Node


@dataclass(frozen=True, slots=True)
class Known:
    """Names that jobs may refer to.

    Attributes:
        types: catalogued accelerator types.
        scopes: level names, ``cluster`` and ``node`` among them.
        queues: queues.
        profiles: throughput profiles.
        nodes: the cluster's nodes by name.
        taken: path of the placement that holds a device, by node and index; filled while reading.
    """

    types: frozenset[str]
    scopes: frozenset[str]
    queues: frozenset[str]
    profiles: frozenset[str]
    nodes: Mapping[str, Node]
    taken: dict[str, dict[int, str]] = field(default_factory=dict)
