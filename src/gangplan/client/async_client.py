"""The client for asyncio; the calls are those of :class:`~gangplan.client.client.Client`."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Self, TypeVar

import grpc
import grpc.aio

from gangplan.client import asked as ask
from gangplan.client.asked import Asked
from gangplan.client.credentials import Credentials
from gangplan.client.following import Asking, Following
from gangplan.client.transport import AGAIN, PAUSES, channel_options, metadata_of
from gangplan.errors import ServiceError
from gangplan.service.options import DEFAULT_MAX_MESSAGE_BYTES
from gangplan.service.status import error_of_call
from gangplan.v1 import admission_pb2, placement_service_pb2, planning_service_pb2, round_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence

    from gangplan.client.answers import ServiceCapabilities, SolverDescription, Validation
    from gangplan.domain.plan import Plan, RoundResult
    from gangplan.domain.round import Round

_A = TypeVar("_A")


class AsyncClient:
    """Plans rounds with a service, without blocking the event loop.

    ::

        async with AsyncClient("127.0.0.1:50051") as client:
            result = await client.plan_round(round, time_budget=1.0)

    Fails and tries again as :class:`~gangplan.client.client.Client` does.

    Args:
        address: ``host:port`` of the service.
        max_message_bytes: largest request and answer.
        name: of the caller, by which services share out their slots and remember requests; empty: its host.
        credentials: TLS, certificate and token; None: in the clear, and none.

    Raises:
        InvalidInputError: the credentials cannot be read.
    """

    def __init__(
        self,
        address: str = "127.0.0.1:50051",
        *,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        name: str = "",
        credentials: Credentials | None = None,
    ) -> None:
        self._name, self._credentials = name, credentials or Credentials()
        options = [*channel_options(max_message_bytes), *self._credentials.channel_options()]
        secure = self._credentials.channel_credentials(address)
        self._channel = (
            grpc.aio.insecure_channel(address, options=options)
            if secure is None
            else grpc.aio.secure_channel(address, secure, options=options)
        )

    async def plan_round(
        self, round_: Round, /, *, timeout: float | None = None, **parameters: Any
    ) -> RoundResult:
        """The best verified plan for a round within the time budget.

        Args:
            round_: cluster, jobs, policy, now.
            timeout: seconds after which nobody waits any more; None: the time budget and ten seconds.
            parameters: as in :meth:`gangplan.client.client.Client.plan_round`.

        Raises:
            ServiceError: the call failed.
        """
        return await self._call(ask.plan_round(round_, ask.parameters_of(**parameters), timeout))

    async def send_round(
        self, request: round_pb2.PlanRoundRequest, *, timeout: float | None = None
    ) -> round_pb2.PlanRoundResponse:
        """PlanRound on the contract's own messages.

        Raises:
            ServiceError: the call failed.
        """
        return await self._call(ask.send_round(request, timeout))

    async def stream_round(
        self, round_: Round, /, *, timeout: float | None = None, **parameters: Any
    ) -> AsyncIterator[RoundResult]:
        """Each better plan as it is found, and last what :meth:`plan_round` gives; stop when one is enough.

        Raises:
            ServiceError: the call failed.
        """
        asked = ask.stream_round(round_, ask.parameters_of(**parameters), timeout)
        async with aclosing(self._stream(asked)) as answers:
            async for answer in answers:
                yield asked.read(answer)

    async def send_stream(
        self, request: round_pb2.PlanRoundRequest, *, timeout: float | None = None
    ) -> AsyncIterator[placement_service_pb2.StreamRoundResponse]:
        """StreamRound on the contract's own messages.

        Raises:
            ServiceError: the call failed.
        """
        async with aclosing(self._stream(ask.send_stream(request, timeout))) as answers:
            async for answer in answers:
                yield answer

    async def simulate(
        self,
        round_: Round,
        /,
        *,
        policy: str = "",
        with_jobs: bool = False,
        timeout: float | None = None,
        **parameters: Any,
    ) -> AsyncIterator[planning_service_pb2.SimulateResponse]:
        """As :meth:`gangplan.client.Client.simulate`.

        Raises:
            ServiceError: the call failed.
        """
        request = ask.simulate_request(round_, ask.parameters_of(**parameters), policy, with_jobs=with_jobs)
        async with aclosing(self._stream(ask.simulate(request, timeout))) as answers:
            async for answer in answers:
                yield answer

    async def sweep(
        self,
        variants: Sequence[planning_service_pb2.SimulateRequest],
        /,
        *,
        timeout: float | None = None,
    ) -> AsyncIterator[planning_service_pb2.SweepResponse]:
        """As :meth:`gangplan.client.Client.sweep`.

        Raises:
            ServiceError: the call failed.
        """
        request = planning_service_pb2.SweepRequest(variants=variants)
        async with aclosing(self._stream(ask.sweep(request, timeout))) as answers:
            async for answer in answers:
                yield answer

    async def _stream(self, asked: Asked[Any]) -> AsyncGenerator[Any, None]:
        ends = None if asked.timeout is None else time.monotonic() + asked.timeout
        for pause in (*PAUSES, None):
            left = None if ends is None else max(0.0, ends - time.monotonic())
            call = self._prepared(asked)(asked.request, timeout=left, metadata=self._metadata())
            told = False
            try:
                async for answer in call:
                    told = True
                    yield answer
                return
            except grpc.aio.AioRpcError as error:
                failed = error_of_call(error)
                if told or pause is None or failed.code not in AGAIN:
                    raise failed from error
            finally:
                call.cancel()
            await asyncio.sleep(pause)

    def session(self) -> AsyncSession:
        """A session, for round after round: only what has changed is sent."""
        return AsyncSession(self)

    async def validate_plan(
        self, round_: Round, plan: Plan, /, *, timeout: float | None = 60.0
    ) -> Validation:
        """What the service's independent verifier says of a plan.

        Raises:
            ServiceError: the call failed; a plan that breaks a rule is an answer.
        """
        return await self._call(ask.validate_plan(round_, plan, timeout))

    async def check_admission(
        self, round_: Round, job: str, /, *, timeout: float | None = 60.0
    ) -> admission_pb2.CheckAdmissionResponse:
        """Whether the waiting ``job`` of a round can meet its deadline beside all others that have one.

        Raises:
            ServiceError: the call failed, or there is no such job; no is an answer.
        """
        return await self._call(ask.check_admission(round_, job, timeout))

    async def what_if(
        self,
        round_: Round,
        edits: Sequence[placement_service_pb2.RoundEdit],
        /,
        *,
        timeout: float | None = None,
        **parameters: Any,
    ) -> placement_service_pb2.WhatIfResponse:
        """What edits of a round would change; see :meth:`gangplan.client.client.Client.what_if`.

        Raises:
            ServiceError: the call failed.
        """
        return await self._call(ask.what_if(round_, edits, ask.parameters_of(**parameters), timeout))

    async def explain_job(
        self,
        round_: Round,
        job: str,
        /,
        *,
        plan: Plan | None = None,
        timeout: float | None = None,
        **parameters: Any,
    ) -> placement_service_pb2.ExplainJobResponse:
        """Why a job waits or runs where it runs; see :meth:`gangplan.client.client.Client.explain_job`.

        Raises:
            ServiceError: the call failed, there is no such job, or the plan breaks a rule.
        """
        return await self._call(ask.explain_job(round_, job, plan, ask.parameters_of(**parameters), timeout))

    async def recommend_placements(
        self,
        round_: Round,
        job: str,
        /,
        *,
        limit: int | None = None,
        without_evictions: bool = False,
        timeout: float | None = None,
        **parameters: Any,
    ) -> placement_service_pb2.RecommendPlacementsResponse:
        """The best places; see :meth:`gangplan.client.client.Client.recommend_placements`.

        Raises:
            ServiceError: the call failed, or there is no such job.
        """
        asked = ask.parameters_of(**parameters)
        return await self._call(
            ask.recommend_placements(round_, job, limit, without_evictions, asked, timeout)
        )

    async def compute_fair_shares(
        self, round_: Round, /, *, timeout: float | None = 60.0
    ) -> placement_service_pb2.ComputeFairSharesResponse:
        """What every job and queue of a round is owed.

        Raises:
            ServiceError: the call failed.
        """
        return await self._call(ask.compute_fair_shares(round_, timeout))

    async def list_solvers(self, *, timeout: float | None = 30.0) -> tuple[SolverDescription, ...]:
        """The service's solver backends, by name.

        Raises:
            ServiceError: the call failed.
        """
        return await self._call(ask.list_solvers(timeout))

    async def get_capabilities(self, *, timeout: float | None = 30.0) -> ServiceCapabilities:
        """What the service can do.

        Raises:
            ServiceError: the call failed.
        """
        return await self._call(ask.get_capabilities(timeout))

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return (*metadata_of(self._name), *self._credentials.metadata())

    def _prepared(self, asked: Asked[Any]) -> Any:
        streams_in, streams_out = asked.streams
        make = {
            (False, False): self._channel.unary_unary,
            (False, True): self._channel.unary_stream,
            (True, False): self._channel.stream_unary,
        }[streams_in, streams_out]
        made: Any = make
        return made(
            asked.path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=asked.answer.FromString,
        )

    async def _once(self, asked: Asked[_A], timeout: float | None) -> _A:
        request: Any = iter(asked.request) if asked.streams[0] else asked.request  # type: ignore[arg-type]
        try:
            answer = await self._prepared(asked)(request, timeout=timeout, metadata=self._metadata())
        except grpc.aio.AioRpcError as error:
            raise error_of_call(error) from error
        return asked.read(answer)

    async def _call(self, asked: Asked[_A]) -> _A:
        """Ask, and ask again where that is safe and the service says when."""
        ends = None if asked.timeout is None else time.monotonic() + asked.timeout
        while True:
            left = None if ends is None else ends - time.monotonic()
            try:
                return await self._once(asked, left)
            except ServiceError as error:
                wait = asked.seconds_to_wait(error, None if ends is None else ends - time.monotonic())
                if wait is None:
                    raise
            await asyncio.sleep(wait)

    async def _drive(self, asking: Asking[_A]) -> _A:
        """Make the calls that ``asking`` asks for."""
        try:
            asked = next(asking)
            while True:
                try:
                    answer = await self._call(asked)
                except ServiceError as error:
                    asked = asking.throw(error)
                else:
                    asked = asking.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncSession:
    """:class:`~gangplan.client.client.Session` for asyncio.

    Args:
        client: that makes the calls.
    """

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self.following = Following()

    async def plan_round(
        self, round_: Round, /, *, advisory: bool = False, timeout: float | None = None, **parameters: Any
    ) -> RoundResult:
        """The best verified plan for a round; see :meth:`gangplan.client.client.Session.plan_round`.

        Raises:
            ServiceError: a call failed.
        """
        asked = ask.parameters_of(**parameters)
        following = self.following.plan_round(round_, asked, advisory=advisory, timeout=timeout)
        return await self._client._drive(following)

    async def report_outcomes(self, outcomes: Mapping[str, str], /, *, now: float) -> None:
        """What became of actions; see :meth:`gangplan.client.client.Session.report_outcomes`.

        Raises:
            ServiceError: the call failed, or there is no such action in flight.
            ValueError: there was no plan, or there is no such outcome.
        """
        await self._client._drive(self.following.report_outcomes(outcomes, now=now))

    async def close(self) -> None:
        """End the session on the service."""
        await self._client._drive(self.following.close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
