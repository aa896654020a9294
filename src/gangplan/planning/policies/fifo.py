"""First come, first served."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance
from gangplan.planning.policies.in_order import serve_in_order
from gangplan.planning.policies.protocol import How

NAME = "fifo"
ABOUT = "first come, first served; nobody is stopped; who finds no room is passed by"


@dataclass(frozen=True, slots=True)
class Fifo:
    """Starts whoever came first and finds room; whoever runs runs to its end."""

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        return serve_in_order(round_, _rank, preempt=False)

    def steady_until(self, round_: Round) -> float:
        """For ever: nobody is stopped, and who finds no room finds none until somebody ends."""
        del round_
        return math.inf


def _rank(instance: Instance, j: int) -> tuple[float, ...]:
    came = instance.jobs[j].submit_time
    return (math.inf if came is None else came,)


def make(how: How) -> Fifo:
    """The policy."""
    del how
    return Fifo()
