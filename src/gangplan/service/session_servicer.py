"""The calls of SessionService on the event loop."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from gangplan.errors import OverloadedError
from gangplan.service.aborting import abort
from gangplan.service.answering import Answering
from gangplan.service.caller import caller_of
from gangplan.service.methods import Behaviour
from gangplan.service.parsed import parsed
from gangplan.service.session_calls import SessionCalls
from gangplan.service.status import snapshot_too_large
from gangplan.v1 import session_service_pb2

if TYPE_CHECKING:
    from gangplan.service.answering import Context

SESSION_SERVICE = "gangplan.v1.SessionService"
_SNAPSHOTS = 4
"""So many of the largest snapshots may be on their way at a time, all callers together."""
_RETRY_SECONDS = 1.0


class SessionServicer:
    """Answers the methods of SessionService.

    Args:
        calls: what they do.
        answering: how calls are answered.
        max_snapshot_bytes: largest snapshot, all chunks together.
    """

    def __init__(self, calls: SessionCalls, answering: Answering, max_snapshot_bytes: int) -> None:
        self._calls = calls
        self._answering = answering
        self._max_snapshot_bytes = max_snapshot_bytes
        self._receiving = 0

    @property
    def methods(self) -> Mapping[str, Behaviour]:
        """By full method name, what answers it."""
        return {
            f"{SESSION_SERVICE}.OpenSession": self.open_session,
            f"{SESSION_SERVICE}.ApplyDelta": self.apply_delta,
            f"{SESSION_SERVICE}.ReportOutcomes": self.report_outcomes,
            f"{SESSION_SERVICE}.GetSession": self.get_session,
            f"{SESSION_SERVICE}.CloseSession": self.close_session,
        }

    async def open_session(self, requests: AsyncIterator[bytes], context: Context) -> bytes:
        """OpenSession: take a snapshot."""
        chunks: list[bytes] = []
        size, largest = 0, self._max_snapshot_bytes
        try:
            async for chunk in requests:
                size += len(chunk)
                self._receiving += len(chunk)
                if size > largest:
                    await abort(context, snapshot_too_large(largest))
                if self._receiving > _SNAPSHOTS * largest:
                    message = (
                        f"snapshots of {_SNAPSHOTS} times {largest} bytes are under way, the most allowed"
                    )
                    await self._answering.refuse(context, OverloadedError(message, _RETRY_SECONDS))
                chunks.append(chunk)
            caller = caller_of(context)
            return await self._answering.quick(context, lambda: self._calls.open_session(chunks, caller))
        finally:
            self._receiving -= size

    async def apply_delta(self, request: bytes, context: Context) -> bytes:
        """ApplyDelta: change a session's content."""
        kind = session_service_pb2.ApplyDeltaRequest
        return await self._answering.quick(context, lambda: self._calls.apply_delta(parsed(kind, request)))

    async def report_outcomes(self, request: bytes, context: Context) -> bytes:
        """ReportOutcomes: what became of actions."""
        kind = session_service_pb2.ReportOutcomesRequest
        return await self._answering.quick(
            context, lambda: self._calls.report_outcomes(parsed(kind, request))
        )

    async def get_session(self, request: bytes, context: Context) -> bytes:
        """GetSession: what is known of a session."""
        kind = session_service_pb2.GetSessionRequest
        return await self._answering.quick(context, lambda: self._calls.get_session(parsed(kind, request)))

    async def close_session(self, request: bytes, context: Context) -> bytes:
        """CloseSession: forget a session."""
        kind = session_service_pb2.CloseSessionRequest
        return await self._answering.quick(context, lambda: self._calls.close_session(parsed(kind, request)))
