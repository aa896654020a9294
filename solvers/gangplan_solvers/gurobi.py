"""Gurobi through gurobipy: mixed-integer and linear programmes; small ones without a licence of one's own."""

from __future__ import annotations

import importlib
import importlib.metadata
import math
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gangplan.errors import BackendError
from gangplan.model.formulation.duality import price_out
from gangplan.model.program import FloatArray, Program, Solution, SolveLimit, SolveParameters
from gangplan_solvers import answer, rows
from gangplan_solvers.backend import Availability, Backend, Feature

_LARGEST_COEFFICIENT = 2.0**12
"""As for HiGHS: Gurobi's tolerances are absolute too."""

_MOST = 2000
"""Columns, and rows, that the licence inside the package allows."""


class GurobiBackend:
    """The Gurobi library."""

    name = "gurobi"
    features = frozenset(Feature)

    def availability(self) -> Availability:
        """Whether gurobipy is installed; no licence is asked for."""
        try:
            version = importlib.metadata.version("gurobipy")
        except importlib.metadata.PackageNotFoundError:
            return Availability(False, reason="gurobipy is not installed: pip install 'gangplan[gurobi]'")
        return Availability(True, version)

    def solve(
        self, program: Program, parameters: SolveParameters, start: FloatArray | None = None
    ) -> Solution:
        """See :meth:`gangplan_solvers.backend.Backend.solve`.

        Raises:
            BackendError: also where the programme is too large for the licence.
        """
        answer.refuse(program, parameters, self.name, self.features)
        began = time.monotonic()
        version = importlib.metadata.version("gurobipy")
        linear = parameters.relax or not program.integer.any()
        scaled = rows.scale(program, relax=linear)
        decided = answer.decide_at_sight(program, parameters, f"gurobi {version}", scaled)
        if decided is not None:
            return decided
        scale = answer.objective_scale(program, _LARGEST_COEFFICIENT)
        handed = answer.as_scaled(program, scaled, scale, relax=linear)
        _refuse_large(handed)
        library: Any = importlib.import_module("gurobipy")
        try:
            with library.Env(params=_settings(parameters)) as env, library.Model(env=env) as model:
                columns, rows_of = _load(library, model, handed)
                begin = answer.usable_start(program, start, relax=parameters.relax)
                if begin is not None and not linear:
                    model.setAttr("Start", columns, begin.tolist())
                if parameters.time_limit_seconds is not None:
                    left = parameters.time_limit_seconds - (time.monotonic() - began)
                    model.setParam("TimeLimit", max(0.0, left))
                model.optimize()
                values, row_duals, bound = None, None, math.inf
                limit, infeasible = _ending(library, model.Status)
                if model.SolCount:
                    values = np.array(model.getAttr("X", columns))
                if linear and model.Status == library.GRB.OPTIMAL:
                    dual = np.zeros(program.rows)
                    np.add.at(dual, [row for row, _ in rows_of], model.getAttr("Pi", [c for _, c in rows_of]))
                    row_duals = dual * scaled.factor / scale
                    bound = price_out(program, row_duals).bound
                elif not linear and not infeasible and abs(model.ObjBound) < library.GRB.INFINITY:
                    bound = answer.outward(program, float(model.ObjBound), scale)
                settled = answer.settle(
                    program,
                    parameters,
                    solver=f"gurobi {version}",
                    values=values,
                    bound=bound,
                    limit=limit,
                    infeasible=infeasible,
                    start=start,
                    seconds=time.monotonic() - began,
                    nodes=int(model.NodeCount),
                    iterations=int(model.IterCount),
                )
                return replace(settled, row_duals=row_duals)
        except library.GurobiError as error:
            raise BackendError(f"Gurobi failed: {error} (code {error.errno})") from error


BACKEND: Backend = GurobiBackend()


def _load(library: Any, model: Any, program: Program) -> tuple[list[Any], list[tuple[int, Any]]]:
    """Fill the model; returns its columns, and its rows with the index of ours. Two limits make two rows."""
    kinds = np.where(program.integer, library.GRB.INTEGER, library.GRB.CONTINUOUS).tolist()
    added = model.addVars(
        program.columns,
        lb=program.lower.tolist(),
        ub=program.upper.tolist(),
        obj=program.objective.tolist(),
        vtype=kinds,
    )
    columns = [added[k] for k in range(program.columns)]
    model.ModelSense = library.GRB.MAXIMIZE
    start, index, value = program.row_start.tolist(), program.column_index.tolist(), program.value.tolist()
    kept = []
    limits = zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    for row, (low, high) in enumerate(limits):
        part = slice(start[row], start[row + 1])
        sum_ = library.LinExpr(value[part], [columns[k] for k in index[part]])
        if low == high:
            kept.append((row, model.addLConstr(sum_, "=", low)))
            continue
        if low > -math.inf:
            kept.append((row, model.addLConstr(sum_, ">", low)))
        if high < math.inf:
            kept.append((row, model.addLConstr(sum_, "<", high)))
    model.update()
    return columns, kept


def _settings(parameters: SolveParameters) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "OutputFlag": 0,
        "Threads": parameters.threads,
        "Seed": parameters.seed % 2_000_000_000,
        "MIPGap": parameters.relative_gap,
        "MIPGapAbs": 0.0,
        "DualReductions": 0,  # so that it says INFEASIBLE, not INF_OR_UNBD
    }
    if parameters.node_limit is not None:
        settings["NodeLimit"] = parameters.node_limit
    return settings


def _ending(library: Any, status: int) -> tuple[SolveLimit, bool]:
    """What stopped it, and whether it claims that there is no solution."""
    constants = library.GRB
    if status in {constants.INFEASIBLE, constants.INF_OR_UNBD}:  # bounds are finite, so not unbounded
        return SolveLimit.NONE, True
    limits = {
        constants.OPTIMAL: SolveLimit.NONE,
        constants.SUBOPTIMAL: SolveLimit.NONE,
        constants.TIME_LIMIT: SolveLimit.TIME,
        constants.INTERRUPTED: SolveLimit.TIME,
        constants.NODE_LIMIT: SolveLimit.NODE,
    }
    if status not in limits:
        raise BackendError(f"Gurobi ended with status {status}")
    return limits[status], False


def _refuse_large(program: Program) -> None:
    """Refuse what the package's own licence does not allow, before any licence is asked for."""
    two = np.isfinite(program.row_lower) & np.isfinite(program.row_upper)
    count = program.rows + int((two & (program.row_lower != program.row_upper)).sum())
    if max(program.columns, count) > _MOST and not _has_licence():
        raise BackendError(
            f"{program.columns} columns and {count} rows are more than the {_MOST} that gurobipy's own "
            "licence allows, and no other licence is set (GRB_LICENSE_FILE); use highs"
        )


def _has_licence() -> bool:
    """Whether a licence is set in one of the ways that Gurobi looks for one."""
    named = os.environ.get("GRB_LICENSE_FILE")
    if named:
        return Path(named).exists()
    if "GRB_WLSACCESSID" in os.environ:
        return True
    version = "".join(importlib.metadata.version("gurobipy").split(".")[:2]) + "0"
    folders = [Path.home(), Path("/opt/gurobi"), Path(f"/opt/gurobi{version}"), Path(sys.prefix)]
    return any((folder / "gurobi.lic").exists() for folder in folders)
