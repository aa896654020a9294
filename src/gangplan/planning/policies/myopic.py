"""The engine, round by round: each round's best plan, as if there were no next one."""

from __future__ import annotations

from dataclasses import dataclass

from gangplan.domain.plan import RoundResult
from gangplan.domain.round import Round
from gangplan.planning.policies.protocol import How

NAME = "myopic"
ABOUT = "gangplan's plan of each round, weighted by fairness so far; prices carried over"


@dataclass(frozen=True, slots=True)
class Myopic:
    """Plans each round on its own, warm from the one before.

    Attributes:
        how: pipeline and budget.
        name: of the policy.
    """

    how: How
    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        return self.how.plan(round_, before)

    def steady_until(self, round_: Round) -> float:
        """See :meth:`How.steady_until`."""
        return self.how.steady_until(round_)


def make(how: How) -> Myopic:
    """The policy."""
    return Myopic(how)
