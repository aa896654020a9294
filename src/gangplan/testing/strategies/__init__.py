"""Hypothesis strategies that draw whole rounds, and plans for them.

:func:`rounds` draws valid rounds: every name is known, every number is legal, what runs is where it says.
Broken *states* are drawn on purpose (a job on a node that is gone, a device that failed under a job, a quota
cut below its use), since a valid round may have them. A file of this folder draws each part of a round;
:mod:`~gangplan.testing.strategies.plans` draws plans without any regard for the rules. Mutations of good
plans are in :mod:`gangplan.testing.mutations`.

Needs hypothesis: ``pip install gangplan[testing]``.
"""

from __future__ import annotations

from dataclasses import replace

try:
    from hypothesis import assume
    from hypothesis import strategies as st
except ImportError as missing:
    raise ImportError(
        "gangplan.testing.strategies needs hypothesis: pip install 'gangplan[testing]'"
    ) from missing

from gangplan.domain.cluster import Cluster
from gangplan.domain.outlook import FreeBlocks, Outlook
from gangplan.domain.round import Round
from gangplan.testing.strategies.clusters import draw_accelerators, draw_nodes, draw_topology
from gangplan.testing.strategies.draw import NOW, Draw
from gangplan.testing.strategies.held import draw_claims, draw_reservations
from gangplan.testing.strategies.jobs import draw_jobs
from gangplan.testing.strategies.outlooks import draw_outlook
from gangplan.testing.strategies.policies import draw_headroom, draw_policy
from gangplan.testing.strategies.profiles import draw_profiles
from gangplan.testing.strategies.queues import draw_limited, draw_queues
from gangplan.testing.strategies.sizes import BOUNDS, Bounds, Size
from gangplan.testing.strategies.world import World


def rounds(size: Size = "small") -> st.SearchStrategy[Round]:
    """Valid rounds.

    Args:
        size: ``tiny`` is small enough for :func:`gangplan.testing.enumerate.best_plan`: two or three nodes
            and three or four jobs; ``small`` has up to eight nodes and a dozen jobs, ``medium`` up to 24 and
            40.
    """
    return _rounds(BOUNDS[size])


@st.composite
def _rounds(draw: st.DrawFn, bounds: Bounds) -> Round:
    d = Draw(draw)
    types = draw_accelerators(d)
    topology = draw_topology(d, bounds)
    nodes = draw_nodes(d, bounds, types, topology)
    mood = d.one(("limited", "crowded", "limited", "limited"))
    queues = draw_queues(d, mood)
    profiles = draw_profiles(d, bounds, types, topology)
    policy = draw_policy(d)
    round_seconds = d.one((300.0, 60.0, 1200.0))
    world = World(mood, types, topology, queues, profiles, interactive=d.chance(30))
    jobs = draw_jobs(d, bounds, world, nodes)
    return Round(
        now=NOW,
        round_seconds=round_seconds,
        horizon_seconds=round_seconds * d.one((12, 4, 12, 1)),
        cluster=Cluster(topology, tuple(nodes)),
        accelerators=types,
        queues=draw_limited(d, mood, queues, jobs, types),
        jobs=tuple(jobs),
        profiles=profiles,
        policy=replace(policy, headroom=draw_headroom(d, types, nodes)) if world.interactive else policy,
        outlook=draw_outlook(d, jobs, round_seconds) if d.chance(30) else None,
        claims=draw_claims(d, world, jobs),
    )


@st.composite
def guaranteed(draw: st.DrawFn, size: Size = "small") -> Round:
    """Valid rounds as of :func:`rounds`, in which some queues are guaranteed devices."""
    round_, d = draw(rounds(size)), Draw(draw)
    queues = [replace(queue, device_guarantee=d.one((2, 4, 1, 8, None))) for queue in round_.queues]
    assume(any(queue.device_guarantee for queue in queues))
    return replace(round_, queues=tuple(queues))


@st.composite
def promising(draw: st.DrawFn, size: Size = "small") -> Round:
    """Valid rounds as of :func:`rounds`, with promises, wishes, and policies that make promises for age."""
    round_ = draw(rounds(size))
    d = Draw(draw)
    policy = replace(
        round_.policy,
        promise_after_seconds=d.one((60.0, None, 0.0)),
        longest_run_seconds=d.one((None, None, 3_000.0)),
    )
    made = draw_reservations(d, round_.cluster.nodes, round_.jobs, round_.round_seconds)
    return replace(round_, policy=policy, reservations=made)


@st.composite
def leaving(draw: st.DrawFn, size: Size = "small") -> Round:
    """Valid rounds as of :func:`rounds`, in which whole nodes that are left free are worth something.

    Single ones and blocks of several, of the shapes that are there and of one that is not.
    """
    round_ = draw(rounds(size))
    d = Draw(draw)
    shapes = {
        (node.accelerator_type, node.device_count)
        for node in round_.cluster.nodes
        if node.accelerator_type is not None and node.device_count
    }
    found = []
    for kind, devices in (*sorted(shapes), ("gone", 8)):
        for nodes in (1, d.one((2, 2, 3))):
            if d.chance(70):
                level = d.one((None, *round_.cluster.topology.levels)) if nodes > 1 else None
                worth = nodes * devices * d.one((0.5, 0.25, 1.0, 4.0, 0.0))
                found.append(FreeBlocks(kind, devices, nodes, level, d.one((1, 2, 3, 0)), worth))
    outlook = round_.outlook or Outlook(NOW - round_.round_seconds, round_.round_seconds)
    return replace(
        round_,
        policy=replace(round_.policy, residual_weight=d.one((1.0, 0.5, 3.0))),
        outlook=replace(outlook, free_blocks=tuple(found)),
    )
