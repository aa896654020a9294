"""Both clients' sessions and AsyncClient, over gRPC on loopback and in process."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import grpc
import grpc.aio
import pytest

from gangplan.client import AsyncClient, Client
from gangplan.client.following import Following
from gangplan.client.transport import InProcessTransport
from gangplan.domain.job import Running
from gangplan.domain.plan import ActionKind, RoundResult
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.practice import compile_loops
from gangplan.engine.runner import Cancellation
from gangplan.errors import ServiceError
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.planner import EnginePlanner
from gangplan.service.wire import write_result, write_round
from gangplan.service.wire.session_content import content_of
from gangplan.v1 import placement_service_pb2, plan_pb2, session_pb2, session_service_pb2


class Greedy(EnginePlanner):
    """The engine, without solver processes; counts rounds."""

    def __init__(self) -> None:
        super().__init__(workers=1)
        self.rounds = 0

    def warm(self) -> None:
        compile_loops()

    def plan(self, *words: Any, **more: Any) -> RoundResult:
        self.rounds += 1
        return super().plan(*words, **more)


def kinds(result: RoundResult) -> dict[str, str]:
    return {action.job: action.kind.value for action in result.plan.actions}


def observed(round_: Round, result: RoundResult, seconds: float) -> Round:
    """The round a little later: what was to start runs."""
    starts = {action.job: action for action in result.plan.actions if action.kind is ActionKind.PLACE}
    jobs = tuple(
        replace(job, running=Running(starts[job.name].placements, started_at=round_.now))
        if job.name in starts
        else job
        for job in round_.jobs
    )
    return replace(round_, jobs=jobs, now=round_.now + seconds)


async def test_an_async_client_does_what_a_client_does(serving: Any, make_round: Any) -> None:
    round_ = make_round(jobs=4)
    async with serving(Greedy()) as server, AsyncClient(server.address) as client:

        def talk() -> tuple[Any, ...]:
            with Client(server.address) as other:
                result = other.plan_round(round_, pipeline="greedy")
                streamed = list(other.stream_round(round_, pipeline="greedy"))
                return (
                    result.plan,
                    streamed[-1].plan,
                    other.validate_plan(round_, result.plan),
                    other.list_solvers(),
                    other.get_capabilities(),
                )

        result = await client.plan_round(round_, pipeline="greedy")
        streamed = [each async for each in client.stream_round(round_, pipeline="greedy")]
        asked = write_round(round_, PlanParameters(pipeline="greedy"))
        assert [each.last async for each in client.send_stream(asked)][-2:] == [False, True]
        mine = (
            result.plan,
            streamed[-1].plan,
            await client.validate_plan(round_, result.plan),
            await client.list_solvers(),
            await client.get_capabilities(),
        )
        assert mine == await asyncio.to_thread(talk)
        with pytest.raises(ServiceError) as caught:
            await client.plan_round(round_, seed=-1)
        assert caught.value.code == "INVALID_ARGUMENT"
        assert caught.value.service_reason == "INVALID_INPUT"
        assert [violation.field for violation in caught.value.violations] == ["parameters.seed"]
        with pytest.raises(ServiceError) as caught:
            async for _ in client.stream_round(round_, seed=-1):
                pass
        assert [violation.field for violation in caught.value.violations] == ["round.parameters.seed"]


async def test_a_session_sends_only_what_has_changed(serving: Any, make_round: Any) -> None:
    round_ = make_round(jobs=5, nodes=3)
    asked: list[Any] = []
    async with serving(Greedy()) as server, AsyncClient(server.address) as client:
        once = client._once
        client._once = lambda call, left: asked.append(call) or once(call, left)  # type: ignore[func-returns-value,method-assign]
        async with client.session() as session:
            first = await session.plan_round(round_, pipeline="greedy")
            assert kinds(first) == {"job-0": "KEEP", **{f"job-{n}": "PLACE" for n in range(1, 5)}}
            second_round = observed(round_, first, 10.0)
            second = await session.plan_round(second_round, pipeline="greedy")
            assert set(kinds(second).values()) == {"KEEP"}
            assert len(second.plan.actions) == 5
            await session.plan_round(replace(second_round, now=second_round.now + 5), pipeline="greedy")
            await session.plan_round(
                replace(second_round, jobs=second_round.jobs[1:]), pipeline="greedy", advisory=True
            )
            assert session.following.resyncs == 0
    assert [call.method for call in asked] == [
        "OpenSession",
        "PlanRound",
        "ApplyDelta",
        "PlanRound",
        "PlanRound",
        "ApplyDelta",
        "PlanRound",
        "CloseSession",
    ]
    changed = asked[2].request
    assert sorted(job.name for job in changed.upsert_jobs) == [f"job-{n}" for n in range(1, 5)]
    assert (len(changed.upsert_nodes), len(changed.upsert_node_classes)) == (0, 0)
    assert list(asked[5].request.remove_jobs) == ["job-0"]


@pytest.mark.parametrize("harm", ["forgotten", "changed by somebody else"])
async def test_a_session_resyncs_by_itself(serving: Any, make_round: Any, harm: str) -> None:
    round_ = make_round(jobs=3)
    async with (
        serving(Greedy()) as server,
        AsyncClient(server.address) as client,
        client.session() as session,
    ):
        first = await session.plan_round(round_, pipeline="greedy")
        state = session.following.state
        assert state is not None
        calls = server._placement.session_calls
        if harm == "changed by somebody else":
            from gangplan.v1 import session_service_pb2

            calls.apply_delta(
                session_service_pb2.ApplyDeltaRequest(
                    session_id=state.session_id, base_revision=1, remove_jobs=["job-2"]
                )
            )
        else:
            calls.sessions.close_session(state.session_id)
        second = await session.plan_round(observed(round_, first, 10.0), pipeline="greedy")
        assert set(kinds(second).values()) == {"KEEP"}
        assert session.following.resyncs == 1
        assert session.following.state is not None
        assert session.following.state.session_id != state.session_id


async def test_reported_outcomes_count_until_the_next_round_says_what_is(
    serving: Any, make_round: Any
) -> None:
    round_ = make_round(jobs=3)
    async with (
        serving(Greedy()) as server,
        AsyncClient(server.address) as client,
        client.session() as session,
    ):
        first = await session.plan_round(round_, pipeline="greedy")
        ids = {action.job: action.id for action in first.plan.actions}
        await session.report_outcomes({ids["job-1"]: "BOUND", ids["job-2"]: "REFUSED"}, now=round_.now + 1)
        assert session.following.state is not None
        assert list(session.following.state.in_flight) == []
        now = observed(round_, first, 5.0)
        now = replace(now, jobs=(*now.jobs[:2], round_.jobs[2]))
        second = await session.plan_round(now, pipeline="greedy")
        assert kinds(second) == {"job-0": "KEEP", "job-1": "KEEP", "job-2": "PLACE"}
        with pytest.raises(ServiceError, match="no such action"):
            await session.report_outcomes({"nothing": "BOUND"}, now=round_.now)
        with pytest.raises(ValueError, match="SOMEHOW"):
            await session.report_outcomes({ids["job-1"]: "SOMEHOW"}, now=round_.now)
        assert session.following.resyncs == 0


async def test_the_sync_session_and_the_one_in_process_agree(serving: Any, make_round: Any) -> None:
    round_ = make_round(jobs=7, nodes=3)

    def talk(client: Client) -> list[Any]:
        with client, client.session() as session:
            first = session.plan_round(round_, pipeline="greedy")
            second = session.plan_round(observed(round_, first, 10.0), pipeline="greedy")
            return [first.plan, kinds(second), second.verdicts]

    async with serving(Greedy()) as server:
        over = await asyncio.to_thread(talk, Client(server.address))
    inside = await asyncio.to_thread(talk, Client.in_process(start=False))
    assert over == inside


def test_a_stream_in_process_ends_with_the_plan(make_round: Any) -> None:
    round_ = make_round(jobs=3)
    with Client.in_process(start=False) as client:
        *better, last = client.stream_round(round_, pipeline="greedy")
        sent = list(client.send_stream(write_round(round_, PlanParameters(pipeline="greedy"))))
        assert [each.number for each in sent] == list(range(1, len(sent) + 1))
        assert [each.last for each in sent] == [False] * (len(sent) - 1) + [True]
        assert len(sent) > 1
        assert better
        assert last.plan == client.plan_round(round_, pipeline="greedy").plan
        with pytest.raises(ServiceError):
            list(client.stream_round(round_, seed=-1))


def test_a_stream_in_process_raises_whatever_goes_wrong(failing: Any, make_round: Any) -> None:
    placement = Placement(failing(ZeroDivisionError("oh")), ServerOptions())
    with pytest.raises(ZeroDivisionError):
        list(Client(transport=InProcessTransport(placement)).stream_round(make_round()))


def test_promises_go_along_to_a_session_that_is_opened_anew(instant: Any, make_round: Any) -> None:
    """And the session that is left is closed, and a snapshot that is sent twice opens one session."""
    round_, parameters = make_round(jobs=2), PlanParameters()
    wanted = content_of(write_round(round_, parameters)).digest
    following = Following()

    def opened(asked: Any, number: int) -> session_service_pb2.OpenSessionResponse:
        assert asked.method == "OpenSession"
        assert asked.request[0].snapshot.request_id
        state = session_pb2.SessionState(session_id=f"s{number}", revision=1, digest=wanted)
        return session_service_pb2.OpenSessionResponse(session=state)

    def planning() -> Any:
        return following.plan_round(round_, parameters, advisory=False, timeout=None)

    answer = write_result(instant.plan(round_, parameters, Budget(), Cancellation()))
    made = answer.plan.actions.add(action_id="r", kind=plan_pb2.ACTION_KIND_RESERVE, job="job-1").reservation
    made.job = "job-1"
    made.placements.add(group="worker", node="node-1", tasks=1, devices=[0, 1])
    made.latest_start.FromSeconds(round(round_.now) + 50)
    made.expires_at.FromSeconds(round(round_.now) + 100)
    asking = planning()
    first = next(asking)
    assert asking.send(opened(first, 1)).method == "PlanRound"
    with pytest.raises(StopIteration):
        asking.send(answer)
    asking = planning()
    assert next(asking).method == "PlanRound"
    closing = asking.throw(ServiceError("other", "ABORTED", service_reason="RESYNC_REQUIRED"))
    assert (closing.method, closing.request.session_id) == ("CloseSession", "s1")
    again = asking.throw(ServiceError("busy", "RESOURCE_EXHAUSTED"))
    assert list(again.request[0].snapshot.reservations) == [made]
    assert again.request[0].snapshot.request_id != first.request[0].snapshot.request_id
    assert asking.send(opened(again, 2)).request.session.session_id == "s2"
    assert following.resyncs == 1
    closing = following.close()
    assert next(closing).method == "CloseSession"
    assert following.resyncs == 1


def test_a_large_snapshot_is_sent_in_chunks_that_join_to_it(make_round: Any) -> None:
    from gangplan.client.following import _parts, chunks_of
    from gangplan.v1 import round_pb2

    snapshot = write_round(make_round(jobs=60_000, nodes=60_000))
    chunks = chunks_of(_parts(snapshot))
    assert len(chunks) > 2
    assert [chunk.more for chunk in chunks] == [True] * (len(chunks) - 1) + [False]
    assert max(chunk.ByteSize() for chunk in chunks) < 4 * 2**20
    joined = round_pb2.PlanRoundRequest()
    for chunk in chunks:
        joined.MergeFrom(chunk.snapshot)
    assert content_of(joined).digest == content_of(snapshot).digest


class Busy:
    """Refuses with a time to come back, some times, and then answers."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.calls = 0

    async def plan_round(self, request: bytes, context: Any) -> bytes:
        from gangplan.errors import OverloadedError
        from gangplan.service.answering import abort
        from gangplan.service.status import status_of

        self.calls += 1
        if self.calls <= self.times:
            await abort(context, status_of(OverloadedError("busy", 0.05)))
        return placement_service_pb2.StreamRoundResponse().SerializeToString()


@pytest.mark.parametrize(("request_id", "seconds", "calls"), [("r1", 5.0, 3), ("", 5.0, 1), ("r1", 0.04, 1)])
async def test_overload_is_tried_again_where_that_is_safe_and_in_time(
    make_round: Any, request_id: str, seconds: float, calls: int
) -> None:
    from gangplan.engine.parameters import PlanParameters

    busy = Busy(2)
    server = grpc.aio.server()
    methods = {"PlanRound": grpc.unary_unary_rpc_method_handler(busy.plan_round)}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("gangplan.v1.PlacementService", methods),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    request = write_round(make_round(), PlanParameters(request_id=request_id))
    try:
        async with AsyncClient(f"127.0.0.1:{port}") as client:
            if calls == 3:
                await client.send_round(request, timeout=seconds)
            else:
                with pytest.raises(ServiceError) as caught:
                    await client.send_round(request, timeout=seconds)
                assert caught.value.code in ("RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED")
    finally:
        await server.stop(0)
    assert busy.calls == calls
