"""SCIP through PySCIPOpt: mixed-integer programmes, handed over as an MPS file in memory."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import time
from typing import Any

import numpy as np

from gangplan.errors import BackendError
from gangplan.model.program import FloatArray, Program, Solution, SolveLimit, SolveParameters
from gangplan_solvers import answer, rows
from gangplan_solvers.backend import Availability, Backend, Feature
from gangplan_solvers.model_files import memory_file, write_mps

_LARGEST_COEFFICIENT = 2.0**12
"""As for HiGHS: SCIP's tolerances are absolute below 1."""

_LIMITS = {
    "optimal": SolveLimit.NONE,
    "gaplimit": SolveLimit.NONE,
    "infeasible": SolveLimit.NONE,
    "inforunbd": SolveLimit.NONE,  # bounds are finite, so not unbounded
    "timelimit": SolveLimit.TIME,
    "nodelimit": SolveLimit.NODE,
    "totalnodelimit": SolveLimit.NODE,
}


class ScipBackend:
    """The SCIP library. It solves in one thread, whatever ``threads`` says."""

    name = "scip"
    features = frozenset(Feature) - {Feature.RELAXATION}

    def availability(self) -> Availability:
        """Whether PySCIPOpt 6 or later is installed."""
        try:
            version = importlib.metadata.version("pyscipopt")
        except importlib.metadata.PackageNotFoundError:
            return Availability(False, reason="pyscipopt is not installed: pip install 'gangplan[scip]'")
        if int(version.split(".")[0]) < 6:
            return Availability(False, version, "pyscipopt before 6 was not tried: install 'gangplan[scip]'")
        return Availability(True, version)

    def solve(
        self, program: Program, parameters: SolveParameters, start: FloatArray | None = None
    ) -> Solution:
        """See :meth:`gangplan_solvers.backend.Backend.solve`."""
        answer.refuse(program, parameters, self.name, self.features)
        began = time.monotonic()
        solver = f"scip (PySCIPOpt {importlib.metadata.version('pyscipopt')})"
        scaled = rows.scale(program)
        decided = answer.decide_at_sight(program, parameters, solver, scaled)
        if decided is not None:
            return decided
        scale = answer.objective_scale(program, _LARGEST_COEFFICIENT)
        model = _loaded(answer.as_scaled(program, scaled, scale))
        columns = {variable.name: variable for variable in model.getVars()}
        order = [columns[f"x_{k}"] for k in range(program.columns)]
        begin = answer.usable_start(program, start)
        if begin is not None:
            given = model.createOrigSol()
            for k in np.flatnonzero(begin).tolist():
                model.setSolVal(given, order[k], float(begin[k]))
            model.addSol(given)
        model.setParams(_settings(parameters, began))
        model.optimizeNogil()
        status = model.getStatus()
        if status not in _LIMITS:
            raise BackendError(f"SCIP ended with {status}")
        infeasible = status in {"infeasible", "inforunbd"}
        values, bound = None, math.inf
        if not infeasible:
            if model.getNSols():
                best = model.getBestSol()
                values = np.array([model.getSolVal(best, variable) for variable in order])
            highest = float(model.getDualbound())
            if not model.isInfinity(abs(highest)):
                bound = answer.outward(program, highest, scale)
        return answer.settle(
            program,
            parameters,
            solver=solver,
            values=values,
            bound=bound,
            limit=_LIMITS[status],
            infeasible=infeasible,
            start=start,
            seconds=time.monotonic() - began,
            nodes=int(model.getNTotalNodes()),
            iterations=int(model.getNLPIterations()),
        )


BACKEND: Backend = ScipBackend()


def _loaded(program: Program) -> Any:
    """A SCIP instance that holds the programme."""
    model = importlib.import_module("pyscipopt").Model()
    model.hideOutput()
    with memory_file() as path:
        write_mps(program, path)
        model.readProblem(path, "mps")
    return model


def _settings(parameters: SolveParameters, began: float) -> dict[str, Any]:
    seed = parameters.seed % 2**31
    settings: dict[str, Any] = {
        "limits/gap": parameters.relative_gap,
        "misc/catchctrlc": False,
        "randomization/randomseedshift": seed,
        "randomization/permutationseed": seed,
        "timing/clocktype": 2,  # the wall's
    }
    if parameters.time_limit_seconds is not None:
        settings["limits/time"] = max(0.0, parameters.time_limit_seconds - (time.monotonic() - began))
    if parameters.node_limit is not None:
        settings["limits/totalnodes"] = parameters.node_limit
    return settings
