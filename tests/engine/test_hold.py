"""Holding who is done soon: planned around them, a bundle pays that else would be taken back as a whole."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.bundles import bundles, jobs_of, poor, weigh
from gangplan.engine.hold import Holding, plan_around
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.take_back import take_back
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import keep_and_fill, keep_only
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, group, job, node, round_of
from gangplan.testing.strategies import rounds

ROUND = 300.0


def begun(round_: Round) -> tuple[Holding, PriceSearch, Candidate | None]:
    """A round's prices and the plan at them, looked at."""
    instance = build_instance(round_)
    judge = Judge(instance, round_facts(round_), Budget())
    floor = judge.consider("keep_and_fill", keep_and_fill(instance)) or judge.consider(
        "keep", keep_only(instance)
    )
    assert floor is not None
    search = PriceSearch.of(instance)
    search.improve()
    judge.lower(search.bound)
    holding = Holding(judge, floor)
    return holding, search, holding.consider("greedy", price_greedy(instance, search.prices()))


def crowded_by_one_that_ends() -> Round:
    """big wants two nodes of a, b and c. On a is only soon, which could move to d for nothing and ends within
    this round; on b and c are jobs whose restart costs more than big earns in a round.
    """
    soon = job("soon", gpus=1, running=at("a", [0]), checkpoint_age=0.0, restart_seconds=0.0, work_left=ROUND)
    dear = {"weight": 0.2, "checkpoint_age": 0.0, "restart_seconds": 24 * ROUND}
    four = group(gpus=4)
    running = [soon, *(job(f"on-{name}", four, running=at(name, range(4), tasks=1), **dear) for name in "bc")]
    big = job("big", group(count=2, gpus=4), weight=4.0)
    return round_of([*(node(name, "H", 4) for name in "abc"), node("d", "H", 1)], [*running, big])


def test_a_gang_takes_the_nodes_on_which_nobody_is_done_soon() -> None:
    """On a and b the bundle lasts one round, too little for the restart of on-b. On b and c it lasts."""
    result = plan_round(crowded_by_one_that_ends(), PlanParameters(solver="highs", time_budget_seconds=600.0))
    assert {action.job: action.kind for action in result.plan.actions} == {
        "soon": ActionKind.KEEP,
        "on-b": ActionKind.EVICT,
        "on-c": ActionKind.EVICT,
        "big": ActionKind.PLACE,
    }
    assert result.statistics["taken_back_actions"] > 0


def test_who_is_held_ends_before_the_bundle_breaks_even() -> None:
    round_ = crowded_by_one_that_ends()
    holding, search, candidate = begun(round_)
    assert candidate is not None
    (bundle,) = bundles(holding.judge, candidate, holding.floor)
    weighed = weigh(holding.judge, candidate, holding.floor, jobs_of(bundle))
    assert not weighed.pays
    assert weighed.horizon == ROUND
    instance = holding.judge.instance
    assert holding.classes == {int(instance.class_of_job[instance.job_index["soon"]])}
    plan_around(holding, search, candidate, name="again")
    assert holding.best.name == "again"
    assert poor(holding.judge, holding.best, holding.floor) == []


def exchanged_for_one_that_ends() -> tuple[Holding, Candidate]:
    """Gang and mover take the node of large, brief that of mover. Brief is done in a round, too soon for the
    restart of large; without brief nobody needs the place of mover.
    """
    dear = {"checkpoint_age": 0.0, "restart_seconds": 6 * ROUND, "weight": 0.2}
    large = job("large", group(count=1, gpus=8), running=at("a", range(8), tasks=1), **dear)
    two = group(count=1, gpus=2)
    mover = job("mover", two, running=at("c", range(2), tasks=1), checkpoint_age=0.0, restart_seconds=0.0)
    gang = job("gang", group(count=1, gpus=6), weight=4.0)
    brief = job("brief", two, weight=2.0, work_left=2 * ROUND)
    holding, _, _ = begun(round_of([node("a", "H", 8), node("c", "H", 2)], [large, mover, gang, brief]))
    judge, instance = holding.judge, holding.judge.instance

    def place(name: str, at_node: int) -> tuple[int, Placed]:
        j = instance.job_index[name]
        return j, Placed(instance.classes[int(instance.class_of_job[j])].start, ((at_node, (1,)),))

    placed = dict([place("gang", 0), place("mover", 0), place("brief", 1)])
    candidate = judge.consider("exchange", Assignment(frozenset(), placed))
    assert candidate is not None, judge.rejected
    return Holding(judge, holding.floor), candidate


def test_who_makes_room_only_for_one_that_ends_is_held() -> None:
    holding, candidate = exchanged_for_one_that_ends()
    judge, instance = holding.judge, holding.judge.instance
    (bundle,) = bundles(judge, candidate, holding.floor)
    weighed = weigh(judge, candidate, holding.floor, jobs_of(bundle))
    assert jobs_of(bundle) == {"large", "mover", "gang", "brief"}
    assert not weighed.pays
    assert weighed.horizon == ROUND
    assert not holding.look(candidate)
    assert holding.classes == {int(instance.class_of_job[instance.job_index["mover"]])}
    assert holding.knows(candidate.assignment)
    assert not holding.knows(holding.floor.assignment)


def test_a_start_that_is_soon_done_does_not_shorten_what_others_gain() -> None:
    """lasting and short take victim's node; without short, lasting would still need victim's place."""
    victim = job(
        "victim",
        group(count=1, gpus=8),
        weight=0.5,
        running=at("a", range(8), tasks=1),
        checkpoint_age=0.0,
        restart_seconds=3 * ROUND,
    )
    lasting = job("lasting", group(gpus=4), weight=4.0)
    short = job("short", group(gpus=4), weight=1.0, work_left=4 * ROUND)
    for jobs, horizon in (([victim, lasting, short], 12 * ROUND), ([victim, short], ROUND)):
        holding, _, _ = begun(round_of([node("a", "H", 8)], jobs))
        judge, floor = holding.judge, holding.floor
        instance = judge.instance
        placed = {}
        for name in ("lasting", "short"):
            if name in instance.job_index:
                j = instance.job_index[name]
                placed[j] = Placed(instance.classes[int(instance.class_of_job[j])].start, ((0, (1,)),))
        candidate = judge.consider("exchange", Assignment(frozenset(), placed))
        assert candidate is not None, judge.rejected
        (bundle,) = bundles(judge, candidate, floor)
        assert weigh(judge, candidate, floor, jobs_of(bundle)).horizon == horizon


@settings(suppress_health_check=list(HealthCheck))
@given(rounds("small"))
def test_in_the_best_plan_every_bundle_pays(round_: Round) -> None:
    holding, search, candidate = begun(round_)
    judge, bound, price = holding.judge, holding.judge.bound, search.price.copy()
    plan_around(holding, search, candidate, name="again")
    assert holding.best.value >= holding.floor.value
    assert verify(round_, holding.best.plan).violations == ()
    assert judge.best is not None
    assert holding.best.value <= judge.best.value
    again = take_back(judge, holding.best, holding.floor)
    assert (again.candidate, again.bundles) == (holding.best, 0)
    assert judge.bound == bound
    assert (search.price == price).all()
    running = {c for c, job_class in enumerate(judge.instance.classes) if job_class.kept}
    assert holding.classes <= running


def swarm(work_left: float) -> tuple[Holding, Candidate]:
    """A gang takes the nodes of four jobs; the one on d is done after ``work_left`` seconds, and one on e
    of which nobody wants anything.
    """
    dear = {"checkpoint_age": 0.0, "restart_seconds": 4 * ROUND, "weight": 0.2}
    running = [
        job(
            f"on-{name}",
            group(gpus=4),
            running=at(name, range(4), tasks=1),
            work_left=work_left if name in "de" else None,
            **dear,
        )
        for name in "abcde"
    ]
    gang = job("gang", group(count=4, gpus=4), weight=1.0)
    holding, _, _ = begun(round_of([node(name, "H", 4) for name in "abcde"], [*running, gang]))
    judge, instance = holding.judge, holding.judge.instance
    j = instance.job_index["gang"]
    start = instance.classes[int(instance.class_of_job[j])].start
    kept = frozenset([instance.job_index["on-e"]])
    spots = tuple((n, (1,)) for n in range(4))
    candidate = judge.consider("exchange", Assignment(kept, {j: Placed(start, spots)}))
    assert candidate is not None, judge.rejected
    return Holding(judge, holding.floor, brief=0.25), candidate


def test_where_a_plan_does_not_pay_all_are_held_who_are_done_soon() -> None:
    for brief, held in ((0.25, {"on-d", "on-e"}), (0.0, {"on-d"})):
        holding, candidate = swarm(2 * ROUND)
        holding.brief = brief
        assert not holding.look(candidate)
        jobs, classes = holding.judge.instance.jobs, holding.judge.instance.classes
        assert {jobs[classes[c].jobs[0]].name for c in holding.classes} == held


def test_where_a_plan_pays_nobody_is_held() -> None:
    holding, candidate = swarm(12 * ROUND)
    assert holding.look(candidate)
    assert holding.best is candidate
    assert holding.classes == set()


@settings(suppress_health_check=list(HealthCheck))
@given(rounds("small"))
def test_a_plan_is_looked_at_once(round_: Round) -> None:
    holding, _, candidate = begun(round_)
    if candidate is None:
        return
    before, again = dict(holding.judge.work), holding.look(candidate)
    assert holding.judge.work == before
    assert again or candidate is not holding.best
