"""The server: build, start, drain, stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Callable
from typing import Self

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from gangplan.errors import SessionStoreError
from gangplan.observe.endpoint import HttpEndpoint
from gangplan.observe.logs import get_logger
from gangplan.observe.metrics import Metrics
from gangplan.observe.tracing import Tracing
from gangplan.service.answering import Answering
from gangplan.service.ending import MARGIN_SECONDS, ends_within
from gangplan.service.health import HealthServicer
from gangplan.service.interceptors import ObservingInterceptor
from gangplan.service.listening import ListenError, discard
from gangplan.service.methods import generic_handlers
from gangplan.service.notify import notify
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.planning import PLANNING_SERVICE
from gangplan.service.planning_servicer import PlanningServicer
from gangplan.service.reflecting import reflect
from gangplan.service.security.callers import CallersFile
from gangplan.service.security.certificates import CertificateFiles, Certificates
from gangplan.service.security.exposure import refuse_exposure
from gangplan.service.security.guard import GuardInterceptor
from gangplan.service.security.rates import Rate
from gangplan.service.servicer import PlacementServicer
from gangplan.service.session_servicer import SESSION_SERVICE, SessionServicer
from gangplan.v1 import placement_service_pb2, planning_service_pb2, session_service_pb2

_FILES = (
    placement_service_pb2.DESCRIPTOR,
    session_service_pb2.DESCRIPTOR,
    planning_service_pb2.DESCRIPTOR,
)
PLACEMENT_SERVICE = "gangplan.v1.PlacementService"
_SERVING = (PLACEMENT_SERVICE, SESSION_SERVICE, PLANNING_SERVICE)
_METADATA_BYTES = 64 * 1024
_FORGET_SECONDS = 60.0
"""Between two looks for sessions that were not used in time, at most."""
_SWITCH_SECONDS = 0.0003
"""How long a thread that plans may keep the interpreter while the event loop wants it, which a refusal or a
quick call has to have a dozen times. Python's own default is .005; two threads that plan take no more of the
processor with .0001 than with that."""

_log = get_logger(__name__)


class Server:
    """One service on one port.

    Args:
        options: how it is set up.
        placement: what the calls do; None makes one with a warm solver worker for each slot.
        metrics: of the server, and of ``placement`` where that is given; None makes them.

    Raises:
        InvalidInputError: the set-up would let anybody in, or its files are at fault.
    """

    def __init__(
        self,
        options: ServerOptions | None = None,
        *,
        placement: Placement | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._options = options = options or ServerOptions()
        refuse_exposure(options)
        self._certificates = _certificates(options)
        self._callers = None if options.callers is None else CallersFile(options.callers)
        self.metrics = metrics or Metrics(Tracing.to(options.otlp_endpoint))
        self._placement = placement or Placement.with_workers(self._options, self.metrics)
        self._answering = Answering(self._options, self.metrics)
        self._servicer = PlacementServicer(self._placement, self._answering)
        self._sessions = SessionServicer(
            self._placement.session_calls, self._answering, self._options.max_snapshot_bytes
        )
        self._planning = PlanningServicer(self._answering, options.slots, options.queue)
        self._interceptor = ObservingInterceptor(self.metrics)
        self._guard = GuardInterceptor(
            self._callers,
            certificates=options.client_ca is not None,
            rate=None if options.calls_per_second is None else Rate(options.calls_per_second, options.burst),
            metrics=self.metrics,
        )
        self._health = HealthServicer()
        self._server: grpc.aio.Server | None = None
        self._health_server: grpc.aio.Server | None = None
        self._http: HttpEndpoint | None = None
        self._forgetting: asyncio.Task[None] | None = None
        self.address = ""
        self.health_address = ""

    async def start(self) -> str:
        """Warm the workers, then listen. Ready when this returns.

        Returns:
            The address, ``host:port``.

        Raises:
            ListenError: an address cannot be bound.
        """
        options = self._options
        host = f"[{options.host}]" if ":" in options.host else options.host
        await asyncio.to_thread(self._placement.warm)
        server = grpc.aio.server(
            interceptors=[self._interceptor, self._guard],
            options=[
                ("grpc.max_receive_message_length", options.max_message_bytes),
                ("grpc.max_send_message_length", options.max_message_bytes),
                ("grpc.max_metadata_size", _METADATA_BYTES),
                ("grpc.max_connection_age_ms", round(options.connection_seconds * 1000)),
                # Two servers on one port share its calls: not without a word.
                ("grpc.so_reuseport", int(options.reuse_port)),
            ],
        )
        server.add_generic_rpc_handlers(
            generic_handlers(
                _FILES, {**self._servicer.methods, **self._sessions.methods, **self._planning.methods}
            )
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        names = [name for file in _FILES for name in (s.full_name for s in file.services_by_name.values())]
        reflect([*names, health.SERVICE_NAME], server)
        try:
            port = self._listen(server, f"{host}:{options.port}")
            if options.metrics_port is not None:
                self._http = self._serve_http(options.metrics_host, options.metrics_port)
                _log.info("metrics", address=f"{options.metrics_host}:{self._http.port}")
            if options.health_port is not None:
                await self._serve_health(host, options.health_port)
        except ListenError:
            await discard(server)
            await self._close()
            raise
        await server.start()
        self._server = server
        self._forgetting = asyncio.create_task(self._forget_expired())
        for name in ("", *_SERVING):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        for name in names:
            if name not in _SERVING:
                await self._health.set(name, health_pb2.HealthCheckResponse.NOT_SERVING)
        self.address = f"{host}:{port}"
        _log.info(
            "listening",
            address=self.address,
            slots=options.slots,
            queue=options.queue,
            tls=options.tls_certificate is not None,
            callers_known=options.callers is not None or options.client_ca is not None,
        )
        if options.insecure:
            _log.warning("insecure: whoever reaches the address may call")
        return self.address

    async def stop(self, grace_seconds: float | None = None) -> None:
        """Drain: say NOT_SERVING, take no new calls, let those in flight finish within the grace, stop.

        Args:
            grace_seconds: None takes the options'.
        """
        grace = self._options.grace_seconds if grace_seconds is None else grace_seconds
        _log.info("draining", grace_seconds=grace)
        await self._health.enter_graceful_shutdown()
        server, self._server = self._server, None
        if server is not None:
            await self._drain(server, grace)
        if self._health_server is not None:
            await self._health_server.stop(0)
            self._health_server = None
        if self._forgetting is not None:
            self._forgetting.cancel()
            self._forgetting = None
        self._answering.close()
        self._planning.close()
        await self._close()
        await asyncio.to_thread(self.metrics.tracing.close)
        _log.info("stopped")

    async def _close(self) -> None:
        """Let go of what is there before the first call can come."""
        await asyncio.to_thread(self._placement.close)
        if self._http is not None:
            await asyncio.to_thread(self._http.stop)
            self._http = None

    async def _forget_expired(self) -> None:
        """Let go of sessions that nobody asks for any more, again and again."""
        while True:
            await asyncio.sleep(min(_FORGET_SECONDS, self._options.session_seconds))
            try:
                await asyncio.to_thread(self._placement.forget_expired)
            except SessionStoreError as error:
                _log.warning("expired sessions are not forgotten now", error=str(error))

    def _listen(self, server: grpc.aio.Server, address: str) -> int:
        try:
            if self._certificates is None:
                return server.add_insecure_port(address)
            return server.add_secure_port(address, self._certificates.credentials())
        except RuntimeError as error:
            raise ListenError(self._options.host, self._options.port, ("host", "port")) from error

    def _serve_http(self, host: str, port: int) -> HttpEndpoint:
        """Metrics and the live page, for those who may call the service."""
        callers, certificates = self._callers, self._certificates
        self.metrics.sessions.set_function(lambda: self._placement.session_calls.sessions.held)
        try:
            return HttpEndpoint(
                host,
                port,
                registry=self.metrics.registry,
                board=self.metrics.board,
                serving=lambda: self._server is not None,
                allowed=None if callers is None else lambda token: callers.by_token(token) is not None,
                tls=None if certificates is None else certificates.http,
                refresh=None if certificates is None else certificates.refresh,
                shared=self._options.reuse_port,
            )
        except OSError as error:
            # An unknown name's number is of another kind: it is looked up again.
            cause = None if isinstance(error, socket.gaierror) else error.errno
            raise ListenError(host, port, ("metrics_host", "metrics_port"), cause) from error

    @property
    def http_address(self) -> str:
        """``host:port`` of the metrics and the live page; empty: there are none."""
        return "" if self._http is None else f"{self._options.metrics_host}:{self._http.port}"

    async def _serve_health(self, host: str, asked: int) -> None:
        """The health service alone and without TLS, which tells nothing but SERVING."""
        server = grpc.aio.server(options=[("grpc.so_reuseport", int(self._options.reuse_port))])
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        try:
            port = server.add_insecure_port(f"{host}:{asked}")
        except RuntimeError as error:
            await discard(server)
            raise ListenError(self._options.host, asked, ("host", "health_port")) from error
        await server.start()
        self._health_server = server
        self.health_address = f"{host}:{port}"
        _log.info("health", address=self.health_address)

    async def _drain(self, server: grpc.aio.Server, grace: float) -> None:
        """Stop; health watches, which last, do not hold it up once the calls are answered.

        There must be one call of ``server.stop``: a second one while the first ends crashes the process
        (grpcio 1.85).
        """
        stopped = asyncio.ensure_future(server.stop(grace))
        idle = asyncio.ensure_future(self._interceptor.idle())
        await asyncio.wait({stopped, idle}, return_when=asyncio.FIRST_COMPLETED)
        idle.cancel()
        self._health.end_watches()
        await stopped

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop(0)


def _certificates(options: ServerOptions) -> Certificates | None:
    if options.tls_certificate is None or options.tls_key is None:
        return None
    return Certificates(CertificateFiles(options.tls_certificate, options.tls_key, options.client_ca))


def serve(options: ServerOptions, ready: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT, then drain: a second longer than the grace at most.

    Args:
        options: how the server is set up.
        ready: called with the address once calls are answered.

    Raises:
        ListenError: an address cannot be bound.
        OSError: what sessions or captured rounds are kept in cannot be opened.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    with ends_within(options.grace_seconds + MARGIN_SECONDS) as stopping:
        asyncio.run(_serve(options, ready, stopping))


async def _serve(
    options: ServerOptions, ready: Callable[[str], None], told_to_stop: Callable[[], None] = lambda: None
) -> None:
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if not asked.is_set():  # who asks again does not get more time
            told_to_stop()
        asked.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    server = Server(options)
    starting = asyncio.ensure_future(server.start())
    stopping = asyncio.ensure_future(asked.wait())
    await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
    try:
        address = await starting  # a signal during the warm-up is heeded once it is over
        if not asked.is_set():
            notify("READY=1")
            ready(address)
        await stopping
    finally:
        notify("STOPPING=1")
        stopping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await stopping
        await server.stop()
