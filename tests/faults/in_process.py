"""A service's sessions in this process, on a store of a test's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.faults.caller import Failed
from tests.fuzz.judge import GreedyPlanner

from gangplan.errors import SessionStoreError
from gangplan.service.call import Call
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.sessions.registry import Sessions
from gangplan.service.sessions.store import SessionStore
from gangplan.v1 import round_pb2, session_pb2, session_service_pb2


class InProcess:
    """Calls without a socket; the engine is real.

    Args:
        store: of the sessions.
        settings: more for :class:`~gangplan.service.sessions.registry.Sessions`.
    """

    def __init__(self, store: SessionStore, **settings: Any) -> None:
        self._placement = Placement(GreedyPlanner(), ServerOptions(), sessions=Sessions(store, **settings))

    def open(self, request: session_service_pb2.OpenSessionRequest) -> session_pb2.SessionState:
        """OpenSession."""
        return _or_failed(
            lambda: self._placement.session_calls.open_session([request.SerializeToString()], "me").session
        )

    def delta(self, request: session_service_pb2.ApplyDeltaRequest) -> session_pb2.SessionState:
        """ApplyDelta."""
        return _or_failed(lambda: self._placement.session_calls.apply_delta(request).session)

    def get(self, session_id: str) -> session_pb2.SessionState:
        """GetSession."""
        asked = session_service_pb2.GetSessionRequest(session_id=session_id)
        return _or_failed(lambda: self._placement.session_calls.get_session(asked).session)

    def plan(self, request: round_pb2.PlanRoundRequest) -> round_pb2.PlanRoundResponse:
        """PlanRound."""
        return _or_failed(lambda: self._placement.plan_round(request, Call(caller="me")))


def _or_failed(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except SessionStoreError as error:
        raise Failed(str(error)) from error
