"""No claim of a solver is believed that can be refuted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from gangplan.engine.budget import Budget
from gangplan.engine.recheck import recheck
from gangplan.engine.runner import InProcessRunner
from gangplan.errors import BackendError
from gangplan.model.program import Solution, SolveLimit, SolveParameters, SolveStatus
from gangplan.testing.faulty_backends import EXTRA, LIARS
from gangplan.testing.programs import KNOWN_ANSWERS

KNAPSACK = KNOWN_ANSWERS["knapsack"].program
START = np.array([1.0, 1.0, 0.0])  # worth 160 of 220
BEST = np.array([0.0, 1.0, 1.0])
PLAIN = SolveParameters()


def claim(**changes: object) -> Solution:
    """The true optimum, with changes."""
    honest = Solution(SolveStatus.OPTIMAL, SolveLimit.NONE, BEST, 220.0, 220.0, 0.0, solver="claimant 1")
    return replace(honest, **changes)


def test_the_truth_passes_unchanged() -> None:
    answer = recheck(claim(), KNAPSACK, PLAIN, START)
    assert (answer.status, answer.objective, answer.bound) == (SolveStatus.OPTIMAL, 220.0, 220.0)
    assert answer.values is BEST
    assert answer.detail == ""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": np.ones(3), "objective": 280.0, "bound": 280.0}, "lied: row 0 is 60.0, outside"),
        ({"values": np.array([0, 1, 1.4])}, "lied: integral column 2 is 1.4"),
        ({"values": np.array([0, 1, 2.0])}, "lied: column 2 is 2.0, outside"),
        ({"values": np.array([0, -1, 1.0])}, "lied: column 1 is -1.0, outside"),
        ({"values": np.zeros(2)}, r"lied: \(2,\) values for 3 columns"),
        ({"values": np.array([0, 1, math.inf])}, "lied: a value is not finite"),
        ({"values": None}, "lied: it claims OPTIMAL without values"),
        ({"objective": None}, "lied: it claims OPTIMAL without values or objective"),
        ({"objective": 221.0, "bound": 221.0}, "lied: it claims the objective 221.0, but it is 220.0"),
        ({"objective": math.nan}, "lied: it claims the objective nan"),
        ({"bound": math.nan}, "lied: its bound is not a number"),
        ({"bound": 219.0}, "lied: it claims the bound 219.0, but 220.0 is reached"),
        ({"bound": 230.0}, "lied: it claims OPTIMAL with value 220.0 and bound 230.0"),
        ({"bound": math.inf}, "lied: it claims OPTIMAL with value 220.0 and bound inf"),
        (
            {"status": SolveStatus.INFEASIBLE, "values": None, "objective": None, "bound": -math.inf},
            "lied: it claims INFEASIBLE, but the start is feasible",
        ),
        (
            {"status": SolveStatus.NO_SOLUTION, "values": None, "objective": None, "bound": 159.0},
            "lied: it claims the bound 159.0, but 160.0 is reached",
        ),
        (
            {"status": SolveStatus.FEASIBLE, "values": np.zeros(3), "objective": 0.0, "bound": 100.0},
            "lied: it claims the bound 100.0, but 160.0 is reached",
        ),
    ],
)
def test_a_false_claim_is_an_error(changes: dict[str, object], message: str) -> None:
    with pytest.raises(BackendError, match=message):
        recheck(claim(**changes), KNAPSACK, PLAIN, START)


@pytest.mark.parametrize("thing", [None, "42", 220.0, (BEST, 220.0)])
def test_something_else_than_a_solution_is_an_error(thing: object) -> None:
    with pytest.raises(BackendError, match="instead of a Solution"):
        recheck(thing, KNAPSACK, PLAIN)


def test_the_better_start_is_kept_under_the_true_bound() -> None:
    worse = claim(status=SolveStatus.FEASIBLE, values=np.zeros(3), objective=0.0, bound=230.0)
    answer = recheck(worse, KNAPSACK, PLAIN, START)
    assert (answer.status, answer.objective, answer.bound) == (SolveStatus.FEASIBLE, 160.0, 230.0)
    assert answer.detail == "the start was kept"
    nothing = claim(status=SolveStatus.NO_SOLUTION, values=None, objective=None, bound=220.0)
    answer = recheck(nothing, KNAPSACK, PLAIN, BEST)
    assert (answer.status, answer.objective) == (SolveStatus.OPTIMAL, 220.0)


def test_an_infeasible_start_refutes_nothing() -> None:
    gone = claim(status=SolveStatus.INFEASIBLE, values=None, objective=None, bound=-math.inf)
    answer = recheck(gone, KNAPSACK, PLAIN, np.ones(3))
    assert answer.status is SolveStatus.INFEASIBLE


def test_a_relaxation_may_be_fractional() -> None:
    values = np.array([1.0, 1.0, 2 / 3])
    relaxed = claim(values=values, objective=KNAPSACK.evaluate(values), bound=KNAPSACK.evaluate(values))
    assert recheck(relaxed, KNAPSACK, SolveParameters(relax=True)).values is values


@pytest.mark.parametrize("name", [*LIARS, "wrong-type", "raise"])
def test_in_process_a_lie_costs_the_backend(name: str) -> None:
    with pytest.raises(BackendError):
        InProcessRunner(EXTRA).solve(name, KNAPSACK, PLAIN, START, Budget(10))


def test_in_process_the_honest_pass() -> None:
    runner = InProcessRunner(EXTRA)
    assert runner.solve("honest", KNAPSACK, PLAIN, START, Budget(10)).objective == 160.0
    assert runner.solve("highs", KNAPSACK, PLAIN, START, Budget(10)).objective == 220.0
