"""Why a service cannot listen where it was told to, and which of its settings would mend that."""

from __future__ import annotations

import errno
import os
import socket

import grpc.aio

_OF_THE_HOST = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class ListenError(OSError):
    """An address cannot be bound.

    Args:
        host: as it was asked for, an IPv6 address without brackets.
        port: as it was asked for.
        settings: the options that ``host`` and ``port`` are from, by name.
        cause: the number of the system's error, where it is known; else binding is tried once more for it.

    Attributes:
        setting: which of the two to change.
    """

    def __init__(self, host: str, port: int, settings: tuple[str, str], cause: int | None = None) -> None:
        shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        number, reason = (cause, os.strerror(cause)) if cause else _tried(host, port)
        self.setting = settings[0] if number is None or number in _OF_THE_HOST else settings[1]
        super().__init__(f"cannot listen on {shown} ({self.setting}): {reason}")


def _tried(host: str, port: int) -> tuple[int | None, str]:
    """The error that binding gives, for gRPC keeps its own to itself: number (None: unknown host), words."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
            probe.listen()
    except socket.gaierror as error:
        return None, error.strerror or "no such host"
    except OSError as error:
        return error.errno, error.strerror or "it is taken"
    return errno.EADDRINUSE, "it was taken just now"


async def discard(server: grpc.aio.Server) -> None:
    """Let go of a server that cannot listen, and was not started.

    gRPC frees only what a stopped server holds. Of another it logs, at the level DEBUG and *while it is being
    freed*, the server itself: whoever keeps log records then keeps what is no longer there, and the process
    dies when Python next looks for garbage (grpcio 1.85, ``AioServer.__dealloc__``).
    """
    await server.start()
    await server.stop(None)
