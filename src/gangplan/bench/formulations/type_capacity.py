"""Type capacity only, then greedy binding: Sia's form of a round.

Subramanya et al., "Sia: Heterogeneity-aware, goodput-optimized ML-cluster scheduling", SOSP 2023, section
3.3: a job picks at most one configuration, and for every accelerator type the picked configurations together
take at most its devices. No node, rack or block is in the programme; placement comes afterwards.

Told: our options with our coefficients (switching costs included), the cluster's open devices by type, and,
beyond the paper, queue limits and the disruption limit, which are as easily said without nodes. Not told:
CPU and memory, node sizes, topology beyond that each option can be placed on an empty cluster. Every plan
satisfies these rows, so its bound is one on all plans.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace

import numpy as np

from gangplan.bench.formulations.descending import bind_descending
from gangplan.bench.formulations.rival import Answer, Limits, Size, Unbound
from gangplan.model.constraints import disruption, quota, structure
from gangplan.model.formulation.assemble import assemble
from gangplan.model.formulation.layout import Layout, build_layout
from gangplan.model.formulation.rows import Rows
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.order import make_plan
from gangplan.model.program import IntArray, Program, SolveLimit
from gangplan_solvers import catalog


def solve_type_capacity(instance: Instance, solver: str, limits: Limits) -> Answer:
    """Solve the programme without nodes, and bind what it chose.

    Raises:
        UnknownSolverError: the backend is unknown or cannot be used here.
        BackendError: the solver failed.
    """
    layout = build_layout(instance)  # numbers the options; not part of this programme's time
    began = time.perf_counter()
    program = formulate_type_capacity(layout)
    built = time.perf_counter()
    solution = catalog.usable(solver).solve(program, limits.parameters())
    solved = time.perf_counter()
    answer = Answer(
        None,
        size=Size.of(program),
        build_seconds=built - began,
        solve_seconds=solved - built,
        objective=solution.objective,
        bound=solution.bound,
        bound_holds=True,
        nodes=solution.nodes,
        iterations=solution.iterations,
        solver=solution.solver,
        limited=solution.limit is not SolveLimit.NONE,
        detail=solution.detail,
    )
    if solution.values is None:
        return answer
    counts = np.round(solution.values).astype(np.int64)
    chosen = {
        k: int(counts[column])
        for k, column in enumerate(layout.option_column.tolist())
        if column >= 0 and counts[column]
    }
    staying = {c for c, column in enumerate(layout.keep_column.tolist()) if column >= 0 and counts[column]}
    bound = bind_descending(instance, staying, chosen)
    plan, before = make_plan(instance, bound.filled), make_plan(instance, bound.assignment)
    return replace(
        answer,
        plan=plan,
        before_refill=before,
        bind_seconds=time.perf_counter() - solved,
        unbound=Unbound(bound.unbound_gangs, bound.unbound_devices),
    )


def formulate_type_capacity(layout: Layout) -> Program:
    """The programme over the option and keep columns of ``layout``, one capacity row for each type.

    Options whose types were merged (alike in all but the type) get one more column for each of their types:
    how many devices they take there.
    """
    instance = layout.instance
    first = next(stop for name, _, stop in layout.families if name == "keep")
    merged = sorted(
        {
            option.demands[0].block.types
            for option in instance.distinct
            if option.devices and not option.devices_by_type
        }
    )
    share = {pair: first + i for i, pair in enumerate((types, t) for types in merged for t in types)}
    capacity = _open_devices(instance)
    most = [float(capacity[t]) for _, t in share]
    families = {
        "structure": structure.rows(layout),
        "quota": quota.rows(layout),
        "disruption": disruption.rows(layout),
        "type_capacity": _capacity_rows(layout, capacity, share),
    }
    return assemble(
        objective=np.concatenate([layout.objective[:first], np.zeros(len(share))]),
        lower=np.concatenate([layout.lower[:first], np.zeros(len(share))]),
        upper=np.concatenate([layout.upper[:first], most]),
        families=families,
        offset=instance.offset,
    )


def _open_devices(instance: Instance) -> IntArray:
    """Usable devices of each type on open nodes, shape (types,)."""
    found = np.zeros(len(instance.speeds.type_names), dtype=np.int64)
    usable = instance.nodes.open & (instance.nodes.type_of >= 0)
    np.add.at(found, instance.nodes.type_of[usable], instance.nodes.capacity[usable, 0])
    return found


def _capacity_rows(
    layout: Layout,
    capacity: IntArray,
    share: dict[tuple[tuple[int, ...], int], int],
) -> Rows:
    """One row for each type, and one for each set of merged types that ties its options to their shares."""
    instance = layout.instance
    by_type: dict[int, list[tuple[int, float]]] = defaultdict(list)
    by_set: dict[tuple[int, ...], list[tuple[int, float]]] = defaultdict(list)
    for k, column in enumerate(layout.option_column.tolist()):
        if column < 0:
            continue
        option = instance.option_at(k)
        for type_, devices in option.devices_by_type:
            by_type[type_].append((column, float(devices)))
        if option.devices and not option.devices_by_type:
            by_set[option.demands[0].block.types].append((column, float(option.devices)))
    for c, column in enumerate(layout.keep_column.tolist()):
        if column < 0:
            continue
        for node, amounts in instance.keep_use[c].items():
            if amounts[0] and instance.nodes.open[node]:
                by_type[int(instance.nodes.type_of[node])].append((column, float(amounts[0])))
    for (_, type_), column in share.items():
        by_type[type_].append((column, 1.0))
    found = Rows()
    for type_, entries in sorted(by_type.items()):
        found.add(entries, upper=float(capacity[type_]))
    for types, entries in sorted(by_set.items()):
        found.add([*entries, *((share[types, t], -1.0) for t in types)], upper=0.0)
    return found
