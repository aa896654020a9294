"""Anybody's model by the same protocol: each backend, each order of rows and columns, one value."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangplan.bench import models
from gangplan.bench.runs import Run
from gangplan.errors import BackendError
from gangplan.model.program import Program, Solution, SolveLimit, SolveParameters, SolveStatus
from gangplan_solvers import catalog
from gangplan_solvers.backend import Availability, Feature

KNAPSACK = """\
\\ weights 3, 4, 5 and values 4, 5, 6 within 8: the first and the last, worth 10
Minimize
 cost: - 4 a - 5 b - 6 c
Subject To
 weight: 3 a + 4 b + 5 c <= 8
Binary
 a b c
End
"""


@pytest.fixture
def knapsack(tmp_path: Path) -> Path:
    file = tmp_path / "knapsack.lp"
    file.write_text(KNAPSACK)
    return file


def run_of(file: Path, solver: str, **more: Any) -> Run:
    return Run("model", "models", f"{file.name}/seed1", solver=solver, seed=1, source=str(file), **more)


@pytest.mark.parametrize("solver", [one.name for one in catalog.describe() if one.availability.available])
def test_every_backend_solves_it(knapsack: Path, solver: str) -> None:
    row = models.measure(run_of(knapsack, solver))
    assert (row["status"], row["proved"], row["verified"]) == ("OPTIMAL", True, True)
    assert row["objective_in_their_unit"] == pytest.approx(-10.0)
    assert (row["columns"], row["rows"]) == (3, 1)
    assert row["wall_s"] > 0


class Answers:
    """A backend that answers what it is told to."""

    name = "liar"
    features = frozenset(Feature)

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def availability(self) -> Availability:
        return Availability(True, "1")

    def solve(self, program: Program, parameters: SolveParameters, start: Any = None) -> Any:
        if program.columns == 2:  # the practice
            return None
        return self.answer(program)


def solution(program: Program, values: list[float], bound: float, status: SolveStatus) -> Solution:
    x = np.array(values)
    return Solution(status, SolveLimit.NONE, x, program.evaluate(x), bound, 0.1, solver="liar 1")


def breaks_a_row(program: Program) -> Solution:
    return solution(program, [1.0, 1.0, 1.0], 20.0, SolveStatus.FEASIBLE)


def claims_an_optimum(program: Program) -> Solution:
    return solution(program, [0.0, 0.0, 0.0], 9.0, SolveStatus.OPTIMAL)


def claims_a_bound(program: Program) -> Solution:
    return solution(program, [1.0, 0.0, 0.0], 1.0, SolveStatus.FEASIBLE)


def claims_a_value(program: Program) -> Solution:
    return replace(solution(program, [0.0] * 3, 12.0, SolveStatus.FEASIBLE), objective=7.0)


def is_honest(program: Program) -> Solution:
    return solution(program, [1.0, 0.0, 0.0], 20.0, SolveStatus.FEASIBLE)


def finds_nothing(_: Program) -> Solution:
    return Solution(SolveStatus.NO_SOLUTION, SolveLimit.TIME, None, None, 20.0, 1.0)


def breaks(_: Program) -> Solution:
    raise BackendError("the library crashed")


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (breaks_a_row, "WRONG"),
        (claims_an_optimum, "WRONG"),
        (claims_a_bound, "WRONG"),
        (claims_a_value, "WRONG"),
        (is_honest, "FEASIBLE"),
        (finds_nothing, "NO_SOLUTION"),
        (breaks, "ERROR"),
    ],
)
def test_the_status_is_ours_and_not_the_solver_s(
    knapsack: Path, monkeypatch: pytest.MonkeyPatch, answer: Any, status: str
) -> None:
    monkeypatch.setattr(catalog, "usable", lambda _: Answers(answer))
    row = models.measure(run_of(knapsack, "liar"))
    assert row["status"] == status
    assert not row["proved"]


def test_the_command_measures_a_file_and_a_missing_backend_is_a_row(
    bench: Any, knapsack: Path, tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    words = (
        "run",
        "--model",
        knapsack,
        "--solver",
        "highs",
        "--seeds",
        "0,1",
        "--time-limit",
        "5s",
        "-o",
        file,
    )
    done = bench(*words)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["instance"], row["status"]) for row in rows] == [
        ("knapsack.lp/seed0", "OPTIMAL"),
        ("knapsack.lp/seed1", "OPTIMAL"),
    ]
    assert "| knapsack.lp | highs | 5 | 2 | 2 | 2 OPTIMAL |" in bench("report", file).stdout
    unusable = [one.name for one in catalog.describe() if not one.availability.available]
    if unusable:
        refused = bench(*words[:3], "--solver", unusable[0], "--seeds", "0", "-o", "jsonl")
        assert refused.returncode == 4
        assert json.loads(refused.stdout)["status"] == "ERROR"
        assert "cannot be used here" in refused.stderr


def test_a_round_s_programme_is_solved_whole() -> None:
    run = Run("solvers", "models", "S/steady/50/seed0", solver="highs", time_limit_s=30.0)
    row = models.measure(run)
    assert row["status"] == "OPTIMAL"
    assert row["columns"] > 200
