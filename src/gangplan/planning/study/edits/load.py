"""More or less load."""

from __future__ import annotations

from dataclasses import replace

from pydantic import RootModel

from gangplan.planning.scenario.quantities import Positive
from gangplan.planning.study.edits.protocol import Setup

KEY = "load"


class Edit(RootModel[Positive | int]):
    """Jobs arrive so many times as fast: the same ones in less time; deadlines stay as long after arrival."""

    def change(self, setup: Setup) -> Setup:
        """See :class:`~gangplan.planning.study.edits.protocol.EditPart`."""
        return replace(setup, load=setup.load * float(self.root))
