"""Victims with notice: who takes their places waits, and claims them until they are free (P4, P8, P28)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangplan.domain.cluster import NodeHealth
from gangplan.domain.job import Gate, Job, Running
from gangplan.domain.plan import Action, ActionKind, Claim, ForcedReason, Plan, RoundResult
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.verifier.verify import verify
from gangplan.testing.apply import begin
from gangplan.testing.builders import act, at, job, node, plan_of, round_of

H = "H100"
NOW = 10_000.0
LENGTH = 300.0


def planned(round_: Round, pipeline: str = "full") -> RoundResult:
    return plan_round(round_, PlanParameters(time_budget_seconds=600.0, solver="highs", pipeline=pipeline))


def actions(result: RoundResult) -> dict[str, Action]:
    return {action.job: action for action in result.plan.actions}


def kinds(result: RoundResult) -> dict[str, str]:
    return {name: action.kind.value for name, action in actions(result).items()}


def victim(name: str, where: str, **fields: object) -> Job:
    """A light job on all four devices of a node that needs 90 s to write a checkpoint."""
    return job(name, gpus=4, weight=0.1, running=at(where, range(4)), checkpoint_seconds=90.0, **fields)


def contended(*more: Job, nodes: str = "a", **fields: object) -> Round:
    """Light jobs hold the nodes, and a heavy one wants one of them."""
    running = [victim(f"light-{name}", name) for name in nodes]
    return round_of(
        [node(name, H, 4) for name in nodes],
        [*running, job("heavy", gpus=4, weight=5.0), *more],
        now=NOW,
        round_seconds=LENGTH,
        **fields,
    )


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
def test_who_waits_for_notice_starts_after_it_and_claims_the_place(pipeline):
    result = planned(contended(), pipeline)
    start = actions(result)["heavy"]
    assert kinds(result) == {"light-a": "EVICT", "heavy": "PLACE"}
    assert (start.depends_on, start.not_before) == (("evict/light-a",), NOW + 90.0)
    (claim,) = result.plan.claims
    assert claim == Claim("heavy", start.placements, NOW + 90.0 + 2 * LENGTH, ("evict/light-a",))


def test_a_stop_with_notice_loses_its_time_and_no_work():
    round_ = contended()
    lost = planned(round_).quality.objective_by_term["switching"]
    assert lost == pytest.approx(-90.0 * 4 / round_.horizon_seconds)


def test_a_start_before_the_notice_has_ended_is_a_violation():
    round_ = contended()
    plan = planned(round_).plan
    hasty = replace(plan, actions=tuple(replace(a, not_before=None) for a in plan.actions))
    assert {v.rule for v in verify(round_, hasty).violations} == {"order.too-soon"}


def test_what_is_being_stopped_still_holds_its_place_and_the_start_waits_for_it():
    first = planned(contended(nodes="ab"))
    (claim,) = first.plan.claims
    under_way = begin(contended(nodes="ab"), first.plan)
    again = planned(under_way)
    stopping = claim.placements[0].node
    assert kinds(again)["heavy"] == "PLACE"
    assert actions(again)["heavy"].placements == claim.placements
    evicted = actions(again)[f"light-{stopping}"]
    assert (evicted.kind, evicted.forced) == (ActionKind.EVICT, ForcedReason.STOPPING)
    assert actions(again)["heavy"].depends_on == (f"evict/light-{stopping}",)
    assert again.plan.claims == (replace(claim, freed_by=(f"evict/light-{stopping}",)),)


@pytest.mark.parametrize("pipeline", ["greedy", "full"])
def test_nobody_else_takes_a_claimed_place_and_the_claimant_does_not_change_its_target(pipeline):
    """The victim is gone, another job is worth more, and a better place has become free meanwhile."""
    claim = Claim("heavy", (at("a", range(4)),), NOW + 60.0)
    jobs = [job("heavy", gpus=4, weight=5.0), job("heavier", gpus=4, weight=50.0)]
    speeds = {H: 1.0, "fast": 4.0}
    round_ = round_of([node("a", H, 4), node("b", "fast", 4)], jobs, types=speeds, now=NOW, claims=(claim,))
    result = planned(round_, pipeline)
    assert {name: action.placements[0].node for name, action in actions(result).items()} == {
        "heavy": "a",
        "heavier": "b",
    }
    alone = replace(round_, cluster=replace(round_.cluster, nodes=round_.cluster.nodes[:1]))
    assert kinds(planned(alone, pipeline)) == {"heavy": "PLACE"}
    expired = replace(alone, claims=(replace(claim, expires_at=NOW),))
    assert kinds(planned(expired, pipeline)) == {"heavier": "PLACE"}


VOID = {
    "its job is unknown": lambda r: replace(r, claims=(replace(r.claims[0], job="nobody"),)),
    "its job may not start": lambda r: replace(
        r, jobs=tuple(replace(j, gate=Gate(held=j.name == "heavy")) for j in r.jobs)
    ),
    "the node is gone": lambda r: replace(r, cluster=replace(r.cluster, nodes=r.cluster.nodes[1:])),
    "the node is sick": lambda r: replace(
        r,
        cluster=replace(
            r.cluster,
            nodes=(replace(r.cluster.nodes[0], health=NodeHealth.UNHEALTHY), *r.cluster.nodes[1:]),
        ),
    ),
    "somebody runs there": lambda r: replace(
        r, jobs=(replace(r.jobs[1], running=Running((at("a", range(4)),))), r.jobs[0])
    ),
    "the quota is cut": lambda r: replace(
        r,
        queues=(Queue("q", device_limit=3),),
        jobs=tuple(replace(j, queue="q" if j.name == "heavy" else None) for j in r.jobs),
    ),
    "it asks for too little": lambda r: replace(
        r, claims=(replace(r.claims[0], placements=(at("a", range(3)),)),)
    ),
}


@pytest.mark.parametrize("cut", VOID.values(), ids=VOID)
def test_a_claim_that_cannot_be_taken_is_void(cut):
    claim = Claim("heavy", (at("a", range(4)),), NOW + 60.0)
    jobs = [job("heavy", gpus=4, weight=5.0), job("other", gpus=4)]
    round_ = cut(round_of([node("a", H, 4), node("b", H, 4)], jobs, now=NOW, claims=(claim,)))
    assert planned(round_).plan.claims == ()
    assert not [v for v in verify(round_, Plan()).violations if v.rule.startswith("claim.")]


def test_a_plan_that_does_not_take_a_claim_breaks_a_rule():
    claim = Claim("heavy", (at("a", range(4)),), NOW + 60.0)
    round_ = round_of([node("a", H, 4)], [job("heavy", gpus=4)], now=NOW, claims=(claim,))
    assert {v.rule for v in verify(round_, Plan()).violations} == {"claim.not-taken"}
    taken = act(ActionKind.PLACE, "heavy", at("a", range(4)), scope="node", throughput=4.0)
    assert verify(round_, plan_of(taken)).valid


def test_a_claim_is_never_renewed():
    claim = Claim("heavy", (at("a", range(4)),), NOW + 60.0)
    round_ = round_of([node("a", H, 4)], [job("heavy", gpus=4)], now=NOW, claims=(claim,))
    assert planned(round_).plan.claims == (claim,)


def test_two_claims_of_one_job_for_one_moment_are_told_apart_by_their_places():
    mine = [Claim("heavy", (at(where, range(4)),), NOW + 60.0) for where in "ab"]
    nodes, jobs = [node("a", H, 4), node("b", H, 4)], [job("heavy", gpus=4)]
    for claims in (mine, mine[::-1]):
        start = actions(planned(round_of(nodes, jobs, now=NOW, claims=tuple(claims)), "greedy"))["heavy"]
        assert {placement.node for placement in start.placements} == {"a"}
