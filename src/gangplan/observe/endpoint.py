"""The HTTP port: ``/metrics`` for Prometheus, ``/healthz`` for probes, and the live page at ``/``.

The page loads nothing from elsewhere and its policy forbids that it could; all texts reach it as data. Who
may not call the service may not look, either. On loopback the name that a browser asks for must be this
machine's, so that no web page elsewhere can read along under a name of its own (DNS rebinding).
"""

from __future__ import annotations

import base64
import binascii
import http.server
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Callable
from http import HTTPStatus
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from prometheus_client.exposition import choose_encoder

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from gangplan.observe.board import Board

MOST_CONNECTIONS = 32
"""More are closed at once."""
_SECONDS_TO_ASK = 10.0
_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/live.css": ("live.css", "text/css; charset=utf-8"),
    "/live.js": ("live.js", "text/javascript; charset=utf-8"),
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class HttpEndpoint:
    """A running HTTP port.

    Args:
        host: address to listen on.
        port: 0 takes a free one.
        registry: of the metrics.
        board: what the live page shows.
        serving: whether calls are answered.
        allowed: whether the bearer of a token may look; None: anybody may.
        tls: for HTTPS; None: in the clear.
        refresh: called before each connection, for certificates that may have changed.
        shared: another process may listen on the same port.

    Raises:
        OSError: the port is taken.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        registry: CollectorRegistry,
        board: Board,
        serving: Callable[[], bool],
        allowed: Callable[[str], bool] | None = None,
        tls: ssl.SSLContext | None = None,
        refresh: Callable[[], object] | None = None,
        shared: bool = False,
    ) -> None:
        board.watched = True
        files = {path: (_read(name), kind) for path, (name, kind) in _FILES.items()}

        class Asked(_Asked):
            pass

        Asked.files = files
        Asked.registry = registry
        Asked.board = board
        Asked.serving = staticmethod(serving)
        Asked.allowed = None if allowed is None else staticmethod(allowed)
        Asked.loopback_only = _is_loopback(host)
        self._server = _Server((host, port), Asked, tls=tls, refresh=refresh, shared=shared)
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.1},
            name="gangplan-http",
            daemon=True,
        )
        self._thread.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._server.server_address[1])

    def stop(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


class _Server(http.server.ThreadingHTTPServer):
    """A thread for each connection, and no more connections than a few."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 16

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[_Asked],
        *,
        tls: ssl.SSLContext | None,
        refresh: Callable[[], object] | None,
        shared: bool,
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self.allow_reuse_port = shared
        self._tls = tls
        self._refresh = refresh
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__(address, handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept; the handshake is made in the connection's own thread."""
        connection, peer = super().get_request()
        if self._tls is not None:
            if self._refresh is not None:
                self._refresh()
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, peer

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, where there is room for one."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever leaves in the middle, or speaks no HTTP, is no reason for a traceback."""


class _Asked(http.server.BaseHTTPRequestHandler):
    """One request."""

    files: dict[str, tuple[bytes, str]]
    registry: CollectorRegistry
    board: Board
    serving: Callable[[], bool]
    allowed: Callable[[str], bool] | None
    loopback_only: bool

    protocol_version = "HTTP/1.1"
    server_version = "gangplan"
    sys_version = ""
    timeout = _SECONDS_TO_ASK

    def do_GET(self) -> None:
        """Answer what there is."""
        path = urlsplit(self.path).path
        if self.loopback_only and not _names_this_machine(self.headers.get("Host", "")):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, b"ask for localhost\n")
        elif path == "/healthz":
            serving = type(self).serving()
            status = HTTPStatus.OK if serving else HTTPStatus.SERVICE_UNAVAILABLE
            self._send(status, b"SERVING\n" if serving else b"NOT_SERVING\n")
        elif not self._may_look():
            self._send(
                HTTPStatus.UNAUTHORIZED,
                b"no valid credentials\n",
                challenge='Basic realm="gangplan: token as password"',
            )
        elif path == "/metrics":
            encode, kind = choose_encoder(self.headers.get("Accept", ""))
            self._send(HTTPStatus.OK, encode(self.registry), kind)
        elif path == "/live.json":
            document = self.board.document(_after(urlsplit(self.path).query))
            self._send(HTTPStatus.OK, json.dumps(document).encode(), "application/json")
        elif path in self.files:
            self._send(HTTPStatus.OK, *self.files[path])
        else:
            self._send(HTTPStatus.NOT_FOUND, b"there are /, /metrics and /healthz\n")

    do_HEAD = do_GET  # noqa: N815 - http.server's own

    def _may_look(self) -> bool:
        allowed = type(self).allowed
        return allowed is None or allowed(_token(self.headers.get("Authorization", "")))

    def _send(
        self, status: HTTPStatus, content: bytes, kind: str = "text/plain; charset=utf-8", challenge: str = ""
    ) -> None:
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if challenge:
            self.send_header("WWW-Authenticate", challenge)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - http.server's own
        """Scrapes are no news."""


def _token(authorization: str) -> str:
    """The token in a header: as Prometheus sends it, or as the password that a browser asks for."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def _after(query: str) -> float:
    """When the round was planned that a page has already; 0 when it says none."""
    try:
        return float(parse_qs(query).get("after", ["0"])[0])
    except ValueError:
        return 0.0


def _names_this_machine(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    return name == "localhost" or _is_loopback(name.strip("[]"))


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(name: str) -> bytes:
    return resources.files("gangplan.observe").joinpath("live", name).read_bytes()
