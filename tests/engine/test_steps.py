"""The table of what is done at which size: every size has a row, and every row can prove the optimum."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gangplan.domain.round import Round
from gangplan.engine import steps
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.steps import BACKENDS, LADDERS, Integrality, Ladder, Step, Steps, ladder, read_steps
from gangplan.errors import InvalidInputError, TooManyPlansError
from gangplan.model.verifier.verify import verify
from gangplan.planning.generate import generate_named
from gangplan.testing.enumerate import best_plan
from gangplan.testing.strategies import rounds
from gangplan_solvers import catalog

MOST_PLANS = 2_000


@given(st.integers(0, 10**9))
def test_a_size_has_the_first_row_that_is_large_enough(options: int) -> None:
    row = ladder(options)
    assert options <= row.options
    assert all(options > smaller.options for smaller in LADDERS[: LADDERS.index(row)])


def test_rows_are_in_order_and_the_last_has_no_end() -> None:
    for sizes in ([row.options for row in LADDERS], [most for most, _ in BACKENDS]):
        assert all(one < other for one, other in itertools.pairwise(sizes))
        assert sizes[-1] == math.inf


@pytest.mark.parametrize("row", LADDERS, ids=lambda row: f"up to {row.options} options")
def test_every_row_ends_with_the_whole_programme(row: Ladder) -> None:
    """Only that one proves the optimum: all columns whole, none left out but for being no better."""
    *others, last = row.steps
    assert (last.options, last.share, last.integrality) == (math.inf, 1.0, Integrality.ALL)
    assert all(0.0 < step.share < 1.0 and step.options < math.inf for step in others)
    assert all(one.options < other.options for one, other in itertools.pairwise(row.steps))
    assert 0.0 <= row.branching_share < 1.0
    assert (row.fruitless == 0) == (row.branching_share == 0.0)


@given(st.integers(0, 10**6))
def test_a_request_overrides_a_row_field_by_field(options: int) -> None:
    row = ladder(options)
    assert ladder(options, Steps()) == row
    assert ladder(options, Steps(fruitless=0)) == replace(row, fruitless=0)
    written = ["branching_share=0", "sift=0.5", "enough=1", "programmes=50:0.5:large,all:1"]
    assert ladder(options, read_steps(written)) == replace(
        row,
        branching_share=0.0,
        sift=0.5,
        enough=1.0,
        steps=(Step(50, 0.5, Integrality.LARGE), Step(math.inf, 1.0)),
        torn=None,
    )


@pytest.mark.parametrize("row", LADDERS, ids=lambda row: f"up to {row.options} options")
def test_where_time_is_short_branching_is_all_there_is(row: Ladder) -> None:
    short = mock.Mock(spec=Budget, elapsed=1.0, remaining=0.9 * row.patience)
    long = mock.Mock(spec=Budget, elapsed=1.0, remaining=row.patience)
    alone = replace(row, fruitless=steps.MOST_FRUITLESS, branching_share=1.0, torn=None)
    hastened = alone if row.patience else row
    assert row.hastened(short, Steps()) == hastened
    assert row.hastened(long, Steps()) == row
    assert row.hastened(Budget(), Steps()) == row
    assert row.hastened(short, Steps(sift=0.1)) == row


@pytest.mark.parametrize(
    "setting",
    [
        "fruitless",
        "fruitless=-1",
        "fruitless=1001",
        "fruitless=x",
        "branching=1",
        "sift=2",
        "enough=nan",
        "programmes=",
        "programmes=50",
        "programmes=-1:1",
        "programmes=50:0",
        "programmes=50:1:small",
        "programmes=" + ",".join(["all:1"] * 17),
    ],
)
def test_what_is_no_step_is_refused_by_its_words(setting: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_steps(["fruitless=1", setting])
    (violation,) = caught.value.violations
    assert repr(setting) in violation.description


def test_the_steps_of_a_request_are_taken() -> None:
    """With nothing solved beyond a gap of 1 the greedy answers; with two programmes both are."""
    round_ = generate_named("S/steady/85/seed0")
    how = PlanParameters(solver="highs", time_budget_seconds=600.0)
    none = plan_round(round_, replace(how, steps=read_steps(["enough=1"])))
    assert "exact_steps" not in none.statistics
    two = plan_round(round_, replace(how, steps=read_steps(["programmes=0:0.9:large,all:1"])))
    assert two.statistics["exact_steps"] == 2
    branched = plan_round(round_, replace(how, steps=Steps(fruitless=2, branching_share=0.5, enough=1e-6)))
    assert branched.statistics["branches"] > 0


def test_every_backend_of_the_table_is_installed_here() -> None:
    for _, names in BACKENDS:
        assert len(set(names)) == len(names)
        assert set(names) <= set(catalog.names())


LARGE_ONLY = Ladder(
    math.inf,
    fruitless=2,
    branching_share=0.5,
    sift=math.inf,
    enough=-1.0,
    steps=(Step(0, 0.9, Integrality.LARGE),),
)
"""What is tried first for the largest rounds, on its own."""


@settings(suppress_health_check=list(HealthCheck))
@given(rounds("tiny"))
def test_with_few_whole_columns_the_bound_holds_and_the_plan_is_valid(round_: Round) -> None:
    """Against the enumerator: keep and fill <= plan <= best <= bound."""
    try:
        best = best_plan(round_, max_plans=MOST_PLANS)
    except TooManyPlansError:
        assume(False)
    with mock.patch.object(steps, "LADDERS", (LARGE_ONLY,)):
        result = plan_round(round_, PlanParameters(solver="highs", time_budget_seconds=600.0))
    slack = 1e-6 * max(1.0, abs(best.objective))
    assert verify(round_, result.plan).violations == ()
    assert result.statistics["exact_steps"] == 1
    assert result.quality.keep_and_fill - slack <= result.quality.objective <= best.objective + slack
    assert best.objective <= result.quality.bound + slack
