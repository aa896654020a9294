"""gangplan under each of its presets, with its look-ahead: policies by the presets' names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gangplan.domain.plan import RoundResult
from gangplan.domain.presets import PRESETS
from gangplan.domain.round import Round
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.tracking import Tracking

PREFIX = "gangplan-"
NAMES: Mapping[str, str] = {
    f"{PREFIX}{name}": f"gangplan's plan of each round with its look-ahead, under the preset {name}"
    for name in PRESETS
}
"""One line on each, by name."""


@dataclass(frozen=True, slots=True)
class Preset:
    """Plans each round as :mod:`~gangplan.planning.policies.tracking` does, under a preset's policy.

    What the preset leaves at its default stays as the round has it. Its actions do not say what they are
    worth, which under the round's own policy would be something else.

    Attributes:
        preset: its name.
        plans: who plans.
    """

    preset: str
    plans: Tracking

    @property
    def name(self) -> str:
        """What tables call it."""
        return PREFIX + self.preset

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        policy = PRESETS[self.preset].over(round_.policy)
        answer = self.plans.decide(replace(round_, policy=policy), before)
        actions = tuple(replace(action, cost_by_term={}) for action in answer.plan.actions)
        return replace(answer, plan=replace(answer.plan, actions=actions))

    def steady_until(self, round_: Round) -> float:
        """See :meth:`How.steady_until`."""
        return self.plans.steady_until(round_)


def make(how: How, name: str) -> Preset:
    """The policy of one of :data:`NAMES`."""
    return Preset(name.removeprefix(PREFIX), Tracking(how))
