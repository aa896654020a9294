"""Nodes, devices and what they can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from types import MappingProxyType

from gangplan.domain.topology import Topology

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


class DeviceReporting(Enum):
    """Whether a node reveals and pins device indices (decision 21)."""

    EXACT = "EXACT"
    COUNT_ONLY = "COUNT_ONLY"


class NodeHealth(Enum):
    """Whether a node can run anything."""

    HEALTHY = "HEALTHY"
    UNHEALTHY = "UNHEALTHY"


class TaintEffect(Enum):
    """What a taint does to a task that does not tolerate it."""

    NO_SCHEDULE = "NO_SCHEDULE"
    """Nothing new is placed; what runs stays."""
    NO_EXECUTE = "NO_EXECUTE"
    """Nothing new is placed; what runs is evicted (forced)."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Quantities besides devices, in integer base units.

    Attributes:
        cpu_milli: thousandths of a CPU.
        memory_bytes: bytes of host memory.
    """

    cpu_milli: int = 0
    memory_bytes: int = 0

    def __add__(self, other: Resources) -> Resources:
        return Resources(self.cpu_milli + other.cpu_milli, self.memory_bytes + other.memory_bytes)

    def __sub__(self, other: Resources) -> Resources:
        return Resources(self.cpu_milli - other.cpu_milli, self.memory_bytes - other.memory_bytes)

    def __mul__(self, count: int) -> Resources:
        return Resources(self.cpu_milli * count, self.memory_bytes * count)


@dataclass(frozen=True, slots=True)
class Taint:
    """A mark on a node that repels tasks which do not tolerate it."""

    key: str
    value: str = ""
    effect: TaintEffect = TaintEffect.NO_SCHEDULE


@dataclass(frozen=True, slots=True)
class Toleration:
    """A task's consent to a taint, as in Kubernetes.

    Attributes:
        key: the taint's key; None tolerates every key.
        value: must equal the taint's value; None tolerates every value (operator Exists).
        effect: the effect tolerated; None tolerates every effect.
    """

    key: str | None = None
    value: str | None = None
    effect: TaintEffect | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether this consents to ``taint``."""
        return (
            (self.key is None or self.key == taint.key)
            and (self.value is None or self.value == taint.value)
            and (self.effect is None or self.effect is taint.effect)
        )


@dataclass(frozen=True, slots=True)
class OtherUse:
    """What work outside this scheduler holds on a node (decision 21).

    Attributes:
        devices: device indices, for EXACT nodes; empty for COUNT_ONLY.
        device_count: number of devices; for EXACT nodes it equals ``len(devices)``.
        resources: CPU and memory.
    """

    devices: frozenset[int] = frozenset()
    device_count: int = 0
    resources: Resources = Resources()


@dataclass(frozen=True, slots=True)
class Node:
    """One machine.

    Attributes:
        name: unique in the cluster.
        domain: innermost topology domain; None directly under the root.
        accelerator_type: a catalogued type; None for a CPU-only node.
        device_count: accelerators built in, indices ``0 .. device_count - 1``; 0 for CPU-only.
        resources: allocatable CPU and memory.
        device_reporting: EXACT or COUNT_ONLY.
        unhealthy_devices: indices out of order (EXACT only).
        unhealthy_device_count: number out of order; for EXACT it equals ``len(unhealthy_devices)``.
        labels: matched by node selectors.
        taints: repel tasks without a toleration.
        cordoned: nothing new is placed here; what runs stays.
        health: UNHEALTHY nodes run nothing: what ran there is evicted, forced.
        drain_time: seconds since the epoch; from then on as if UNHEALTHY. None: no drain.
        used_by_others: capacity that is not ours.
        revision: opaque version of the caller's object, echoed in preconditions.
    """

    name: str
    domain: str | None = None
    accelerator_type: str | None = None
    device_count: int = 0
    resources: Resources = Resources()
    device_reporting: DeviceReporting = DeviceReporting.EXACT
    unhealthy_devices: frozenset[int] = frozenset()
    unhealthy_device_count: int = 0
    labels: Mapping[str, str] = field(default_factory=lambda: _NO_LABELS)
    taints: tuple[Taint, ...] = ()
    cordoned: bool = False
    health: NodeHealth = NodeHealth.HEALTHY
    drain_time: float | None = None
    used_by_others: OtherUse = OtherUse()
    revision: str = ""

    @property
    def usable_device_count(self) -> int:
        """Devices that this scheduler may fill: healthy and not used by others; never negative."""
        if self.device_reporting is DeviceReporting.EXACT:
            return len(self.usable_devices)
        return max(0, self.device_count - self.unhealthy_device_count - self.used_by_others.device_count)

    @property
    def usable_devices(self) -> frozenset[int]:
        """Indices of usable devices on an EXACT node; empty on a COUNT_ONLY node."""
        if self.device_reporting is not DeviceReporting.EXACT:
            return frozenset()
        built_in, others = _devices(self.device_count), self.used_by_others.devices
        if not self.unhealthy_devices and not others:
            return built_in
        return built_in - self.unhealthy_devices - others

    @property
    def usable_resources(self) -> Resources:
        """CPU and memory that this scheduler may fill; never negative."""
        others = self.used_by_others.resources
        if not others.cpu_milli and not others.memory_bytes:
            return self.resources
        left = self.resources - others
        return Resources(max(0, left.cpu_milli), max(0, left.memory_bytes))


@cache
def _devices(count: int) -> frozenset[int]:
    """The indices of so many devices; one set for all nodes alike."""
    return frozenset(range(count))


@dataclass(frozen=True, slots=True)
class AcceleratorType:
    """An entry of the accelerator catalogue.

    Attributes:
        name: e.g. ``H100-80GB``.
        relative_speed: work per second of one device where a job brings no profile
            (decision 42); the reference device has 1.0. Positive and finite.
        price_micros_per_hour: price of one device for an hour, millionths of the caller's currency; None: no
            price, free.
    """

    name: str
    relative_speed: float = 1.0
    price_micros_per_hour: int | None = None


@dataclass(frozen=True, slots=True)
class Cluster:
    """Topology and nodes, as they are now."""

    topology: Topology = Topology()
    nodes: tuple[Node, ...] = ()
