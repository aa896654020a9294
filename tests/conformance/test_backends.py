"""What every solver backend must do. A new backend is found in the catalogue and drops in by itself."""

from __future__ import annotations

import math
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangplan.errors import BackendError
from gangplan.model.program import Program, Solution, SolveLimit, SolveParameters, SolveStatus
from gangplan.testing.programs import (
    KNOWN_ANSWERS,
    best_by_enumeration,
    hard_knapsack,
    program,
)
from gangplan_solvers import answer, catalog
from gangplan_solvers.backend import Backend, Feature

INF = math.inf
AVAILABLE = [line.name for line in catalog.describe() if line.availability.available]


def cases(*needed: Feature) -> list[object]:
    """Every backend with the features needed; one that cannot be used here is skipped with its reason."""
    return [
        pytest.param(
            line.name,
            marks=pytest.mark.skipif(not line.availability.available, reason=line.availability.reason),
        )
        for line in catalog.describe()
        if set(needed) <= line.features
    ]


EACH, RELAXING = cases(), cases(Feature.RELAXATION)
PATIENCE_SECONDS = 1.0
"""How much later than its time limit a backend may come back on a small programme, on a busy machine."""

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(params=EACH)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each backend that can be used here."""
    return catalog.usable(request.param)


def takes(backend: Backend, what: Program) -> bool:
    return bool(what.integer.all()) or Feature.CONTINUOUS in backend.features


def consistent(solution: Solution, what: Program, *, relax: bool = False) -> None:
    """Every claim that can be checked without knowing the optimum."""
    assert solution.solver.split()[0] in AVAILABLE
    assert not math.isnan(solution.bound)
    assert solution.seconds >= 0
    if solution.status in {SolveStatus.INFEASIBLE, SolveStatus.NO_SOLUTION}:
        assert solution.values is None
        assert solution.objective is None
        return
    assert solution.values is not None
    assert answer.violated(what, solution.values, relax=relax) == ""
    if not relax:
        whole = solution.values[what.integer]
        assert (whole == np.round(whole)).all()
    assert not np.signbit(solution.values[solution.values == 0]).any()
    assert solution.objective == what.evaluate(solution.values)
    assert solution.bound >= solution.objective
    if solution.status is SolveStatus.OPTIMAL:
        assert solution.limit is SolveLimit.NONE
        assert answer.gap_is_closed(what, solution.objective, solution.bound)


def test_the_solvers_that_need_no_extra_are_here() -> None:
    assert {"cbc", "cpsat", "highs"} <= set(AVAILABLE)


@pytest.mark.parametrize("name", KNOWN_ANSWERS)
def test_known_answer(backend: Backend, name: str) -> None:
    known = KNOWN_ANSWERS[name]
    if not takes(backend, known.program):
        with pytest.raises(BackendError, match="use highs"):
            backend.solve(known.program, SolveParameters())
        return
    solution = backend.solve(known.program, SolveParameters())
    consistent(solution, known.program)
    if known.exact and solution.status is not SolveStatus.OPTIMAL:
        assert solution.bound >= known.objective  # no proof, and no false claim
        return
    if known.objective is None:
        assert solution.status is SolveStatus.INFEASIBLE
        assert solution.bound == -INF
        return
    assert solution.status is SolveStatus.OPTIMAL, solution.detail
    assert solution.objective == pytest.approx(known.objective, rel=1e-9, abs=1e-15)
    if known.values is not None:
        assert solution.values == pytest.approx(known.values, abs=1e-6)


@pytest.mark.parametrize("name", [n for n, known in KNOWN_ANSWERS.items() if known.program.columns < 12])
def test_known_answers_are_what_enumeration_finds(name: str) -> None:
    known = KNOWN_ANSWERS[name]
    try:
        found = best_by_enumeration(known.program)
    except ValueError:
        pytest.skip("too large to enumerate; it has its hand argument")
    if known.objective is None:
        assert found is None
    else:
        assert found is not None
        assert found[0] == pytest.approx(known.objective, rel=1e-9, abs=1e-15)


small = st.integers(-6, 6).map(float)
decimal = st.integers(-60, 60).map(lambda tenths: tenths / 10)
awkward = st.floats(-8, 8, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-3)


@st.composite
def tiny_programs(draw: st.DrawFn) -> Program:
    """Up to five columns in small boxes, one maybe continuous; up to four rows; any kind of numbers."""
    columns = draw(st.integers(1, 5))
    numbers = draw(st.sampled_from([small, small, decimal, awkward]))
    scale = draw(st.sampled_from([1.0, 1.0, 1.0, 1e-8, 1e4]))
    lower = [draw(st.integers(-2, 1)) for _ in range(columns)]
    upper = [low + draw(st.integers(0, 3)) for low in lower]
    rows = []
    for _ in range(draw(st.integers(0, 4))):
        coefficients = [draw(numbers) for _ in range(columns)]
        middle = draw(st.integers(-8, 8)) + draw(st.sampled_from([0.0, 0.0, 0.5]))
        low = draw(st.sampled_from([-INF, -INF, middle, middle - 4]))
        high = draw(st.sampled_from([INF, middle, middle, middle + 4]))
        rows.append((coefficients, low, high))
    integer = [True] * columns
    if draw(st.booleans()):
        integer[draw(st.integers(0, columns - 1))] = draw(st.sampled_from([True, False, False]))
    objective = [draw(numbers) * scale for _ in range(columns)]
    offset = draw(st.sampled_from([0.0, 0.0, -3.5, 100.0]))
    return program(objective, rows, lower=lower, upper=upper, integer=integer, offset=offset)


@st.composite
def tiny_placements(draw: st.DrawFn) -> Program:
    """Placement in miniature: jobs with up to three options each, block capacities, a quota, keeps."""
    jobs = draw(st.integers(2, 5))
    options = [draw(st.integers(1, 3)) for _ in range(jobs)]
    columns = sum(options)
    owner = [j for j in range(jobs) for _ in range(options[j])]
    size = [draw(st.sampled_from([1, 2, 3, 4, 5, 8])) for _ in range(columns)]
    pool = [draw(st.integers(0, 1)) for _ in range(columns)]
    worth = [s * draw(st.integers(25, 400)) / 100 - draw(st.sampled_from([0, 0, 0, 3])) for s in size]
    rows: list[tuple[list[float], float, float]] = [
        ([float(owner[k] == j) for k in range(columns)], -INF, 1) for j in range(jobs)
    ]
    for p in range(2):
        room = draw(st.integers(2, 12))
        rows.append(([size[k] * float(pool[k] == p) for k in range(columns)], -INF, room))
        rows.append(([size[k] // 4 * 4.0 * float(pool[k] == p) for k in range(columns)], -INF, room // 4 * 4))
    rows.append(([float(s) for s in size], -INF, draw(st.integers(3, 20))))
    return program(worth, rows)


FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(FEW, max_examples=3000)


def agrees_with_enumeration(backend: Backend, what: Program) -> None:
    if not takes(backend, what):
        with pytest.raises(BackendError, match="continuous"):
            backend.solve(what, SolveParameters())
        return
    truth = best_by_enumeration(what)
    solution = backend.solve(what, SolveParameters())
    consistent(solution, what)
    if truth is None:
        # A point may break a row by less than the tolerance and more than the enumerator's.
        if solution.values is None:
            assert solution.status in {SolveStatus.INFEASIBLE, SolveStatus.NO_SOLUTION}
        else:
            assert answer.violated(what, solution.values) == ""
            assert nearly_infeasible(what, solution)
        return
    value, _ = truth
    rounding = answer.tolerance_of(what, value)
    assert solution.bound >= value - rounding
    assert solution.status is SolveStatus.OPTIMAL, solution
    assert solution.objective is not None
    assert solution.objective >= value - max(1e-6 * abs(value), rounding)
    if solution.objective > value + rounding:
        assert nearly_infeasible(what, solution)


def nearly_infeasible(what: Program, solution: Solution) -> bool:
    """The solution rests on the feasibility tolerance: on some row, up to the rounding of its sum.

    The enumeration adds up in another order, and may find the row broken by the last digit.
    """
    assert solution.values is not None
    held = what.activity(solution.values)
    digit = 1e-12 * np.maximum(1.0, np.abs(held))
    return bool((held < what.row_lower + digit).any() or (held > what.row_upper - digit).any())


@pytest.mark.parametrize("name", EACH)
@FEW
@given(what=tiny_programs())
def test_agrees_with_enumeration(name: str, what: Program) -> None:
    agrees_with_enumeration(catalog.usable(name), what)


@pytest.mark.parametrize("name", EACH)
@FEW
@given(what=tiny_placements())
def test_agrees_with_enumeration_on_placements(name: str, what: Program) -> None:
    agrees_with_enumeration(catalog.usable(name), what)


@pytest.mark.deep
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", EACH)
@MANY
@given(what=st.one_of(tiny_programs(), tiny_placements()))
def test_agrees_with_enumeration_on_many(name: str, what: Program) -> None:
    agrees_with_enumeration(catalog.usable(name), what)


@pytest.mark.parametrize("name", RELAXING)
@FEW
@given(what=st.one_of(tiny_programs(), tiny_placements()))
def test_relaxation_is_above_every_integral_point(name: str, what: Program) -> None:
    solution = catalog.usable(name).solve(what, SolveParameters(relax=True))
    consistent(solution, what, relax=True)
    truth = best_by_enumeration(what)
    if truth is not None:
        assert solution.status is SolveStatus.OPTIMAL
        assert solution.bound >= truth[0] - answer.tolerance_of(what, truth[0])


@pytest.mark.parametrize("name", RELAXING)
def test_relaxation_of_an_odd_cycle_is_half_each(name: str) -> None:
    what = KNOWN_ANSWERS["odd-cycle"].program
    solution = catalog.usable(name).solve(what, SolveParameters(relax=True))
    assert solution.values == pytest.approx([0.5] * 7)
    assert solution.objective == pytest.approx(3.5)
    assert 3.5 <= solution.bound <= 3.5 + 1e-8


def test_backends_without_relaxation_refuse_it(backend: Backend) -> None:
    if Feature.RELAXATION in backend.features:
        pytest.skip("it has it")
    with pytest.raises(BackendError, match="relaxation; use"):
        backend.solve(hard_knapsack(), SolveParameters(relax=True))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (program([1], upper=INF), "upper bound 0 is inf"),
        (program([1], lower=-INF), "lower bound 0 is -inf"),
        (program([math.nan]), "objective 0 is nan"),
        (program([1], [([INF], 0, 1)]), "matrix value 0 is inf"),
        (program([1], [([1], math.nan, 1)]), "limits of row 0"),
        (program([1], [([1], INF, INF)]), "limits of row 0"),
    ],
    ids=["unbounded", "unbounded-below", "nan-objective", "infinite-entry", "nan-limit", "wrong-infinity"],
)
def test_refuses_what_has_no_meaning(backend: Backend, what: Program, message: str) -> None:
    with pytest.raises(BackendError, match=message):
        backend.solve(what, SolveParameters())


def test_a_start_is_never_worsened_even_without_time(backend: Backend) -> None:
    what = hard_knapsack()
    start = np.zeros(what.columns)
    start[:20] = 1
    assert answer.violated(what, start) == ""
    for limit in (0.0, 1e-3, 0.05):
        solution = backend.solve(what, SolveParameters(time_limit_seconds=limit), start)
        consistent(solution, what)
        assert solution.objective is not None
        assert solution.objective >= what.evaluate(start)
        assert solution.limit is SolveLimit.TIME


def test_an_optimal_start_stays_optimal(backend: Backend) -> None:
    known = KNOWN_ANSWERS["knapsack"]
    start = np.array(known.values, dtype=np.float64)
    solution = backend.solve(known.program, SolveParameters(), start)
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.values == pytest.approx(start)


@pytest.mark.parametrize("start", [[1, 1, 1], [0.5, 0, 0], [2, 0, 0], [0, 0], [math.nan, 0, 0]])
def test_an_infeasible_start_is_said_and_ignored(backend: Backend, start: list[float]) -> None:
    known = KNOWN_ANSWERS["knapsack"]
    solution = backend.solve(known.program, SolveParameters(), np.array(start, dtype=np.float64))
    assert solution.objective == known.objective
    assert "start is infeasible" in solution.detail


@pytest.mark.parametrize("limit", [0.05, 0.3])
def test_time_limit_is_kept(backend: Backend, limit: float, record_property: pytest.RecordProperty) -> None:
    what = hard_knapsack(200, 10)
    began = time.monotonic()
    solution = backend.solve(what, SolveParameters(time_limit_seconds=limit), np.zeros(200))
    overrun = time.monotonic() - began - limit
    record_property(f"overrun_seconds_{backend.name}", overrun)
    consistent(solution, what)
    assert overrun < PATIENCE_SECONDS
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.limit is SolveLimit.TIME


def test_bound_is_true_when_time_is_short(backend: Backend) -> None:
    """Against the optimum of a programme that is solved to the end in a second run; with an offset."""
    what = hard_knapsack(20, 2, seed=1)
    for offset in (0.0, -1e5, 1e5):
        moved = Program(*(getattr(what, field) for field in _ARRAYS), offset=offset)
        best = backend.solve(moved, SolveParameters())
        assert best.status is SolveStatus.OPTIMAL
        assert best.objective is not None
        for limit in (0.0, 1e-3, 5e-3, 2e-2):
            for start in (None, np.zeros(what.columns)):
                cut = backend.solve(moved, SolveParameters(time_limit_seconds=limit), start)
                consistent(cut, moved)
                assert cut.bound >= best.objective


_ARRAYS = (
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


def test_node_limit_stops_and_repeats(backend: Backend) -> None:
    if Feature.NODE_LIMIT not in backend.features:
        pytest.skip("it has none")
    what = hard_knapsack(200, 10)
    parameters = SolveParameters(node_limit=1)
    first, second = (backend.solve(what, parameters, np.zeros(200)) for _ in range(2))
    consistent(first, what)
    assert first.limit is SolveLimit.NODE
    assert first.status is SolveStatus.FEASIBLE
    assert same(first, second)


def same(one: Solution, other: Solution) -> bool:
    assert one.values is not None
    assert other.values is not None
    return (
        bool((one.values == other.values).all())
        and one.bound == other.bound
        and (one.nodes, one.iterations) == (other.nodes, other.iterations)
    )


@pytest.mark.parametrize("seed", [0, 7])
def test_repeats_exactly(backend: Backend, seed: int) -> None:
    if Feature.REPEATABLE not in backend.features:
        pytest.skip("it does not claim to")
    what = KNOWN_ANSWERS["symmetric"].program  # a great many optima
    first, *others = (backend.solve(what, SolveParameters(seed=seed)) for _ in range(3))
    assert all(same(first, other) for other in others)
    mixed = hard_knapsack(20, 2, seed=2)
    first, *others = (backend.solve(mixed, SolveParameters(seed=seed)) for _ in range(3))
    assert all(same(first, other) for other in others)


def test_threads_may_change_within_a_process(backend: Backend) -> None:
    what = hard_knapsack(20, 2, seed=1)
    values = {backend.solve(what, SolveParameters(threads=threads)).objective for threads in (1, 2, 1)}
    assert len({round(value, 6) for value in values if value is not None}) == 1
    assert None not in values


def test_a_loose_gap_is_not_called_optimal(backend: Backend) -> None:
    what = hard_knapsack(200, 10)
    solution = backend.solve(what, SolveParameters(relative_gap=0.05, time_limit_seconds=20), np.zeros(200))
    consistent(solution, what)
    assert solution.objective is not None
    assert solution.bound <= solution.objective * 1.05 * (1 + 1e-9)
    if not answer.gap_is_closed(what, solution.objective, solution.bound):
        assert solution.status is SolveStatus.FEASIBLE
        assert solution.limit is SolveLimit.NONE


def test_the_programme_is_left_alone(backend: Backend) -> None:
    what = hard_knapsack(20, 2)
    arrays = [getattr(what, field) for field in _ARRAYS]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    start = np.zeros(20)
    start.setflags(write=False)
    backend.solve(what, SolveParameters(), start)
    assert all((array == copy).all() for array, copy in zip(arrays, copies, strict=True))


def test_standard_output_stays_empty() -> None:
    """With every backend in one process, the first call included (one library prints a banner there)."""
    code = (
        "import sys\n"
        "from gangplan.model.program import SolveParameters\n"
        "from gangplan.testing.programs import KNOWN_ANSWERS\n"
        "from gangplan_solvers import catalog\n"
        "for name in sys.argv[1:]:\n"
        "    catalog.usable(name).solve(KNOWN_ANSWERS['knapsack'].program, SolveParameters())\n"
    )
    for order in (AVAILABLE, AVAILABLE[::-1]):
        done = subprocess.run(
            [sys.executable, "-c", code, *order], capture_output=True, text=True, timeout=60, check=True
        )
        assert done.stdout == ""
        assert done.stderr == ""
