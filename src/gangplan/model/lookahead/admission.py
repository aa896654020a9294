"""What refutes deadlines: a relaxation of all schedules, by linear programming (decision 32).

Every schedule that meets the deadlines gives, averaged over each bucket, a solution of this programme: jobs
run preempted and moved for free, in any share of a bucket, from its beginning on, up to the border at or
after their deadline, and places only as far as the rows of ``room`` tell them apart. ``short[j]`` is the
share of job j's work that is not done in time; the programme maximises ``- sum short[j]``. Row prices bound
it whatever a solver says of them (``formulation.duality``): a bound below 0 proves that some deadline is
missed in every schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gangplan.model.formulation.duality import price_out
from gangplan.model.formulation.rows import Rows
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.options import Option
from gangplan.model.instance.sites import Vector, admits
from gangplan.model.lookahead.buckets import Buckets
from gangplan.model.lookahead.crowd import JobNumbers, job_numbers, singly
from gangplan.model.lookahead.fluid import add_limits, build_entries
from gangplan.model.lookahead.room import build_room
from gangplan.model.program import Family, FloatArray, Program

MOST_BORDERS = 24
REFUTED = -1e-6
"""A bound below this proves a miss: smaller ones may be rounding."""

_LEAST_WORK = 1e-9
"""Seconds of work; less is none to a solver, whose numbers must not overflow for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Deadlines:
    """The programme of a set of deadlines.

    Attributes:
        program: columns ``entry * buckets + bucket``, then a kept job's own place by bucket, then ``short``.
        jobs: job indices.
    """

    program: Program
    jobs: tuple[int, ...]

    def refuted_by(self, row_prices: FloatArray) -> bool:
        """Whether row prices, shape (rows,), prove that the deadlines cannot all be met."""
        return price_out(self.program, row_prices).bound < REFUTED


def deadlines_programme(
    instance: Instance, jobs: Sequence[int], due: FloatArray, ready: FloatArray
) -> Deadlines:
    """The programme of ``jobs`` with deadlines ``due`` and earliest starts ``ready``, seconds from now.

    Args:
        instance: the round with all of these jobs.
        jobs: job indices; their work left is known.
        due: shape (jobs,).
        ready: shape (jobs,).
    """
    numbers = _free_to_stop(job_numbers(instance))
    crowd = singly(instance, jobs)
    buckets = _between(due)
    count = buckets.count
    entries = build_entries(instance, crowd)
    nodes = instance.nodes
    free = np.where(nodes.open[:, None], nodes.capacity, nodes.held)
    room = build_room(instance, entries.ways, np.repeat(free[None], count, axis=0))
    own = _own_places(instance, jobs)
    left = np.array([max(instance.jobs[j].work_left or 0.0, _LEAST_WORK) for j in jobs])
    within = (buckets.edges[None, :-1] < due[:, None]) & (buckets.edges[None, 1:] > ready[:, None])

    rows, families = Rows(), []
    size = len(entries.class_of) * count
    columns = size + len(own) * count + len(jobs)
    for c in range(len(jobs)):
        at, values = [size + len(own) * count + c], [1.0]
        for e in np.flatnonzero(entries.class_of == c).tolist():
            at += [e * count + b for b in range(count)]
            values += (entries.throughput[e] * buckets.seconds / left[c]).tolist()
        for o, (owner, throughput) in enumerate(own):
            if owner == c:
                at += [size + o * count + b for b in range(count)]
                values += (throughput * buckets.seconds / left[c]).tolist()
        rows.add(zip(at, values, strict=True), lower=1.0)
    families.append(Family("work", 0, len(rows)))
    families += add_limits(rows, instance, numbers, crowd, entries, room)
    begin = len(rows)
    for o, (owner, _) in enumerate(own):
        mine = np.flatnonzero(entries.class_of == owner)
        for b in range(count):
            rows.add([(size + o * count + b, 1.0), *((int(e) * count + b, 1.0) for e in mine)], upper=1.0)
    families.append(Family("own", begin, len(rows)))
    upper = np.concatenate(
        (
            within[entries.class_of].astype(np.float64).ravel(),
            *(within[owner].astype(np.float64) for owner, _ in own),
            np.ones(len(jobs)),
        )
    )
    objective = np.zeros(columns)
    objective[-len(jobs) :] = -1.0
    program = Program(
        objective=objective,
        lower=np.zeros(columns),
        upper=upper,
        integer=np.zeros(columns, dtype=np.bool_),
        row_start=np.array(rows.start, dtype=np.int64),
        column_index=np.array(rows.column, dtype=np.int64),
        value=np.array(rows.value, dtype=np.float64),
        row_lower=np.array(rows.lower, dtype=np.float64),
        row_upper=np.array(rows.upper, dtype=np.float64),
        column_families=(
            Family("service", 0, size),
            Family("own", size, size + len(own) * count),
            Family("short", size + len(own) * count, columns),
        ),
        row_families=tuple(families),
    )
    return Deadlines(program, tuple(jobs))


def _free_to_stop(numbers: JobNumbers) -> JobNumbers:
    """Nobody stays for ever: whoever could end at any moment takes nothing away."""
    return replace(numbers, fixed=np.zeros_like(numbers.fixed))


def _between(due: FloatArray) -> Buckets:
    """Buckets whose borders are the deadlines; where those are too many, the later of neighbours."""
    borders = np.unique(np.maximum(due, 1e-9))
    if len(borders) > MOST_BORDERS:
        places = np.unique(np.linspace(0, len(borders) - 1, MOST_BORDERS + 1).astype(np.int64)[1:])
        borders = borders[places]
    return Buckets(np.concatenate(([0.0], borders)))


def _own_places(instance: Instance, jobs: Sequence[int]) -> list[tuple[int, float]]:
    """Position and throughput of each running job where no option covers it: it takes no places there."""
    found = []
    for position, j in enumerate(jobs):
        c = int(instance.class_of_job[j])
        if not instance.kept[c]:
            continue
        mine = instance.classes[c]
        throughput = float(instance.keeps.throughput[c])
        held = instance.keep_use[c]
        covered = any(
            instance.option_at(k).scope <= int(instance.keeps.scope[c])
            and instance.throughput[k] >= throughput
            and _covers(instance, instance.option_at(k), held)
            for k in range(mine.start, mine.stop)
        )
        if throughput > 0.0 and not covered:
            found.append((position, throughput))
    return found


def _covers(instance: Instance, option: Option, held: Mapping[int, Vector]) -> bool:
    """Whether a placement is one of the option's, as far as the rows of the room can tell."""
    if len(option.demands) != 1:
        return False
    demand = option.demands[0]
    block, nodes = demand.block, instance.nodes
    devices = block.demand[0]
    return (
        devices > 0
        and option.devices == sum(amount[0] for amount in held.values())
        and sum(amount[0] // devices for amount in held.values()) == demand.multiplicity
        and all(
            int(nodes.type_of[n]) in block.types
            and (not block.built_in or int(nodes.built_in[n]) == block.built_in)
            and all(admits(nodes.nodes[n], instance.filters[f]) for f in block.filters)
            for n in held
        )
    )
