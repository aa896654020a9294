"""Only some of the jobs."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from gangplan.planning.scenario.quantities import Name, Positive
from gangplan.planning.study.edits.protocol import EditPart, Setup

KEY = "jobs"


class Edit(EditPart):
    """Only jobs that all of these hold for.

    Attributes:
        most_gpus: that ask for no more devices.
        users: of these users.
        queues: of these queues.
    """

    most_gpus: Positive | int | None = None
    users: list[str] = Field(default_factory=list)
    queues: list[Name] = Field(default_factory=list)

    def change(self, setup: Setup) -> Setup:
        """See :class:`EditPart`."""
        return replace(
            setup,
            most_gpus=setup.most_gpus if self.most_gpus is None else float(self.most_gpus),
            users=tuple(self.users) or setup.users,
            queues=tuple(self.queues) or setup.queues,
        )
