"""A suite's groups may override the planner's steps."""

from __future__ import annotations

from gangplan.bench.rounds import parameters
from gangplan.bench.runs import Run
from gangplan.engine.steps import UNCHANGED, Steps


def test_a_group_may_say_steps() -> None:
    run = Run(suite="mine", kind="rounds", instance="S/steady/50/seed0", options={"steps": ["sift=0.5"]})
    assert parameters(run).steps == Steps(sift=0.5)
    assert parameters(Run(suite="mine", kind="rounds", instance="S/steady/50/seed0")).steps == UNCHANGED
