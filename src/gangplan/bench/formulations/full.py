"""The full programme: every rule of a round as rows, solved whole and bound to nodes.

The programme of :func:`gangplan.model.formulation.formulate.formulate`, with nested block capacities by pool,
domains and rooms, exactly as the pipeline has it, but nothing around it: no start, no sifting, no reduced
steps, no second programme where binding fails. Told: all options, all coefficients. Bound by
:func:`gangplan.model.packing.bind.bind`, which also fills what is left free, so there is no plan before the
refill.
"""

from __future__ import annotations

import time

import numpy as np

from gangplan.bench.formulations.rival import Answer, Limits, Size, Unbound
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import Layout, build_layout
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.bind import bind
from gangplan.model.packing.order import make_plan
from gangplan.model.program import FloatArray, SolveLimit
from gangplan_solvers import catalog


def solve_full(instance: Instance, solver: str, limits: Limits) -> Answer:
    """Solve the whole programme once, and bind the solution."""
    began = time.perf_counter()
    layout = build_layout(instance)
    program = formulate(layout)
    built = time.perf_counter()
    solution = catalog.usable(solver).solve(program, limits.parameters())
    solved = time.perf_counter()
    plan, failures = None, Unbound()
    if solution.values is not None:
        assignment = bind(layout, solution.values)
        plan = make_plan(instance, assignment)
        failures = unbound(layout, solution.values, assignment)
    return Answer(
        plan,
        size=Size.of(program),
        build_seconds=built - began,
        solve_seconds=solved - built,
        bind_seconds=time.perf_counter() - solved,
        objective=solution.objective,
        bound=solution.bound,
        bound_holds=True,
        unbound=failures,
        nodes=solution.nodes,
        iterations=solution.iterations,
        solver=solution.solver,
        limited=solution.limit is not SolveLimit.NONE,
        detail=solution.detail,
    )


def unbound(layout: Layout, values: FloatArray, assignment: Assignment) -> Unbound:
    """Gangs that the solution ``values`` chose and that found no nodes, and the devices that they asked for.

    Devices are counted after the refill: a gang that the refill placed after all under the same option is
    not missing.
    """
    placed = np.bincount([p.option for p in assignment.placed.values()], minlength=len(layout.option_column))
    chosen = np.flatnonzero(layout.option_column >= 0)
    wanted = values[layout.option_column[chosen]].round().astype(np.int64)
    missing = np.maximum(wanted - placed[chosen], 0)
    return Unbound(
        gangs=assignment.unbound + len(assignment.unresized),
        devices=int((missing * layout.instance.devices[chosen]).sum()),
    )
