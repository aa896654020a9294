"""CP-SAT of OR-tools: integer programmes, quick on small ones. Its protocol message is filled directly."""

from __future__ import annotations

import importlib
import math
import time
from typing import Any

import numpy as np

from gangplan.errors import BackendError
from gangplan.model.program import (
    BoolArray,
    FloatArray,
    IntArray,
    Program,
    Solution,
    SolveLimit,
    SolveParameters,
)
from gangplan_solvers import answer, installed, rows
from gangplan_solvers.backend import Availability, Backend, Feature

_LEAST_SCALE, _MOST_SCALE = 20, 48
"""Powers of two that coefficients are multiplied by: at least 1e6 (decision 23). More costs no time: on the
placement programmes of the benchmark instances 2^20 to 2^44 took the same within noise."""

_SCALE_ERROR = 1e-12
"""Largest error of the scaled objective over the whole box that is aimed at, relative to its largest term."""

_LARGEST_SUM = 2.0**60
"""Sums of coefficient times bound must stay below this: CP-SAT computes in 64-bit integers."""

_FINE_SUM = 2.0**50
"""Rows that are not rational are scaled until their sum of coefficient times bound comes to about this."""

_MULTIPLIERS = (1.0, 2.0, 4.0, 8.0, 3.0, 5.0, 6.0, 10.0, 12.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
"""Factors that make decimal and simple rational rows integral."""

_FINISHED = {"OPTIMAL", "FEASIBLE"}


class CpSatBackend:
    """The CP-SAT solver. ``node_limit`` is its deterministic time, in its own unit of about a second."""

    name = "cpsat"
    features = frozenset(
        {
            Feature.INTEGER,
            Feature.WARM_START,
            Feature.TIME_LIMIT,
            Feature.NODE_LIMIT,
            Feature.REPEATABLE,
        }
    )

    def availability(self) -> Availability:
        """Whether OR-tools 9.15 or later is installed (its messages are filled without the Python model)."""
        version = installed.version("ortools")
        if not version:
            return Availability(False, reason="ortools is not installed: pip install 'ortools>=9.15,<9.16'")
        if tuple(int(part) for part in version.split(".")[:2]) < (9, 15):
            return Availability(
                False, version, "ortools before 9.15 lacks what is used: install >=9.15,<9.16"
            )
        return Availability(True, version)

    def solve(
        self, program: Program, parameters: SolveParameters, start: FloatArray | None = None
    ) -> Solution:
        """See :meth:`gangplan_solvers.backend.Backend.solve`."""
        answer.refuse(program, parameters, self.name, self.features)
        began = time.monotonic()
        solver = f"cpsat {installed.version('ortools')}"
        decided = answer.decide_at_sight(program, parameters, solver)
        if decided is not None:
            return decided
        # The compiled half of cp_model: importing the rest costs half a second and pandas.
        library: Any = importlib.import_module("ortools.sat.python.cp_model_helper")
        lower, upper = (bound.astype(np.int64) for bound in answer.column_bounds(program))
        box = np.maximum(np.abs(lower), np.abs(upper)).astype(np.float64)
        begin = answer.usable_start(program, start)
        value, low, high = _integral_rows(program, box)
        if (low > high).any():
            detail = f"no integer lies between the limits of row {int(np.argmax(low > high))}"
            return answer.settle(
                program,
                parameters,
                solver=solver,
                values=None,
                bound=0,
                infeasible=True,
                start=start,
                detail=detail,
            )
        scale, error = _objective_scale(program, box)
        model = _model(library, program, (lower, upper), (value, low, high), scale, begin)
        settings = _settings(library, parameters, began)
        wrapper = library.SolveWrapper()
        wrapper.set_parameters(settings)
        response = wrapper.solve(model)
        status = response.status.name
        if status == "MODEL_INVALID":
            raise BackendError(f"CP-SAT refused the programme: {library.CpSatHelper.validate_model(model)}")
        limit = SolveLimit.NONE
        if status not in {"OPTIMAL", "INFEASIBLE"}:
            limit = _limit(parameters, response)
        bound = math.inf
        if status != "UNKNOWN" or response.best_objective_bound != 0.0:
            scaled = float(response.best_objective_bound)
            bound = (scaled + abs(scaled) * 2.0**-50) / scale + error  # outward (decision 24)
        return answer.settle(
            program,
            parameters,
            solver=solver,
            values=np.array(list(response.solution), dtype=np.float64) if status in _FINISHED else None,
            bound=bound,
            limit=limit,
            infeasible=status == "INFEASIBLE",
            start=start,
            seconds=time.monotonic() - began,
            nodes=int(response.num_branches),
            iterations=int(response.num_conflicts),
        )


BACKEND: Backend = CpSatBackend()


def _settings(library: Any, parameters: SolveParameters, began: float) -> Any:
    """CP-SAT's parameters: one worker that leans on the linear relaxation, or a portfolio."""
    settings = library.SatParameters()
    settings.num_workers = parameters.threads
    if parameters.threads == 1:
        settings.subsolvers.extend(["max_lp"])
    settings.random_seed = parameters.seed % 2**31
    settings.relative_gap_limit = parameters.relative_gap
    settings.catch_sigint_signal = False
    settings.log_search_progress = False
    if parameters.time_limit_seconds is not None:
        settings.max_time_in_seconds = max(1e-3, parameters.time_limit_seconds - (time.monotonic() - began))
    if parameters.node_limit is not None:
        settings.max_deterministic_time = float(parameters.node_limit)
    return settings


def _limit(parameters: SolveParameters, response: Any) -> SolveLimit:
    """What stopped an unfinished search; NONE when it was the gap asked for. CP-SAT itself does not say."""
    if response.status.name == "FEASIBLE":
        value, bound = float(response.objective_value), float(response.best_objective_bound)
        if bound - value <= parameters.relative_gap * max(1.0, abs(value)) * (1 + 1e-9):
            return SolveLimit.NONE
    limited, spent = parameters.node_limit, float(response.deterministic_time)
    if limited is not None and (parameters.time_limit_seconds is None or spent >= 0.99 * limited):
        return SolveLimit.NODE
    return SolveLimit.TIME if parameters.time_limit_seconds is not None else SolveLimit.NONE


def _objective_scale(program: Program, box: FloatArray) -> tuple[float, float]:
    """A power of two for the objective, and how much rounding its coefficients can hide.

    Returns:
        The scale S, and the sum over columns of the largest ``(c_j - round(c_j S) / S) x_j`` over the box: no
        point's value exceeds its scaled value by more.
    """
    terms = np.abs(program.objective) * box
    total, largest = float(terms.sum()), float(terms.max(initial=0.0))
    if largest == 0.0:
        return 1.0, 0.0
    # Coefficients of any size are first brought to about 1, then multiplied by 2^20 or more.
    base = -math.floor(math.log2(largest / max(1.0, float(box.max()))))
    scale = error = 0.0
    for power in range(_LEAST_SCALE, _MOST_SCALE + 1, 4):
        candidate = 2.0 ** (base + power)
        if total * candidate + float(box.sum()) > _LARGEST_SUM:
            break
        scale = candidate
        left = program.objective - np.round(program.objective * scale) / scale
        error = float(np.maximum(left * program.lower, left * program.upper).sum())
        if np.abs(left * box).sum() <= _SCALE_ERROR * largest:
            break
    if scale == 0.0:
        raise BackendError(
            "coefficients times bounds are too large for CP-SAT's integers: tighten bounds or use highs"
        )
    return scale, error


def _model(
    library: Any,
    program: Program,
    box: tuple[IntArray, IntArray],
    matrix: tuple[IntArray, IntArray, IntArray],
    scale: float,
    start: FloatArray | None,
) -> Any:
    """The programme as a CpModelProto that minimises minus the scaled objective.

    Args:
        library: the compiled half of cp_model.
        program: what to solve.
        box: bounds of the columns.
        matrix: entries, lower and upper limits of the rows, as :func:`_integral_rows` gives them.
        scale: of the objective.
        start: the hint.
    """
    lower, upper = box
    value, low, high = matrix
    model = library.CpModelProto()
    add = model.variables.add
    for pair in zip(lower.tolist(), upper.tolist(), strict=True):
        add().domain.extend(pair)
    binary = (lower >= 0) & (upper <= 1)
    exclusive = _at_most_one(program, value, low, high, binary).tolist()
    first, columns, entries = program.row_start.tolist(), program.column_index.tolist(), value.tolist()
    limits = list(zip(low.tolist(), high.tolist(), strict=True))
    for row in range(program.rows):
        begin, end = first[row], first[row + 1]
        constraint = model.constraints.add()
        if exclusive[row]:
            constraint.at_most_one.literals.extend(columns[begin:end])
        else:
            linear = constraint.linear
            linear.vars.extend(columns[begin:end])
            linear.coeffs.extend(entries[begin:end])
            linear.domain.extend(limits[row])
    cost = -np.round(program.objective * scale).astype(np.int64)
    used = np.flatnonzero(cost)
    model.objective.vars.extend(used.tolist())
    model.objective.coeffs.extend(cost[used].tolist())
    model.objective.scaling_factor = -1.0
    model.objective.offset = -program.offset * scale
    if start is not None:
        model.solution_hint.vars.extend(range(program.columns))
        model.solution_hint.values.extend(start.astype(np.int64).tolist())
    return model


def _at_most_one(
    program: Program, value: IntArray, low: IntArray, high: IntArray, binary: BoolArray
) -> BoolArray:
    """Rows that say ``at most one of these binaries``, shape (rows,)."""
    of = rows.row_of_entry(program)
    odd = np.bincount(of[(value != 1) | ~binary[program.column_index]], minlength=program.rows) > 0
    filled = np.diff(program.row_start) > 0
    exclusive: BoolArray = filled & ~odd & (low <= 0) & (high == 1)
    return exclusive


def _integral_rows(program: Program, box: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Rows in integers: exactly where the data allow it, else outward, so that no feasible point is cut off.

    A row of integers is divided by its greatest common divisor. Other rows are multiplied by a small factor
    that makes them integral (decimals, simple fractions) or else by a power of two, rounded, and widened by
    the most that the rounding can hide over the box; a point that the true row forbids is then caught by the
    check of the answer.

    Returns:
        Entries of shape (nonzeros,), lower and upper limits of shape (rows,).
    """
    scaled = rows.scale(program)
    value, low, high = scaled.value.copy(), scaled.lower.copy(), scaled.upper.copy()
    first = program.row_start
    for row in np.flatnonzero(~scaled.integral):
        part = slice(int(first[row]), int(first[row + 1]))
        true, columns = program.value[part], program.column_index[part]
        reach = float(np.abs(true) @ box[columns])
        for factor in _MULTIPLIERS:
            whole = np.round(true * factor)
            close = (np.abs(true * factor - whole) <= 1e-12 * np.abs(whole)).all()
            if close and reach * factor < _LARGEST_SUM:
                hidden = 1e-9
                break
        else:
            factor = 2.0 ** math.floor(math.log2(_FINE_SUM / max(reach, float(np.abs(true).max()))))
            whole = np.round(true * factor)
            hidden = float(np.abs(true * factor - whole) @ box[columns]) + 1e-9
        value[part] = whole
        low[row] = math.floor(program.row_lower[row] * factor - hidden) if low[row] > -np.inf else -np.inf
        high[row] = math.ceil(program.row_upper[row] * factor + hidden) if high[row] < np.inf else np.inf
        if hidden == 1e-9:  # integral: limits round inward
            tight = 1e-9 * max(1.0, abs(program.row_upper[row] * factor))
            high[row] = math.floor(program.row_upper[row] * factor + tight) if high[row] < np.inf else np.inf
            tight = 1e-9 * max(1.0, abs(program.row_lower[row] * factor))
            low[row] = math.ceil(program.row_lower[row] * factor - tight) if low[row] > -np.inf else -np.inf
    of = rows.row_of_entry(program)
    weights = np.abs(value) * box[program.column_index]
    reach_of = np.bincount(of, weights=weights, minlength=program.rows).astype(np.float64)
    if (reach_of >= _LARGEST_SUM).any():
        raise BackendError(
            f"row {int(np.argmax(reach_of))} times its bounds is too large for CP-SAT's integers: use highs"
        )
    return value.astype(np.int64), _clipped(low, reach_of), _clipped(high, reach_of)


def _clipped(limit: FloatArray, reach: FloatArray) -> IntArray:
    """Limits within one of what the row can reach, as integers."""
    return np.clip(limit, -reach - 1, reach + 1).astype(np.int64)
