"""AlloX: jobs matched with types and positions by the least sum of completion times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import build_instance
from gangplan.planning.policies.line import staying
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.rates import rates_of
from gangplan.planning.policies.solving import solved
from gangplan.planning.policies.wishes import Free, Wish, carry_out
from gangplan.planning.programmes.positions import Positions, order

NAME = "allox"
ABOUT = "who waits is matched with types and positions by the least mean completion time; nobody is stopped"


@dataclass(frozen=True, slots=True)
class AlloX:
    """Least mean completion time on unlike machines (Le et al., EuroSys 2020, section 4.2).

    The programme is :mod:`gangplan.planning.programmes.positions`. Running jobs run to their end. The paper's
    fairness, by which only those who have progressed least are matched, is off (its alpha at 1). Of durations
    that nobody knows it takes :func:`~gangplan.planning.policies.rates.left_or_guessed`.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        instance = build_instance(round_)
        rates = rates_of(instance)
        stay, free = staying(instance, Free.of(instance))
        waiting = [i for i, j in enumerate(rates.jobs.tolist()) if j not in instance.placements]
        with np.errstate(divide="ignore"):
            seconds = rates.left[waiting, None] / rates.throughput[waiting]
        queue = order(Positions(seconds, rates.gang[waiting], rates.devices), solved) if waiting else []
        starting = []
        for i, kind in queue:
            at = waiting[i]
            if free.by_kind[kind] >= int(rates.gang[at]):
                free.by_kind[kind] -= int(rates.gang[at])
                starting.append(Wish(int(rates.jobs[at]), rates.ways[at][kind]))
        return carry_out(instance, [*stay, *starting])


def make(how: How) -> AlloX:
    """The policy."""
    del how
    return AlloX()
