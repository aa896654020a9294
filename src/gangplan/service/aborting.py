"""The end of a call with a status, whether or not there is still somebody to be told."""

from __future__ import annotations

import asyncio
from typing import Any, NoReturn

import grpc.aio
from google.rpc import status_pb2  # type: ignore[import-untyped]
from grpc_status import rpc_status


async def abort(context: Any, status: status_pb2.Status) -> NoReturn:
    """End a call with a rich status. Nothing else aborts.

    Args:
        context: of the call, a :class:`grpc.aio.ServicerContext`.
        status: what the caller is told.

    Raises:
        grpc.aio.AbortError: it was told.
        asyncio.CancelledError: its caller had gone, so nobody was told. gRPC cancels a call for that itself,
            but only once the event loop comes to it, which may be after a refusal.
    """
    rich = rpc_status.to_status(status)
    try:
        await context.abort(rich.code, rich.details, rich.trailing_metadata)
    except grpc.aio.InternalError:
        raise asyncio.CancelledError from None
    raise AssertionError("gRPC's abort came back")
