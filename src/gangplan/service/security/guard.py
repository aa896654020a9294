"""Before every call: who calls, whether it may, and whether it calls too often or with too much."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import structlog

from gangplan.errors import (
    GangplanError,
    PermissionDeniedError,
    RateLimitedError,
    RequestTooLargeError,
    UnauthenticatedError,
)
from gangplan.observe.metrics import Metrics
from gangplan.service.aborting import abort
from gangplan.service.caller import EVERYBODYS, IDENTITY, caller_of
from gangplan.service.methods import around
from gangplan.service.security.callers import Caller, CallersFile
from gangplan.service.security.rates import Rate, Rates
from gangplan.service.security.scopes import OPEN, Scope, scope_of
from gangplan.service.status import status_of

AUTHORIZATION = "authorization"
_BEARER = "bearer "
_NAMES = ("x509_common_name", "x509_subject_alternative_name")


@dataclass(frozen=True, slots=True)
class _Known:
    """Who calls: a name, and what it may do."""

    name: str
    scope: Scope
    rate: Rate | None
    max_request_bytes: int | None = None


class GuardInterceptor(grpc.aio.ServerInterceptor):
    """Lets calls through that may be made.

    A token that nobody has is refused before the request is read.

    Args:
        callers: who there is; None: whoever has a certificate, or anybody where none is asked for.
        certificates: callers show certificates, so TLS has seen to it that each has one.
        rate: of each caller that the file gives none; None: without limit.
        metrics: where refusals are counted.
    """

    def __init__(
        self, callers: CallersFile | None, *, certificates: bool, rate: Rate | None, metrics: Metrics
    ) -> None:
        self._callers = callers
        self._certificates = certificates
        self._rate = rate
        self._rates = Rates()
        self._metrics = metrics

    async def intercept_service(  # noqa: D102 - gRPC's own
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler: Any = await continuation(handler_call_details)
        method = handler_call_details.method
        if method.startswith(OPEN):
            return handler  # type: ignore[no-any-return]
        try:
            known = self._by_token(handler_call_details.invocation_metadata or ())
            if handler is None:
                # Which methods there are is told to those only who may call.
                return (
                    None if known is not None or self._is_open() else self._refusing(UnauthenticatedError())
                )
            if known is not None:
                self._admit(known, method)
        except GangplanError as error:
            return self._refusing(error)

        @contextlib.asynccontextmanager
        async def let_in(request: Any, context: Any) -> AsyncIterator[Any]:
            yield await self._let_in(known, method, request, context)

        return around(handler, let_in)

    def _is_open(self) -> bool:
        return self._callers is None and not self._certificates

    def _by_token(self, metadata: Iterable[tuple[str, str | bytes]]) -> _Known | None:
        """Who brings a token; None: the call brings none, and a certificate may do.

        Raises:
            UnauthenticatedError: a token is needed or given, and is nobody's.
        """
        if self._callers is None:
            return None
        given = [value for key, value in metadata if key == AUTHORIZATION]
        if not given and self._certificates:
            return None
        if len(given) != 1 or not isinstance(given[0], str) or not given[0].lower().startswith(_BEARER):
            raise UnauthenticatedError
        return self._known(self._callers.by_token(given[0][len(_BEARER) :].strip()))

    def _known(self, caller: Caller | None) -> _Known:
        if caller is None:
            raise UnauthenticatedError
        return _Known(caller.name, caller.scope, caller.rate(self._rate), caller.max_request_bytes)

    def _by_certificate(self, context: Any) -> _Known:
        """Who shows a certificate that TLS has checked."""
        found = context.auth_context()
        names = [
            each.decode("utf-8", "replace")
            for key in _NAMES
            for each in found.get(key, ())
            if isinstance(each, bytes)
        ]
        if self._callers is not None:
            return self._known(self._callers.by_certificate(names))
        if not names:
            raise UnauthenticatedError
        return _Known(names[0], Scope.PLAN, self._rate)

    async def _let_in(self, known: _Known | None, method: str, request: Any, context: Any) -> Any:
        """The request, or its chunks, of a caller that may call; the others are refused."""
        try:
            if known is None:
                if self._certificates:
                    known = self._by_certificate(context)
                    self._admit(known, method)
                elif self._rate is not None:
                    self._within(self._rate, caller_of(context))
            if known is None:
                return request
            IDENTITY.set(known.name)
            EVERYBODYS.set(known.scope.includes(Scope.ADMIN))
            structlog.contextvars.bind_contextvars(caller=known.name)
            if known.max_request_bytes is None:
                return request
            if not isinstance(request, bytes):
                return self._counted(request, known.max_request_bytes, context)
            _within_size(len(request), known.max_request_bytes)
        except GangplanError as error:
            await self._refuse(error, context)
        return request

    async def _counted(self, chunks: AsyncIterator[Any], most: int, context: Any) -> AsyncIterator[Any]:
        size = 0
        async for chunk in chunks:
            size += len(chunk) if isinstance(chunk, bytes) else chunk.ByteSize()
            try:
                _within_size(size, most)
            except RequestTooLargeError as error:
                await self._refuse(error, context)
            yield chunk

    def _admit(self, known: _Known, method: str) -> None:
        if not known.scope.includes(scope_of(method)):
            raise PermissionDeniedError
        if known.rate is not None:
            self._within(known.rate, known.name)

    def _within(self, rate: Rate, caller: str) -> None:
        wait = self._rates.take(caller, rate)
        if wait > 0:
            raise RateLimitedError(rate.per_second, rate.burst, wait)

    def _refusing(self, error: GangplanError) -> grpc.RpcMethodHandler[Any, Any]:
        """A handler that refuses without reading what is sent: whatever the method, it reads a stream."""

        async def refuse(_: object, context: Any) -> None:
            await self._refuse(error, context)

        return grpc.stream_stream_rpc_method_handler(refuse)

    async def _refuse(self, error: GangplanError, context: Any) -> None:
        self._metrics.denied.labels(error.reason).inc()
        await abort(context, status_of(error))


def _within_size(size: int, most: int) -> None:
    if size > most:
        raise RequestTooLargeError(most)
