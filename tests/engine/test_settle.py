"""Settling: what does not pay is taken back, and planning again around it never costs anything."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.settle import settle
from gangplan.engine.take_back import take_back
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import keep_and_fill, keep_only
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, job, node, round_of
from gangplan.testing.strategies import rounds

DISRUPTIONS = (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)


def greedy(round_: Round) -> tuple[Judge, PriceSearch, Candidate, Candidate]:
    """A round, its prices, its best plan without a solver, and its floor."""
    instance = build_instance(round_)
    judge = Judge(instance, round_facts(round_), Budget())
    floor = judge.consider("keep_and_fill", keep_and_fill(instance)) or judge.consider(
        "keep", keep_only(instance)
    )
    assert floor is not None
    search = PriceSearch.of(instance)
    search.improve()
    judge.bound = search.bound
    judge.consider("greedy", price_greedy(instance, search.prices()))
    assert judge.best is not None
    return judge, search, judge.best, floor


def disruptions(candidate: Candidate) -> int:
    return sum(a.kind in DISRUPTIONS and a.forced is None for a in candidate.plan.actions)


@settings(suppress_health_check=list(HealthCheck))
@given(rounds("small"))
def test_it_is_worth_no_less_than_taking_back_alone_and_leaves_nothing_to_take_back(round_: Round) -> None:
    judge, search, best, floor = greedy(round_)
    alone = take_back(judge, best, floor)
    bound, price = judge.bound, search.price.copy()
    settled = settle(judge, search, best, floor)
    assert settled.candidate.value >= alone.candidate.value
    assert verify(round_, settled.candidate.plan).violations == ()
    again = take_back(judge, settled.candidate, floor)
    assert (again.bundles, again.actions) == (0, 0)
    assert again.candidate is settled.candidate
    assert judge.bound == bound
    assert (search.price == price).all()
    if disruptions(settled.candidate) == 0:
        assert settled.candidate.value >= floor.value - 1e-9 * max(1.0, abs(floor.value))


def option(judge: Judge, name: str, type_name: str) -> int:
    """Where among all options the job runs on four devices of a type."""
    instance = judge.instance
    j, types = instance.job_index[name], ((instance.speeds.type_index[type_name], 4),)
    here = range(len(instance.option))
    return next(
        k
        for k in here
        if instance.option_class[k] == instance.class_of_job[j]
        and instance.option_at(k).devices_by_type == types
    )


def test_who_counted_on_a_place_that_is_taken_back_goes_elsewhere() -> None:
    """light may run on a or b and is worth a little less on b; heavy has come for a, and its two rounds do
    not pay for light's long restart. b is free, and heavy may start there.
    """
    light = job("light", gpus=4, running=at("a", range(4)), checkpoint_age=0.0, restart_seconds=36_000.0)
    heavy = job("heavy", gpus=4, weight=4.0, work_left=4 * 600.0)
    nodes = [node("a", "H100", 4), node("b", "V100", 4)]
    round_ = round_of(nodes, [light, heavy], types={"H100": 1.0, "V100": 0.5})
    judge, search, _, floor = greedy(round_)
    places = {
        judge.instance.job_index[name]: Placed(option(judge, name, type_name), ((spot, (4,)),))
        for spot, (name, type_name) in enumerate((("heavy", "H100"), ("light", "V100")))
    }
    best = judge.consider("swap", Assignment(frozenset(), places))
    assert best is not None
    settled = settle(judge, search, best, floor)
    kinds = {action.job: action.kind for action in settled.candidate.plan.actions}
    assert kinds == {"light": ActionKind.KEEP, "heavy": ActionKind.PLACE}
    assert (settled.bundles, settled.actions) == (1, 1)


def test_a_plan_around_it_that_is_worth_less_is_not_taken() -> None:
    """One of two exchanges is taken back. With dear held, lasting and short bid for one place up to what
    either is worth, and at that price neither starts.
    """
    running = {"gpus": 4, "weight": 0.5, "checkpoint_age": 0.0}
    jobs = [
        job("cheap", running=at("a", range(4)), **running),
        job("dear", running=at("b", range(4)), restart_seconds=3_600.0, **running),
        job("lasting", gpus=4, weight=4.0),
        job("short", gpus=4, weight=4.0, work_left=2_400.0),
    ]
    judge, search, best, floor = greedy(round_of([node("a", "H100", 4), node("b", "H100", 4)], jobs))
    alone = take_back(judge, best, floor)
    assert alone.actions == 1
    settled = settle(judge, search, best, floor)
    assert any(stage.name == "settle" for stage in judge.stages)
    assert settled.candidate.value >= alone.candidate.value > floor.value
