"""Accelerators, topology and nodes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_serializer, model_validator

from gangplan.planning.scenario.quantities import (
    Count,
    Cpu,
    Memory,
    Name,
    NonNegative,
    Positive,
    SignedDuration,
    Whole,
)
from gangplan.planning.scenario.schema.part import Members, Part


class Accelerator(Part):
    """A catalogue entry; a bare number is its speed.

    Attributes:
        speed: work per second of one device where a job brings no profile; the reference device has 1.
        price: of one device for an hour, in any currency, to the millionth; None: free.
    """

    speed: Positive = 1.0
    price: NonNegative | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_number(cls, value: Any) -> Any:
        return {"speed": value} if isinstance(value, int | float) else value

    @model_serializer(mode="plain")
    def _to_number(self) -> float | dict[str, float]:
        return self.speed if self.price is None else {"speed": self.speed, "price": self.price}


class DomainGroup(Part):
    """Alike domains of the topology tree, with what they contain.

    Attributes:
        name: with ``{}`` for the number when there are several; numbers run on over all parents.
        count: how many in each parent.
        level: by default the level next below the parent's.
        domains: what each of them contains.
    """

    name: Name
    count: Count = 1
    level: Name | None = None
    domains: list[DomainGroup] = []


class TopologyPart(Part):
    """The topology tree.

    Attributes:
        levels: outermost first, without ``cluster`` and ``node``, which are always there.
        domains: nested.
    """

    levels: list[Name] = []
    domains: list[DomainGroup] = []


class TaintPart(Part):
    """A mark on a node that repels tasks without a toleration."""

    key: Name
    value: str = ""
    effect: Literal["NO_SCHEDULE", "NO_EXECUTE"] = "NO_SCHEDULE"


class TolerationPart(Part):
    """A task's consent to a taint; what is left out is any."""

    key: Name | None = None
    value: str | None = None
    effect: Literal["NO_SCHEDULE", "NO_EXECUTE"] | None = None


class OthersPart(Part):
    """What work outside this scheduler holds on each of the nodes.

    Attributes:
        gpus: device indices, or their number on COUNT_ONLY nodes.
        cpu: CPUs.
        memory: bytes.
    """

    gpus: Whole | list[Whole] = 0
    cpu: Cpu = 0
    memory: Memory = 0


class NodeGroup(Members):
    """Alike nodes.

    Attributes:
        count: how many in each domain.
        domain: innermost domain they are in; several, or a pattern such as ``rack-*``: as many nodes in each.
        type: accelerator type; None for CPU-only nodes.
        gpus: devices on each node.
        cpu: CPUs of each node.
        memory: bytes of each node.
        reporting: EXACT nodes pin device indices, COUNT_ONLY nodes do not (decision 21).
        unhealthy_gpus: device indices out of order, or their number on COUNT_ONLY nodes.
        others: what work outside this scheduler holds.
        labels: matched by selectors.
        taints: repel tasks without a toleration.
        cordoned: nothing new comes here.
        health: UNHEALTHY nodes run nothing.
        drain: from the start until the nodes are drained.
        revision: opaque version, echoed in preconditions.
    """

    domain: Name | list[Name] | None = None
    type: Name | None = None
    gpus: Annotated[Whole, Field(le=4096)] = 0
    cpu: Cpu = 0
    memory: Memory = 0
    reporting: Literal["EXACT", "COUNT_ONLY"] = "EXACT"
    unhealthy_gpus: Whole | list[Whole] = 0
    others: OthersPart = OthersPart()
    labels: dict[Name, str] = {}
    taints: list[TaintPart] = []
    cordoned: bool = False
    health: Literal["HEALTHY", "UNHEALTHY"] = "HEALTHY"
    drain: SignedDuration | None = None
    revision: str = ""
