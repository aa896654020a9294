"""POP: a random partition of the round into parts, each solved by our full programme, then put together.

Narayanan et al., "Solving Large-Scale Granular Resource Allocation Problems Efficiently with POP", SOSP 2021:
split jobs at random and resources evenly into k parts, solve the original formulation on each, coalesce.

Here whole racks (domains of the innermost declared level) are dealt to the parts type by type, and jobs at
random. Told: the full programme's rows, options and coefficients, restricted to the part; a running job goes
to the part of the racks where it runs, and one that spans parts is pinned where it is. Of every queue limit
and of the disruption limit, what running jobs do not hold is split evenly. Each part has the whole time limit
to itself, as the paper solves parts side by side; ``solve_s`` is their sum, ``slowest_part_s`` what side by
side would take. Where a type has fewer racks than there are parts, some parts lack it
(``parts_without_a_type``): sharing out single nodes would break every gang that needs a rack. The solutions
together are bound by our binder on the whole cluster, which also fills what all of them left free: better
than the paper's, which leaves that idle. A part without a solution keeps what runs there. The sum of the
parts' bounds is none on the round.
"""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np

from gangplan.bench.formulations.full import unbound
from gangplan.bench.formulations.rival import Answer, Formulation, Limits, Size
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import Layout, build_layout, flow_of
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.sites import NO_DOMAIN
from gangplan.model.packing.bind import bind
from gangplan.model.packing.order import make_plan
from gangplan.model.program import BoolArray, Family, FloatArray, IntArray, Program, SolveLimit
from gangplan_solvers import catalog

PARTS = 4

_SPLIT = frozenset({"structure", "quota", "disruption"})
"""Families of rows whose limits differ in a part."""


@dataclass(frozen=True, slots=True, eq=False)
class Deal:
    """Who belongs to which part.

    Attributes:
        parts: their number.
        of_pool: shape (pools,), part of every pool.
        members: shape (classes, parts), jobs of each class that belong to each part.
        pinned: running classes that span parts.
        keeps: shape (classes, parts), whether the running class holds anything in the part.
    """

    parts: int
    of_pool: IntArray
    members: IntArray
    pinned: frozenset[int]
    keeps: BoolArray


def partitioned(parts: int = PARTS) -> Formulation:
    """The formulation with so many parts."""
    return functools.partial(_solve_parts, parts=parts)


def _solve_parts(instance: Instance, solver: str, limits: Limits, *, parts: int) -> Answer:
    began = time.perf_counter()
    layout = build_layout(instance)
    program = formulate(layout)
    dealt = deal(instance, parts, np.random.default_rng(limits.seed))
    pieces = [part_of(layout, program, dealt, p) for p in range(parts)]
    built = time.perf_counter()
    values = np.zeros(program.columns)
    seconds, unsolved, limited, details = [], 0, False, []
    nodes = iterations = 0
    bound = instance.offset
    version = ""
    backend = catalog.usable(solver)
    for kept, piece in pieces:
        start = time.perf_counter()
        solution = backend.solve(piece, limits.parameters())
        seconds.append(time.perf_counter() - start)
        version, bound = solution.solver, bound + solution.bound
        nodes, iterations = nodes + solution.nodes, iterations + solution.iterations
        limited |= solution.limit is not SolveLimit.NONE
        if solution.detail:
            details.append(solution.detail)
        if solution.values is not None:
            values[kept] += solution.values
        else:
            unsolved += 1
            values[kept] += _keep_only(layout, kept)
    pins = layout.keep_column[sorted(dealt.pinned)]
    values[pins] = 1.0
    solved = time.perf_counter()
    assignment = bind(layout, values)
    plan = make_plan(instance, assignment)
    return Answer(
        plan,
        size=Size.of(*(piece for _, piece in pieces)),
        build_seconds=built - began,
        solve_seconds=sum(seconds),
        bind_seconds=time.perf_counter() - solved,
        objective=program.evaluate(values),
        bound=bound,
        unbound=unbound(layout, values, assignment),
        nodes=nodes,
        iterations=iterations,
        solver=version,
        limited=limited,
        detail="; ".join(details),
        more={
            "parts": parts,
            "slowest_part_s": max(seconds),
            "unsolved_parts": unsolved,
            "pinned_jobs": len(dealt.pinned),
            "parts_without_a_type": parts_without_a_type(instance, dealt),
        },
    )


def deal(instance: Instance, parts: int, rng: np.random.Generator) -> Deal:
    """Deal racks by type, and jobs at random."""
    racks: dict[object, list[int]] = defaultdict(list)
    for p in range(instance.pools.count):
        declared = instance.pools.domain_at[p, 1:-1]
        levels = np.flatnonzero(declared != NO_DOMAIN)
        racks[(int(levels[-1]), int(declared[levels[-1]])) if len(levels) else (-1, p)].append(p)
    by_type: dict[tuple[int, ...], list[list[int]]] = defaultdict(list)
    for pools in racks.values():
        by_type[tuple(sorted({int(instance.pools.type_of[p]) for p in pools}))].append(pools)
    of_pool = np.zeros(instance.pools.count, dtype=np.int64)
    turn = 0
    for _, same in sorted(by_type.items()):
        for i in rng.permutation(len(same)).tolist():
            of_pool[same[i]] = turn % parts
            turn += 1
    members = np.zeros((len(instance.classes), parts), dtype=np.int64)
    keeps = np.zeros((len(instance.classes), parts), dtype=np.bool_)
    pinned = set()
    for c, job_class in enumerate(instance.classes):
        for _ in job_class.jobs:
            members[c, int(rng.integers(parts))] += 1
        if job_class.kept:
            held = {int(instance.pools.pool_of[node]) for node in instance.keep_use[c]}
            here = {int(of_pool[p]) for p in held if p >= 0}
            if here:
                members[c] = 0
                members[c, min(here)] = 1
                keeps[c, sorted(here)] = True
            else:
                keeps[c] = members[c] > 0
            if len(here) > 1:
                pinned.add(c)
    return Deal(parts, of_pool, members, frozenset(pinned), keeps)


def parts_without_a_type(instance: Instance, dealt: Deal) -> int:
    """How many parts lack some accelerator type of the cluster: a job's best type may not be in its part."""
    types = set(instance.pools.type_of[instance.pools.type_of >= 0].tolist())
    return sum(
        not types <= set(instance.pools.type_of[dealt.of_pool == p].tolist()) for p in range(dealt.parts)
    )


def part_of(layout: Layout, program: Program, dealt: Deal, part: int) -> tuple[IntArray, Program]:
    """The programme of one part, without offset, and which columns of the whole it has.

    Rows are those of the whole over fewer columns. Rows of one job count the members that belong to the part;
    limits are split.
    """
    kept = _columns_of(layout, dealt, part)
    lower, upper = program.lower.copy(), program.upper.copy()
    option_class = layout.instance.option_class
    chosen = np.flatnonzero(layout.option_column >= 0)
    upper[layout.option_column[chosen]] = dealt.members[option_class[chosen], part]
    for c in dealt.pinned:
        lower[layout.keep_column[c]] = 1.0
    row_lower, row_upper = program.row_lower.copy(), program.row_upper.copy()
    owners = _owners(layout)
    for family in program.row_families:
        for row in range(family.start, family.stop) if family.name in _SPLIT else ():
            entries = slice(program.row_start[row], program.row_start[row + 1])
            columns, values = program.column_index[entries], program.value[entries]
            here = kept[columns]
            if family.name == "structure":
                c = int(owners[columns[0]])
                members = 1.0 if c in dealt.pinned else float(dealt.members[c, part])
                row_upper[row] = members
                row_lower[row] = members if layout.instance.classes[c].must_run else -np.inf
            elif family.name == "quota":
                stays = _is_keep(layout, columns)
                spare = round(program.row_upper[row] - float(values[stays].sum()))
                row_upper[row] = float(values[stays & here].sum()) + _share(spare, dealt.parts, part)
            else:
                limit = len(columns) - round(program.row_lower[row])
                row_lower[row] = float(here.sum()) - _share(limit, dealt.parts, part)
    whole = replace(program, lower=lower, upper=upper, row_lower=row_lower, row_upper=row_upper, offset=0.0)
    return np.flatnonzero(kept), _without_empty_rows(whole.restricted(kept))


def _share(amount: int, parts: int, part: int) -> float:
    """The part's share of ``amount`` whole units."""
    return float(amount // parts + (part < amount % parts))


def _owners(layout: Layout) -> IntArray:
    """The class of every option and keep column, shape (columns,); -1 for all others."""
    found = np.full(layout.columns, -1, dtype=np.int64)
    chosen, kept = np.flatnonzero(layout.option_column >= 0), np.flatnonzero(layout.keep_column >= 0)
    found[layout.option_column[chosen]] = layout.instance.option_class[chosen]
    found[layout.keep_column[kept]] = kept
    return found


def _is_keep(layout: Layout, columns: IntArray) -> BoolArray:
    """Which of ``columns`` are keep columns."""
    found: BoolArray = np.isin(columns, layout.keep_column[layout.keep_column >= 0])
    return found


def _columns_of(layout: Layout, dealt: Deal, part: int) -> BoolArray:
    """Columns of the part: its jobs' options and keeps, its pools' blocks, rooms, and gangs that use them."""
    instance = layout.instance
    kept = np.zeros(layout.columns, dtype=np.bool_)
    chosen = np.flatnonzero(layout.option_column >= 0)
    classes = instance.option_class[chosen]
    free = np.array([c not in dealt.pinned for c in range(len(instance.classes))], dtype=np.bool_)
    mine = (dealt.members[:, part] > 0) & free
    kept[layout.option_column[chosen[mine[classes]]]] = True
    running = np.flatnonzero((layout.keep_column >= 0) & dealt.keeps[:, part])
    kept[layout.keep_column[running]] = True
    here = set(np.flatnonzero(dealt.of_pool == part).tolist())
    for places in layout.flow_pools.values():
        for pool, column in places:
            kept[column] |= pool in here
    for (kind, domain), column in layout.gang_column.items():
        kept[column] = all(
            any(pool in here for pool, _ in layout.flow_pools[flow_of(kind, block, domain)])
            for block, _ in kind[1]
        )
    for (pool, _), rooms in layout.rooms.items():
        for room in rooms:
            if room.column >= 0:
                kept[room.column] = pool in here
    for gang_room in layout.gang_rooms:
        kept[gang_room.column] = any(pool in here for pool in gang_room.pools)
    return kept


def _without_empty_rows(program: Program) -> Program:
    """The programme without rows that have no entry: they are other parts'."""
    filled = np.diff(program.row_start) > 0
    edges = np.concatenate([[0], np.cumsum(filled)])
    return replace(
        program,
        row_start=np.concatenate([program.row_start[:-1][filled], program.row_start[-1:]]),
        row_lower=program.row_lower[filled],
        row_upper=program.row_upper[filled],
        row_families=tuple(
            Family(f.name, int(edges[f.start]), int(edges[f.stop])) for f in program.row_families
        ),
    )


def _keep_only(layout: Layout, kept: IntArray) -> FloatArray:
    """Column values of a part in which everything stays and nothing starts, shape (kept,)."""
    return _is_keep(layout, kept).astype(np.float64)
