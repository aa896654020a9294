"""Tiers in turn: how many jobs of each can run, before anything else counts (decision 8).

A stage asks one thing: how large can a tier's weighted count of jobs that run become, within the floors of
the tiers above it. Prices bound it, the price greedy and the programme answer it, and the best verified
count, less the tier's tolerance, is the tier's floor from then on: a row of every later programme, and a rule
of every later plan. The last stage then maximises the objective within all floors, with prices that carry a
multiplier for every floor (``engine/floors.py``). What queues are guaranteed is decided before all tiers, in
a stage of its own (``engine/guarantees.py``).

What is taken back (decision 14) must leave every floor: a bundle without which a tier would fall below its
floor stays, whatever it costs, since the tier outranks all costs; one that the floors can do without is
judged as ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from gangplan.domain.plan import Action, ActionKind, TierQuality
from gangplan.engine.ask import Asking
from gangplan.engine.floors import by_prices, by_programme
from gangplan.engine.guarantees import holds_a_guarantee, meet_guarantees
from gangplan.engine.judge import Candidate, Judge
from gangplan.model.constraints.tier import TOLERANCE
from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import build_layout
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment
from gangplan.model.verifier.tiers import served


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """What the stages before the last one decided.

    Attributes:
        judge: of the last stage: its plans keep all floors.
        floor: a plan that does.
        tiers: best, bound and floor of every tier; the value is that of ``floor``.
        guarantees: the same of what queues are guaranteed; None: they are not.
    """

    judge: Judge
    floor: Candidate
    tiers: tuple[TierQuality, ...] = ()
    guarantees: TierQuality | None = None


def decide_tiers(judge: Judge, asking: Asking, floor: Candidate) -> Staged:
    """Solve for guarantees and tiers in turn; without any, the judge and the plan are those that came in.

    Args:
        judge: of the whole round.
        asking: solvers; not asked by the greedy pipeline.
        floor: a verified plan, where the first stage begins.
    """
    policy = judge.instance.round.policy
    judge, best, guarantees = meet_guarantees(judge, asking, judge.best or floor)
    if not policy.tiers and guarantees is None:
        return Staged(judge, floor)
    asking.judge = judge
    tiers: list[TierQuality] = []
    for number, tier in enumerate(policy.tiers):
        with judge.budget.phase("tiers"):
            best, bound = _stage(judge, asking, number, best)
        count = _count(judge, best, number)
        least = max(0.0, count * (1.0 - tier.tolerance) - TOLERANCE)
        tiers.append(TierQuality(count, count, max(bound, count), least))
        floors = (*judge.instance.floors, least)
        judge = replace(judge, instance=replace(judge.instance, floors=floors), best=None)
        best = judge.consider(f"tier {number}", best.assignment) or best
    with judge.budget.phase("tiers"):
        everybody = np.ones(len(judge.instance.classes), dtype=np.bool_)
        bound, _ = by_prices(
            judge,
            judge.instance,
            everybody,
            lambda name, plan: judge.consider(f"tiers {name}", plan) is not None,
        )
        judge.lower(bound)
    asking.judge = judge
    return Staged(judge, best, tuple(tiers), guarantees)


def tiers_of(judge: Judge, candidate: Candidate, tiers: tuple[TierQuality, ...]) -> tuple[TierQuality, ...]:
    """The tiers as ``candidate`` serves them."""
    return tuple(replace(tier, value=_count(judge, candidate, number)) for number, tier in enumerate(tiers))


def holds_a_floor(judge: Judge, candidate: Candidate, bundle: Iterable[Action]) -> bool:
    """Whether a tier or a queue would fall below its floor, were ``bundle`` taken back, nothing put there."""
    instance, bundle = judge.instance, tuple(bundle)
    if holds_a_guarantee(judge, candidate, bundle):
        return True
    if not instance.floors:
        return False
    counts = np.array(served(instance.round.policy, candidate.verification.outcomes))
    for action in bundle:
        weight = instance.tiers[:, instance.class_of_job[instance.job_index[action.job]]]
        if action.kind is ActionKind.PLACE:
            counts -= weight
        elif action.kind is ActionKind.EVICT and action.forced is None:
            counts += weight
    return bool((counts[: len(instance.floors)] < np.array(instance.floors) - TOLERANCE).any())


def _count(judge: Judge, candidate: Candidate, tier: int) -> float:
    return served(judge.instance.round.policy, candidate.verification.outcomes)[tier]


def _stage(judge: Judge, asking: Asking, tier: int, best: Candidate) -> tuple[Candidate, float]:
    """The plan that serves ``tier`` best within the floors above it, and what no such plan can exceed."""
    goal = _counting(judge.instance, tier)
    everybody = float((judge.instance.tiers[tier] * judge.instance.members).sum())
    found: list[Candidate] = []

    def consider(name: str, assignment: Assignment) -> bool:
        candidate = judge.consider(f"tier {tier} {name}", assignment)
        if candidate is not None:
            found.append(candidate)
        return candidate is not None

    counted = judge.instance.tiers[: tier + 1].max(axis=0) > 0.0
    if judge.instance.guarantee_floors:
        counted |= judge.instance.guarantees.below.any(axis=0)
    lowest, prices = by_prices(judge, goal, counted, consider)
    bound = min(lowest, everybody)
    best = max([best, *found], key=lambda each: _rank(judge, each, tier))
    if asking.parameters.pipeline == "greedy" or prices is None or judge.hurried:
        return best, bound
    if _count(judge, best, tier) >= bound - TOLERANCE:
        return best, bound
    layout = build_layout(goal)
    start = encode(layout, best.assignment)
    proved = by_programme(asking, layout, formulate(layout), start, prices, consider, step=f"tier_{tier}")
    best = max([best, *found], key=lambda each: _rank(judge, each, tier))
    return best, min(bound, proved)


def _rank(judge: Judge, candidate: Candidate, tier: int) -> tuple[float, float]:
    return _count(judge, candidate, tier), candidate.value


def _counting(instance: Instance, tier: int) -> Instance:
    """The same instance, in which a job that runs is worth its weight in ``tier`` and nothing else is."""
    weight = instance.tiers[tier]
    keep_gain = np.where(instance.kept, weight, 0.0)
    return replace(instance, gain=weight[instance.option_class], keep_gain=keep_gain, offset=0.0)
