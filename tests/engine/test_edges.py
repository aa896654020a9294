"""Rounds at the edge of what is valid are answered, not crashed on."""

from __future__ import annotations

import pytest

from gangplan.domain.plan import ActionKind, TerminationReason
from gangplan.engine.parameters import Pipeline, PlanParameters
from gangplan.engine.round import plan_round
from gangplan.testing.builders import at, group, job, node, round_of

CPU_JOB = job("j", group(gpus=0, cpu=1))


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
@pytest.mark.parametrize(
    ("nodes", "jobs", "kinds"),
    [
        pytest.param([], [], [], id="nothing at all"),
        pytest.param([], [CPU_JOB], [], id="no node"),
        pytest.param([], [job("j", running=at("gone", [0]))], [ActionKind.EVICT], id="no node any more"),
        pytest.param([node("a", "H100", 8)], [], [], id="no job"),
        pytest.param([node("a")], [CPU_JOB], [ActionKind.PLACE], id="no accelerator in the catalogue"),
        pytest.param([node("a", cordoned=True)], [CPU_JOB], [], id="no node open"),
        pytest.param([node("a", "H100", 2, others=range(2))], [job("j")], [], id="no device left"),
    ],
)
def test_edges(nodes, jobs, kinds, pipeline: Pipeline) -> None:
    result = plan_round(round_of(nodes, jobs), PlanParameters(pipeline=pipeline, time_budget_seconds=30.0))
    assert [action.kind for action in result.plan.actions] == kinds
    assert result.reason is TerminationReason.OPTIMAL
    placed = sum(kind is ActionKind.PLACE for kind in kinds)
    assert len(result.verdicts) == len(jobs) - placed
