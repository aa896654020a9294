"""What names an instance: its size, its present state, how much of it is held, and a seed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.generate.families import FAMILIES

STARTS = ("steady", "random", *FAMILIES)
"""Present states; a family is the steady state of another mix."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large an instance is.

    Attributes:
        name: one of :data:`SIZES`, or a name of your own.
        devices: at least this many; racks are filled up.
        jobs: running and waiting.
        nodes_per_rack: nodes in every rack.
        racks_per_spine: racks under every spine but the last.
        largest_job: most devices that a job asks for, a power of two.
        tenant_share: most of the cluster that one tenant may hold, 0 to 1.
    """

    name: str
    devices: int
    jobs: int
    nodes_per_rack: int = 32
    racks_per_spine: int = 8
    largest_job: int = 256
    tenant_share: float = 0.35


SIZES = {
    size.name: size
    for size in (
        Size("S", 64, 60, 2, 2, largest_job=32, tenant_share=0.5),
        Size("M", 512, 400, 8, 4, largest_job=64),
        Size("L", 2048, 1500),
        Size("XL", 16_384, 8000),
        Size("XXL", 100_000, 50_000),
    )
}


@dataclass(frozen=True, slots=True)
class InstanceName:
    """What names an instance; written ``L/steady/85/seed3`` (decision 45).

    Attributes:
        size: one of :data:`SIZES`.
        start: one of :data:`STARTS`.
        occupancy_percent: share of the devices that running jobs hold.
        seed: of the random stream.
    """

    size: str
    start: str = "steady"
    occupancy_percent: int = 50
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.size}/{self.start}/{self.occupancy_percent}/seed{self.seed}"

    @classmethod
    def parse(cls, text: str) -> InstanceName:
        """Read ``SIZE/START/OCCUPANCY/seedN``.

        Raises:
            InvalidInputError: the text has another form, or names what does not exist.
        """
        match = re.fullmatch(r"([A-Z]+)/([a-z0-9-]+)/(\d{1,3})/seed(\d{1,9})", text)
        known = match is not None and match[1] in SIZES and match[2] in STARTS
        if match is None or not known or int(match[3]) > 100:
            sizes, starts = ", ".join(SIZES), ", ".join(STARTS)
            raise InvalidInputError(
                [
                    FieldViolation(
                        "instance",
                        f"{text!r} is not SIZE/START/OCCUPANCY/seedN, e.g. M/steady/50/seed0 "
                        f"(sizes: {sizes}; starts: {starts})",
                    )
                ]
            )
        return cls(match[1], match[2], int(match[3]), int(match[4]))
