"""HiGHS: mixed-integer and linear programmes of any size, handed over as arrays.

Known: on one programme of Chronus' form 1.16.0 claims optima that are 2e-6 to 3e-5 of their value short, with
two of eight seeds, whether we scale its objective or not; without presolving it did not, and took up to twice
as long (``benchmarks/results/2026-11-30-formulations.md``). Presolving is left on.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import os
import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np

from gangplan.errors import BackendError
from gangplan.model.formulation.duality import price_out
from gangplan.model.program import FloatArray, Program, Solution, SolveLimit, SolveParameters
from gangplan_solvers import answer, installed, rows
from gangplan_solvers.backend import Availability, Backend, Feature

_LARGEST_COEFFICIENT = 2.0**12
"""The objective is scaled by a power of two so that its largest coefficient comes to about this: HiGHS's
absolute tolerances (1e-7 on reduced costs, 1e-6 on the gap) are then small beside it, however tiny it was."""

_TIGHTER = 4e-6
"""By how much a row that rounding broke is tightened, relative to its limit."""

_LIMITS = {
    "kOptimal": SolveLimit.NONE,
    "kModelEmpty": SolveLimit.NONE,
    "kInfeasible": SolveLimit.NONE,
    "kUnboundedOrInfeasible": SolveLimit.NONE,  # bounds are finite, so not unbounded
    "kTimeLimit": SolveLimit.TIME,
    "kInterrupt": SolveLimit.TIME,
    "kSolutionLimit": SolveLimit.NODE,  # mip_max_nodes reports itself so
    "kIterationLimit": SolveLimit.NODE,
    "kUnknown": SolveLimit.NONE,
}
_INFEASIBLE = {"kInfeasible", "kUnboundedOrInfeasible"}

_first = threading.Lock()
_here = threading.local()


class HighsBackend:
    """The HiGHS library."""

    name = "highs"
    features = frozenset(Feature)

    def availability(self) -> Availability:
        """Whether highspy 1.16 or later is installed; 1.14.0 gave wrong optima, 1.15 clashes with ortools."""
        version = installed.version("highspy")
        if not version:
            return Availability(False, reason="highspy is not installed: pip install 'highspy>=1.16,<1.17'")
        if tuple(int(part) for part in version.split(".")[:2]) < (1, 16):
            return Availability(False, version, "highspy before 1.16 errs or clashes: install >=1.16,<1.17")
        return Availability(True, version)

    def solve(
        self, program: Program, parameters: SolveParameters, start: FloatArray | None = None
    ) -> Solution:
        """See :meth:`gangplan_solvers.backend.Backend.solve`."""
        answer.refuse(program, parameters, self.name, self.features)
        began = time.monotonic()
        library = _library()
        solver = (
            f"highs {library.HIGHS_VERSION_MAJOR}.{library.HIGHS_VERSION_MINOR}.{library.HIGHS_VERSION_PATCH}"
        )
        decided = answer.decide_at_sight(program, parameters, solver)
        if decided is not None:
            return decided
        begin = answer.usable_start(program, start, relax=parameters.relax)
        run = _Run(library, program, parameters, began)
        run.go(begin)
        detail = ""
        if begin is not None and run.lost_its_values:
            run = _Run(library, program, parameters, began)
            run.go(None)
            detail = "solved again without the start, which came back in place of the optimum"
        if run.lost_its_values:
            run = _Run(library, program, parameters, began)
            run.go(None, presolve=False)
            detail = "solved again without presolving, which lost the optimum's values"
        values = run.values
        if values is not None and not run.linear:
            tidy = answer.rounded(program, values)
            if answer.violated(program, tidy):
                values, detail = run.repair(tidy)
        settled = answer.settle(
            program,
            parameters,
            solver=solver,
            values=values,
            bound=run.bound,
            limit=run.limit,
            infeasible=run.infeasible,
            start=start,
            seconds=time.monotonic() - began,
            nodes=run.nodes,
            iterations=run.iterations,
            detail=detail,
        )
        return replace(settled, row_duals=run.row_duals)


BACKEND: Backend = HighsBackend()


class _Run:
    """One programme in one HiGHS instance."""

    def __init__(self, library: Any, program: Program, parameters: SolveParameters, began: float) -> None:
        self.program = program
        self.parameters = parameters
        self.began = began
        self.linear = parameters.relax or not program.integer.any()
        self.rows = rows.scale(program, relax=self.linear)
        self.bounds = answer.column_bounds(program, relax=self.linear)
        self.scale = answer.objective_scale(program, _LARGEST_COEFFICIENT)
        self.library = library
        self.values: FloatArray | None = None
        self.bound = math.inf
        self.infeasible = False
        self.limit = SolveLimit.NONE
        self.nodes = self.iterations = 0
        self.row_duals: FloatArray | None = None
        self.claimed = -math.inf

    @property
    def lost_its_values(self) -> bool:
        """Whether the values are worth less than HiGHS says that they are.

        1.16.0 sometimes improves a start while it presolves and then returns the start itself as optimal, and
        was once seen to return values of 3 as optimal with an objective of 4 without any start.
        """
        if self.values is None or self.linear:
            return False
        value = self.program.evaluate(self.values)
        return value < self.claimed - 1e-6 * max(1.0, abs(self.claimed))

    def go(self, start: FloatArray | None, *, presolve: bool = True) -> None:
        """Solve from ``start``."""
        highs = self._loaded(*self.bounds, integer=not self.linear)
        if not presolve:
            _checked("option presolve", highs.setOptionValue("presolve", "off"))
        if start is not None:
            every = np.arange(self.program.columns, dtype=np.int32)
            _checked("setSolution", highs.setSolution(self.program.columns, every, start))
        status = highs.run()
        model_status = highs.getModelStatus().name
        if model_status not in _LIMITS:
            raise BackendError(f"HiGHS ended with {model_status} ({status.name})")
        info = highs.getInfo()
        self.limit = _LIMITS[model_status]
        self.infeasible = model_status in _INFEASIBLE
        self.nodes = max(0, int(info.mip_node_count))
        self.iterations = max(0, int(info.simplex_iteration_count))
        if info.primal_solution_status == self.library.kSolutionStatusFeasible:
            self.values = np.array(highs.getSolution().col_value)
            self.claimed = float(info.objective_function_value) / self.scale
        if self.infeasible:
            return
        if self.linear:
            dual = np.array(highs.getSolution().row_dual)
            known = dual.shape == (self.program.rows,)
            self.row_duals = dual * self.rows.factor / self.scale if known else np.zeros(self.program.rows)
            self.bound = price_out(self.program, self.row_duals).bound
        else:
            scaled = float(info.mip_dual_bound)
            self.bound = (scaled + 1e-6 + 1e-9 * abs(scaled)) / self.scale  # outward (decision 24)

    def repair(self, tidy: FloatArray) -> tuple[FloatArray | None, str]:
        """Values for a programme whose solution ``tidy`` breaks a row after rounding; the bound stays.

        Continuous columns are solved for once more with the integral ones fixed. Where there are none, the
        programme is solved once more with the broken rows tightened beyond HiGHS's tolerance.
        """
        bounds, continuous = self.bounds, not self.program.integer.all()
        if continuous:
            low, high = bounds
            bounds = np.where(self.program.integer, tidy, low), np.where(self.program.integer, tidy, high)
        else:
            held = self.program.activity(tidy) * self.rows.factor
            over, under = held > self.rows.upper, held < self.rows.lower
            lower = np.where(under, self.rows.lower + _TIGHTER * np.abs(self.rows.lower), self.rows.lower)
            upper = np.where(over, self.rows.upper - _TIGHTER * np.abs(self.rows.upper), self.rows.upper)
            self.rows = replace(self.rows, lower=lower, upper=upper)
        highs = self._loaded(*bounds, integer=not continuous)
        highs.run()
        if highs.getInfo().primal_solution_status != self.library.kSolutionStatusFeasible:
            return None, "its values break a row after rounding, and a second run did not mend it"
        return np.array(highs.getSolution().col_value), "solved again, since rounding broke a row"

    def _loaded(self, lower: FloatArray, upper: FloatArray, *, integer: bool) -> Any:
        """A HiGHS instance that holds the programme."""
        program, parameters = self.program, self.parameters
        if getattr(_here, "threads", parameters.threads) != parameters.threads:
            self.library.Highs.resetGlobalScheduler(True)  # a scheduler keeps its threads until it is reset
        _here.threads = parameters.threads
        highs = self.library.Highs()
        options: dict[str, bool | int | float | str] = {
            "output_flag": False,
            "threads": parameters.threads,
            "random_seed": parameters.seed % 2**31,
            "mip_rel_gap": parameters.relative_gap,
            "mip_abs_gap": 0.0,
        }
        if parameters.time_limit_seconds is not None:
            spent = time.monotonic() - self.began
            options["time_limit"] = max(0.0, parameters.time_limit_seconds - spent)
        if parameters.node_limit is not None:
            options["mip_max_nodes"] = parameters.node_limit
        for name, value in options.items():
            _checked(f"option {name}", highs.setOptionValue(name, value))
        loaded = highs.passModel(
            program.columns,
            program.rows,
            program.nonzeros,
            int(self.library.MatrixFormat.kRowwise),
            int(self.library.ObjSense.kMaximize),
            program.offset * self.scale,
            program.objective * self.scale,
            lower,
            upper,
            self.rows.lower,
            self.rows.upper,
            program.row_start.astype(np.int32),
            program.column_index.astype(np.int32),
            self.rows.value,
            (program.integer & integer).astype(np.int32),
        )
        _checked("passModel", loaded)
        return highs


def _library() -> Any:
    """highspy, imported and with its banner spent.

    The first ``Highs()`` of a process prints a banner before any option can be set: file descriptor 1 points
    at the null device around it.
    """
    with _first:
        module: Any = importlib.import_module("highspy")
        if not getattr(_library, "muted", False):
            kept, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
            try:
                ctypes.CDLL(None).fflush(None)
                os.dup2(null, 1)
                module.Highs()
                ctypes.CDLL(None).fflush(None)
            finally:
                os.dup2(kept, 1)
                os.close(kept)
                os.close(null)
            _library.muted = True  # type: ignore[attr-defined]
        return module


def _checked(what: str, status: Any) -> None:
    if status.name == "kError":
        raise BackendError(f"HiGHS refused {what}")
