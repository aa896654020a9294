"""No solver is believed: what it claims is recomputed from the programme (property P23)."""

from __future__ import annotations

import dataclasses
import math

from gangplan.errors import BackendError
from gangplan.model.program import FloatArray, Program, Solution, SolveParameters, SolveStatus
from gangplan_solvers import answer

_WITH_VALUES = (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE)


def recheck(
    solution: object, program: Program, parameters: SolveParameters, start: FloatArray | None = None
) -> Solution:
    """``solution`` if every claim in it that can be judged holds, else an error.

    Checked are: feasibility of the values, the objective, the bound against both the values and the start,
    OPTIMAL against the bound, INFEASIBLE against the start. A start better than the answer replaces it. (What
    cannot be judged here is a wrong bound above everything known: the conformance suite and the model's own
    bounds are for that.)

    Args:
        solution: whatever the backend returned.
        program: what was to be solved.
        parameters: how.
        start: a feasible solution, as given to the backend; ignored when it is infeasible.

    Raises:
        BackendError: a claim is false; the message says which.
    """
    if not isinstance(solution, Solution):
        raise BackendError(f"the backend returned a {type(solution).__name__} instead of a Solution")
    relax = parameters.relax
    known = answer.usable_start(program, start, relax=relax)
    floor = -math.inf if known is None else program.evaluate(known)
    who = solution.solver or "the backend"
    if math.isnan(solution.bound):
        raise BackendError(f"{who} lied: its bound is not a number")
    if solution.status is SolveStatus.INFEASIBLE:
        if known is not None:
            raise BackendError(f"{who} lied: it claims INFEASIBLE, but the start is feasible")
        return dataclasses.replace(solution, values=None, objective=None)
    if solution.status in _WITH_VALUES:
        value = _value(solution, program, who, relax=relax)
        floor = max(floor, value)
    slack = 1e3 * answer.tolerance_of(program, floor) if floor > -math.inf else 0.0
    if solution.bound < floor - slack:
        raise BackendError(f"{who} lied: it claims the bound {solution.bound}, but {floor} is reached")
    return _with_start(solution, program, known, floor)


def _value(solution: Solution, program: Program, who: str, *, relax: bool) -> float:
    """Recomputed value of the values; BackendError when anything claimed of them is false."""
    if solution.values is None or solution.objective is None:
        raise BackendError(f"{who} lied: it claims {solution.status.value} without values or objective")
    broken = answer.violated(program, solution.values, relax=relax)
    if broken:
        raise BackendError(f"{who} lied: {broken}")
    value = program.evaluate(solution.values)
    if not abs(value - solution.objective) <= 1e3 * answer.tolerance_of(program, value):
        raise BackendError(f"{who} lied: it claims the objective {solution.objective}, but it is {value}")
    if solution.status is SolveStatus.OPTIMAL and not answer.gap_is_closed(program, value, solution.bound):
        raise BackendError(f"{who} lied: it claims OPTIMAL with value {value} and bound {solution.bound}")
    return value


def _with_start(solution: Solution, program: Program, known: FloatArray | None, floor: float) -> Solution:
    """``solution``, or the start under its bound where the start is better."""
    if known is None or (solution.objective is not None and solution.objective >= program.evaluate(known)):
        return dataclasses.replace(solution, bound=max(solution.bound, floor))
    bound = max(solution.bound, floor)
    closed = answer.gap_is_closed(program, floor, bound)
    return dataclasses.replace(
        solution,
        status=SolveStatus.OPTIMAL if closed else SolveStatus.FEASIBLE,
        values=known,
        objective=floor,
        bound=bound,
        detail="; ".join(part for part in (solution.detail, "the start was kept") if part),
    )
