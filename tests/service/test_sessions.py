"""Sessions over gRPC on loopback: snapshot, deltas, rounds, outcomes, restart."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from gangplan.domain.job import Job
from gangplan.domain.plan import ActionKind
from gangplan.engine.parameters import PlanParameters
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.planner import EnginePlanner
from gangplan.service.server import Server
from gangplan.service.sessions.opened import open_sessions
from gangplan.service.sessions.registry import Sessions
from gangplan.service.sessions.store import MemoryStore
from gangplan.service.wire import read_plan, read_round_request, write_round
from gangplan.service.wire.difference import expand
from gangplan.service.wire.session_content import content_of, request_of
from gangplan.v1 import (
    placement_service_pb2_grpc,
    round_pb2,
    session_pb2,
    session_service_pb2,
    session_service_pb2_grpc,
)

GREEDY = PlanParameters(pipeline="greedy", time_budget_seconds=20.0)


class Greedy(EnginePlanner):
    """The engine, without solver processes."""

    def __init__(self) -> None:
        super().__init__(workers=1)

    def warm(self) -> None:
        from gangplan.engine.practice import compile_loops

        compile_loops()


class Talk:
    """Both services on one channel."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.sessions: Any = session_service_pb2_grpc.SessionServiceStub(channel)
        self.placement: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)

    async def open(self, *chunks: round_pb2.PlanRoundRequest, **more: Any) -> session_pb2.SessionState:
        last = len(chunks) - 1
        requests = [
            session_service_pb2.OpenSessionRequest(**{"snapshot": chunk, "more": number != last, **more})
            for number, chunk in enumerate(chunks)
        ]
        return (await self.sessions.OpenSession(iter(requests))).session

    async def plan(
        self, state: session_pb2.SessionState, now: float, **session: Any
    ) -> round_pb2.PlanRoundResponse:
        return await self.placement.PlanRound(asked(state, now, **session))

    async def delta(self, state: session_pb2.SessionState, **changes: Any) -> session_pb2.SessionState:
        changes.setdefault("base_revision", state.revision)
        request = session_service_pb2.ApplyDeltaRequest(session_id=state.session_id, **changes)
        return (await self.sessions.ApplyDelta(request)).session

    async def report(
        self, state: session_pb2.SessionState, plan_id: str, now: float, **outcomes: str
    ) -> session_pb2.SessionState:
        request = session_service_pb2.ReportOutcomesRequest(
            session_id=state.session_id,
            plan_id=plan_id,
            outcome_by_action={
                name: getattr(session_service_pb2, f"ACTION_OUTCOME_{outcome}")
                for name, outcome in outcomes.items()
            },
        )
        request.now.FromNanoseconds(round(now * 1e9))
        return (await self.sessions.ReportOutcomes(request)).session

    async def get(self, state: session_pb2.SessionState) -> session_pb2.SessionState:
        request = session_service_pb2.GetSessionRequest(session_id=state.session_id)
        return (await self.sessions.GetSession(request)).session


def asked(
    state: session_pb2.SessionState, now: float, request_id: str = "", **session: Any
) -> round_pb2.PlanRoundRequest:
    request = round_pb2.PlanRoundRequest(request_id=request_id)
    request.session.CopyFrom(session_pb2.SessionRound(session_id=state.session_id, **session))
    request.now.FromNanoseconds(round(now * 1e9))
    return request


@contextlib.asynccontextmanager
async def talking(planner: Any, sessions: Sessions | None = None, **settings: Any) -> AsyncIterator[Talk]:
    options = ServerOptions(port=0, **settings)
    placement = Placement(planner, options, sessions=sessions or open_sessions(options))
    async with (
        Server(options, placement=placement) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        yield Talk(channel)


@contextlib.asynccontextmanager
async def refused(code: grpc.StatusCode, reason: str, *fields: str) -> AsyncIterator[list[str]]:
    """The call within fails so, and names these fields; what it says of them comes out in the list."""
    said: list[str] = []
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        yield said
    assert caught.value.code() is code, caught.value
    status = rpc_status.from_call(caught.value)
    assert status is not None
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in status.details:
        detail.Unpack(info)
        detail.Unpack(bad)
    assert info.reason == reason
    assert [violation.field for violation in bad.field_violations] == list(fields)
    said += [violation.description for violation in bad.field_violations]


def resync(code: grpc.StatusCode = grpc.StatusCode.ABORTED) -> Any:
    return refused(code, "RESYNC_REQUIRED")


def invalid(*fields: str, reason: str = "INVALID_INPUT") -> Any:
    return refused(grpc.StatusCode.INVALID_ARGUMENT, reason, *fields)


def starts(answer: round_pb2.PlanRoundResponse) -> list[str]:
    return sorted(action.job for action in read_plan(answer).actions if action.kind is ActionKind.PLACE)


def kinds(answer: round_pb2.PlanRoundResponse) -> dict[str, str]:
    return {action.job: action.kind.value for action in read_plan(answer).actions}


async def test_a_snapshot_in_chunks_is_the_round_that_it_is_of(make_round: Any) -> None:
    request = write_round(make_round(jobs=3), GREEDY)
    first, second = round_pb2.PlanRoundRequest(), round_pb2.PlanRoundRequest()
    first.CopyFrom(request)
    del first.jobs[1:]
    second.jobs.extend(request.jobs[1:])
    async with talking(Greedy()) as talk:
        state = await talk.open(first, second)
        assert state.revision == 1
        assert state.digest == content_of(request).digest
        answer = await talk.plan(state, make_round().now)
        alone = await talk.placement.PlanRound(request)
    assert answer.plan == alone.plan
    assert answer.verified
    assert answer.session.plan_id == "p1"
    assert (answer.session.revision, answer.session.digest) == (1, state.digest)


async def test_a_snapshot_whose_caller_leaves_midway_opens_no_session(make_round: Any) -> None:
    """The loop reads the end of such a stream before it hears that the call is cancelled."""
    sessions = Sessions(MemoryStore())
    chunk = session_service_pb2.OpenSessionRequest(snapshot=write_round(make_round(), GREEDY), more=True)
    async with talking(Greedy(), sessions) as talk:
        for _ in range(40):
            call = talk.sessions.OpenSession()
            await call.write(chunk)
            call.cancel()
        async with invalid("more"):
            await talk.sessions.OpenSession(iter([chunk]))
        async with invalid("more") as said:
            chunk.more = False
            await talk.sessions.OpenSession(iter([chunk, session_service_pb2.OpenSessionRequest()]))
        assert "number 1" in said[0]
        assert sessions.held == 0


async def test_what_is_wrong_with_a_snapshot_is_said_by_path(make_round: Any) -> None:
    request = write_round(make_round(), GREEDY)
    other = round_pb2.PlanRoundRequest(policy=request.policy)
    other.session.session_id = "s"
    async with talking(Greedy()) as talk:
        async with invalid("snapshot.policy", "snapshot.session"):
            await talk.open(request, other)
        async with invalid("snapshot.now", "snapshot.jobs[0].queue"):
            broken = write_round(make_round(), GREEDY)
            broken.ClearField("now")
            broken.jobs[0].queue = "nobody"
            await talk.open(broken)
        async with invalid("time_to_live"):
            await talk.open(request, time_to_live={"nanos": 5})


async def test_a_snapshot_with_an_id_opens_one_session(make_round: Any) -> None:
    request = write_round(make_round(), PlanParameters(request_id="mine", pipeline="greedy"))
    async with talking(Greedy()) as talk:
        first, again = await talk.open(request), await talk.open(request)
        assert first.session_id == again.session_id
        request.jobs[1].weight = 2.0
        async with invalid("snapshot.request_id"):
            await talk.open(request)
        request.request_id = "other"
        assert (await talk.open(request)).session_id != first.session_id


async def test_deltas_lead_where_a_snapshot_leads(make_round: Any) -> None:
    before, after = write_round(make_round(jobs=3, nodes=2)), write_round(make_round(jobs=5, nodes=3))
    del after.jobs[1]
    async with talking(Greedy()) as talk:
        state = await talk.open(before)
        state = await talk.delta(state, upsert_nodes=after.cluster.nodes[2:], remove_jobs=["job-1"])
        state = await talk.delta(state, upsert_jobs=after.jobs[2:])
        assert state.revision == 3
        assert state.digest == (await talk.open(after)).digest == content_of(after).digest
        answer = await talk.plan(state, make_round().now)
        alone = await talk.placement.PlanRound(after)
    assert answer.plan == alone.plan


async def test_the_same_delta_twice_is_one_delta_and_another_one_has_to_resync(make_round: Any) -> None:
    async with talking(Greedy()) as talk:
        opened = await talk.open(write_round(make_round(jobs=3)))
        state = await talk.delta(opened, remove_jobs=["job-1"])
        again = await talk.delta(opened, remove_jobs=["job-1"])
        assert (again.revision, again.digest) == (state.revision, state.digest) == (2, again.digest)
        assert (await talk.get(opened)).revision == 2
        async with resync():
            await talk.delta(opened, remove_jobs=["job-2"])
        async with resync():
            await talk.delta(state, remove_jobs=["job-2"], base_digest=opened.digest)
        async with resync():
            await talk.plan(state, make_round().now, revision=1)
        async with resync():
            await talk.plan(state, make_round().now, digest=opened.digest)
        assert (await talk.get(opened)).digest == state.digest


async def test_an_unknown_session_has_to_resync(make_round: Any) -> None:
    nowhere = session_pb2.SessionState(session_id="nowhere")
    async with talking(Greedy()) as talk:
        for call in (
            talk.get(nowhere),
            talk.delta(nowhere),
            talk.plan(nowhere, make_round().now),
            talk.report(nowhere, "p1", make_round().now),
            talk.sessions.CloseSession(session_service_pb2.CloseSessionRequest(session_id="nowhere")),
        ):
            async with resync(grpc.StatusCode.NOT_FOUND):
                await call


async def test_a_closed_session_is_gone(make_round: Any) -> None:
    async with talking(Greedy()) as talk:
        state = await talk.open(write_round(make_round()))
        await talk.sessions.CloseSession(session_service_pb2.CloseSessionRequest(session_id=state.session_id))
        async with resync(grpc.StatusCode.NOT_FOUND):
            await talk.get(state)


async def test_what_is_wrong_with_a_delta_is_said_by_path_and_nothing_is_changed(make_round: Any) -> None:
    request = write_round(make_round(jobs=3))
    request.queues.add(name="lab")
    request.jobs[1].queue = "lab"
    bad = round_pb2.PlanRoundRequest.FromString(request.SerializeToString())
    bad.jobs[2].weight = -1.0
    bad.jobs[2].queue = "nowhere"
    async with talking(Greedy()) as talk:
        state = await talk.open(request)
        async with invalid("upsert_jobs[0].queue", "upsert_jobs[0].weight"):
            await talk.delta(state, upsert_jobs=[bad.jobs[2]])
        async with invalid("remove_queues") as said:
            await talk.delta(state, remove_queues=["lab"])
        assert said == ["job 'job-1'.queue: no queue is named 'lab'"]
        async with invalid("upsert_nodes[0].name", "remove_jobs[0]", "remove_jobs[2]"):
            await talk.delta(
                state, remove_jobs=["ghost", "job-1", "job-1"], upsert_nodes=[{"device_count": 1}]
            )
        async with invalid('upsert_jobs[0].labels["a"]', reason="UNSUPPORTED_FIELD"):
            await talk.delta(state, upsert_jobs=[{"name": "j", "labels": {"a": "b"}}])
        async with invalid("upsert_job_classes[0].template.running"):
            await talk.delta(state, upsert_job_classes=[{"names": ["a", "b"], "template": {"running": {}}}])
        assert (await talk.get(state)).revision == 1


async def test_a_delta_can_be_tried_out(make_round: Any) -> None:
    async with talking(Greedy()) as talk:
        state = await talk.open(write_round(make_round(jobs=3)))
        tried = await talk.delta(state, remove_jobs=["job-1"], validate_only=True)
        assert (await talk.get(state)).digest == state.digest
        done = await talk.delta(state, remove_jobs=["job-1"])
        assert (tried.revision, tried.digest) == (done.revision, done.digest)


async def test_starts_are_in_flight_and_count_until_it_is_said_what_became_of_them(make_round: Any) -> None:
    round_ = make_round(jobs=4, nodes=2)
    async with talking(Greedy()) as talk:
        state = await talk.open(write_round(round_, GREEDY))
        first = await talk.plan(state, round_.now)
        assert starts(first) == ["job-1", "job-2", "job-3"]
        ids = {action.job: action.action_id for action in read_plan_ids(first)}
        assert (await talk.get(state)).in_flight == sorted(f"p1/{ids[job]}" for job in starts(first))
        second = await talk.plan(state, round_.now + 10)
        assert set(kinds(second).values()) == {"KEEP"}
        outcomes = {ids["job-1"]: "BOUND", ids["job-2"]: "REFUSED"}
        state = await talk.report(state, "p1", round_.now + 20, **outcomes)
        assert state.revision == 2
        assert state.in_flight == [f"p1/{ids['job-3']}"]
        third = await talk.plan(state, round_.now + 30)
        assert kinds(third) == {"job-0": "KEEP", "job-1": "KEEP", "job-2": "PLACE", "job-3": "KEEP"}
        again = await talk.report(state, "p1", round_.now + 20, **outcomes)
        assert again.revision == 2
        async with invalid(f'outcome_by_action["{ids["job-1"]}"]', f'outcome_by_action["{ids["job-3"]}"]'):
            await talk.report(
                state, "p1", round_.now + 20, **{ids["job-1"]: "REFUSED", ids["job-3"]: "EVICTED"}
            )


def read_plan_ids(answer: round_pb2.PlanRoundResponse) -> Any:
    return answer.plan.actions


async def test_what_is_not_reported_is_void_after_two_rounds(make_round: Any) -> None:
    round_ = make_round(jobs=2)
    async with talking(Greedy()) as talk:
        state = await talk.open(write_round(round_, GREEDY))
        assert starts(await talk.plan(state, round_.now)) == ["job-1"]
        still = await talk.plan(state, round_.now + 2 * round_.round_seconds)
        assert kinds(still)["job-1"] == "KEEP"
        later = await talk.plan(state, round_.now + 2 * round_.round_seconds + 1)
        assert kinds(later)["job-1"] == "PLACE"


async def test_the_callers_own_word_overtakes_what_was_planned(make_round: Any) -> None:
    round_ = make_round(jobs=2)
    request = write_round(round_, GREEDY)
    async with talking(Greedy()) as talk:
        state = await talk.open(request)
        await talk.plan(state, round_.now)
        elsewhere = request.jobs[1]
        placed = elsewhere.running.placements.add(group="worker", node="node-1", tasks=1)
        placed.devices.extend([2, 3])
        state = await talk.delta(state, upsert_jobs=[elsewhere])
        assert state.in_flight == []
        answer = await talk.plan(state, round_.now + 5)
        [kept] = [action for action in answer.plan.actions if action.job == "job-1"]
        assert (kept.placements[0].node, list(kept.placements[0].devices)) == ("node-1", [2, 3])


async def test_advice_changes_nothing(make_round: Any) -> None:
    round_ = make_round(jobs=2)
    async with talking(Greedy()) as talk:
        state = await talk.open(write_round(round_, GREEDY))
        advice = await talk.plan(state, round_.now, advisory=True)
        assert starts(advice) == ["job-1"]
        assert advice.session.plan_id == ""
        assert (await talk.get(state)).in_flight == []
        assert (await talk.plan(state, round_.now)).plan == advice.plan


async def test_a_round_is_only_checked(make_round: Any) -> None:
    round_ = make_round(jobs=2)
    request = write_round(round_, GREEDY)
    async with talking(Greedy()) as talk:
        state = await talk.open(request)
        for checked in (request, asked(state, round_.now)):
            checked.validate_only = True
            answer = await talk.placement.PlanRound(checked)
            assert not answer.HasField("plan")
            assert not answer.verified
        request.jobs[0].weight = -1.0
        async with invalid("jobs[0].weight"):
            await talk.placement.PlanRound(request)
        assert (await talk.get(state)).in_flight == []


async def test_what_is_the_sessions_is_refused_in_a_round(make_round: Any) -> None:
    round_ = make_round()
    request = write_round(round_, GREEDY)
    request.policy.Clear()
    async with talking(Greedy()) as talk:
        state = await talk.open(request)
        request.session.session_id = state.session_id
        request.ClearField("now")
        async with invalid("cluster", "accelerators", "jobs", "now"):
            await talk.placement.PlanRound(request)


async def test_a_plan_comes_as_the_difference_from_the_last(make_round: Any) -> None:
    round_ = make_round(jobs=9, nodes=3)
    request = write_round(round_, GREEDY)
    async with talking(Greedy()) as talk:
        state = await talk.open(request)
        first = await talk.plan(state, round_.now)
        waiting = [verdict.job for verdict in first.verdicts]
        assert len(waiting) == 3
        gone = "job-1"
        state = await talk.delta(state, remove_jobs=[gone])
        whole = await talk.plan(state, round_.now + 5, advisory=True)
        short = await talk.plan(state, round_.now + 5, difference_from="p1")
        assert short.session.difference_from == "p1"
        assert len(short.plan.actions) + len(short.verdicts) < len(whole.plan.actions) + len(whole.verdicts)
        jobs = {f"job-{number}" for number in range(9)} - {gone}
        again = expand(first, short, jobs)
        assert {(each.job, each.kind, str(each.placements)) for each in again.plan.actions} == {
            (each.job, each.kind, str(each.placements)) for each in whole.plan.actions
        }
        assert again.verdicts == whole.verdicts
        other = await talk.plan(state, round_.now + 6, difference_from="p1")
        assert other.session.difference_from == ""


async def test_a_round_with_an_id_has_one_answer_and_one_effect(make_round: Any) -> None:
    round_ = make_round(jobs=2)
    async with talking(Greedy()) as talk:
        state = await talk.open(write_round(round_, GREEDY))
        first = await talk.placement.PlanRound(asked(state, round_.now, "r1"))
        again = await talk.placement.PlanRound(asked(state, round_.now, "r1"))
        assert again == first
        assert (await talk.plan(state, round_.now + 1)).session.plan_id == "p2"
        async with invalid("request_id"):
            await talk.placement.PlanRound(asked(state, round_.now + 1, "r1"))


async def test_several_callers_on_one_session_come_one_after_the_other(make_round: Any) -> None:
    round_ = make_round(jobs=8, nodes=2)
    async with talking(Greedy(), slots=4) as talk:
        state = await talk.open(write_round(round_, GREEDY))
        answers = await asyncio.gather(*(talk.plan(state, round_.now + number) for number in range(4)))
        placed = [job for answer in answers for job in starts(answer)]
        assert sorted(answer.session.plan_id for answer in answers) == ["p1", "p2", "p3", "p4"]
        assert placed == ["job-1", "job-2", "job-3"]


async def test_a_delta_meanwhile_overtakes_the_actions_of_its_jobs(make_round: Any, slow: Any) -> None:
    """P29: a plan for revision 1 does not overwrite what revision 2 says."""
    round_ = make_round(jobs=3)
    request = write_round(round_, GREEDY)
    planner = Greedy()
    plan = planner.plan

    def wait_and_plan(*words: Any, **more: Any) -> Any:
        slow.begun.release()
        assert slow.let_go.wait(10)
        return plan(*words, **more)

    planner.plan = wait_and_plan  # type: ignore[method-assign]
    async with talking(planner) as talk:
        state = await talk.open(request)
        planning = asyncio.ensure_future(talk.plan(state, round_.now))
        await asyncio.to_thread(slow.begun.acquire, timeout=10)
        heavier = request.jobs[1]
        heavier.weight = 7.0
        state = await talk.delta(state, upsert_jobs=[heavier])
        slow.let_go.set()
        answer = await planning
        assert starts(answer) == ["job-1", "job-2"]
        [late] = answer.session.overtaken
        assert late.endswith("job-1")
        assert [name.endswith("job-2") for name in (await talk.get(state)).in_flight] == [True]


async def test_sessions_come_back_after_a_restart(make_round: Any, tmp_path: Path) -> None:
    round_ = make_round(jobs=4)
    place = str(tmp_path / "state" / "sessions.db")
    async with served(place) as talk:
        state = await talk.open(write_round(round_, GREEDY))
        state = await talk.delta(state, remove_jobs=["job-3"])
        first = await talk.placement.PlanRound(asked(state, round_.now, "r1"))
        before = await talk.get(state)
    async with served(place) as talk:
        after = await talk.get(state)
        assert (after.revision, after.digest, after.in_flight) == (
            before.revision,
            before.digest,
            before.in_flight,
        )
        assert await talk.placement.PlanRound(asked(state, round_.now, "r1")) == first
        assert (await talk.delta(after, remove_jobs=["job-2"])).revision == 3
        assert await talk.delta(state, base_revision=1, remove_jobs=["job-3"])
        second = await talk.plan(after, round_.now + 1)
        assert kinds(second) == {"job-0": "KEEP", "job-1": "KEEP"}
        assert second.session.plan_id == "p2"


def served(place: str) -> Any:
    options = ServerOptions(sessions=place)
    return talking(Greedy(), open_sessions(options))


async def test_a_session_is_forgotten_when_it_is_not_used_in_time(make_round: Any) -> None:
    now = [1000.0]
    sessions = Sessions(MemoryStore(), time_to_live=60.0, most=2, clock=lambda: now[0])
    async with talking(Greedy(), sessions) as talk:
        state = await talk.open(write_round(make_round()), time_to_live={"seconds": 30})
        assert state.expires_at.seconds == 1030
        now[0] += 20
        assert (await talk.get(state)).expires_at.seconds == 1050
        other = await talk.open(write_round(make_round()), time_to_live={"seconds": 300})
        assert other.expires_at.seconds == 1080
        async with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED"):
            await talk.open(write_round(make_round()))
        now[0] += 30
        async with resync(grpc.StatusCode.NOT_FOUND):
            await talk.get(state)
        assert (await talk.open(write_round(make_round()))).revision == 1


async def test_what_is_kept_of_a_session_goes_with_it_though_nobody_asks(make_round: Any) -> None:
    now = [1000.0]
    sessions = Sessions(MemoryStore(), time_to_live=60.0, clock=lambda: now[0])
    options = ServerOptions(port=0, session_seconds=0.02)  # so often it looks for them
    placement = Placement(Greedy(), options, sessions=sessions)
    calls = placement.session_calls
    async with (
        Server(options, placement=placement) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        talk = Talk(channel)
        state = await talk.open(write_round(make_round(), GREEDY))
        await talk.plan(state, 1_000_000.0)
        now[0] += 59
        await asyncio.sleep(0.1)
        assert calls.known_parameters(state.session_id) is not None
        now[0] += 1
        for _ in range(1_000):
            if calls.known_parameters(state.session_id) is None and not sessions.held:
                break
            await asyncio.sleep(0.02)
        assert calls.known_parameters(state.session_id) is None
        assert sessions.held == 0


async def test_chunks_that_are_too_much_together_are_refused(make_round: Any) -> None:
    request = write_round(make_round(jobs=200))
    async with (
        talking(Greedy(), max_snapshot_bytes=request.ByteSize() // 2) as talk,
        refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "SNAPSHOT_TOO_LARGE"),
    ):
        await talk.open(request)


async def test_snapshots_on_their_way_are_bounded_together(make_round: Any) -> None:
    request = session_service_pb2.OpenSessionRequest(snapshot=write_round(make_round(jobs=20)))
    let_go = asyncio.Event()

    async def slowly() -> AsyncIterator[session_service_pb2.OpenSessionRequest]:
        yield request
        await let_go.wait()

    async def opened(talk: Talk) -> str:
        return (await talk.sessions.OpenSession(slowly())).session.session_id

    async with talking(Greedy(), max_snapshot_bytes=request.ByteSize()) as talk:
        calls = [asyncio.ensure_future(opened(talk)) for _ in range(5)]
        [late], others = await asyncio.wait(calls, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        async with refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED"):
            await late
        let_go.set()
        assert len(set(await asyncio.gather(*others))) == 4
        assert (await talk.open(request.snapshot)).revision == 1


def test_a_content_is_the_request_that_it_is_of(make_round: Any) -> None:
    round_ = make_round(jobs=6, nodes=4)
    content = content_of(write_round(round_, GREEDY, compact=True))
    assert content == content_of(write_round(round_, GREEDY))
    for compact in (True, False):
        request = request_of(content, compact=compact)
        request.now.FromNanoseconds(round(round_.now * 1e9))
        read, parameters = read_round_request(request)
        assert {job.name: job for job in read.jobs} == {job.name: job for job in round_.jobs}
        assert {each.name: each for each in read.cluster.nodes} == {
            each.name: each for each in round_.cluster.nodes
        }
        assert parameters == GREEDY
        assert content_of(request).digest == content.digest
    assert all(isinstance(job, Job) for job in round_.jobs)
