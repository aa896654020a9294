"""Around every unary call: a request id, one log line, metrics, and INTERNAL as the last resort."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import structlog
from grpc_status import rpc_status

from gangplan.observe.logs import get_logger
from gangplan.observe.metrics import Metrics
from gangplan.service.status import status_of

REQUEST_ID = "x-request-id"
"""Metadata key under which a caller may bring an id of its own for the logs."""
_LONGEST_ID = 128
_QUIET = ("/grpc.health.", "/grpc.reflection.")

_log = get_logger(__name__)


class ObservingInterceptor(grpc.aio.ServerInterceptor):
    """Logs and counts every unary call; an error that nobody caught becomes INTERNAL and reveals nothing."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Wait until no unary call is in flight."""
        await self._idle.wait()

    async def intercept_service(  # noqa: D102 - gRPC's own
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler: Any = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or handler.unary_unary is None or method.startswith(_QUIET):
            return handler  # type: ignore[no-any-return]
        incident = _request_id(handler_call_details)

        async def observed(request: Any, context: Any) -> Any:
            return await self._observe(handler.unary_unary, method, incident, request, context)

        return grpc.unary_unary_rpc_method_handler(
            observed, handler.request_deserializer, handler.response_serializer
        )

    async def _observe(self, behaviour: Any, method: str, incident: str, request: Any, context: Any) -> Any:
        metrics = self._metrics
        name = method.rpartition("/")[2]
        size = len(request) if isinstance(request, bytes) else 0
        structlog.contextvars.bind_contextvars(incident=incident, method=name)
        metrics.calls_in_flight.inc()
        self._in_flight += 1
        self._idle.clear()
        metrics.request_bytes.labels(name).observe(size)
        began = time.monotonic()
        code = "OK"
        _log.debug("call begins", request_bytes=size)
        try:
            return await behaviour(request, context)
        except asyncio.CancelledError:
            code = "CANCELLED"
            metrics.cancelled.inc()
            raise
        except grpc.aio.AbortError:
            code = _name(context.code())
            raise
        except Exception as error:  # noqa: BLE001 (the last resort)
            code = "INTERNAL"
            _log.exception("unexpected error")
            status = rpc_status.to_status(status_of(error, incident=incident))
            await context.abort(status.code, status.details, status.trailing_metadata)
        finally:
            seconds = time.monotonic() - began
            metrics.calls_in_flight.dec()
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()
            metrics.calls.labels(name, code).inc()
            metrics.call_seconds.labels(name).observe(seconds)
            _log.info("call", code=code, seconds=round(seconds, 6), request_bytes=size, peer=context.peer())


def _request_id(details: grpc.HandlerCallDetails) -> str:
    for key, value in details.invocation_metadata or ():
        if key == REQUEST_ID and isinstance(value, str) and value:
            return value[:_LONGEST_ID]
    return uuid.uuid4().hex


def _name(code: Any) -> str:
    if isinstance(code, grpc.StatusCode):
        return code.name
    return next((known.name for known in grpc.StatusCode if known.value[0] == code), "UNKNOWN")
