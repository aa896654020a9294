"""First come, first served, and nobody is passed by."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import build_instance
from gangplan.planning.policies.line import line_of, staying
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.wishes import Free, carry_out

NAME = "fifo-strict"
ABOUT = "first come, first served; who finds no room keeps all behind it waiting"


@dataclass(frozen=True, slots=True)
class FifoStrict:
    """A queue without backfill: the first that finds no room is the last that is looked at.

    Who can never run, or is behind its gate, is not in the line.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        instance = build_instance(round_)
        stay, free = staying(instance, Free.of(instance))
        starting = []
        for wish in line_of(instance):
            ways = tuple(k for k in wish.ways if free.fits(instance.option_at(k)))
            if not ways:
                break
            free.take(instance.option_at(ways[0]))
            starting.append(wish)
        return carry_out(instance, [*stay, *starting])

    def steady_until(self, round_: Round) -> float:
        """For ever: nobody is stopped, and the head of the line waits until somebody ends."""
        del round_
        return math.inf


def make(how: How) -> FifoStrict:
    """The policy."""
    del how
    return FifoStrict()
