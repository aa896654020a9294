"""One job after another, each on the node that scores best: the ground of the packing policies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import place_gangs
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.order import make_plan
from gangplan.model.program import FloatArray, IntArray
from gangplan.planning.policies.line import line_of


@dataclass(frozen=True, slots=True, eq=False)
class Typical:
    """What the jobs of a round put on one node, and how often.

    Attributes:
        demand: shape (kinds, 3), devices (in parts), CPU (milli) and memory (bytes).
        share: shape (kinds,), of all that ask for devices; sums to 1.
    """

    demand: IntArray
    share: FloatArray


Score = Callable[[IntArray, IntArray, IntArray, Typical], FloatArray]
"""Scores, most is best, shape (nodes,), of what is free on nodes with room, before, shape (nodes, 3), what a
task takes of it, shape (3,), what the nodes have in all, shape (nodes, 3), and the typical tasks."""


@dataclass(frozen=True, slots=True)
class ByScore:
    """A policy that serves by score.

    Attributes:
        name: of the policy.
        score: of nodes.
    """

    name: str
    score: Score

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        return serve_by_score(round_, self.score)

    def steady_until(self, round_: Round) -> float:
        """For ever: nobody is stopped."""
        del round_
        return math.inf


def serve_by_score(round_: Round, score: Score) -> Plan:
    """First come, first served, nobody is stopped, who finds no room is passed by.

    A task that fits on one node goes to the one with the best score among those with room, of equal ones to
    the first by name; other gangs lie as tightly as can be.
    """
    instance = build_instance(round_)
    typical = typical_of(instance)
    staying = [c for c, one in enumerate(instance.classes) if one.kept]
    occupancy = Occupancy(instance, staying)
    placed: dict[int, Placed] = {}
    for wish in line_of(instance):
        for k in wish.ways:
            spots = _place(occupancy, k, score, typical)
            if spots is not None:
                placed[wish.job] = occupancy.placed(k, spots)
                break
    kept = frozenset(instance.classes[c].jobs[0] for c in staying)
    return make_plan(instance, Assignment(kept, placed))


def typical_of(instance: Instance) -> Typical:
    """The tasks of all jobs of a round that fit on one node, by their first way that does."""
    found: Counter[tuple[int, int, int]] = Counter()
    for job_class in instance.classes:
        for k in range(job_class.start, job_class.stop):
            option = instance.option_at(k)
            if option.is_single and option.demands[0].block.demand[0]:
                found[option.demands[0].block.demand] += len(job_class.jobs)
                break
    demand = np.array(sorted(found), dtype=np.int64).reshape(len(found), 3)
    times = np.array([found[one] for one in sorted(found)], dtype=np.float64)
    return Typical(demand, times / max(1.0, float(times.sum())))


def _place(
    occupancy: Occupancy, k: int, score: Score, typical: Typical
) -> tuple[tuple[int, tuple[int, ...]], ...] | None:
    instance = occupancy.instance
    option = instance.option_at(k)
    job_class = instance.classes[int(instance.option_class[k])]
    if not occupancy.members_allowed(job_class, option):
        return None
    if not option.is_single:
        return next(place_gangs(occupancy, k, 1, Fit.BEST), None)
    demand = option.demands[0]
    block = instance.block_index[demand.block]
    nodes = occupancy.block_nodes(block)
    nodes = nodes[occupancy.copies(block, nodes) > 0]
    if not len(nodes):
        return None
    need = np.array(demand.block.demand, dtype=np.int64)
    scores = score(occupancy.free[nodes, :3], need, instance.nodes.capacity[nodes], typical)
    best = nodes[[int(np.argmax(scores))]]
    taken = occupancy.take(block, 1, best, Fit.FIRST, together=False)
    if not taken:
        return None
    occupancy.take_quota(job_class, option, 1)
    return ((taken[0][0], demand.tasks),)
