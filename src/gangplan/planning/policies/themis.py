"""Themis: devices on lease, auctioned among those who are worst off."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.formulation.assemble import assemble
from gangplan.model.formulation.rows import Rows
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.program import FloatArray
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.rates import Rates, rates_of
from gangplan.planning.policies.solving import solved
from gangplan.planning.policies.wishes import Free, Wish, carry_out

NAME = "themis"
ABOUT = "devices on lease, auctioned among the fifth of the jobs whose finish-time ratio is worst"

FAIRNESS = 0.8
"""The knob f: devices are offered to the 1 - f of the jobs that are worst off."""
LEASE_SECONDS = 1200.0
"""For how long a winner keeps its devices."""
_GAP = 1e-4


@dataclass(frozen=True, slots=True)
class Themis:
    """Partial-allocation auctions for finish-time fairness (Mahajan et al., NSDI 2020, sections 4 and 5).

    Whoever's lease has run out gives its devices back; they are offered, with those that are free, to the
    ``1 - f`` of the jobs with the worst ratio. A job values a set of devices by 1/rho, and the product of
    values is maximised: a programme over whole gangs, on one type each, with the logarithm of how much worse
    its ratio is when it gets nothing for one more lease. What nobody won goes to the others, the worst off
    first (the paper: at random). Hidden payments, by which a winner gets only part of its bid, mean nothing
    for gangs and are left out. Ratios take the ideal of decision 11, a share by weight among who is there.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        instance = build_instance(round_)
        rates, free = rates_of(instance), Free.of(instance)
        kept = {j for j in rates.jobs.tolist() if j in instance.placements and not _runs_out(instance, j)}
        stay = [Wish(j, ()) for j in sorted(kept)]
        for j in kept:
            free.keep(instance, j)
        ratio = _ratios(instance, rates)
        asking = [i for i, j in enumerate(rates.jobs.tolist()) if j not in kept]
        asking.sort(key=lambda i: (-float(ratio[i]), i))
        invited = asking[: max(1, math.ceil((1.0 - FAIRNESS) * len(rates.jobs)))]
        won = _auction(rates, invited, free)
        chosen = [*stay, *(Wish(int(rates.jobs[i]), rates.ways[i][kind]) for i, kind in won)]
        winners = {i for i, _ in won}
        for i in asking:  # what nobody won
            kind = _best_free(rates, i, free)
            if i not in winners and kind >= 0:
                free.by_kind[kind] -= int(rates.gang[i])
                chosen.append(Wish(int(rates.jobs[i]), rates.ways[i][kind]))
        return carry_out(instance, chosen)


def _runs_out(instance: Instance, j: int) -> bool:
    """Whether a lease ends in this round; leases follow one another from the start on."""
    running = instance.jobs[j].running
    assert running is not None
    since = instance.round.now - (instance.round.now if running.started_at is None else running.started_at)
    return since > 0 and since % LEASE_SECONDS < instance.round.round_seconds


def _ratios(instance: Instance, rates: Rates) -> FloatArray:
    """Rho of each if it ran from now on at its best, shape (jobs,); as long as it has waited, it grows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = rates.age + rates.left / rates.best
        ideal = np.array([_ideal(instance, rates, i) for i in range(len(rates.jobs))])
        found: FloatArray = np.where(ideal > 0, ends / ideal, 0.0)
    return np.nan_to_num(found, posinf=1e9)


def _ideal(instance: Instance, rates: Rates, i: int) -> float:
    """Age at which the job's fair self is done, as far as is known."""
    j = int(rates.jobs[i])
    job = instance.jobs[j]
    if job.fair_finish_age is not None:
        return job.fair_finish_age
    left = max(0.0, job.work_done + float(rates.left[i]) - job.fair_progress)
    rate = float(instance.fair_rate[j])
    return float(rates.age[i]) + left / rate if rate > 0 else 0.0


def _auction(rates: Rates, invited: list[int], free: Free) -> list[tuple[int, int]]:
    """Who wins a gang on which type; the devices are taken."""
    cells = [
        (i, kind)
        for i in invited
        for kind in np.flatnonzero(rates.throughput[i] > 0).tolist()
        if free.by_kind[kind] >= int(rates.gang[i])
    ]
    if not cells:
        return []
    worth = [_worth(rates, i, kind) for i, kind in cells]
    one, room = Rows(), Rows()
    for i in invited:
        one.add([(n, 1.0) for n, cell in enumerate(cells) if cell[0] == i], upper=1.0)
    for kind, devices in enumerate(free.by_kind):
        mine = [(n, float(rates.gang[i])) for n, (i, where) in enumerate(cells) if where == kind]
        room.add(mine, upper=float(devices))
    program = assemble(
        objective=np.array(worth),
        lower=np.zeros(len(cells)),
        upper=np.ones(len(cells)),
        families={"one_type": one, "devices": room},
    )
    values = solved(program, gap=_GAP).values
    won = [] if values is None else [cells[n] for n in np.flatnonzero(values > 0.5).tolist()]
    for i, kind in won:
        free.by_kind[kind] -= int(rates.gang[i])
    return sorted(won, key=lambda cell: (-int(rates.gang[cell[0]]), cell))


def _worth(rates: Rates, i: int, kind: int) -> float:
    """Logarithm of rho with nothing for one more lease over rho with the gang there."""
    now = float(rates.age[i]) + float(rates.left[i]) / float(rates.throughput[i, kind])
    later = float(rates.age[i]) + LEASE_SECONDS + float(rates.left[i]) / float(rates.best[i])
    return max(1e-6, math.log(later / now)) if now > 0 else 1e-6


def _best_free(rates: Rates, i: int, free: Free) -> int:
    """The fastest type with enough devices; -1: none."""
    kinds = [
        kind
        for kind in np.flatnonzero(rates.throughput[i] > 0).tolist()
        if free.by_kind[kind] >= int(rates.gang[i])
    ]
    return max(kinds, key=lambda kind: (float(rates.throughput[i, kind]), -kind), default=-1)


def make(how: How) -> Themis:
    """The policy."""
    del how
    return Themis()
