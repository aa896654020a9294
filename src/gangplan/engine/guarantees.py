"""What queues are guaranteed, before tiers and terms count (property P16; decision 8).

The stage makes the sum over queues of min(devices guaranteed, devices held) as large as it can. What each
queue then has of its guarantee is its floor from then on: a row of every later programme, and a rule of every
later plan.

For any weights u from 0 to 1

    sum over queues of min(G, D(plan)) <= sum of u D(plan) + sum of (1 - u) G,

so prices of devices weighed by u bound it. Weights begin with 1; that of a queue which would hold more than
it is guaranteed falls in proportion, so that the queue gives way for others. Where prices do not reach the
bound, the programme does, with a column for what each queue has of its guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from gangplan.domain.plan import Action, Notice, TierQuality
from gangplan.engine.ask import Asking
from gangplan.engine.floors import ROUNDING, STEPS, by_programme
from gangplan.engine.judge import Candidate, Judge
from gangplan.model.constraints.guarantee import TOLERANCE
from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import Layout, build_layout
from gangplan.model.instance.guarantees import Guarantees, guaranteed
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.fill import fill, stay_where_free
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.program import Family, FloatArray, Program
from gangplan.model.verifier.guarantees import held_by_guaranteed, met

_TRIES = 4
_LEAST_WEIGHT = 0.05


def meet_guarantees(
    judge: Judge, asking: Asking, best: Candidate
) -> tuple[Judge, Candidate, TierQuality | None]:
    """The judge of plans that keep what queues have of their guarantees, such a plan, and how much that is.

    Without guarantees, the judge and the plan are those that came in.

    Args:
        judge: of the whole round.
        asking: solvers; not asked by the greedy pipeline.
        best: a verified plan, where the stage begins.
    """
    if not guaranteed(judge.instance):
        return judge, best, None
    with judge.budget.phase("guarantees"):
        best, bound = _stage(judge, asking, judge.instance.guarantees, best)
    floors = {queue: devices for queue, devices in _met(judge, best).items() if devices}
    count = _count(judge, best)
    judge = replace(judge, instance=replace(judge.instance, guarantee_floors=floors), best=None)
    best = judge.consider("guarantees", best.assignment) or best
    filled = None if judge.hurried else judge.consider("guarantees filled", _filled(judge.instance, best))
    if filled is not None and filled.value > best.value:
        best = filled
    return judge, best, TierQuality(count, count, max(bound, count), count)


def guarantees_of(judge: Judge, candidate: Candidate, quality: TierQuality | None) -> TierQuality | None:
    """The same as ``candidate`` meets them."""
    return None if quality is None else replace(quality, value=_count(judge, candidate))


def unmet(judge: Judge, candidate: Candidate, quality: TierQuality | None) -> list[Notice]:
    """A notice for every queue that has less than it is guaranteed although its jobs ask for more.

    It says whether no plan could give queues more of their guarantees together, as far as was proved.
    """
    if quality is None:
        return []
    owed, have = judge.instance.guarantees, _met(judge, candidate)
    due = dict(zip(owed.names, np.minimum(owed.most, owed.asked).tolist(), strict=True))
    together = f"together queues have {quality.value:g} devices of their guarantees, and "
    proved = quality.bound - quality.value <= TOLERANCE * max(1.0, quality.bound)
    together += "no plan gives them more" if proved else f"at most {quality.bound:g} can be"
    return [
        Notice(
            "GUARANTEE_UNMET",
            f"queues[{i}].device_guarantee",
            f"queue {queue.name} has {have[queue.name]:g} of {queue.device_guarantee:g} devices that it is "
            f"guaranteed, and its jobs ask for more; {together}",
        )
        for i, queue in enumerate(judge.instance.round.queues)
        if queue.device_guarantee and have[queue.name] < due[queue.name] - TOLERANCE
    ]


def holds_a_guarantee(judge: Judge, candidate: Candidate, bundle: Iterable[Action]) -> bool:
    """Whether a queue would fall below its floor, were all of ``bundle`` taken back and nothing put there."""
    instance = judge.instance
    if not instance.guarantee_floors:
        return False
    owed = instance.guarantees
    outcomes = candidate.verification.outcomes
    held = held_by_guaranteed(instance.round, outcomes)
    devices = np.array([held[name] for name in owed.names])
    for action in bundle:
        j = instance.job_index[action.job]
        c = int(instance.class_of_job[j])
        before = owed.keep[:, c] if action.forced is None else 0.0
        devices += before - np.where(owed.below[:, c], outcomes[action.job].devices, 0.0)
    least = np.array([instance.guarantee_floors.get(name, 0.0) for name in owed.names])
    return bool((devices < least - TOLERANCE).any())


def _met(judge: Judge, candidate: Candidate) -> dict[str, float]:
    round_ = judge.instance.round
    return met(round_, held_by_guaranteed(round_, candidate.verification.outcomes))


def _count(judge: Judge, candidate: Candidate) -> float:
    return sum(_met(judge, candidate).values())


def _stage(judge: Judge, asking: Asking, owed: Guarantees, best: Candidate) -> tuple[Candidate, float]:
    """The plan that meets most of the guarantees, and what no plan can exceed."""
    found = [best]

    def consider(name: str, assignment: Assignment) -> Candidate | None:
        candidate = judge.consider(f"guarantees {name}", assignment)
        if candidate is not None:
            found.append(candidate)
        return candidate

    def leading() -> Candidate:
        return max(found, key=lambda each: (_count(judge, each), each.value))

    bound = float(np.minimum(owed.most, owed.asked).sum())
    weight = np.ones(len(owed.names))
    latest, prices, goal = best, None, judge.instance
    for _ in range(_TRIES):
        if judge.hurried or _count(judge, leading()) >= bound - TOLERANCE:
            break
        held = held_by_guaranteed(judge.instance.round, latest.verification.outcomes)
        devices = np.maximum(np.array([held[name] for name in owed.names]), owed.most)
        weight = np.maximum(_LEAST_WEIGHT, np.minimum(1.0, weight * owed.most / devices))
        goal = _counting(judge.instance, owed, weight)
        search = PriceSearch.of(goal)
        search.improve(STEPS, lambda: judge.hurried)
        prices = search.prices()
        rest = float(((1.0 - weight) * owed.most).sum())
        bound = min(bound, prices.bound + rest + ROUNDING * (abs(prices.bound) + rest))
        latest = consider("greedy", price_greedy(goal, prices)) or latest
    best = leading()
    done = _count(judge, best) >= bound - TOLERANCE
    if asking.parameters.pipeline == "greedy" or prices is None or judge.hurried or done:
        return best, bound
    layout = build_layout(goal)
    program, start = _program(layout, owed, encode(layout, best.assignment))
    proved = by_programme(asking, layout, program, start, prices, consider, step="guarantees")
    return leading(), min(bound, proved)


def _filled(instance: Instance, best: Candidate) -> Assignment:
    """Of those who start only whom floors need, the most worth by device first; what is free is filled."""
    owed = instance.guarantees
    kept_classes = {int(instance.class_of_job[j]) for j in best.assignment.kept}
    need = np.array([instance.guarantee_floors.get(name, 0.0) for name in owed.names])
    need -= owed.keep[:, sorted(kept_classes)].sum(axis=1)
    occupancy, placed = Occupancy(instance, kept_classes), {}
    starts = best.assignment.placed
    density = {
        j: instance.gain[s.option] / max(1, int(instance.devices[s.option])) for j, s in starts.items()
    }
    for j in sorted(starts, key=lambda j: (-density[j], j)):
        devices = owed.option[:, starts[j].option]
        if (devices[need > TOLERANCE] > 0.0).any():
            placed[j] = occupancy.take_placed(j, starts[j])
            need -= devices
    kept_classes |= stay_where_free(occupancy, kept_classes, placed)
    kept = frozenset(instance.classes[c].jobs[0] for c in kept_classes)
    return fill(occupancy, Assignment(kept, placed, best.assignment.unbound), Fit.BEST)


def _counting(instance: Instance, owed: Guarantees, weight: FloatArray) -> Instance:
    """The same instance, in which devices of guaranteed queues are worth ``weight`` and nothing else is."""
    return replace(instance, gain=weight @ owed.option, keep_gain=weight @ owed.keep, offset=0.0)


def _program(layout: Layout, owed: Guarantees, start: FloatArray) -> tuple[Program, FloatArray]:
    """The programme of the layout, with a column of what each queue has, and ``start`` with them.

    What a queue has counts in parts of a device, which makes it a whole number.
    """
    plain, unit = formulate(layout), float(layout.instance.nodes.parts)
    queues = len(owed.names)
    devices = np.zeros((queues, plain.columns))
    chosen, kept = np.flatnonzero(layout.option_column >= 0), np.flatnonzero(layout.keep_column >= 0)
    devices[:, layout.option_column[chosen]] = np.rint(owed.option[:, chosen] * unit)
    devices[:, layout.keep_column[kept]] = np.rint(owed.keep[:, kept] * unit)
    row_start, column, value = [plain.row_start], [plain.column_index], [plain.value]
    entries = plain.nonzeros
    for g in range(queues):
        counted = np.flatnonzero(devices[g])
        column += [counted, np.array([plain.columns + g])]
        value += [-devices[g, counted], np.ones(1)]
        entries += len(counted) + 1
        row_start.append(np.array([entries]))
    most = owed.most * unit
    program = replace(
        plain,
        objective=np.concatenate([np.zeros(plain.columns), np.full(queues, 1.0 / unit)]),
        lower=np.concatenate([plain.lower, np.zeros(queues)]),
        upper=np.concatenate([plain.upper, most]),
        integer=np.ones(plain.columns + queues, dtype=np.bool_),
        row_start=np.concatenate(row_start),
        column_index=np.concatenate(column),
        value=np.concatenate(value),
        row_lower=np.concatenate([plain.row_lower, np.full(queues, -np.inf)]),
        row_upper=np.concatenate([plain.row_upper, np.zeros(queues)]),
        column_families=(
            *plain.column_families,
            Family("guaranteed", plain.columns, plain.columns + queues),
        ),
        row_families=(*plain.row_families, Family("guaranteed", plain.rows, plain.rows + queues)),
    )
    return program, np.concatenate([start, np.minimum(most, devices @ start)])
