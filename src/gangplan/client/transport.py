"""How a request reaches the service: over a socket, or by a function call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import grpc

from gangplan.errors import GangplanError, ServiceError
from gangplan.service.call import Call
from gangplan.service.status import error_of_call, service_error, status_of

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from gangplan.domain.plan import Stage
    from gangplan.service.placement import Placement

SERVICE = "gangplan.v1.PlacementService"
_METADATA_BYTES = 64 * 1024

_RETRY_POLICY = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{"service": SERVICE}],
                "retryPolicy": {
                    "maxAttempts": 4,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "2s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE"],
                },
            }
        ]
    }
)

_Answer = TypeVar("_Answer", bound="Message")


class Transport(Protocol):
    """Carries one unary call."""

    def call(self, method: str, request: Message, answer: type[_Answer], timeout: float | None) -> _Answer:
        """Send ``request`` to ``method`` of PlacementService.

        Args:
            method: its name, e.g. ``PlanRound``.
            request: the message.
            answer: class of the answer.
            timeout: seconds after which nobody listens any more; None: no limit.

        Raises:
            ServiceError: the call failed.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


class GrpcTransport:
    """Over a channel. Only UNAVAILABLE is tried again by itself, as gRPC's own retry policy says.

    Args:
        address: ``host:port``.
        max_message_bytes: largest request and answer.
    """

    def __init__(self, address: str, *, max_message_bytes: int) -> None:
        self._channel = grpc.insecure_channel(
            address,
            options=[
                ("grpc.max_send_message_length", max_message_bytes),
                ("grpc.max_receive_message_length", max_message_bytes),
                ("grpc.max_metadata_size", _METADATA_BYTES),
                ("grpc.service_config", _RETRY_POLICY),
                ("grpc.enable_retries", 1),
            ],
        )

    def call(self, method: str, request: Message, answer: type[_Answer], timeout: float | None) -> _Answer:
        """Send a request over the channel."""
        send: Any = self._channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        try:
            received: _Answer = send(request, timeout=timeout)
        except grpc.RpcError as error:
            raise error_of_call(error) from error
        return received

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()


class InProcessTransport:
    """By a function call: the same reading, checks and answers as over gRPC, and no socket.

    Args:
        placement: what answers.
        on_stage: called with every candidate plan's stage; None: nobody wants to know.
    """

    def __init__(self, placement: Placement, on_stage: Callable[[Stage], None] | None = None) -> None:
        self._placement = placement
        self._on_stage = on_stage

    def call(self, method: str, request: Message, answer: type[_Answer], timeout: float | None) -> _Answer:
        """Answer a request in the calling thread."""
        placement: Any = self._placement
        answers: dict[str, Callable[[Any, Call], Message]] = {
            "PlanRound": placement.plan_round,
            "ValidatePlan": placement.validate_plan,
            "CheckAdmission": placement.check_admission,
            "ListSolvers": lambda *_: placement.list_solvers(b""),
            "GetCapabilities": lambda *_: placement.get_capabilities(b""),
        }
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            answered = answers[method](request, Call(deadline=deadline, on_stage=self._on_stage))
        except GangplanError as error:
            raise _as_service_error(error) from error
        if not isinstance(answered, answer):
            raise TypeError(f"{method} answered with a {type(answered).__name__}")
        return answered

    def close(self) -> None:
        """End the solver workers."""
        self._placement.close()


def _as_service_error(error: GangplanError) -> ServiceError:
    return service_error(status_of(error))
