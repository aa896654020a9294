"""Which voluntary actions have no lasting gain."""

from __future__ import annotations

from dataclasses import replace

from gangplan.bench.churn import undoubted, voluntary, without_lasting_gain
from gangplan.domain.plan import ActionKind
from gangplan.domain.policy import Policy
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.testing.builders import at, job, node, round_of


def moved(slow: float) -> Round:
    """A job that runs at ``slow`` a second and could run at 10 elsewhere, at no cost."""
    profile = {("A100", 1, "node"): slow, ("H100", 1, "node"): 10.0}
    running = job("j", profile="p", running=at("a", [0]), checkpoint_age=0.0)
    nodes = [node("a", "A100", 1), node("b", "H100", 1)]
    return round_of(nodes, [running], profiles={"p": profile}, policy=Policy(hysteresis=0.05))


def test_a_gain_counts_where_it_lasts_without_the_noise() -> None:
    """Seen at 8.9, moving pays; so it does at 9.6 when nothing is doubted, and at 10 and above never."""
    plan = plan_round(moved(8.9), PlanParameters(pipeline="greedy")).plan
    assert [action.kind for action in voluntary(plan)] == [ActionKind.MIGRATE]
    for slow, idle, sure in ((8.9, 0, 0), (9.6, 1, 0), (10.0, 1, 1), (10.4, 1, 1)):
        round_ = moved(slow)
        assert len(without_lasting_gain(round_, plan)) == idle
        assert len(without_lasting_gain(undoubted(round_), plan)) == sure
    assert undoubted(round_) == replace(round_, policy=replace(round_.policy, hysteresis=0.0))
