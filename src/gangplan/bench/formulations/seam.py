"""A run of the benchmark as rows: what ``kind = "formulations"`` measures.

``who`` names the formulation. Instances are rounds (``L/steady/50/seed0``, ``who`` one of
:data:`~gangplan.bench.formulations.catalogue.FORMULATIONS`), or programmes of peers (``sia/64x64/seed0``,
``who`` one of :data:`~gangplan.bench.formulations.peers.measure.HOWS`). ``options`` may give
``relative_gap``.
"""

from __future__ import annotations

from gangplan.bench import rounds
from gangplan.bench.formulations.catalogue import FORMULATIONS, run_formulation
from gangplan.bench.formulations.peers.measure import is_peer, run_peer
from gangplan.bench.formulations.rival import Limits
from gangplan.bench.permute import permute_round
from gangplan.bench.runs import Row, Run, Status
from gangplan.errors import BackendError, FieldViolation, InvalidInputError, UnknownSolverError

DEFAULT_SOLVER = "highs"
"""What ``auto`` means here: formulations are compared under one backend."""


def row_of_run(run: Run) -> Row:
    """The row of a run; a backend that cannot solve the programme is a row that says so.

    Raises:
        InvalidInputError: there is no such instance or formulation.
    """
    solver = DEFAULT_SOLVER if run.solver == "auto" else run.solver
    limits = Limits(
        time_limit_seconds=run.time_limit_s,
        relative_gap=float(run.options.get("relative_gap", Limits().relative_gap)),
        node_limit=run.node_limit,
        threads=run.threads,
        seed=run.seed,
    )
    peer = is_peer(run.instance)
    if not peer and run.who not in FORMULATIONS:
        there = ", ".join(FORMULATIONS)
        raise InvalidInputError([FieldViolation("who", f"no formulation {run.who!r}; there are: {there}")])
    try:
        if peer:
            return run_peer(run.instance, run.who, solver, limits)
        round_ = permute_round(rounds.load(run).round, run.seed)
        return run_formulation(round_, run.who, solver, limits)
    except (BackendError, UnknownSolverError) as error:
        return {"status": Status.ERROR.value, "error": f"{type(error).__name__}: {error}"}
