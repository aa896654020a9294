"""A start may help and must never mislead: with it the optimum is the same as without it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from gangplan.domain.round import Round
from gangplan.model.formulation.encode import encode
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import build_layout
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.program import Program, SolveParameters, SolveStatus
from gangplan.testing.programs import KNOWN_ANSWERS
from gangplan.testing.strategies import rounds
from gangplan_solvers import catalog, highs

BACKENDS = [name for name in catalog.names() if catalog.load(name).availability().available]


def _improved_while_presolved() -> tuple[Program, np.ndarray]:
    """HiGHS 1.16.0 improves this start while it presolves, then returns the start itself as optimal."""
    infinity = float("inf")
    columns = 14
    program = Program(
        objective=np.array([1.5, 1, 1, 16, 8, 6.5982887907385805, 0.4957263827544946, 1, *[0.0] * 6]),
        lower=np.zeros(columns),
        upper=np.array([1.0] * 8 + [4, 2, 2, 1, 2, 2]),
        integer=np.ones(columns, dtype=np.bool_),
        row_start=np.array([0, 2, 4, 6, 8, 11, 17, 19, 21]),
        column_index=np.array([9, 11, 8, 13, 10, 7, 0, 8, 1, 9, 10, 2, 3, 4, 11, 12, 13, 0, 1, 2, 7]),
        value=np.array([1.0, 4, 1, 4, 1, 4, 1, -1, 1, -1, -1, 2, 2, 2, -1, -1, -1, 1, 1, 1, 1]),
        row_lower=np.full(8, -infinity),
        row_upper=np.array([4.0, 8, 4, 0, 0, 0, 1, 1]),
    )
    return program, np.array([1.0, 0, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 2, 1])


@pytest.mark.parametrize("name", BACKENDS)
def test_a_start_that_presolve_improves_does_not_come_back_as_the_optimum(name: str) -> None:
    program, start = _improved_while_presolved()
    solution = catalog.load(name).solve(program, SolveParameters(), start)
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.objective == pytest.approx(33.594015173493084)


def test_values_worth_less_than_highs_says_are_solved_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The knapsack's 220 comes back with the values of nothing, whose worth is 0, as long as it presolves."""
    honest = highs._Run.go

    def go(run: highs._Run, start: np.ndarray | None, *, presolve: bool = True) -> None:
        honest(run, start, presolve=presolve)
        if presolve:
            run.values = np.zeros(3)

    monkeypatch.setattr(highs._Run, "go", go)
    solution = highs.BACKEND.solve(KNOWN_ANSWERS["knapsack"].program, SolveParameters())
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.objective == pytest.approx(220.0)
    assert "without presolving" in solution.detail


@pytest.mark.parametrize("name", BACKENDS)
@given(round_=rounds("small"))
def test_the_optimum_is_the_same_with_and_without_a_start(name: str, round_: Round) -> None:
    instance = build_instance(round_)
    layout = build_layout(instance)
    program = formulate(layout)
    start = encode(layout, keep_and_fill(instance))
    backend = catalog.load(name)
    with_start = backend.solve(program, SolveParameters(), start)
    without = backend.solve(program, SolveParameters())
    assert with_start.status is without.status is SolveStatus.OPTIMAL
    assert with_start.objective == pytest.approx(without.objective, rel=1e-6, abs=1e-6)
