"""Goodput in the manner of Pollux: numbers of devices by which speedups over a fair share are largest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.program import FloatArray
from gangplan.planning.policies.packed import carry_out_packed
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.solving import solved
from gangplan.planning.policies.wishes import Free, Wish, fixed_classes, holds, kinds_of, ways_of
from gangplan.planning.programmes import sia

NAME = "pollux"
ABOUT = "numbers of devices by which the speedups over a fair share are largest, for who may have several"

POWER = -1.0
"""Of the mean of speedups, as in the paper: the more negative, the more it is for the slowest."""
CHANGED = 0.9
"""What a speedup is multiplied by where the job would be stopped for it, as in the public code."""
EXACT_CELLS = 2_000
"""With more picks the relaxation is rounded."""

_Cell = tuple[tuple[int, ...], int]


@dataclass(frozen=True, slots=True)
class Pollux:
    """Maximises the power mean of speedups by an integer programme, in place of a genetic search.

    Qiao et al., *Pollux* (OSDI 2021, section 4.2): ``(1/J sum_i SPEEDUP_i ^ p) ^ (1/p)`` with p = -1, the
    speedup of a job being its goodput over that with an equal share of the devices, here of the largest
    number in that share that it may have. For a given number of jobs that run it is the least sum of
    ``SPEEDUP ^ p``, each job picking one number of devices of a type: the programme of
    :mod:`gangplan.planning.programmes.sia`. A job that waits has no speedup: it costs more than any pick.

    A job's goodput is what its profile says of so many devices. Profiles that are made of Pollux' and Sia's
    tables have the statistical efficiency in them, at the batch size that is best for the number
    (:mod:`gangplan.planning.trace.speeds`); in others it is throughput. Nodes are not chosen together with
    the numbers, and jobs that share a node do not disturb each other.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        instance = build_instance(round_)
        fixed = fixed_classes(instance)
        some = [j for j in range(len(instance.jobs)) if int(instance.class_of_job[j]) not in fixed]
        ways = {j: ways for j in some if (ways := _by_cell(instance, j))}
        wishes = [Wish(j, ways[j][cell]) for j, cell in _picked(instance, ways).items()]
        return carry_out_packed(instance, wishes)


def _by_cell(instance: Instance, j: int) -> dict[_Cell, tuple[int, ...]]:
    """Options of a job by types and number of devices, the fastest first."""
    found: dict[_Cell, list[int]] = {}
    for k in ways_of(instance, j):
        if instance.throughput[k] > 0 and instance.devices[k] > 0:
            found.setdefault((kinds_of(instance.option_at(k)), int(instance.devices[k])), []).append(k)
    return {cell: tuple(some) for cell, some in found.items()}


def _picked(instance: Instance, ways: dict[int, dict[_Cell, tuple[int, ...]]]) -> dict[int, _Cell]:
    """Who is to have how many devices of which type."""
    if not ways:
        return {}
    free = Free.of(instance).by_kind
    jobs = sorted(ways)
    cells = sorted({(kind, cell) for j in jobs for cell in ways[j] for kind in cell[0]})
    cost = np.full((len(jobs), len(cells)), np.inf)
    share = sum(free) / len(jobs)
    for n, j in enumerate(jobs):
        fair = _fair(instance, ways[j], share)
        for m, (_, cell) in enumerate(cells):
            if cell in ways[j]:
                speedup = float(instance.throughput[ways[j][cell][0]]) / fair
                moves = j in instance.placements and not holds(instance, j, ways[j][cell])
                cost[n, m] = (speedup * (CHANGED if moves else 1.0)) ** POWER
    chosen = sia.MultiChoice(
        cost=cost,
        devices=np.array([cell[1] for _, cell in cells], dtype=np.int64),
        type_of=np.array([kind for kind, _ in cells], dtype=np.int64),
        capacity=np.maximum(0, np.array(free, dtype=np.int64)),
        waiting_cost=2.0 * float(cost[np.isfinite(cost)].max()) + 1.0,
    )
    job, cell_of = chosen.picks
    values = _solve(chosen, len(job))
    return {jobs[int(job[p])]: cells[int(cell_of[p])][1] for p in np.flatnonzero(values > 0.5).tolist()}


def _fair(instance: Instance, ways: dict[_Cell, tuple[int, ...]], share: float) -> float:
    """Goodput with an equal share: of the largest number within it, or of the least; the mean over types."""
    by_kind: dict[tuple[int, ...], list[tuple[int, float]]] = {}
    for (kinds, devices), some in ways.items():
        by_kind.setdefault(kinds, []).append((devices, float(instance.throughput[some[0]])))
    found = []
    for rates in by_kind.values():
        within = [x for devices, x in rates if devices <= share]
        found.append(max(within) if within else min(rates)[1])
    return float(np.mean(found))


def _solve(chosen: sia.MultiChoice, picks: int) -> FloatArray:
    large = picks > EXACT_CELLS
    values = solved(sia.formulate(chosen), gap=sia.GAP, relax=large).values
    assert values is not None, "nobody has to run"
    return sia.round_picks(chosen, values) if large else values


def make(how: How) -> Pollux:
    """The policy."""
    del how
    return Pollux()
