"""The engine with its look-ahead: each round's best plan that follows a fluid plan of what is to come."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.terms import switching
from gangplan.planning.policies.protocol import How

NAME = "tracking"
ABOUT = "gangplan's plan of each round, following a fluid plan of all that is known; prices carried over"

_SHARE = 0.5
"""Share of a round's budget for the look-ahead, where there is a budget."""


@dataclass(frozen=True, slots=True)
class Tracking:
    """Plans each round along an outlook made from the one before.

    Service that the outlook asks for earns its value and ``tracking_weight`` times that again; so what is
    lost by a stop is counted as much more. Were it not, every stop would look ``1 + tracking_weight`` times
    as good as it is: at a load of 1, work was thrown away round after round.

    Attributes:
        how: pipeline and budget.
        name: of the policy.
    """

    how: How
    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        asked = round_.policy
        factor = 1.0 + asked.tracking_weight
        policy = replace(asked, switching_weight=asked.switching_weight * factor)
        round_ = replace(round_, policy=policy, outlook=None if before is None else before.outlook)
        found = self.how.plan(round_, before, look_ahead_share=_SHARE)
        return replace(found, plan=_as_asked(found.plan, factor))


def _as_asked(plan: Plan, factor: float) -> Plan:
    """The plan with what its actions cost under the policy that was asked for."""
    name = switching.NAME
    actions = [
        replace(action, cost_by_term={**action.cost_by_term, name: action.cost_by_term[name] / factor})
        if action.cost_by_term.get(name)
        else action
        for action in plan.actions
    ]
    return replace(plan, actions=tuple(actions))


def make(how: How) -> Tracking:
    """The policy."""
    return Tracking(how)
