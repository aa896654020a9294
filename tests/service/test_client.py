"""The client against servers that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import fields, replace
from inspect import signature
from typing import Any

import grpc
import grpc.aio
import pytest

from gangplan.client import Client
from gangplan.client.asked import parameters_of
from gangplan.domain.job import Job
from gangplan.domain.plan import Stage
from gangplan.engine.parameters import PlanParameters
from gangplan.errors import ServiceError
from gangplan.v1 import admission_pb2, placement_service_pb2

SERVICE = "gangplan.v1.PlacementService"


class Moody:
    """Answers ListSolvers with one status after the other, then with success."""

    def __init__(self, *codes: grpc.StatusCode) -> None:
        self.codes = list(codes)
        self.calls = 0

    async def list_solvers(self, _: bytes, context: Any) -> bytes:
        self.calls += 1
        if self.codes:
            await context.abort(self.codes.pop(0), "in a mood")
        answer = placement_service_pb2.ListSolversResponse(
            solvers=[placement_service_pb2.Solver(name="abacus", available=False, reason="no beads")]
        )
        return answer.SerializeToString()


@contextlib.asynccontextmanager
async def serving_it(moody: Moody) -> AsyncIterator[str]:
    server = grpc.aio.server()
    methods = {"ListSolvers": grpc.unary_unary_rpc_method_handler(moody.list_solvers)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


def ask(address: str) -> Any:
    with Client(address) as client:
        return client.list_solvers(timeout=10)


async def test_unavailable_is_tried_again() -> None:
    moody = Moody(grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE)
    async with serving_it(moody) as address:
        [solver] = await asyncio.to_thread(ask, address)
    assert (solver.name, solver.available, solver.reason) == ("abacus", False, "no beads")
    assert moody.calls == 3


async def test_unavailable_is_not_tried_for_ever() -> None:
    moody = Moody(*[grpc.StatusCode.UNAVAILABLE] * 20)
    async with serving_it(moody) as address:
        with pytest.raises(ServiceError) as caught:
            await asyncio.to_thread(ask, address)
    assert caught.value.code == "UNAVAILABLE"
    assert moody.calls == 4


@pytest.mark.parametrize(
    "code",
    [
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.INVALID_ARGUMENT,
    ],
)
async def test_nothing_else_is_tried_again(code: grpc.StatusCode) -> None:
    moody = Moody(code)
    async with serving_it(moody) as address:
        with pytest.raises(ServiceError, match="in a mood") as caught:
            await asyncio.to_thread(ask, address)
    assert caught.value.code == code.name
    assert moody.calls == 1


async def test_a_call_that_a_service_does_not_know_is_unimplemented() -> None:
    async with serving_it(Moody()) as address:

        def talk() -> None:
            with Client(address) as client:
                client.get_capabilities(timeout=10)

        with pytest.raises(ServiceError) as caught:
            await asyncio.to_thread(talk)
    assert caught.value.code == "UNIMPLEMENTED"


def test_every_parameter_of_planning_can_be_asked_for() -> None:
    """The words of ``plan_round`` are the fields of PlanParameters, with the same defaults."""
    named = {"time_budget_seconds": "time_budget"}
    words = {
        named.get(field.name, field.name): getattr(PlanParameters(), field.name)
        for field in fields(PlanParameters)
        if field.name != "kept"  # between the rounds of a session, never a caller's
    }
    for call in (parameters_of, Client.plan_round):
        asked = signature(call).parameters.values()
        found = {one.name: one.default for one in asked if one.kind is one.KEYWORD_ONLY}
        assert {name: default for name, default in found.items() if name != "timeout"} == words
    assert parameters_of(look_ahead_share=0.5) == PlanParameters(look_ahead_share=0.5)


def test_in_process_bad_input_raises_as_over_the_wire(make_round: Any) -> None:
    with Client.in_process(start=False) as client, pytest.raises(ServiceError) as caught:
        client.plan_round(make_round(), relative_gap=2.0, threads=0)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert {violation.field for violation in caught.value.violations} == {
        "parameters.relative_gap",
        "parameters.threads",
    }


@pytest.mark.parametrize("how", [{}, {"time_budget": 0.001}, {"pipeline": "greedy"}])
def test_in_process_an_unknown_solver_is_refused_though_none_would_be_asked(
    make_round: Any, how: dict[str, Any]
) -> None:
    with Client.in_process(start=False) as client, pytest.raises(ServiceError, match="abacus") as caught:
        client.plan_round(make_round(), solver="abacus", **how)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert [violation.field for violation in caught.value.violations] == ["parameters.solver"]


def test_in_process_the_smaller_calls_answer_too(make_round: Any) -> None:
    round_ = make_round()
    with Client.in_process(start=False) as client:
        plan = client.plan_round(round_, pipeline="greedy").plan
        assert client.validate_plan(round_, plan).valid
        asked = replace(round_, jobs=(*round_.jobs, Job("due", work_left=1.0, deadline=round_.now + 1e6)))
        found = client.check_admission(asked, "due")
        assert found.answer == admission_pb2.ADMISSION_YES
        assert found.witness[0].plan.actions
        with pytest.raises(ServiceError, match="no job is named"):
            client.check_admission(asked, "nobody")
        assert {solver.name for solver in client.list_solvers()} >= {"highs", "cpsat"}
        assert client.get_capabilities().maximum_concurrent_calls > 0


def test_in_process_an_unknown_proposer_is_refused(make_round: Any) -> None:
    with Client.in_process(start=False) as client, pytest.raises(ServiceError, match="oracle") as caught:
        client.plan_round(make_round(), pipeline="greedy", proposers=("oracle",))
    assert caught.value.code == "INVALID_ARGUMENT"
    assert [violation.field for violation in caught.value.violations] == ["parameters.proposers"]


def test_in_process_a_round_begins_where_the_last_one_ended(make_round: Any) -> None:
    round_ = make_round()
    with Client.in_process(start=False) as client:
        first = client.plan_round(round_, pipeline="greedy")
        assert first.warm_start
        again = client.plan_round(
            round_, pipeline="greedy", warm_start=first.warm_start, previous_plan=first.plan
        )
        assert again.plan == first.plan
        assert "previous_plan" in [stage.name for stage in again.stages]
        with pytest.raises(ServiceError) as caught:
            client.plan_round(round_, pipeline="greedy", warm_start=b"state")
    assert caught.value.code == "INVALID_ARGUMENT"
    assert [violation.field for violation in caught.value.violations] == ["warm_start"]


def test_in_process_stages_are_told_while_the_round_is_planned(make_round: Any) -> None:
    told: list[Stage] = []
    with Client.in_process(start=False, on_stage=told.append) as client:
        result = client.plan_round(make_round(), pipeline="greedy")
    assert [stage.name for stage in told] == [stage.name for stage in result.stages]
    assert [stage.seconds for stage in told] == pytest.approx(
        [stage.seconds for stage in result.stages], abs=1e-6
    )
    assert {"greedy", "keep_and_fill"} == {stage.name for stage in told[:2]}


def test_installed_proposers_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    from gangplan.engine import proposers

    monkeypatch.setattr(proposers, "installed", lambda: {"second": "a:b", "first": "c:d"})
    with Client.in_process(start=False) as client:
        assert client.get_capabilities().proposers == ("first", "second")
