"""NVIDIA cuOpt: integer programmes on a GPU, through its DataModel (documented for cuOpt 25.8 to 26.2).

Written from its documentation and tested against a fake of what that promises; not run on a GPU yet.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from gangplan.errors import BackendError
from gangplan.model.program import FloatArray, Program, Solution, SolveLimit, SolveParameters
from gangplan_solvers import answer, rows
from gangplan_solvers.backend import Availability, Backend, Feature

_PACKAGES = ("cuopt-cu13", "cuopt-cu12")
_DRIVER = Path("/proc/driver/nvidia/version")
_LARGEST_COEFFICIENT = 2.0**12

_LIMITS = {
    "Optimal": SolveLimit.NONE,
    "Infeasible": SolveLimit.NONE,
    "FeasibleFound": SolveLimit.TIME,
    "TimeLimit": SolveLimit.TIME,
    "NoTermination": SolveLimit.TIME,
}


class CuOptBackend:
    """The cuOpt library. It has no start, and its answers do not repeat."""

    name = "cuopt"
    features = frozenset({Feature.INTEGER, Feature.TIME_LIMIT})

    def availability(self) -> Availability:
        """Whether cuOpt is installed and an NVIDIA driver is loaded; the GPU is not touched."""
        version = _version()
        if not version:
            return Availability(
                False,
                reason="it needs an NVIDIA GPU and the package cuopt-cu12 or cuopt-cu13 (for CUDA 12 or 13)",
            )
        if not _DRIVER.exists():
            return Availability(
                False, version, "it needs an NVIDIA GPU, and no driver is loaded here: use highs"
            )
        return Availability(True, version)

    def solve(
        self, program: Program, parameters: SolveParameters, start: FloatArray | None = None
    ) -> Solution:
        """See :meth:`gangplan_solvers.backend.Backend.solve`. cuOpt is not told of the start."""
        answer.refuse(program, parameters, self.name, self.features)
        began = time.monotonic()
        solver = f"cuopt {_version()}"
        scaled = rows.scale(program)
        decided = answer.decide_at_sight(program, parameters, solver, scaled)
        if decided is not None:
            return decided
        library: Any = importlib.import_module("cuopt.linear_programming")
        scale = answer.objective_scale(program, _LARGEST_COEFFICIENT)
        model = _model(library, answer.as_scaled(program, scaled, scale))
        settings = library.SolverSettings()
        for name, value in _settings(parameters, began).items():
            settings.set_parameter(name, value)
        found = library.Solve(model, settings)
        reason = str(found.get_termination_reason())
        if reason not in _LIMITS:
            raise BackendError(f"cuOpt ended with {reason}: {found.get_error_message()}")
        values, bound = None, math.inf
        if reason in {"Optimal", "FeasibleFound"}:
            values = np.asarray(found.get_primal_solution(), dtype=np.float64)
            lowest = float(found.get_milp_stats()["solution_bound"])
            if math.isfinite(lowest):
                bound = answer.outward(program, -lowest, scale)
        return answer.settle(
            program,
            parameters,
            solver=solver,
            values=values,
            bound=bound,
            limit=_LIMITS[reason],
            infeasible=reason == "Infeasible",
            start=start,
            seconds=time.monotonic() - began,
        )


BACKEND: Backend = CuOptBackend()


def _model(library: Any, program: Program) -> Any:
    """The programme as cuOpt's DataModel, which minimises."""
    model = library.DataModel()
    indices = program.column_index.astype(np.int32)
    model.set_csr_constraint_matrix(program.value, indices, program.row_start.astype(np.int32))
    model.set_constraint_lower_bounds(program.row_lower)
    model.set_constraint_upper_bounds(program.row_upper)
    model.set_objective_coefficients(-program.objective)
    model.set_variable_lower_bounds(program.lower)
    model.set_variable_upper_bounds(program.upper)
    model.set_variable_types(np.where(program.integer, "I", "C"))
    return model


def _settings(parameters: SolveParameters, began: float) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "log_to_console": False,
        "mip_absolute_gap": 0.0,
        "mip_relative_gap": parameters.relative_gap,
        "num_cpu_threads": parameters.threads,
    }
    if parameters.time_limit_seconds is not None:
        settings["time_limit"] = max(0.0, parameters.time_limit_seconds - (time.monotonic() - began))
    return settings


def _version() -> str:
    """Version of the first package there is; empty without one."""
    for package in _PACKAGES:
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""
