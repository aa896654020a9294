"""A service in a process of its own, and the calls to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from tests.faults.caller import Failed

from gangplan.v1 import (
    placement_service_pb2_grpc,
    round_pb2,
    session_pb2,
    session_service_pb2,
    session_service_pb2_grpc,
)

_SECONDS = 20.0
_LOST = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED})


class Served:
    """Calls over a channel.

    Args:
        channel: to the service.
        seconds: how long a call may take.
    """

    def __init__(self, channel: grpc.Channel, seconds: float = _SECONDS) -> None:
        self._sessions: Any = session_service_pb2_grpc.SessionServiceStub(channel)
        self._placement: Any = placement_service_pb2_grpc.PlacementServiceStub(channel)
        self._seconds = seconds

    def open(self, request: session_service_pb2.OpenSessionRequest) -> session_pb2.SessionState:
        """OpenSession."""
        return _or_failed(lambda: self._sessions.OpenSession(iter([request]), timeout=self._seconds).session)

    def delta(self, request: session_service_pb2.ApplyDeltaRequest) -> session_pb2.SessionState:
        """ApplyDelta."""
        return _or_failed(lambda: self._sessions.ApplyDelta(request, timeout=self._seconds).session)

    def get(self, session_id: str) -> session_pb2.SessionState:
        """GetSession."""
        asked = session_service_pb2.GetSessionRequest(session_id=session_id)
        return _or_failed(lambda: self._sessions.GetSession(asked, timeout=self._seconds).session)

    def plan(self, request: round_pb2.PlanRoundRequest) -> round_pb2.PlanRoundResponse:
        """PlanRound."""
        return _or_failed(lambda: self._placement.PlanRound(request, timeout=self._seconds))


def _or_failed(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except grpc.RpcError as error:
        failed: Any = error
        if failed.code() in _LOST:
            raise Failed(str(failed.details())) from error
        raise
