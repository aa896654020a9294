"""The model against the verifier: two arithmetics of the same definitions, held against each other."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given

from gangplan.domain.job import Job
from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.domain.round import Round
from gangplan.errors import TooManyPlansError
from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import build_layout
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.instance.present import present
from gangplan.model.instance.sites import NO_DOMAIN
from gangplan.model.instance.table import OptionTable
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.order import make_plan
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.prices.prices import Prices
from gangplan.model.terms import terms
from gangplan.model.verifier.facts import RoundFacts, round_facts
from gangplan.model.verifier.forced import forced_reasons
from gangplan.model.verifier.outcome import Outcome, Status
from gangplan.model.verifier.outcome_table import table_of
from gangplan.model.verifier.verify import verify
from gangplan.testing.enumerate import best_plan
from gangplan.testing.strategies import rounds

from .planned import as_decided, drawn, in_depth, planned

FEASIBLE = 1e-6


def searched(instance: Instance) -> Prices:
    """Prices as a round finds them."""
    search = PriceSearch.of(instance)
    search.improve()
    return search.prices()


@in_depth
def depth():
    """Quick or deep."""


def assignments(instance: Instance) -> list[Assignment]:
    return [keep_and_fill(instance), price_greedy(instance, searched(instance))]


@drawn
@given(rounds("small"))
def test_both_read_the_same_present(round_):
    now = present(round_)
    assert dict(now.forced) == dict(forced_reasons(round_))
    running = {job.name for job in round_.jobs if job.running}
    assert now.kept.keys() | now.forced.keys() == running
    assert not now.kept.keys() & now.forced.keys()


@drawn
@given(rounds("small"))
def test_both_weigh_jobs_alike(round_):
    instance, facts = build_instance(round_), round_facts(round_)
    for j, job in enumerate(instance.jobs):
        assert instance.weight[j] == pytest.approx(facts.jobs[job.name].weight, rel=1e-9)


@drawn
@given(rounds("small"))
def test_the_programme_s_value_of_a_choice_is_the_verified_one(round_):
    """Where a gang happens to lie closer together than its option says it may run faster, never slower."""
    instance = build_instance(round_)
    for assignment in assignments(instance):
        plan = make_plan(instance, assignment)
        judged = verify(round_, plan)
        assert judged.violations == ()
        value = instance.offset
        value += sum(float(instance.keep_gain[instance.class_of_job[j]]) for j in assignment.kept)
        value += sum(float(instance.gain[placed.option]) for placed in assignment.placed.values())
        assert judged.objective >= value - 1e-9
        if as_decided(instance, assignment, plan):
            assert judged.objective == pytest.approx(value, abs=1e-9)


@drawn
@given(rounds("small"))
def test_every_verified_choice_is_a_solution_of_the_programme(round_):
    instance = build_instance(round_)
    layout = build_layout(instance)
    program = formulate(layout)
    for assignment in assignments(instance):
        values = encode(layout, assignment)
        assert program.worst_violation(values) <= FEASIBLE
        placed = [p.option for p in assignment.placed.values()]
        if all(layout.option_column[k] >= 0 for k in placed):
            value = instance.offset + sum(float(instance.gain[k]) for k in placed)
            value += sum(float(instance.keep_gain[instance.class_of_job[j]]) for j in assignment.kept)
            assert program.evaluate(values) == pytest.approx(value, abs=1e-9)


# No row cuts off a plan that fits


def read(instance: Instance, plan: Plan, round_: Round) -> Assignment:
    """Any plan as an assignment: for every start the option worth most of those that allow its place.

    A start on what a claim keeps for the job is no choice: the model takes it for a job that runs there.
    """
    kept, placed = set(), {}
    for action in plan.actions:
        j = instance.job_index[action.job]
        if action.kind is ActionKind.KEEP or (action.kind is ActionKind.PLACE and j in instance.placements):
            kept.add(j)
        elif action.placements:
            placed[j] = _placed(instance, j, action)
    return Assignment(frozenset(kept), placed)


def _placed(instance: Instance, j: int, action: Action) -> Placed:
    groups = instance.jobs[j].component.task_groups
    tasks: dict[int, list[int]] = {}
    for p in action.placements:
        here = tasks.setdefault(instance.nodes.index[p.node], [0] * len(groups))
        here[next(g for g, group in enumerate(groups) if group.name == p.group)] += p.tasks
    spots = tuple((n, tuple(counts)) for n, counts in sorted(tasks.items()))
    job_class = instance.classes[instance.class_of_job[j]]
    fitting = [k for k in range(job_class.start, job_class.stop) if _allows(instance, k, spots)]
    assert fitting, f"no option of {action.job} allows {action.placements}"
    return Placed(max(fitting, key=lambda k: float(instance.gain[k])), spots)


def _allows(instance: Instance, k: int, spots: tuple[tuple[int, tuple[int, ...]], ...]) -> bool:
    option = instance.option_at(k)
    if tuple(map(sum, zip(*(counts for _, counts in spots), strict=True))) != option.counts:
        return False
    at = instance.nodes.domain_at[[n for n, _ in spots]]

    def together(scope: int) -> bool:
        return at[0, scope] != NO_DOMAIN and bool((at[:, scope] == at[0, scope]).all())

    if not together(option.scope) or any(together(s) for s in option.apart):
        return False
    for n, counts in spots:
        for demand in option.demands:
            mine = [(c, t) for c, t in zip(counts, demand.tasks, strict=True) if t]
            copies = {c // t for c, t in mine}
            if len(copies) != 1 or any(c % t for c, t in mine):
                return False
            block = demand.block
            if copies != {0} and (
                (block.types and instance.nodes.type_of[n] not in block.types)
                or (block.built_in and instance.nodes.built_in[n] != block.built_in)
            ):
                return False
    return True


@drawn
@given(rounds("tiny"))
def test_no_row_cuts_off_the_enumerated_best_plan(round_):
    """Decision 28: a row may admit too much; it may never cut off a plan that fits."""
    try:
        best = best_plan(round_, max_plans=5_000)
    except TooManyPlansError:
        assume(False)
    instance = build_instance(round_)
    layout = build_layout(instance)
    program = formulate(layout)
    assignment = read(instance, best.plan, round_)
    values = encode(layout, assignment)
    assert program.worst_violation(values) <= FEASIBLE
    if all(layout.option_column[p.option] >= 0 for p in assignment.placed.values()):
        assert program.evaluate(values) == pytest.approx(best.objective, abs=1e-7)


# Terms


def rest_of_device(job: Job, round_: Round) -> float:
    """What a large part leaves of its device, with the least large part found by trying every thousandth."""
    shares = [g.device_share for one in round_.jobs for g in one.component.task_groups]
    asked = [share.compute_milli for share in shares if share is not None]

    def lost(least: int) -> int:
        small = sum(part for part in asked if part <= 1000 - least)
        return sum(1000 - part for part in asked if part >= least) - small

    most = max((lost(least) for least in range(501, 1000)), default=0)
    large = max((least for least in range(501, 1000) if lost(least) == most), default=0)
    mine = [g.device_share for g in job.component.task_groups if g.device_share is not None]
    if not mine or most <= 0 or not round_.policy.fragmentation_weight:
        return 0.0
    part = mine[0].compute_milli
    return (1000 - part) / 1000 if part >= large else 0.0


def still_in_time(job: Job, now: float) -> float:
    """Share of the reward for an interactive start: 1 up to the objective, nothing from twice as long on."""
    if job.interactive is None:
        return 0.0
    if job.running or job.work_done or job.submit_time is None:
        return 1.0
    waited = now - max(job.submit_time, job.gate.not_before or 0.0) - job.gate.held_seconds
    within = job.interactive.start_within_seconds
    return float(np.interp(waited, [within, 2 * within], [1.0, 0.0]))


def options_of(outcome: Outcome, facts: RoundFacts, round_: Round) -> OptionTable:
    """One row of the option table, from the definitions."""
    job, mine = outcome.job, facts.jobs[outcome.job.name]
    moved = outcome.status in (Status.MOVED, Status.RESIZED)
    left = (
        None if job.deadline is None else job.deadline - round_.now - (job.restart_seconds if moved else 0.0)
    )
    work_left = job.work_left
    if work_left is None and job.left_quantiles is not None:
        said = job.left_quantiles
        work_left = float(np.interp(round_.policy.deadline_quantile, said.probabilities, said.values))
    needed, lateness = np.inf, np.inf
    if left is not None and work_left is not None:
        needed = work_left / left if left > 0 else np.inf
        lateness = work_left / outcome.throughput - left if outcome.throughput > 0 else np.inf
    urgency = 1.0
    if job.deadline is not None and work_left is not None:
        horizon = max(round_.horizon_seconds, round_.round_seconds)
        urgency = (horizon / max(job.deadline - round_.now, round_.round_seconds)) ** (
            round_.policy.deadline_urgency
        )
    lost = 0.0
    if not outcome.forced and (moved or outcome.status is Status.EVICTED):
        lost = (mine.lost_seconds + job.restart_seconds) * mine.held
    preferred = job.component.preferred_level
    wide = bool(outcome.scope) and preferred is not None and facts.rank[outcome.scope] < facts.rank[preferred]

    price = {entry.name: entry.price_micros_per_hour or 0 for entry in round_.accelerators}
    paid = sum(
        outcome.counts[group.name] * group.device_milli / 1000 * price[outcome.types[group.name]]
        for group in job.component.task_groups
        if group.name in outcome.types
    )

    def one(value: float) -> np.ndarray:
        return np.array([value], dtype=np.float64)

    placed = moved or outcome.status is Status.STARTED
    relative, full = outcome.relative_throughput, mine.size**round_.policy.size_exponent
    kept = outcome.status is Status.KEPT
    outlook = round_.outlook
    fair = mine.weight * relative if mine.claim is None else mine.claim.earns(relative)
    return OptionTable(
        value=one(full * relative),
        fair_value=one(full * fair),
        needed_value=one(full * (0.0 if outlook is None else outlook.need(job.name))),
        target_worth=one(1.0 if outlook is None else outlook.worth(job.name)),
        size=one(mine.size),
        base=one(mine.base_weight),
        weight=one(mine.weight),
        throughput=one(outcome.throughput),
        rate_needed=one(needed),
        urgency=one(urgency),
        lateness_seconds=one(lateness),
        decay_seconds=one(job.deadline_decay_seconds),
        wider_than_preferred=np.array([wide]),
        price=one(paid if round_.policy.cost_weight else 0.0),
        most_paid=one(
            full * fair / round_.policy.cost_weight if kept and round_.policy.cost_weight else np.inf
        ),
        stranded=one(rest_of_device(job, round_) if placed else 0.0),
        start_share=one(still_in_time(job, round_.now)),
        lost_device_seconds=one(lost),
        horizon_seconds=one(mine.horizon),
    )


@drawn
@given(rounds("small"))
def test_every_term_s_coefficients_are_its_evaluation(round_):
    facts = round_facts(round_)
    seen: Counter[Status] = Counter()
    for outcome in verify(round_, planned(round_).plan, facts).outcomes.values():
        seen[outcome.status] += 1
        table = options_of(outcome, facts, round_)
        for term in terms():
            assert float(term.coefficients(table)[0]) == pytest.approx(
                float(term.evaluate(table_of([outcome], facts))[0]), rel=1e-9, abs=1e-9
            ), (term.NAME, outcome.status)
