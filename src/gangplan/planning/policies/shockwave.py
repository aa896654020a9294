"""Shockwave: rounds planned ahead for Nash welfare, makespan and finish times that were promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gangplan.domain.plan import RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.program import FloatArray, IntArray
from gangplan.planning.policies.memory import remembered, remembering
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.rates import Rates, rates_of
from gangplan.planning.policies.solving import solved
from gangplan.planning.policies.wishes import carry_out, choose, wish_as_asked
from gangplan.planning.programmes import shockwave

NAME = "shockwave"
ABOUT = "a window of rounds planned for Nash welfare and makespan, with rows for promised finish times"

REPLAN_ROUNDS = 10
"""The window is planned anew after so many rounds, and whenever somebody comes or goes."""
MOMENTUM = 0.9
"""Weight of the older estimates of a fair finish, as in the public code."""
LATE_POWER = 12.0
"""Where promises cannot be kept, the welfare of a job counts its ratio of finish times to this power."""
EXACT_CELLS = 120
"""With more jobs times rounds the relaxation is rounded: exact, one window of 120 jobs takes seconds."""
_MOST_WORTH = 1e6


@dataclass(frozen=True, slots=True)
class Shockwave:
    """Plans twenty rounds at once, and follows them.

    Zheng et al., *Shockwave* (NSDI 2023, sections 4 to 6, and its public code), by the programme of
    :mod:`gangplan.planning.programmes.shockwave`: welfare of the relative progress at the window's end,
    less the longest remaining time, while every job is still to end by the finish that it was promised: a
    moving average of its duration alone, times how many jobs there are for a device. Where nothing keeps all
    promises, they are dropped, and welfare counts most for those that are behind most; rounds change places
    so that these come first, which costs nothing, since all rounds have the same devices. Devices that the
    plan leaves idle go to whoever has longest to run.

    Its cluster has one type: here a job counts as fast as on its best, and devices of all types as one. Our
    traces have no batch sizes that change as a job runs, so that there is nothing to predict: remaining
    durations are what the round says (:func:`~gangplan.planning.policies.rates.left_or_guessed`).
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        instance = build_instance(round_)
        rates = rates_of(instance)
        memory = remembered(before, NAME)
        names = [instance.jobs[j].name for j in rates.jobs.tolist()]
        alone = _alone(rates, instance)
        promised = _promised(rates, alone, names, memory.get("promised", {}))
        turn = memory.get("turn", 0) + 1
        plan: dict[str, list[int]] = memory.get("plan", {})
        if set(plan) != set(names) or turn >= REPLAN_ROUNDS:
            found = plan_window(rates, alone, promised, round_.round_seconds)
            plan, turn = dict(zip(names, found.tolist(), strict=True)), 0
        seconds = rates.left / np.maximum(rates.best, 1e-12)
        runs = [bool(plan[name][turn]) for name in names]
        order = sorted(range(len(names)), key=lambda i: (not runs[i], -seconds[i], names[i]))
        wishes = wish_as_asked(instance, [int(rates.jobs[i]) for i in order])
        memory = {"plan": plan, "turn": turn, "promised": dict(zip(names, promised.tolist(), strict=True))}
        return remembering(carry_out(instance, *choose(instance, wishes)), memory, NAME)


def _alone(rates: Rates, instance: Instance) -> FloatArray:
    """How long each job takes on what it asks for, what is done included, shape (jobs,), seconds."""
    done = np.array([instance.jobs[j].work_done for j in rates.jobs.tolist()], dtype=np.float64)
    alone: FloatArray = (done + rates.left) / np.maximum(rates.best, 1e-12)
    return alone


def _promised(
    rates: Rates, alone: FloatArray, names: Sequence[str], known: Mapping[str, float]
) -> FloatArray:
    """Ages at which the jobs are to end: a moving average, shape (jobs,), seconds."""
    now = alone * max(1.0, len(names) / max(1, int(rates.devices.sum())))
    old = np.array([known.get(name, value) for name, value in zip(names, now.tolist(), strict=True)])
    average: FloatArray = MOMENTUM * old + (1 - MOMENTUM) * now
    return average


def plan_window(rates: Rates, alone: FloatArray, promised: FloatArray, round_seconds: float) -> IntArray:
    """Who runs in which round of the window, shape (jobs, rounds), of zeros and ones.

    Args:
        rates: of the round.
        alone: shape (jobs,), how long each takes in all, seconds.
        promised: shape (jobs,), ages at which the jobs are to end, seconds.
        round_seconds: length of a round.
    """
    jobs, devices = len(rates.jobs), int(rates.devices.sum())
    found = np.zeros((jobs, shockwave.ROUNDS), dtype=np.int64)
    can = np.flatnonzero((rates.best > 0) & (rates.gang <= devices))
    if not len(can):
        return found
    left = rates.left[can] / rates.best[can] / round_seconds
    aim = np.maximum(promised[can] - rates.age[can], 0.0) / round_seconds
    whole = alone[can] / round_seconds  # an epoch is all of a job: progress is the share of it that is done
    window = shockwave.Epochs(
        epochs=np.ones(len(can)),
        done=np.clip(1.0 - left / whole, 0.0, 1.0 - 1e-6),
        epoch_rounds=whole,
        gang=rates.gang[can],
        devices=devices,
        promised=aim,
        makespan_weight=shockwave.MAKESPAN_WEIGHT * round_seconds,
    )
    plan = _solve(window)
    if plan is None:
        late = (rates.age[can] / round_seconds + left / window.share) * round_seconds / promised[can]
        worth = np.minimum(np.where(late > 1.0, late**LATE_POWER, 1.0), _MOST_WORTH)
        window = replace(window, promised=np.full(len(can), np.inf), worth=worth)
        plan = _solve(window)
        assert plan is not None, "without promises every plan will do"
        plan = plan[:, np.argsort(-(plan * (late * window.gang)[:, None]).sum(axis=0), kind="stable")]
    found[can] = plan
    return found


def _solve(window: shockwave.Epochs) -> IntArray | None:
    """The best plan found, shape (jobs, rounds); None: none keeps the promises."""
    program = shockwave.formulate(window)
    cells = window.jobs * window.rounds
    solution = solved(program, gap=shockwave.GAP, relax=cells > EXACT_CELLS)
    if solution.values is None:
        return None
    values = solution.values
    if cells > EXACT_CELLS:
        values = shockwave.round_plan(window, values)  # may miss a promise, never takes a device twice
    return values[:cells].reshape(window.jobs, window.rounds).round().astype(np.int64)


def make(how: How) -> Shockwave:
    """The policy."""
    del how
    return Shockwave()
