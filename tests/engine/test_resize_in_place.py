"""A job that may be resized but not moved goes on where it is, on nodes that take it anew."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gangplan.domain.job import Capabilities, Job
from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, group, job, node, round_of, taint
from gangplan.testing.strategies import rounds


def planned(round_: Round):
    return plan_round(round_, PlanParameters(solver="highs", time_budget_seconds=600.0))


@pytest.mark.parametrize("fields", [{}, {"cordoned": True}, {"taints": (taint("team", "x"),)}])
def test_it_shrinks_only_onto_nodes_that_take_it_anew(fields):
    """elastic has one task on a and one on b. rival wants both devices of b: elastic goes on with that on a,
    but not where a is closed to whoever starts. c, where it may not move, is no way out.
    """
    elastic = job(
        "elastic",
        group(count=2, counts=[1, 2]),
        running=(at("a", [0]), at("b", [0])),
        checkpoint_age=0.0,
        capabilities=Capabilities(movable=False),
    )
    rival = job("rival", gpus=2, weight=8.0, required="node")
    nodes = [node("a", "H100", 1, **fields), node("b", "H100", 2), node("c", "H100", 1)]
    result = planned(round_of(nodes, [elastic, rival]))
    assert "rejected" not in result.detail
    shrunk = [action for action in result.plan.actions if action.kind is ActionKind.RESIZE]
    assert [action.placements for action in shrunk] == ([] if fields else [(at("a", [0]),)])


def rooted(one: Job) -> Job:
    """The same job, which may be resized but not moved, to half its count at least."""
    groups = tuple(
        replace(g, allowed_counts=tuple(sorted({*g.allowed_counts, max(1, g.count // 2)})))
        for g in one.component.task_groups
    )
    component = replace(one.component, task_groups=groups)
    return replace(one, component=component, capabilities=Capabilities(movable=False))


@st.composite
def rooted_rounds(draw: st.DrawFn) -> Round:
    """Rounds whose running jobs are :func:`rooted`, on nodes some of which are closed to new tasks."""
    round_ = draw(rounds("small"))
    nodes = [replace(n, cordoned=draw(st.booleans())) for n in round_.cluster.nodes]
    nodes += [replace(n, name=f"spare-{n.name}") for n in nodes if not n.cordoned]
    jobs = tuple(rooted(one) if one.running else one for one in round_.jobs)
    return replace(round_, cluster=replace(round_.cluster, nodes=tuple(nodes)), jobs=jobs)


@settings(suppress_health_check=list(HealthCheck))
@given(rooted_rounds())
def test_no_plan_with_rooted_jobs_breaks_a_rule(round_):
    result = planned(round_)
    assert "rejected" not in result.detail
    assert verify(round_, result.plan).violations == ()
