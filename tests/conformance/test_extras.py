"""Backends whose library is not installed for the tests: what can be shown without it."""

from __future__ import annotations

import importlib.metadata
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gangplan.errors import BackendError, UnknownSolverError
from gangplan.model.program import Program, Solution, SolveLimit, SolveParameters, SolveStatus
from gangplan.testing.programs import KNOWN_ANSWERS, hard_knapsack, program
from gangplan_solvers import catalog, cuopt, gurobi, highs

ONE = program([1.0])


@pytest.fixture
def gurobipy_without_licence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Gurobi's package, which fails the test when it is imported, and no licence of one's own."""
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "13.0.3")
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    for name in ("GRB_LICENSE_FILE", "GRB_WLSACCESSID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("gurobipy_without_licence")
def test_gurobi_refuses_what_its_package_may_not_solve_before_it_is_loaded() -> None:
    assert gurobi.BACKEND.availability().available
    wide = program(np.ones(2001).tolist())
    with pytest.raises(BackendError, match=r"2001 columns and 0 rows are more than the 2000 .* use highs"):
        gurobi.BACKEND.solve(wide, SolveParameters())
    tall = program([1.0], [([1.0], 0.0, 1.0)] * 1001)  # two rows each
    with pytest.raises(BackendError, match="1 columns and 2002 rows"):
        gurobi.BACKEND.solve(tall, SolveParameters())


@pytest.mark.usefixtures("gurobipy_without_licence")
def test_gurobi_refuses_nothing_where_a_licence_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    licence = tmp_path / "gurobi.lic"
    licence.write_text("# not read", "ascii")
    with pytest.raises(ImportError):  # it goes on to load the library
        gurobi.BACKEND.solve(program(np.ones(2001).tolist()), SolveParameters())
    monkeypatch.setenv("GRB_LICENSE_FILE", str(tmp_path / "not-there.lic"))
    with pytest.raises(BackendError, match="no other licence is set"):
        gurobi.BACKEND.solve(program(np.ones(2001).tolist()), SolveParameters())


class DataModel:
    """The setters that cuOpt documents, with the types that it asks for."""

    def set_csr_constraint_matrix(self, values: np.ndarray, indices: np.ndarray, offsets: np.ndarray) -> None:
        assert (values.dtype, indices.dtype, offsets.dtype) == (np.float64, np.int32, np.int32)
        self.values, self.indices, self.offsets = values, indices, offsets

    def set_constraint_lower_bounds(self, lower: np.ndarray) -> None:
        self.row_lower = lower

    def set_constraint_upper_bounds(self, upper: np.ndarray) -> None:
        self.row_upper = upper

    def set_objective_coefficients(self, costs: np.ndarray) -> None:
        self.costs = costs

    def set_variable_lower_bounds(self, lower: np.ndarray) -> None:
        self.lower = lower

    def set_variable_upper_bounds(self, upper: np.ndarray) -> None:
        self.upper = upper

    def set_variable_types(self, kinds: np.ndarray) -> None:
        assert kinds.dtype == np.dtype("<U1")
        self.integer = kinds == "I"


class SolverSettings:
    def __init__(self) -> None:
        self.given: dict[str, object] = {}

    def set_parameter(self, name: str, value: object) -> None:
        known = {"log_to_console", "mip_absolute_gap", "mip_relative_gap", "num_cpu_threads", "time_limit"}
        if name not in known:
            raise ValueError("Invalid parameter. Please check documentation")
        self.given[name] = value


class Found:
    """cuOpt's answer: HiGHS's, in the words of cuOpt, which minimises."""

    def __init__(self, solution: Solution) -> None:
        self.solution = solution

    def get_termination_reason(self) -> str:
        if self.solution.status is SolveStatus.FEASIBLE:
            return "FeasibleFound"
        return {"OPTIMAL": "Optimal", "INFEASIBLE": "Infeasible"}.get(self.solution.status.value, "TimeLimit")

    def get_primal_solution(self) -> np.ndarray | None:
        return self.solution.values

    def get_milp_stats(self) -> dict[str, float]:
        return {"solution_bound": -self.solution.bound}

    def get_error_message(self) -> str:
        return "out of memory"


@pytest.fixture
def cuopt_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """A stand-in for the library, with HiGHS inside, and for the driver."""
    library = ModuleType("cuopt.linear_programming")

    def solve(model: DataModel, settings: SolverSettings) -> Found:
        library.settings = settings.given  # type: ignore[attr-defined]
        what = Program(
            objective=-model.costs,
            lower=model.lower,
            upper=model.upper,
            integer=model.integer,
            row_start=model.offsets.astype(np.int64),
            column_index=model.indices.astype(np.int64),
            value=model.values,
            row_lower=model.row_lower,
            row_upper=model.row_upper,
        )
        limit = settings.given.get("time_limit")
        return Found(highs.BACKEND.solve(what, SolveParameters(time_limit_seconds=limit)))  # type: ignore[arg-type]

    library.DataModel, library.SolverSettings, library.Solve = DataModel, SolverSettings, solve  # type: ignore[attr-defined]
    driver = tmp_path / "version"
    driver.touch()
    monkeypatch.setattr(cuopt, "_version", lambda: "26.2.0")
    monkeypatch.setattr(cuopt, "_DRIVER", driver)
    monkeypatch.setitem(sys.modules, "cuopt", ModuleType("cuopt"))
    monkeypatch.setitem(sys.modules, "cuopt.linear_programming", library)
    return library


INTEGRAL = [name for name, known in KNOWN_ANSWERS.items() if known.program.integer.all() and not known.exact]


@pytest.mark.usefixtures("cuopt_library")
@pytest.mark.parametrize("name", INTEGRAL)
def test_cuopt_is_handed_the_programme_and_its_answer_is_read(name: str) -> None:
    known = KNOWN_ANSWERS[name]
    solution = catalog.usable("cuopt").solve(known.program, SolveParameters(threads=2))
    if known.objective is None:
        assert solution.status is SolveStatus.INFEASIBLE
        return
    assert solution.status is SolveStatus.OPTIMAL, solution.detail
    assert solution.objective == pytest.approx(known.objective, rel=1e-9, abs=1e-15)


def test_cuopt_is_told_limit_gap_and_threads_and_to_be_silent(cuopt_library: ModuleType) -> None:
    how = SolveParameters(time_limit_seconds=0.2, relative_gap=0.01, threads=2)
    solution = cuopt.BACKEND.solve(hard_knapsack(200, 10), how)
    assert 0.0 < cuopt_library.settings.pop("time_limit") <= 0.2
    assert cuopt_library.settings == {
        "log_to_console": False,
        "mip_absolute_gap": 0.0,
        "mip_relative_gap": 0.01,
        "num_cpu_threads": 2,
    }
    assert solution.limit is SolveLimit.TIME
    assert math.isfinite(solution.bound)


def test_cuopt_that_fails_is_an_error(cuopt_library: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Found, "get_termination_reason", lambda _: "NumericalError")
    with pytest.raises(BackendError, match="cuOpt ended with NumericalError: out of memory"):
        cuopt.BACKEND.solve(ONE, SolveParameters())


def test_cuopt_says_what_it_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cuopt, "_DRIVER", tmp_path / "none")
    monkeypatch.setattr(cuopt, "_version", lambda: "")
    with pytest.raises(UnknownSolverError, match="needs an NVIDIA GPU and the package cuopt-cu12"):
        catalog.usable("cuopt")
    monkeypatch.setattr(cuopt, "_version", lambda: "26.2.0")
    with pytest.raises(UnknownSolverError, match="needs an NVIDIA GPU, and no driver is loaded"):
        catalog.usable("cuopt")
