"""Another policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import model_validator

from gangplan.planning import policies
from gangplan.planning.scenario.expand import policy_of
from gangplan.planning.scenario.quantities import Name
from gangplan.planning.scenario.schema.policy import PolicyPart
from gangplan.planning.study.edits.protocol import EditPart, Setup

KEY = "policy"


class Edit(EditPart):
    """Who decides, and what is weighed; a bare word is who decides.

    Attributes:
        decides: a name that ``gangplan simulate --policy list`` knows.
        weights: a scenario's ``policy``: a preset, weights, limits; what is not written stays as it is.
    """

    decides: Name | None = None
    weights: PolicyPart | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: Any) -> Any:
        return {"decides": value} if isinstance(value, str) else value

    def change(self, setup: Setup) -> Setup:
        """See :class:`EditPart`."""
        if self.decides is not None:
            policies.make(self.decides)  # refuses what is not there
            setup = replace(setup, policy=self.decides)
        if self.weights is not None:
            policy = policy_of(self.weights, setup.site.policy)
            setup = replace(setup, site=replace(setup.site, policy=policy))
        return setup
