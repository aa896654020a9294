"""The round's whole programme, formulated once, when a step first asks for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gangplan.engine.judge import Judge
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import Layout, build_layout
from gangplan.model.program import Program


@dataclass(slots=True)
class Formulated:
    """What columns mean, and the programme over them.

    Attributes:
        judge: of the round.
    """

    judge: Judge
    _found: tuple[Layout, Program] | None = field(default=None, repr=False)

    def get(self) -> tuple[Layout, Program]:
        """Columns and programme."""
        if self._found is None:
            with self.judge.budget.phase("formulate"):
                layout = build_layout(self.judge.instance)
                self._found = layout, formulate(layout)
        return self._found
