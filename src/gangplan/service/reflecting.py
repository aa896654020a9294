"""Server reflection, in the version that Python's gRPC has and in the one that newer clients ask first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc
import grpc.aio
from grpc_reflection.v1alpha import reflection, reflection_pb2

_V1 = "grpc.reflection.v1.ServerReflection"
"""Its messages are those of v1alpha, field by field (grpc/grpc-proto, grpc/reflection/v1)."""


def reflect(names: Iterable[str], server: grpc.aio.Server) -> None:
    """Let clients ask for the contract.

    Args:
        names: full names of the services to tell of, besides reflection itself.
        server: that answers.
    """
    told = [*names, reflection.SERVICE_NAME]
    reflection.enable_server_reflection(told, server)
    servicer: Any = reflection.aio.ReflectionServicer(service_names=told)
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(_V1, {"ServerReflectionInfo": handler}),)
    )
