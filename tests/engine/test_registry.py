"""Which solver is chosen."""

from __future__ import annotations

import numpy as np
import pytest

from gangplan.engine.registry import AUTO, BACKENDS, ONLY_BY_NAME, choose, needs
from gangplan.errors import UnknownSolverError
from gangplan.model.program import SolveParameters
from gangplan.testing.programs import KNOWN_ANSWERS, program
from gangplan_solvers.backend import Feature

PLAIN = SolveParameters()


def wide(columns: int) -> object:
    return program(np.ones(columns).tolist())


@pytest.mark.parametrize(("most", "names"), BACKENDS)
def test_size_decides(most: float, names: tuple[str, ...]) -> None:
    assert choose(AUTO, wide(int(min(most, 50_000))), PLAIN) == names[0]  # type: ignore[arg-type]


def test_what_a_backend_lacks_rules_it_out() -> None:
    small = KNOWN_ANSWERS["knapsack"].program
    assert choose(AUTO, small, PLAIN) == "cpsat"
    assert choose(AUTO, small, SolveParameters(relax=True)) == "highs"
    assert choose(AUTO, KNOWN_ANSWERS["mixed-fixed-charge"].program, PLAIN) == "highs"
    assert choose(AUTO, small, PLAIN, among=("highs",)) == "highs"
    with pytest.raises(UnknownSolverError, match="offers RELAXATION"):
        choose(AUTO, small, SolveParameters(relax=True), among=("cpsat",))


def test_auto_takes_no_licence_of_its_own_accord() -> None:
    small = KNOWN_ANSWERS["knapsack"].program
    assert choose(AUTO, small, PLAIN, among=("cbc", "gurobi")) == "cbc"
    for name in ONLY_BY_NAME:
        with pytest.raises(UnknownSolverError, match="no solver that can be used here"):
            choose(AUTO, small, PLAIN, among=(name,))


def test_a_name_is_taken_as_it_is() -> None:
    assert choose("highs", KNOWN_ANSWERS["knapsack"].program, PLAIN) == "highs"
    with pytest.raises(UnknownSolverError, match=r"no solver 'nope'; there are: auto, .*cpsat, .*highs"):
        choose("nope", KNOWN_ANSWERS["knapsack"].program, PLAIN)


def test_needs() -> None:
    assert needs(KNOWN_ANSWERS["linear"].program, PLAIN) == {Feature.CONTINUOUS}
    assert needs(KNOWN_ANSWERS["mixed-fixed-charge"].program, PLAIN) == {Feature.CONTINUOUS, Feature.INTEGER}
    assert needs(KNOWN_ANSWERS["knapsack"].program, SolveParameters(relax=True)) == {Feature.RELAXATION}
