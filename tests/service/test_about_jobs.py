"""ExplainJob, RecommendPlacements and ComputeFairShares over gRPC and in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from gangplan.client import AsyncClient, Client
from gangplan.client.transport import InProcessTransport
from gangplan.errors import ServiceError
from gangplan.planning.scenario import expand, load
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.planner import EnginePlanner
from gangplan.service.server import Server
from gangplan.service.wire import read_plan, write_round
from gangplan.v1 import placement_service_pb2, round_pb2, session_service_pb2

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FULL, QUOTA, QUEUES, WORTH_IT = (
    expand(load(SCENARIOS / f"{name}.yaml"))
    for name in ("full-cluster", "quota", "fairness-queues", "preemption-worth-it")
)


@pytest.fixture(scope="module")
def placement():
    placement = Placement(EnginePlanner(1), ServerOptions(port=0, slots=1))
    yield placement
    placement.close()


@pytest.fixture
def client(placement) -> Client:
    return Client(transport=InProcessTransport(placement))


def test_a_waiting_job_is_explained_with_what_is_in_its_way_and_what_would_help(client):
    plan = client.plan_round(FULL, time_budget=60.0).plan
    found = client.explain_job(FULL, "waiting-1", plan=plan, time_budget=60.0)
    assert list(found.verdict.conflict_set) == ["job:a", "job:b", "job:c"]
    assert [change.message for change in found.verdict.counterfactuals] == [
        "fits if job a ends",
        "fits with 1 node more like n1",
    ]
    assert list(found.verdict.counterfactuals[0].jobs) == ["a"]
    assert found.message.endswith("it fits if job a ends")
    assert not found.HasField("action")
    assert not found.HasField("margin")


def test_a_queue_s_limit_is_named_and_by_how_much_it_is_short(client):
    plan = client.plan_round(QUOTA, time_budget=60.0).plan
    found = client.explain_job(QUOTA, "closed", plan=plan, time_budget=60.0)
    assert list(found.verdict.conflict_set) == ["queue:closed"]
    change = found.verdict.counterfactuals[0]
    assert (change.queue, change.resource, change.amount) == ("closed", "devices", 1)


def test_a_job_that_runs_is_told_why_there_and_what_is_next_best(client):
    found = client.explain_job(expand(load(SCENARIOS / "types.yaml")), "vision", time_budget=60.0)
    assert found.action.job == "vision"
    assert not found.HasField("verdict")
    assert found.message.startswith("vision runs on ")


def test_places_come_best_first_with_whole_plans_that_pass(client):
    found = client.recommend_placements(WORTH_IT, "urgent", time_budget=60.0)
    (place,) = found.recommendations
    assert list(place.evicted) == ["low"]
    assert place.value == pytest.approx(sum(term.contribution for term in place.terms))
    plan = read_plan(round_pb2.PlanRoundResponse(plan=place.plan))
    judged = client.validate_plan(WORTH_IT, plan)
    assert judged.valid
    assert judged.objective == pytest.approx(found.value_without + place.value)
    assert not client.recommend_placements(
        WORTH_IT, "urgent", without_evictions=True, time_budget=60.0
    ).recommendations


def test_without_a_place_there_is_a_verdict(client):
    found = client.recommend_placements(QUOTA, "closed", time_budget=60.0)
    assert not found.recommendations
    assert found.verdict.code == "QUEUE_LIMIT"


def test_shares_say_what_they_mean_and_where_that_comes_from(client):
    found = client.compute_fair_shares(QUEUES)
    assert sum(job.share for job in found.jobs) == pytest.approx(1.0)
    assert {queue.queue: queue.share for queue in found.queues} == pytest.approx({"lab": 0.25, "shop": 0.75})
    named = {definition.name for definition in found.definitions}
    fields = {
        field.name
        for kind in (placement_service_pb2.JobFairShare, placement_service_pb2.QueueFairShare)
        for field in kind.DESCRIPTOR.fields
    }
    assert named <= fields
    assert fields - named == {"job", "queue", "devices", "weight"}
    assert all(definition.formula and definition.source for definition in found.definitions)


def test_rounds_on_a_session_are_asked_about_as_well(placement, client):
    opening = session_service_pb2.OpenSessionRequest(snapshot=write_round(QUEUES))
    state = placement.session_calls.open_session([opening.SerializeToString()], "").session
    request = placement_service_pb2.ComputeFairSharesRequest()
    request.round.session.session_id = state.session_id
    request.round.now.FromNanoseconds(round(QUEUES.now * 1e9))
    from gangplan.service.call import Call

    found = placement.about_jobs.compute_fair_shares(request, Call())
    assert found == client.compute_fair_shares(QUEUES)


@pytest.mark.parametrize(
    ("ask", "field"),
    [
        (lambda c: c.explain_job(FULL, "nobody"), "job"),
        (lambda c: c.recommend_placements(FULL, "nobody"), "job"),
        (lambda c: c.recommend_placements(FULL, "a", limit=0), "limit"),
        (lambda c: c.recommend_placements(FULL, "a", limit=101), "limit"),
        (lambda c: c.recommend_placements(FULL, ""), "job"),
    ],
    ids=["no such job", "no job to place", "no places", "too many places", "no name"],
)
def test_what_is_wrong_is_refused_by_path(client, ask, field):
    with pytest.raises(ServiceError) as raised:
        ask(client)
    assert [violation.field for violation in raised.value.violations] == [field]


def test_a_plan_that_breaks_a_rule_is_refused(client):
    plan = client.plan_round(FULL, time_budget=60.0).plan
    from dataclasses import replace

    doubled = replace(plan, actions=(*plan.actions, replace(plan.actions[0], id="x", job="waiting-1")))
    with pytest.raises(ServiceError) as raised:
        client.explain_job(FULL, "waiting-1", plan=doubled)
    assert raised.value.violations[0].field == "plan"


def test_a_request_without_a_round_is_refused(placement):
    from gangplan.errors import InvalidInputError
    from gangplan.service.call import Call

    about = placement.about_jobs
    for call, request in (
        (about.explain_job, placement_service_pb2.ExplainJobRequest(job="a")),
        (about.recommend_placements, placement_service_pb2.RecommendPlacementsRequest(job="a")),
        (about.compute_fair_shares, placement_service_pb2.ComputeFairSharesRequest()),
    ):
        with pytest.raises(InvalidInputError, match="round: must be set"):
            call(request, Call())


async def test_the_same_over_grpc(placement):
    async with (
        Server(ServerOptions(port=0), placement=placement) as server,
        AsyncClient(server.address) as client,
    ):
        shares = await client.compute_fair_shares(QUEUES)
        places = await client.recommend_placements(WORTH_IT, "urgent", time_budget=60.0)
        told = await client.explain_job(WORTH_IT, "urgent", time_budget=60.0)
        methods = (await client.get_capabilities()).methods
    assert len(shares.jobs) == 2
    assert list(places.recommendations[0].evicted) == ["low"]
    assert told.action.job == "urgent"
    for method in ("ExplainJob", "RecommendPlacements", "ComputeFairShares"):
        assert f"gangplan.v1.PlacementService.{method}" in methods
