"""The programme of what is torn: part of the whole one, beside branching, never to a plan's harm."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from gangplan.domain.round import Round
from gangplan.engine.ask import Asking
from gangplan.engine.budget import Budget
from gangplan.engine.formulated import Formulated
from gangplan.engine.hold import Holding
from gangplan.engine.judge import Judge
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.runner import InProcessRunner
from gangplan.engine.steps import Step, Steps, Torn, ladder
from gangplan.engine.torn import deciding_torn
from gangplan.errors import WorkerError
from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import build_layout
from gangplan.model.formulation.neighbourhood import neighbourhood
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.prices.prices import Prices
from gangplan.model.program import SolveParameters
from gangplan.model.verifier.facts import round_facts
from gangplan.planning.generate import generate_named
from gangplan.testing.strategies import rounds
from gangplan_solvers.catalog import load

HOW = Torn(0.005, 1.0)
IMPROVED = "S/steady/50/seed2"
"""The plan at its prices can be made better by who is torn."""


class Broken(InProcessRunner):
    """A runner whose solvers are all gone."""

    def solve(self, backend: str, *_: object, **__: object) -> None:  # type: ignore[override]
        raise WorkerError(f"{backend} is gone")


def planned(round_: Round, budget: Budget | None = None) -> tuple[Holding, Prices]:
    """A round with the plan that keeps and fills and the one at its prices."""
    instance = build_instance(round_)
    judge = Judge(instance, round_facts(round_), budget or Budget())
    with judge.budget.phase("instance"):
        floor = judge.consider("keep_and_fill", keep_and_fill(instance))
    assert floor is not None
    search = PriceSearch.of(instance)
    search.improve()
    prices = search.prices()
    judge.lower(prices.bound)
    holding = Holding(judge, floor)
    holding.consider("greedy", price_greedy(instance, prices))
    return holding, prices


def decide(holding: Holding, prices: Prices, runner: InProcessRunner | None = None) -> Asking:
    asking = Asking(holding.judge, PlanParameters(), runner or InProcessRunner(), None)
    with deciding_torn(asking, Formulated(holding.judge), prices, HOW, holding):
        pass
    return asking


@given(rounds())
@settings(max_examples=8)
def test_it_has_the_plan_and_all_its_solutions_are_the_whole_programme_s(round_: Round) -> None:
    instance = build_instance(round_)
    search = PriceSearch.of(instance)
    search.improve(60)
    prices = search.prices()
    layout = build_layout(instance)
    program = formulate(layout)
    start = encode(layout, price_greedy(instance, prices))
    if program.worst_violation(start) > 1e-6:  # what the rows count in all cannot be told of every plan
        return
    small, kept = neighbourhood(layout, program, start, prices.chosen, prices.kept_share, torn=0.005)
    assert not start[~kept].any()
    assert small.worst_violation(start[kept]) <= 1e-6
    found = load("highs").solve(small, SolveParameters(), start[kept])
    assert found.values is not None
    values = np.zeros(program.columns)
    values[kept] = found.values
    assert program.worst_violation(values) <= 1e-6
    assert program.evaluate(values) >= program.evaluate(start) - 1e-6


def test_who_is_settled_or_held_has_no_choice() -> None:
    holding, prices = planned(generate_named(IMPROVED))
    instance = holding.judge.instance
    layout = build_layout(instance)
    program = formulate(layout)
    start = encode(layout, holding.best.assignment)
    running = np.flatnonzero(instance.kept & (layout.keep_column >= 0))
    held = running[start[layout.keep_column[running]] <= 0.0][:1].tolist() or running[:1].tolist()
    small, kept = neighbourhood(
        layout, program, start, prices.chosen, prices.kept_share, torn=HOW.torn, held=held
    )
    position = np.cumsum(kept) - 1
    assert (small.lower[position[layout.keep_column[held]]] == 1.0).all()
    settled = running[(prices.kept_share[running] >= 0.995) & (start[layout.keep_column[running]] > 0.0)]
    assert len(settled) > 0
    assert (small.lower[position[layout.keep_column[settled]]] == 1.0).all()
    assert small.columns < program.columns / 2


def test_its_plan_is_better_and_the_same_each_time() -> None:
    values = []
    for _ in range(2):
        holding, prices = planned(generate_named(IMPROVED))
        before = holding.best.value
        decide(holding, prices)
        assert holding.judge.best is not None
        assert holding.best.name == "torn"
        assert before < holding.best.value <= holding.judge.bound
        values.append(holding.best.value)
    assert values[0] == values[1]


def test_solvers_that_fail_cost_nothing_but_themselves() -> None:
    holding, prices = planned(generate_named(IMPROVED))
    before = holding.best
    asking = decide(holding, prices, Broken())
    assert holding.best is before
    assert any("is gone" in failure for failure in asking.failures)


def test_it_is_not_begun_where_time_is_short() -> None:
    holding, prices = planned(generate_named(IMPROVED), Budget(0.0))
    asking = decide(holding, prices)
    assert not asking.failures
    assert "torn_columns" not in holding.judge.work


def test_it_is_taken_at_m_and_l_unless_time_is_short_or_programmes_are_named() -> None:
    assert [ladder(options).torn is not None for options in (500, 3_000, 10_000, 50_000)] == [
        False,
        True,
        True,
        False,
    ]
    assert ladder(3_000, Steps(programmes=(Step(10, 1.0),))).torn is None
    hurried = Budget(1e-6)
    assert ladder(3_000).hastened(hurried, Steps()).torn is None
