"""From a library's raw answer to a solution: rounded, recomputed, held against the start.

Every backend ends here, so that all of them mean the same by a violation, a gap and OPTIMAL.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gangplan.errors import BackendError
from gangplan.model.program import FloatArray, Program, Solution, SolveLimit, SolveParameters, SolveStatus
from gangplan_solvers.backend import Feature
from gangplan_solvers.rows import Rows, integral_rows, largest_entry, row_of_entry

FEASIBILITY_TOLERANCE = 1e-6
"""Largest violation of a row, relative to its largest entry times value; of a bound, relative to itself."""

OPTIMAL_GAP = 1e-6
"""Relative gap up to which a solution counts as OPTIMAL (decision 23)."""


def refuse(program: Program, parameters: SolveParameters, name: str, features: frozenset[Feature]) -> None:
    """Refuse what no library, or not this one, can solve.

    Raises:
        BackendError: infinite or NaN data, crossed row limits, or a feature that backend ``name`` lacks.
    """
    for what, array in (
        ("objective", program.objective),
        ("lower bound", program.lower),
        ("upper bound", program.upper),
        ("matrix value", program.value),
    ):
        bad = np.flatnonzero(~np.isfinite(array))
        if bad.size:
            raise BackendError(f"{what} {bad[0]} is {array[bad[0]]}; it must be finite")
    wrong = ~(program.row_lower < np.inf) | ~(program.row_upper > -np.inf)
    if wrong.any():
        raise BackendError(f"the limits of row {int(np.argmax(wrong))} are NaN or infinite on the wrong side")
    if parameters.relax and Feature.RELAXATION not in features:
        raise BackendError(f"{name} solves no linear relaxation; use highs")
    if not parameters.relax and Feature.CONTINUOUS not in features and not program.integer.all():
        column = int(np.argmin(program.integer))
        raise BackendError(f"{name} takes integral columns only and column {column} is continuous; use highs")


def decide_at_sight(
    program: Program, parameters: SolveParameters, solver: str, scaled: Rows | None = None
) -> Solution | None:
    """The answer to a programme without columns or with an empty domain; None when there is work to do.

    With its ``scaled`` rows, also where no integer lies between the limits of a row.
    """
    lower, upper = column_bounds(program, relax=parameters.relax)
    if (lower > upper).any() or (program.row_lower > program.row_upper).any():
        return _infeasible(solver, "crossed bounds")
    if scaled is not None and (scaled.lower > scaled.upper).any():
        row = int(np.argmax(scaled.lower > scaled.upper))
        return _infeasible(solver, f"no integer lies between the limits of row {row}")
    if program.columns == 0:
        if (program.row_lower > 0).any() or (program.row_upper < 0).any():
            return _infeasible(solver, "no columns, and 0 breaks a row")
        nothing = np.zeros(0)
        return Solution(
            SolveStatus.OPTIMAL, SolveLimit.NONE, nothing, program.offset, program.offset, 0.0, solver=solver
        )
    return None


def column_bounds(program: Program, *, relax: bool = False) -> tuple[FloatArray, FloatArray]:
    """Bounds of the columns, rounded inward where integral (unless relaxed), each of shape (columns,)."""
    if relax:
        return program.lower, program.upper
    lower = np.where(program.integer, np.ceil(program.lower - 1e-9), program.lower)
    upper = np.where(program.integer, np.floor(program.upper + 1e-9), program.upper)
    return lower, upper


def violated(program: Program, x: FloatArray, *, relax: bool = False) -> str:
    """The worst violation by ``x`` beyond tolerance, in words; empty when feasible.

    Rows of integers over integral columns must hold exactly (up to 2^-50 of their largest product and 1e-6);
    any other row up to :data:`FEASIBILITY_TOLERANCE` of its largest ``|value| * max(1, |x|)``.
    """
    if x.shape != (program.columns,):
        return f"{x.shape} values for {program.columns} columns"
    if not np.isfinite(x).all():
        return "a value is not finite"
    size = np.maximum(1.0, np.abs(x))
    whole = np.abs(x - np.round(x)) > FEASIBILITY_TOLERANCE
    if not relax and (whole & program.integer).any():
        column = int(np.argmax(whole & program.integer))
        return f"integral column {column} is {x[column]}"
    excess = np.maximum(program.lower - x, x - program.upper) - FEASIBILITY_TOLERANCE * size
    if excess.size and excess.max() > 0:
        column = int(np.argmax(excess))
        return f"column {column} is {x[column]}, outside [{program.lower[column]}, {program.upper[column]}]"
    held = program.activity(x)
    excess = np.maximum(program.row_lower - held, held - program.row_upper)
    if excess.max(initial=0.0) <= 0.0:
        return ""
    row_size = largest_entry(program, size[program.column_index])
    exact = integral_rows(program) if not relax else np.zeros(program.rows, dtype=bool)
    tolerance = np.where(
        exact, np.maximum(FEASIBILITY_TOLERANCE, 2.0**-50 * row_size), FEASIBILITY_TOLERANCE * row_size
    )
    excess -= np.maximum(tolerance, 1e-12)
    if excess.max() > 0:
        row = int(np.argmax(excess))
        return f"row {row} is {held[row]}, outside [{program.row_lower[row]}, {program.row_upper[row]}]"
    return ""


def rounded(program: Program, x: FloatArray, *, relax: bool = False) -> FloatArray:
    """``x`` with integral columns rounded (unless relaxed), inside its bounds, and no negative zeros."""
    if not relax:
        x = np.where(program.integer, np.round(x), x)
    lower, upper = column_bounds(program, relax=relax)
    return np.clip(x, lower, upper) + 0.0


def usable_start(program: Program, start: FloatArray | None, *, relax: bool = False) -> FloatArray | None:
    """``start`` rounded, or None when there is none or it breaks the programme."""
    if start is None or np.shape(start) != (program.columns,):
        return None
    given = np.asarray(start, dtype=np.float64)
    tidy = rounded(program, given, relax=relax)
    near = np.abs(tidy - given) <= FEASIBILITY_TOLERANCE * np.maximum(1.0, np.abs(given))
    return tidy if near.all() and not violated(program, tidy, relax=relax) else None


def tolerance_of(program: Program, value: float) -> float:
    """How far two objective values of about ``value`` may differ by rounding alone."""
    coefficient = float(np.abs(program.objective).max(initial=0.0))
    return 1e-9 * max(abs(value), coefficient) + 1e-12 * abs(program.offset)


def gap_is_closed(program: Program, value: float, bound: float) -> bool:
    """Whether ``bound - value`` is within :data:`OPTIMAL_GAP` of the value (decision 23) or mere rounding."""
    return bound - value <= max(OPTIMAL_GAP * abs(value), tolerance_of(program, value))


def box_bound(program: Program) -> float:
    """What the columns' bounds alone allow: a bound where the library has none yet. Rounded outward."""
    terms = np.maximum(program.objective * program.lower, program.objective * program.upper)
    return program.offset + float(terms.sum()) + 1e-12 * (float(np.abs(terms).sum()) + abs(program.offset))


def objective_scale(program: Program, largest: float) -> float:
    """The power of two that brings the objective's largest coefficient to about ``largest``; 1 without any.

    Solvers' absolute tolerances on reduced costs and on the gap are then small beside it, however tiny it
    was.
    """
    coefficient = float(np.abs(program.objective).max(initial=0.0))
    return 2.0 ** round(math.log2(largest / coefficient)) if coefficient else 1.0


def outward(program: Program, bound: float, scale: float, tolerance: float = 1e-6) -> float:
    """A library's bound on the objective that :func:`as_scaled` handed it, as one on the programme's own.

    Rounded outward (decision 24) by the ``tolerance`` in the library's units and by 1e-9 of the bound.
    """
    return program.offset + (bound + tolerance + 1e-9 * abs(bound)) / scale


def as_scaled(program: Program, scaled: Rows, scale: float, *, relax: bool = False) -> Program:
    """What a library is handed: scaled rows and objective, bounds rounded inward, no offset, short names.

    A row without limits gets one that its columns cannot reach, since readers of model files drop such rows.
    """
    lower, upper = column_bounds(program, relax=relax)
    widest = np.abs(scaled.value) * np.maximum(np.abs(lower), np.abs(upper))[program.column_index]
    reach = np.bincount(row_of_entry(program), widest, minlength=program.rows)
    free = np.isinf(scaled.lower) & np.isinf(scaled.upper)
    return replace(
        program,
        objective=program.objective * scale,
        lower=lower + 0.0,
        upper=upper + 0.0,
        integer=program.integer & (not relax),
        value=scaled.value,
        row_lower=scaled.lower,
        row_upper=np.where(free, reach + 1.0, scaled.upper),
        offset=0.0,
        column_families=(),
        row_families=(),
    )


def settle(
    program: Program,
    parameters: SolveParameters,
    *,
    solver: str,
    values: FloatArray | None,
    bound: float,
    limit: SolveLimit = SolveLimit.NONE,
    infeasible: bool = False,
    start: FloatArray | None = None,
    seconds: float = 0.0,
    nodes: int = 0,
    iterations: int = 0,
    detail: str = "",
) -> Solution:
    """The solution that a library's answer amounts to.

    Integral columns are rounded and the objective is recomputed; an answer that breaks the programme after
    rounding is dropped; the start is kept where it is better. OPTIMAL is said only where the gap is closed,
    whatever the library says and whatever gap was asked for.

    Args:
        program: what was solved.
        parameters: how.
        solver: name and version.
        values: the library's values, shape (columns,), or None.
        bound: its bound on the objective, offset included; ``inf`` when it has none.
        limit: what stopped it.
        infeasible: it claims that there is no solution.
        start: as given to the backend.
        seconds: wall time.
        nodes: branch-and-bound nodes or branches.
        iterations: simplex iterations or conflicts.
        detail: anything odd.

    Raises:
        BackendError: the claims contradict each other or the start.
    """
    relax = parameters.relax
    begin = usable_start(program, start, relax=relax)
    if infeasible:
        if begin is not None:
            raise BackendError(f"{solver} claims INFEASIBLE, but the start is feasible")
        return _infeasible(solver, detail, seconds=seconds, nodes=nodes, iterations=iterations)
    notes = [detail] if detail else []
    if start is not None and begin is None:
        notes.append("the start is infeasible and was not used")
    if values is not None:
        values = rounded(program, np.asarray(values, dtype=np.float64), relax=relax)
        broken = violated(program, values, relax=relax)
        if broken:
            notes.append(f"its values were dropped: {broken}")
            values = None
    if begin is not None and (values is None or program.evaluate(begin) > program.evaluate(values)):
        if values is None:
            notes.append("the start was kept")
        values = begin
    bound = min(math.inf if math.isnan(bound) else bound, box_bound(program))
    note = "; ".join(notes)
    if values is None:
        status, objective = SolveStatus.NO_SOLUTION, None
    else:
        objective = program.evaluate(values) + 0.0
        if bound < objective - 1e3 * tolerance_of(program, objective):
            raise BackendError(f"{solver} claims the bound {bound}, but a value of {objective} is reached")
        bound = max(bound, objective)
        closed = gap_is_closed(program, objective, bound)
        status = SolveStatus.OPTIMAL if closed else SolveStatus.FEASIBLE
        limit = SolveLimit.NONE if closed else limit
    return Solution(status, limit, values, objective, bound, seconds, nodes, iterations, solver, note)


def _infeasible(
    solver: str, detail: str, *, seconds: float = 0.0, nodes: int = 0, iterations: int = 0
) -> Solution:
    """No point satisfies the programme: the bound is that of the empty set, minus infinity."""
    status, limit = SolveStatus.INFEASIBLE, SolveLimit.NONE
    return Solution(status, limit, None, None, -math.inf, seconds, nodes, iterations, solver, detail)
