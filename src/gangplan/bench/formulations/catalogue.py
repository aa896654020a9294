"""The formulations by name."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType

from gangplan.bench.formulations.density import from_empty, keep_then_fill
from gangplan.bench.formulations.full import solve_full
from gangplan.bench.formulations.partition import partitioned
from gangplan.bench.formulations.pipeline import run_pipeline
from gangplan.bench.formulations.rival import Formulation, Limits
from gangplan.bench.formulations.rows import row_of
from gangplan.bench.formulations.type_capacity import solve_type_capacity
from gangplan.bench.practice import ready
from gangplan.bench.runs import Row
from gangplan.domain.round import Round
from gangplan.engine.practice import compile_loops
from gangplan.model.instance.instance import build_instance

FORMULATIONS: Mapping[str, Formulation] = MappingProxyType(
    {
        "pipeline": run_pipeline,
        "full": solve_full,
        "type-capacity": solve_type_capacity,
        "pop": partitioned(),
        "density-keep": keep_then_fill,
        "density-empty": from_empty,
    }
)
"""What a suite's ``who`` may name."""

WITHOUT_SOLVER = frozenset({"density-keep", "density-empty"})


def run(round_: Round, formulation: str, solver: str, limits: Limits) -> Row:
    """One formulation of one round by one solver, as one row; loops and solver are ready before it begins.

    Args:
        round_: a valid round.
        formulation: one of :data:`FORMULATIONS`.
        solver: name of a backend; the greedies ask none.
        limits: the same for all.

    Raises:
        KeyError: there is no such formulation.
        UnknownSolverError: the backend is unknown or cannot be used here.
        BackendError: the solver failed.
    """
    compile_loops()
    if formulation not in WITHOUT_SOLVER:
        ready(solver)
    began = time.perf_counter()
    instance = build_instance(round_)
    seconds = time.perf_counter() - began
    answer = FORMULATIONS[formulation](instance, solver, limits)
    row = row_of(round_, formulation, answer)
    return {"solver_taken": "" if formulation in WITHOUT_SOLVER else solver, **row, "instance_s": seconds}
