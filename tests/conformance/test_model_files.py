"""Model files: others read what is written as the same programme, to the last bit, with the same optimum."""

from __future__ import annotations

import math
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangplan.errors import InvalidInputError
from gangplan.model.program import Family, Program, SolveParameters, SolveStatus
from gangplan.testing.programs import KNOWN_ANSWERS, best_by_enumeration, program
from gangplan_solvers import answer, catalog
from gangplan_solvers.cbc import _program as cbc_program
from gangplan_solvers.model_files import names, read_model, write_lp, write_mps

INF = math.inf
WRITERS = {"mps": write_mps, "lp": write_lp}
ARRAYS = (
    "objective",
    "lower",
    "upper",
    "integer",
    "row_start",
    "column_index",
    "value",
    "row_lower",
    "row_upper",
)
FEW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

CBC_ERRS = {"fixed-by-a-row-of-decimals", "tiny-row-coefficients"}

whole = st.integers(-6, 6).map(float)
tenths = st.integers(-60, 60).map(lambda tenth: tenth / 10)
any_size = st.floats(-1e6, 1e6, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-6)


@st.composite
def programs(draw: st.DrawFn, numbers: st.SearchStrategy[float] = any_size) -> Program:
    """Any shape: free, one-sided, two-sided and equal rows, empty rows and columns, several families."""
    columns = draw(st.integers(1, 5))
    rows = []
    for _ in range(draw(st.integers(0, 4))):
        ends = sorted((draw(numbers), draw(numbers)))
        kind = draw(st.sampled_from(["<=", ">=", "==", "range", "free"]))
        low = -INF if kind in {"<=", "free"} else ends[0]
        high = INF if kind in {">=", "free"} else ends[0] if kind == "==" else ends[1]
        rows.append(([draw(numbers) for _ in range(columns)], low, high))
    bounds = [sorted((draw(st.integers(-3, 3)), draw(st.integers(-3, 3)))) for _ in range(columns)]
    integer = [draw(st.integers(0, 3)) > 0 for _ in range(columns)]
    made = program(
        [draw(numbers) for _ in range(columns)],
        rows,
        lower=[low for low, _ in bounds],
        upper=[high for _, high in bounds],
        integer=integer,
        offset=draw(st.sampled_from([0.0, -3.5, 1e5, 0.1])),
    )
    cut = draw(st.integers(0, columns))
    families = (Family("option", 0, cut), Family("e-9 [x]", cut, columns))
    return replace(made, column_families=families, row_families=(Family("capacity", 0, len(rows)),))


def without_free_rows(what: Program) -> Program:
    """MPS readers drop rows without limits."""
    limits = zip(what.row_lower, what.row_upper, strict=True)
    kept = [k for k, (low, high) in enumerate(limits) if low > -INF or high < INF]
    dense = np.zeros((what.rows, what.columns))
    of = np.repeat(np.arange(what.rows), np.diff(what.row_start))
    dense[of, what.column_index] = what.value
    rows = [(dense[k].tolist(), float(what.row_lower[k]), float(what.row_upper[k])) for k in kept]
    return program(
        what.objective.tolist(),
        rows,
        lower=what.lower.tolist(),
        upper=what.upper.tolist(),
        integer=what.integer.tolist(),
        offset=what.offset,
    )


@FEW
@given(what=programs())
def test_mps_reads_back_the_same(tmp_path: Path, what: Program) -> None:
    path = tmp_path / "model.mps"
    write_mps(what, path)
    read = read_model(path)
    assert not read.minimise
    expected = without_free_rows(what)
    for field in ARRAYS:
        if field not in {"row_lower", "row_upper"}:
            assert getattr(read.program, field).tolist() == getattr(expected, field).tolist(), field
    limits = (read.program.row_lower, read.program.row_upper, expected.row_lower, expected.row_upper)
    for low, high, true_low, true_high in zip(*limits, strict=True):
        if true_low == true_high or math.isinf(true_high - true_low):
            assert (low, high) == (true_low, true_high)
        else:  # one limit is computed from the other and a width: never cut off, at most a digit wider
            assert low <= true_low
            assert true_high <= high
            assert low == true_low or high == true_high
            last = math.ulp(max(abs(true_low), abs(true_high), true_high - true_low))
            assert (true_low - low) + (high - true_high) <= last
    assert read.program.offset == what.offset
    assert read.columns == tuple(names(what.column_families, what.columns, "x"))


@FEW
@given(what=programs())
def test_lp_reads_back_with_two_rows_for_two_limits(tmp_path: Path, what: Program) -> None:
    path = tmp_path / "model.lp"
    write_lp(what, path)
    assert max(len(line) for line in path.read_text("ascii").splitlines()) <= 255
    read = read_model(path)
    by_name = {name: k for k, name in enumerate(read.columns)}
    order = [by_name[name] for name in names(what.column_families, what.columns, "x")]
    for field in ("objective", "lower", "upper", "integer"):
        assert getattr(read.program, field)[order].tolist() == getattr(what, field).tolist(), field
    assert read.program.offset == what.offset
    finite = [np.isfinite(limit) for limit in (what.row_lower, what.row_upper)]
    equal = what.row_lower == what.row_upper
    assert read.program.rows == int(finite[0].sum() + finite[1].sum() - equal.sum())


@pytest.mark.parametrize("form", WRITERS)
@FEW
@given(what=programs(st.one_of(whole, tenths)))
def test_the_file_has_the_optimum_of_enumeration(tmp_path: Path, form: str, what: Program) -> None:
    if (~what.integer).sum() > 1:
        what = replace(what, integer=np.ones(what.columns, dtype=np.bool_))
    truth = best_by_enumeration(what)
    path = tmp_path / f"model.{form}"
    WRITERS[form](what, path)
    solution = catalog.usable("highs").solve(read_model(path).program, SolveParameters())
    if truth is None:
        assert solution.status is not SolveStatus.OPTIMAL or nearly(what, solution.values, solution.objective)
        return
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.objective is not None
    tolerance = max(1e-6 * abs(truth[0]), answer.tolerance_of(what, truth[0]))
    assert solution.objective >= truth[0] - tolerance
    assert solution.objective <= truth[0] + tolerance or nearly(what, solution.values, solution.objective)


def nearly(what: Program, values: np.ndarray | None, objective: float | None) -> bool:
    """A solution that rests on the feasibility tolerance."""
    if values is None or objective is None:
        return False
    held = what.activity(values)
    return bool((held < what.row_lower).any() or (held > what.row_upper).any())


@pytest.mark.parametrize("name", [n for n, known in KNOWN_ANSWERS.items() if not known.exact])
@pytest.mark.parametrize("form", WRITERS)
def test_cbc_itself_reads_both_forms(tmp_path: Path, form: str, name: str) -> None:
    """The bare program, as a stranger would call it: its MPS reader ignores OBJSENSE, so it is told -max."""
    known = KNOWN_ANSWERS[name]
    if known.program.columns == 0:
        pytest.skip("CBC takes no model without columns")
    if name in CBC_ERRS:
        pytest.skip("CBC errs on it where its preprocessing is on and the rows are not scaled")
    path = tmp_path / f"model.{form}"
    WRITERS[form](known.program, path)
    sense = ["-max"] if form == "mps" else []
    command = [str(cbc_program()), str(path), *sense, "-solve"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "errors on input" not in done.stdout
    found = re.findall(r"^(?:Objective value:|Optimal objective) +(\S+)", done.stdout, re.MULTILINE)
    if known.objective is None:
        assert "infeasible" in done.stdout.lower()
    else:
        without = known.objective - known.program.offset
        assert any(
            float(word) == pytest.approx(sign * value, rel=1e-6, abs=1e-6)
            for word in found
            for sign in (1, -1)
            for value in (known.objective, without)
        ), done.stdout


def test_minimise_states_the_negated_objective(tmp_path: Path) -> None:
    known = KNOWN_ANSWERS["knapsack"]
    path = tmp_path / "model.mps"
    write_mps(replace(known.program, offset=5.0), path, minimise=True)
    text = path.read_text("ascii")
    assert "OBJSENSE" not in text
    read = read_model(path)
    assert read.minimise
    assert read.program.objective.tolist() == known.program.objective.tolist()
    assert read.program.offset == 5.0


def test_the_file_in_full(tmp_path: Path) -> None:
    what = program(
        [1.5, -2, 0],
        [([1, 0, 2.25], 1, 4), ([0, 1, 0], 3, 3), ([1, 1, 0], 0, INF)],
        lower=[0, -4, 2],
        upper=[1, -1, 2],
        integer=[True, True, False],
        offset=-7,
    )
    what = replace(what, row_families=(Family("cap", 0, 2),), column_families=(Family("2nd", 0, 3),))
    path = tmp_path / "model.mps"
    write_mps(what, path)
    assert path.read_text("ascii").splitlines() == [
        "NAME gangplan FREE",
        "OBJSENSE",
        " MAX",
        "ROWS",
        " N objective",
        " L cap_0",
        " E cap_1",
        " G r_2",
        "COLUMNS",
        " MARKER 'MARKER' 'INTORG'",
        " x_2nd_0 objective 1.5",
        " x_2nd_0 cap_0 1.0",
        " x_2nd_0 r_2 1.0",
        " x_2nd_1 objective -2.0",
        " x_2nd_1 cap_1 1.0",
        " x_2nd_1 r_2 1.0",
        " MARKER 'MARKER' 'INTEND'",
        " x_2nd_2 objective 0.0",
        " x_2nd_2 cap_0 2.25",
        "RHS",
        " rhs objective 7.0",
        " rhs cap_0 4.0",
        " rhs cap_1 3.0",
        "RANGES",
        " rng cap_0 3.0",
        "BOUNDS",
        " LO bnd x_2nd_0 0.0",
        " UP bnd x_2nd_0 1.0",
        " LO bnd x_2nd_1 -4.0",
        " UP bnd x_2nd_1 -1.0",
        " FX bnd x_2nd_2 2.0",
        "ENDATA",
    ]


@pytest.mark.parametrize("form", WRITERS)
def test_infinite_bounds_are_written_and_those_that_rows_imply_are_read(tmp_path: Path, form: str) -> None:
    rows = [([1, 2, 0], -INF, 9), ([0, 1, -1], 1, 5)]
    what = program([1, 1, 1], rows, lower=[0, -INF, -4], upper=[INF, 3, INF])
    path = tmp_path / f"model.{form}"
    WRITERS[form](what, path)
    read = read_model(path).program
    # y - z >= 1 and z >= -4: y >= -3. So x <= 9 + 6, and z <= 3 - 1.
    assert read.lower == pytest.approx([0, -3, -4])
    assert read.upper == pytest.approx([15, 3, 2])
    assert (read.lower <= [0, -3, -4]).all()
    assert (read.upper >= [15, 3, 2]).all()


def test_columns_that_nothing_bounds_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.mps"
    write_mps(program([1, 1], [([1, -1], -INF, 3)], upper=INF), path)
    with pytest.raises(InvalidInputError, match=r"2 columns have no finite bounds \(x_0, x_1"):
        read_model(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "it is missing"),
        ("nonsense", "not a model that HiGHS reads"),
        ("minimize obj: x + [ x ^ 2 ] / 2\nsubject to c: x >= 1\nend\n", "quadratic"),
        ("minimize obj: x\nbounds 1 <= x <= 3\nsemi-continuous x\nend\n", "column x is semi-continuous"),
    ],
    ids=["missing", "nonsense", "quadratic", "semi-continuous"],
)
def test_what_cannot_be_read_is_refused_with_its_path(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "model.lp"
    if text is not None:
        path.write_text(text, "ascii")
    with pytest.raises(InvalidInputError, match=message) as caught:
        read_model(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("form", WRITERS)
def test_numbers_without_meaning_are_refused_each_by_name(tmp_path: Path, form: str) -> None:
    what = program([math.nan, 1], [([1, 1], INF, INF)], lower=[0, INF], upper=[-INF, INF], offset=INF)
    with pytest.raises(InvalidInputError) as caught:
        WRITERS[form](what, tmp_path / "model")
    assert {v.field for v in caught.value.violations} == {
        "objective[0]",
        "lower[1]",
        "upper[0]",
        "row_lower[0]",
        "offset[0]",
    }
    assert not (tmp_path / "model").exists()


def test_a_minimising_file_is_turned_around(tmp_path: Path) -> None:
    path = tmp_path / "model.lp"
    path.write_text(
        "minimize obj: 3 x + 5 y\nsubject to c: 3 x + 5 y >= 7\nbounds\nx <= 9\ny <= 9\ngeneral x y\nend\n"
    )
    read = read_model(path)
    assert read.minimise
    assert read.columns == ("x", "y")
    assert read.rows == ("c",)
    assert catalog.usable("highs").solve(read.program, SolveParameters()).objective == -8.0
