"""Vain bundles put back where time is short: the answer keeps what pays, and nothing else."""

from __future__ import annotations

from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangplan.bench.churn import without_lasting_gain
from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.engine import hold
from gangplan.engine.budget import Budget
from gangplan.engine.bundles import poor, weigh_all
from gangplan.engine.hold import Holding
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.put_back import put_back
from gangplan.engine.round import plan_round
from gangplan.engine.take_back import disruptions
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import keep_and_fill, keep_only
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, job, node, round_of
from gangplan.testing.strategies import rounds

DAY = 86_400.0


class Counted(Budget):
    """A budget in seconds of which each lasts until somebody asks how much time has gone by: to verify a plan
    takes one, and to tell of it two.
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(float(seconds))
        self._seconds, self._read = seconds, 0

    @property
    def elapsed(self) -> float:
        self._read += 1
        return float(self._read)

    @property
    def remaining(self) -> float:
        return max(0.0, float(self._seconds - self._read))

    @property
    def exhausted(self) -> bool:
        return self._read >= self._seconds


def begun(round_: Round, budget: Budget) -> tuple[Judge, Candidate]:
    """Who judges, and the plan that keeps everything."""
    instance = build_instance(round_)
    judge = Judge(instance, round_facts(round_), budget)
    floor = judge.consider("keep_and_fill", keep_and_fill(instance)) or judge.consider(
        "keep", keep_only(instance)
    )
    assert floor is not None
    return judge, floor


def four_that_pay_and_one_that_does_not() -> tuple[Round, list[str]]:
    """On each of five nodes somebody could make room; the restart of ``on-e`` costs more than that brings
    in an hour, if less than all five bring together."""
    names = "abcde"
    running = [
        job(
            f"on-{name}",
            gpus=4,
            weight=0.2,
            running=at(name, range(4)),
            checkpoint_age=0.0,
            restart_seconds=18_000.0 if name == "e" else 1.0,
        )
        for name in names
    ]
    waiting = [job(f"to-{name}", gpus=4, weight=4.0) for name in names]
    return round_of([node(name, "H", 4) for name in names], [*running, *waiting]), list(names)


def exchanged(judge: Judge, names: list[str]) -> Candidate:
    """Everybody waiting on the node of its name."""
    instance = judge.instance
    placed = {}
    for n, name in enumerate(names):
        j = instance.job_index[f"to-{name}"]
        placed[j] = Placed(instance.classes[int(instance.class_of_job[j])].start, ((n, (4,)),))
    candidate = judge.consider("exchange", Assignment(frozenset(), placed))
    assert candidate is not None, judge.rejected
    return candidate


def test_in_a_hurry_only_what_does_not_pay_is_put_back() -> None:
    round_, names = four_that_pay_and_one_that_does_not()
    judge, floor = begun(round_, Counted(8))
    candidate = exchanged(judge, names)
    holding = Holding(judge, floor)
    assert judge.has_time_to_put_back
    assert holding.look(candidate)
    assert not judge.has_time_for(1.5)
    assert holding.best.name == "put_back"
    assert floor.value < holding.best.value
    assert {a.job for a in holding.best.plan.actions if a.kind is ActionKind.EVICT} == {
        f"on-{name}" for name in "abcd"
    }
    looks = judge.work["looks"]
    assert looks == 1  # and none at what is left
    assert holding.look(candidate)
    assert judge.work["looks"] == looks
    assert poor(judge, holding.best, floor) == []


def test_without_time_for_one_more_nothing_is_put_back() -> None:
    round_, names = four_that_pay_and_one_that_does_not()
    judge, floor = begun(round_, Counted(7))
    holding = Holding(judge, floor)
    candidate = exchanged(judge, names)
    assert not judge.has_time_to_put_back
    assert not holding.look(candidate)
    assert holding.best is floor


def test_who_starts_in_both_plans_is_back_where_the_first_has_it() -> None:
    """starter has the free node b first; in the exchange it takes that of victim, for whom b is too small."""
    victim = job("victim", gpus=4, running=at("a", range(4)), checkpoint_age=0.0, restart_seconds=DAY)
    starter = job("starter", gpus=2)
    round_ = round_of([node("a", "H", 4), node("b", "H", 2)], [victim, starter])
    judge, floor = begun(round_, Budget())
    instance = judge.instance
    j = instance.job_index["starter"]
    option = instance.classes[int(instance.class_of_job[j])].start
    assert {n for n, _ in floor.assignment.placed[j].spots} == {1}
    candidate = judge.consider("exchange", Assignment(frozenset(), {j: Placed(option, ((0, (2,)),))}))
    assert candidate is not None
    vain = [bundle for bundle, weighed in weigh_all(judge, candidate, floor) if not weighed.pays]
    assert len(vain) == 1
    assert put_back(judge, candidate, floor, vain, ()) is None  # it is the plan that keeps everything
    assert judge.stages[-1].objective == floor.value


@settings(suppress_health_check=list(HealthCheck), max_examples=12)
@given(rounds("small"))
def test_whatever_is_put_back_everything_left_pays(round_: Round) -> None:
    """Also where bundles that pay are put back, so that each round says something."""
    judge, floor = begun(round_, Budget())
    search = PriceSearch.of(judge.instance)
    search.improve()
    candidate = judge.consider("greedy", price_greedy(judge.instance, search.prices()))
    if candidate is None:
        return
    weighed = weigh_all(judge, candidate, floor)
    vain = [bundle for bundle, each in weighed if not each.pays]
    paying = [bundle for bundle, each in weighed if each.pays]
    for number in range(len(paying) + 1):
        found = put_back(judge, candidate, floor, [*vain, *paying[:number]], paying[number:])
        if found is not None:
            assert poor(judge, found, floor) == []
            assert found.value > floor.value
            assert disruptions(found) <= disruptions(candidate)
            assert verify(round_, found.plan).violations == ()


@settings(suppress_health_check=list(HealthCheck), max_examples=12)
@given(rounds("small"), st.integers(5, 12))
def test_cut_at_any_step_nobody_is_disrupted_for_nothing(round_: Round, steps: int) -> None:
    """Though no plan is planned around: with three plans or fewer all that do not pay are put back."""
    with mock.patch.object(hold, "_MINOR", 1.0):
        result = plan_round(round_, PlanParameters(pipeline="greedy"), budget=Counted(steps))
    assert result.quality.objective >= result.quality.keep_and_fill - 1e-9
    assert verify(round_, result.plan).violations == ()
    assert without_lasting_gain(round_, result.plan) == []
