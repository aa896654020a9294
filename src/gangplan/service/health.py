"""The standard health service, whose watches do not hold up the end of the server."""

from __future__ import annotations

import asyncio
from typing import Any

from grpc_health.v1 import health, health_pb2

_LAST_WORD_SECONDS = 0.1
"""For NOT_SERVING to be sent before a watch ends."""


class HealthServicer(health.aio.HealthServicer):
    """gRPC's own, but :meth:`end_watches` ends every watch: a server that stops waits for all streams."""

    def __init__(self) -> None:
        super().__init__()
        self._ended = asyncio.Event()

    async def Watch(self, request: health_pb2.HealthCheckRequest, context: Any) -> None:  # noqa: N802
        """Send the status and each change of it, until the client leaves or the server stops."""
        watch = asyncio.ensure_future(super().Watch(request, context))
        ended = asyncio.ensure_future(self._ended.wait())
        try:
            await asyncio.wait({watch, ended}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({watch}, timeout=_LAST_WORD_SECONDS)
        finally:
            ended.cancel()
            watch.cancel()
        if watch.done() and not watch.cancelled():
            watch.result()

    def end_watches(self) -> None:
        """End every watch, now and from now on."""
        self._ended.set()
