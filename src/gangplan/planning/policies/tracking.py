"""The engine with its look-ahead: each round's best plan that follows a fluid plan of what is to come."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gangplan.domain.plan import RoundResult
from gangplan.domain.round import Round
from gangplan.planning.policies.protocol import How

NAME = "tracking"
ABOUT = "gangplan's plan of each round, following a fluid plan of all that is known; prices carried over"

_SHARE = 0.5
"""Share of a round's budget for the look-ahead, where there is a budget."""


@dataclass(frozen=True, slots=True)
class Tracking:
    """Plans each round along an outlook made from the one before.

    Attributes:
        how: pipeline and budget.
        name: of the policy.
    """

    how: How
    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        round_ = replace(round_, outlook=None if before is None else before.outlook)
        return self.how.plan(round_, before, look_ahead_share=_SHARE)

    def steady_until(self, round_: Round) -> float:
        """See :meth:`How.steady_until`."""
        return self.how.steady_until(round_)


def make(how: How) -> Tracking:
    """The policy."""
    return Tracking(how)
