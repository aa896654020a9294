"""Around every call: a request id, one log line, metrics, and INTERNAL as the last resort."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import structlog

from gangplan.observe.logs import get_logger
from gangplan.observe.metrics import Metrics
from gangplan.observe.tracing import CallSpan
from gangplan.service.aborting import abort
from gangplan.service.methods import around
from gangplan.service.status import status_of

REQUEST_ID = "x-request-id"
"""Metadata key under which a caller may bring an id of its own for the logs."""
_LONGEST_ID = 128
_QUIET = ("/grpc.health.", "/grpc.reflection.")

_log = get_logger(__name__)


class ObservingInterceptor(grpc.aio.ServerInterceptor):
    """Logs and counts every call; an error that nobody caught becomes INTERNAL and reveals nothing."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Wait until no call is in flight."""
        await self._idle.wait()

    async def intercept_service(  # noqa: D102 - gRPC's own
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler: Any = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith(_QUIET):
            return handler  # type: ignore[no-any-return]
        incident = _request_id(handler_call_details)
        metadata = handler_call_details.invocation_metadata or ()

        @contextlib.asynccontextmanager
        async def observed(request: Any, context: Any) -> AsyncIterator[Any]:
            with self._metrics.tracing.call(method, incident, metadata) as span:
                async with self._observed(method, incident, request, context, span):
                    yield request

        return around(handler, observed)

    @contextlib.asynccontextmanager
    async def _observed(
        self, method: str, incident: str, request: Any, context: Any, span: CallSpan
    ) -> AsyncIterator[None]:
        metrics = self._metrics
        name = method.rpartition("/")[2]
        size = len(request) if isinstance(request, bytes) else 0
        structlog.contextvars.bind_contextvars(incident=incident, method=name)
        if span.trace_id:
            structlog.contextvars.bind_contextvars(trace_id=span.trace_id)
        metrics.calls_in_flight.inc()
        self._in_flight += 1
        self._idle.clear()
        metrics.request_bytes.labels(name).observe(size)
        began = time.monotonic()
        # A stream whose reader is gone may be closed after gRPC has let go of the call: to ask for the peer
        # then crashes the process (grpcio 1.85).
        peer = context.peer()
        code = "OK"
        _log.debug("call begins", request_bytes=size)
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):
            code = "CANCELLED"
            metrics.cancelled.inc()
            raise
        except grpc.aio.AbortError:
            code = _name(context.code())
            raise
        except Exception as error:  # noqa: BLE001 (the last resort)
            code = "INTERNAL"
            _log.exception("unexpected error")
            await abort(context, status_of(error, incident=incident))
        finally:
            seconds = time.monotonic() - began
            metrics.calls_in_flight.dec()
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()
            span.ended(code, _number(code), size)
            metrics.calls.labels(name, code).inc()
            metrics.call_seconds.labels(name).observe(seconds)
            _log.info("call", code=code, seconds=round(seconds, 6), request_bytes=size, peer=peer)


def _request_id(details: grpc.HandlerCallDetails) -> str:
    for key, value in details.invocation_metadata or ():
        if key == REQUEST_ID and isinstance(value, str) and value:
            return value[:_LONGEST_ID]
    return uuid.uuid4().hex


def _name(code: Any) -> str:
    if isinstance(code, grpc.StatusCode):
        return code.name
    return next((known.name for known in grpc.StatusCode if known.value[0] == code), "UNKNOWN")


def _number(code: str) -> int:
    return int(grpc.StatusCode[code].value[0])
