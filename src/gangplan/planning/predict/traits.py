"""What is known of a job when it is submitted, and whom that makes it alike to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gangplan.domain.job import WHOLE_DEVICE, Job

Group = tuple[str | int | tuple[str, ...], ...]
"""Jobs that have something in common."""


@dataclass(frozen=True, slots=True)
class Traits:
    """A job as history knows it.

    Attributes:
        user: whose it is; empty: nobody says.
        kind: its name without what counts runs: every row of digits is one ``#``.
        devices: how many it asks for, in thousandths.
        types: accelerator types that it may run on; empty: any.
    """

    user: str
    kind: str
    devices: int
    types: tuple[str, ...]

    def groups(self) -> tuple[Group, ...]:
        """The groups that it is in, from the widest to the narrowest."""
        found: list[Group] = [(), ("size", self.devices, self.types)]
        if self.user:
            found += [("user", self.user), ("user and name", self.user, self.kind)]
        return tuple(found)


def traits_of(job: Job) -> Traits:
    """The traits of a job."""
    groups = job.component.task_groups
    types = sorted({kind for group in groups for kind in group.accelerator_types})
    devices = sum(group.count * group.device_milli for group in groups)
    return Traits(job.user, re.sub(r"\d+", "#", job.name), devices or WHOLE_DEVICE, tuple(types))
