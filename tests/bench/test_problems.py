"""The gates of a run close on rows that cannot be."""

from typing import Any

import pytest

from gangplan.bench.problems import problems


@pytest.fixture
def pair(row: Any) -> list[dict[str, Any]]:
    """The same instance by two solvers, both proved."""
    proved = {"status": "OPTIMAL", "proved": True, "exact_objective": 100.0, "bound": 100.0, "gap": 0.0}
    return [row(solver="highs", **proved), row(solver="cpsat", **proved)]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        (
            {"status": "WRONG", "violations": ["CAPACITY: node a holds 9"]},
            "is WRONG: CAPACITY: node a holds 9",
        ),
        ({"status": "ERROR", "error": "exit code 1: it broke"}, "is ERROR: exit code 1: it broke"),
        ({"permuted_same": False}, "another plan when its lists are permuted"),
        ({"status": "FEASIBLE"}, "is FEASIBLE"),
        ({"status": "TIMEOUT"}, "is TIMEOUT"),
        ({"exact_objective": 100.0002}, "above the bound"),
        ({"exact_objective": 99.9998}, "proves"),
        ({"bound": 99.9997}, "above the bound"),
    ],
)
def test_a_pair_is_refused_for_what_was_changed(pair: Any, changed: dict[str, Any], said: str) -> None:
    pair[1] |= changed
    wrong = problems(pair, require="OPTIMAL")
    assert any(said in line for line in wrong) if said else not wrong


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, ""),
        ({"late_ms": 50.5}, "has its plan 50 ms late, where 50 are allowed"),
        ({"next_late_ms": 70.0}, "has its next plan 70 ms late, where 50 are allowed"),
        ({"late_ms": 50.5, "options": {}}, ""),
        ({"next_verified": False}, "leaves a service whose next plan is not verified"),
        ({"per_1000": 1.35}, "has 3 voluntary actions without lasting gain in 2,222 running job-rounds"),
        ({"missed": ["7 calls are late"]}, "at 200 %: 7 calls are late"),
    ],
)
def test_a_row_is_refused_for_what_its_suite_does_not_allow(
    row: Any, changed: dict[str, Any], said: str
) -> None:
    good = {"late_ms": 49.0, "next_late_ms": -3.0, "next_verified": True, "options": {"most_late_ms": 50.0}}
    churn = {"per_1000": 1.0, "most_per_1000": 1.0, "without_lasting_gain": 3, "running_job_rounds": 2222}
    wrong = problems([row(**(good | churn | {"name": "at 200 %", "missed": []} | changed))])
    assert said in wrong[0] if said else not wrong


def test_what_a_suite_does_not_require_is_no_problem(pair: Any) -> None:
    pair[1] |= {"status": "FEASIBLE", "proved": False}
    assert not problems(pair)
    assert not problems(pair, require="FEASIBLE")
    pair[1]["status"] = "NO_SOLUTION"
    assert problems(pair, require="FEASIBLE")


def test_a_formulation_above_the_bound_of_another_is_told(row: Any) -> None:
    proved = row(
        kind="formulations", who="exact", solver="highs", status="OPTIMAL", objective=-9.0, bound=-9.0
    )
    above = proved | {"solver": "cbc", "objective": -8.99, "bound": -8.99}
    for one in (proved, above):
        one["bound_holds"] = True
    assert problems([proved, above]) == [
        "L/steady/50/seed0 exact cbc reaches -8.99, above the bound -9.0 of L/steady/50/seed0 exact highs"
    ]
    assert not problems([proved | {"bound_holds": False}, above])  # a bound of its own programme only
    assert not problems([proved, above | {"objective": -9.0}])


def test_infeasible_against_a_solution_is_a_contradiction(pair: Any) -> None:
    for one in pair:
        one["kind"] = "models"
    pair[1] |= {"status": "NO_SOLUTION", "claim": "INFEASIBLE", "proved": False, "exact_objective": None}
    assert "highs has a solution, cpsat claims that there is none" in problems(pair)[0]


def test_a_prototype_that_contradicts_is_told_only_where_nothing_runs(pair: Any) -> None:
    mine = pair[0] | {"running": 0, "objective_in_their_unit": 100.0}
    other = mine | {"who": "prototype-same", "objective": 100.001}
    assert "the prototype 100.001" in problems([mine, other])[0]
    assert not problems([mine, other | {"objective": 100.00001}])
    assert not problems([mine | {"running": 3}, other])
