"""How a request reaches the service: over a socket, or by a function call."""

from __future__ import annotations

import itertools
import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import grpc

from gangplan.client.asked import PLANNING
from gangplan.client.credentials import Credentials
from gangplan.errors import GangplanError, ServiceError
from gangplan.service.call import Call
from gangplan.service.caller import CALLER
from gangplan.service.status import error_of_call, service_error, status_of

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from gangplan.client.asked import Asked
    from gangplan.domain.plan import Stage
    from gangplan.service.placement import Placement

_SERVICES = ("gangplan.v1.PlacementService", "gangplan.v1.SessionService")
_METADATA_BYTES = 64 * 1024

AGAIN = ("UNAVAILABLE", "CANCELLED")
"""What a service says that is not there, or stops: calls that reach it at that very moment are cancelled,
unread (grpcio 1.85). A call that its own caller cancels is not tried again."""
PAUSES = (0.1, 0.2, 0.4)
"""Seconds before a stream that has told nothing yet is asked for again."""

_RETRY_POLICY = json.dumps(
    {
        "methodConfig": [
            {"name": [{"service": _SERVICES[0], "method": "StreamRound"}]},
            {
                "name": [{"service": service} for service in _SERVICES],
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "2s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": AGAIN,
                },
            },
        ]
    }
)


class Transport(Protocol):
    """Carries calls."""

    def call(self, asked: Asked[Any], timeout: float | None) -> Any:
        """The answer to a call that has one.

        Args:
            asked: the call.
            timeout: seconds after which nobody listens any more; None: no limit.

        Raises:
            ServiceError: the call failed.
        """
        ...

    def stream(self, asked: Asked[Any]) -> Iterator[Any]:
        """The answers to a call that has many; who stops reading ends it.

        Raises:
            ServiceError: the call failed.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class GrpcTransport:
    """Over a channel. What fails since the service stops or is not there is tried again, and nothing else.

    By gRPC's own retry policy, but for streams: with that policy (grpcio 1.85) one whose service dies waits
    for ever, whatever its deadline. A stream is asked for again while it has told nothing.

    Args:
        address: ``host:port``.
        max_message_bytes: largest request and answer.
        name: of the caller; empty: its host.
        credentials: what it shows.

    Raises:
        InvalidInputError: the credentials cannot be read.
    """

    def __init__(
        self, address: str, *, max_message_bytes: int, name: str = "", credentials: Credentials | None = None
    ) -> None:
        self._name, self._credentials = name, credentials or Credentials()
        options = [*channel_options(max_message_bytes), *self._credentials.channel_options()]
        secure = self._credentials.channel_credentials(address)
        self._channel = (
            grpc.insecure_channel(address, options=options)
            if secure is None
            else grpc.secure_channel(address, secure, options=options)
        )

    def call(self, asked: Asked[Any], timeout: float | None) -> Any:
        """Send a request over the channel."""
        streams_in, _ = asked.streams
        make: Any = self._channel.stream_unary if streams_in else self._channel.unary_unary
        request: Any = iter(asked.request) if streams_in else asked.request  # type: ignore[arg-type]
        try:
            return self._prepared(make, asked)(request, timeout=timeout, metadata=self._metadata())
        except grpc.RpcError as error:
            raise error_of_call(error) from error

    def stream(self, asked: Asked[Any]) -> Iterator[Any]:
        """Read answers from the channel."""
        prepared = self._prepared(self._channel.unary_stream, asked)
        ends = None if asked.timeout is None else time.monotonic() + asked.timeout
        for pause in (*PAUSES, None):
            left = None if ends is None else max(0.0, ends - time.monotonic())
            call = prepared(asked.request, timeout=left, metadata=self._metadata())
            told = False
            try:
                for answer in call:
                    told = True
                    yield answer
                return
            except grpc.RpcError as error:
                failed = error_of_call(error)
                if told or pause is None or failed.code not in AGAIN:
                    raise failed from error
            finally:
                call.cancel()
            time.sleep(pause)

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return (*metadata_of(self._name), *self._credentials.metadata())

    @staticmethod
    def _prepared(make: Any, asked: Asked[Any]) -> Any:
        return make(
            asked.path,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=asked.answer.FromString,
        )


class InProcessTransport:
    """By a function call: the same reading, checks and answers as over gRPC, and no socket.

    Args:
        placement: what answers.
        on_stage: called with every candidate plan's stage; None: nobody wants to know.
    """

    def __init__(self, placement: Placement, on_stage: Callable[[Stage], None] | None = None) -> None:
        self._placement = placement
        self._on_stage = on_stage

    def call(self, asked: Asked[Any], timeout: float | None) -> Any:
        """Answer a request in the calling thread."""
        placement: Any = self._placement
        sessions = self._placement.session_calls
        answers: dict[str, Callable[[Any, Call], Any]] = {
            "PlanRound": placement.plan_round,
            "ValidatePlan": placement.validate_plan,
            "CheckAdmission": placement.check_admission,
            "ExplainJob": placement.about_jobs.explain_job,
            "RecommendPlacements": placement.about_jobs.recommend_placements,
            "WhatIf": placement.what_if,
            "ComputeFairShares": placement.about_jobs.compute_fair_shares,
            "ListSolvers": lambda *_: placement.list_solvers(b""),
            "GetCapabilities": lambda *_: placement.get_capabilities(b""),
            "OpenSession": lambda chunks, call: sessions.open_session(
                [chunk.SerializeToString() for chunk in chunks], call.caller
            ),
            "ApplyDelta": lambda request, _: sessions.apply_delta(request),
            "ReportOutcomes": lambda request, _: sessions.report_outcomes(request),
            "GetSession": lambda request, _: sessions.get_session(request),
            "CloseSession": lambda request, _: sessions.close_session(request),
        }
        call = self._call(timeout)
        try:
            answered = answers[asked.method](asked.request, call)
        except GangplanError as error:
            raise _as_service_error(error) from error
        call.answered()
        if not isinstance(answered, asked.answer):
            raise TypeError(f"{asked.method} answered with a {type(answered).__name__}")
        return answered

    def stream(self, asked: Asked[Any]) -> Iterator[Any]:
        """Answer a request in a thread beside the calling one; a simulation in a process of its own.

        Raises:
            ServiceError: as the service would have refused or failed it.
        """
        if asked.service == PLANNING:
            yield from self._simulated(asked)
            return
        news: queue.SimpleQueue[tuple[Callable[[], Message], bool] | Exception] = queue.SimpleQueue()
        call = self._call(asked.timeout)
        request: Any = asked.request

        def tell(write: Callable[[], Message]) -> None:
            news.put((write, False))

        def work() -> None:
            try:
                answer = self._placement.stream_round(request.round, call, tell)
                news.put((lambda: answer, True))
            except Exception as error:  # noqa: BLE001 (raised where the answers are read)
                news.put(error)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        try:
            for number in itertools.count(1):
                told = news.get()
                if isinstance(told, GangplanError):
                    raise _as_service_error(told) from told
                if isinstance(told, Exception):
                    raise told
                write, last = told
                yield asked.answer(answer=write(), number=number, last=last)
                if last:
                    return
        finally:
            call.cancellation.cancel()
            thread.join()

    def _simulated(self, asked: Asked[Any]) -> Iterator[Any]:
        from gangplan.service import planning

        request: Any = asked.request
        encoded = request.SerializeToString()
        try:
            if asked.method == "Simulate":
                one = (planning.parse_simulate(encoded),)
                for _, result in planning.played(one, (request.with_jobs,), self._call(asked.timeout)):
                    yield result
                return
            listed = planning.with_jobs(encoded)
            variants = planning.parse_sweep(encoded)
            for number, result in planning.played(variants, listed, self._call(asked.timeout)):
                yield asked.answer(variant=number, result=result)
        except GangplanError as error:
            raise _as_service_error(error) from error

    def close(self) -> None:
        """End the solver workers."""
        self._placement.close()

    def _call(self, timeout: float | None) -> Call:
        deadline = None if timeout is None else time.monotonic() + timeout
        return Call(deadline=deadline, on_stage=self._on_stage)


def channel_options(max_message_bytes: int) -> list[tuple[str, Any]]:
    """Of a channel to a service, retries among them."""
    return [
        ("grpc.max_send_message_length", max_message_bytes),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.max_metadata_size", _METADATA_BYTES),
        ("grpc.service_config", _RETRY_POLICY),
        ("grpc.enable_retries", 1),
    ]


def metadata_of(name: str) -> tuple[tuple[str, str], ...]:
    """What every call says about its caller."""
    return ((CALLER, name),) if name else ()


def _as_service_error(error: GangplanError) -> ServiceError:
    return service_error(status_of(error))
