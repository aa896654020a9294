"""One peer's programme by one backend, as one row.

Instances are named ``FORM/SIZE/seedN``: ``sia/2048x2048/seed0`` (jobs x devices), ``finish-time/2048/seed0``
(jobs), ``shockwave/256x64/seed0`` (jobs x devices, 20 rounds), ``chronus/256x24/seed0`` (jobs x leases).
``how`` is ``exact`` (to the limits' gap), ``paper-gap`` (to the gap at which the paper's code stops),
``lean`` (exact, without what Shockwave's form does not need), ``rounding`` (linear relaxation, then the
form's own rounding) or ``bisection`` (finish-time fairness, linear programmes only).
"""

from __future__ import annotations

import functools
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gangplan.bench.formulations.peers import draws
from gangplan.bench.formulations.peers.published import beside
from gangplan.bench.formulations.rival import Limits
from gangplan.bench.practice import ready
from gangplan.bench.runs import Row, Status
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.model.program import FloatArray, Program, Solution
from gangplan.planning.programmes import chronus, finish_time, shockwave, sia
from gangplan_solvers import answer
from gangplan_solvers.backend import Backend

_SOLVED = ("exact", "paper-gap", "rounding")
HOWS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"sia": _SOLVED, "finish-time": ("bisection",), "shockwave": (*_SOLVED, "lean"), "chronus": _SOLVED}
)
"""How each form can be solved."""
_OPTIMAL_GAP = 1e-6
_RATIO_TOLERANCE = 1e-5
"""The last shares meet every ratio up to what a row may be broken by."""
_NAME = re.compile(r"(sia|finish-time|shockwave|chronus)/(\d+)(?:x(\d+))?/seed(\d+)")


@dataclass(frozen=True, slots=True)
class Instance:
    """A drawn instance as a programme.

    Attributes:
        program: to maximise.
        rounding: from the relaxation's values to feasible ones, or None.
        gap: at which the paper's code stops.
        source: where the profiles are from: ``measured`` or ``synthetic``.
    """

    program: Program
    rounding: Callable[[FloatArray], FloatArray | None]
    gap: float
    source: str


def is_peer(instance: str) -> bool:
    """Whether an instance's name is one of a peer's form."""
    return _NAME.fullmatch(instance) is not None


def run_peer(instance: str, how: str, solver: str, limits: Limits, folder: Path | None = None) -> Row:
    """Measure a peer's programme.

    Args:
        instance: ``FORM/SIZE/seedN``.
        how: one of the form's :data:`HOWS`.
        solver: name of a backend.
        limits: of each solver call; its gap is what ``exact`` proves.
        folder: with ``sia/profiles``, measured; None: profiles are drawn.

    Raises:
        InvalidInputError: no such instance, or no such way to solve it.
        UnknownSolverError: the backend is unknown or cannot be used here.
        BackendError: the solver failed, or lacks what the form needs.
        OSError: a file of the folder is missing.
    """
    form, first, second, seed = _parse(instance)
    if how not in HOWS[form]:
        raise InvalidInputError([FieldViolation("who", f"{instance} cannot be solved by {how!r}")])
    size = instance.split("/")[1]
    backend = ready(solver)
    began = time.perf_counter()
    if form == "finish-time":
        row = _bisected(first, seed, backend, limits, folder)
    else:
        drawn = _draw(form, first, second, seed, folder, lean=how == "lean")
        if how == "paper-gap":
            limits = replace(limits, relative_gap=drawn.gap)
        row = (_rounded if how == "rounding" else _exact)(drawn, backend, limits)
        row |= {"profiles": drawn.source, "paper_gap": drawn.gap}
    figures = beside(form, size)
    return {
        "formulation": f"{form} {how}",
        "solver_taken": solver,
        **row,
        "bound_holds": row.get("bound") is not None,
        "measured_s": time.perf_counter() - began,
        "others": [
            {"what": f.what, "seconds": f.seconds, "note": f.note, "source": f.source} for f in figures
        ],
    }


def _parse(instance: str) -> tuple[str, int, int, int]:
    match = _NAME.fullmatch(instance)
    if match is None or (match[1] == "finish-time") != (match[3] is None):
        message = f"{instance!r} is not FORM/SIZE/seedN, e.g. sia/64x64/seed0 or finish-time/64/seed0"
        raise InvalidInputError([FieldViolation("instance", message)])
    return match[1], int(match[2]), int(match[3] or 0), int(match[4])


def _draw(form: str, jobs: int, second: int, seed: int, folder: Path | None, *, lean: bool) -> Instance:
    if form == "sia":
        if second % 64:
            raise InvalidInputError([FieldViolation("instance", "Sia's devices come in multiples of 64")])
        chosen, source = draws.sia(jobs, second, seed, folder)
        return Instance(sia.formulate(chosen), functools.partial(sia.round_picks, chosen), sia.GAP, source)
    if form == "shockwave":
        epochs, source = draws.shockwave(jobs, second, seed, folder)
        return Instance(
            shockwave.formulate(epochs, lean=lean),
            functools.partial(shockwave.round_plan, epochs),
            shockwave.GAP,
            source,
        )
    leases, source = draws.chronus(jobs, second, seed, folder)
    return Instance(
        chronus.formulate(leases), functools.partial(chronus.round_leases, leases), chronus.GAP, source
    )


def _exact(drawn: Instance, backend: Backend, limits: Limits) -> Row:
    """To a proven optimum, or to the limits; its values are held against the programme's own rows."""
    program = drawn.program
    began = time.perf_counter()
    solution = backend.solve(program, limits.parameters())
    seconds = time.perf_counter() - began
    return _described(program, solution) | {
        "solve_s": seconds,
        "wall_s": seconds,
        "relative_gap_asked": limits.relative_gap,
        **_judged(program, solution.values, solution.bound),
    }


def _rounded(drawn: Instance, backend: Backend, limits: Limits) -> Row:
    """The relaxation, and a feasible solution made of it; what breaks a row is none."""
    program = drawn.program
    began = time.perf_counter()
    relaxed = backend.solve(program, limits.parameters(relax=True))
    solved = time.perf_counter()
    values = None if relaxed.values is None else drawn.rounding(relaxed.values)
    seconds = time.perf_counter() - began
    broken = "" if values is None else answer.violated(program, values)
    return _described(program, relaxed) | {
        "solve_s": solved - began,
        "round_s": seconds - (solved - began),
        "wall_s": seconds,
        **_judged(program, None if broken else values, relaxed.bound),
        "not_rounded": broken,
    }


def _bisected(jobs: int, seed: int, backend: Backend, limits: Limits, folder: Path | None) -> Row:
    """Programme after programme; the shares at the end are held against the rows and the ratio."""
    shares, source = draws.finish_time(jobs, seed, folder)
    seconds, counters = 0.0, {"solver_nodes": 0, "solver_iterations": 0}

    def solve(program: Program) -> Solution:
        nonlocal seconds
        began = time.perf_counter()
        solution = backend.solve(program, limits.parameters())
        seconds += time.perf_counter() - began
        counters["solver_iterations"] += solution.iterations
        return solution

    began = time.perf_counter()
    fairest = finish_time.bisect(shares, solve)
    wall = time.perf_counter() - began
    row: Row = {"solve_s": seconds, "wall_s": wall, "build_s": wall - seconds, "profiles": source, **counters}
    if fairest is None:
        return row | {"status": Status.NO_SOLUTION.value, "objective": None}
    program = fairest.program
    proved = fairest.rho - fairest.below <= finish_time.TOLERANCE * fairest.rho
    broken = answer.violated(program, fairest.shares.ravel())
    if not broken and (worst := shares.worst(fairest.shares)) > fairest.rho * (1.0 + _RATIO_TOLERANCE):
        broken = f"the worst ratio is {worst}, above {fairest.rho}"
    return row | {
        "status": (Status.WRONG if broken else Status.OPTIMAL if proved else Status.FEASIBLE).value,
        "violations": [broken] if broken else [],
        "objective": -fairest.rho,
        "bound": -fairest.below,
        "gap": (fairest.rho - fairest.below) / fairest.rho,
        "relative_gap_asked": finish_time.TOLERANCE,
        "programmes": fairest.programmes,
        "columns": program.columns,
        "rows": program.rows,
        "nonzeros": program.nonzeros,
        "solver_version": fairest.solution.solver,
        "mean_relative_throughput": fairest.solution.objective and fairest.solution.objective / jobs,
    }


def _described(program: Program, solution: Solution) -> dict[str, Any]:
    return {
        "columns": program.columns,
        "rows": program.rows,
        "nonzeros": program.nonzeros,
        "solver_version": solution.solver,
        "solver_nodes": solution.nodes,
        "solver_iterations": solution.iterations,
        "limited": solution.limit.value,
        "detail": solution.detail,
    }


def _judged(program: Program, values: FloatArray | None, bound: float) -> Row:
    """Status, value and gap of ``values``, recomputed and held against every row and the bound."""
    known = bound if math.isfinite(bound) else None
    if values is None:
        return {"status": Status.NO_SOLUTION.value, "objective": None, "bound": known, "gap": None}
    value, broken = program.evaluate(values), answer.violated(program, values)
    gap = None if known is None else (known - value) / max(abs(known), abs(value), 1e-12)
    if not broken and gap is not None and gap < -_OPTIMAL_GAP:
        broken = f"the value {value} is above the bound {known}"
    proved = gap is not None and gap <= _OPTIMAL_GAP
    status = Status.WRONG if broken else Status.OPTIMAL if proved else Status.FEASIBLE
    return {
        "status": status.value,
        "objective": value,
        "bound": known,
        "gap": gap,
        "violations": [broken] if broken else [],
    }
