"""The methods of the contract, built or not, as handlers that get and give bytes.

Requests are decoded and answers encoded by the servicer, large ones off the event loop, and within the call's
time budget: gRPC's own decoding would run on the loop, and answer a broken message with INTERNAL.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

import grpc
import grpc.aio
from google.protobuf.descriptor import FileDescriptor

from gangplan.service.aborting import abort
from gangplan.service.status import unimplemented

Behaviour = Callable[..., Any]
"""Takes the request, or an iterator of requests where they are streamed, and the context; gives a promise of
the answer, or an iterator of answers where they are streamed."""


_MAKERS: Mapping[tuple[bool, bool], Any] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}
"""By whether requests and answers are streamed."""
_NAMES: Mapping[tuple[bool, bool], str] = {
    (False, False): "unary_unary",
    (False, True): "unary_stream",
    (True, False): "stream_unary",
    (True, True): "stream_stream",
}
"""And where a handler has its behaviour."""


def behaviour_of(handler: Any) -> Behaviour:
    """What a handler does."""
    behaviour: Behaviour = getattr(handler, _NAMES[handler.request_streaming, handler.response_streaming])
    return behaviour


def with_behaviour(handler: Any, behaviour: Behaviour) -> grpc.RpcMethodHandler[Any, Any]:
    """The same handler, which does something else."""
    return _MAKERS[handler.request_streaming, handler.response_streaming](  # type: ignore[no-any-return]
        behaviour,
        request_deserializer=handler.request_deserializer,
        response_serializer=handler.response_serializer,
    )


def around(
    handler: Any, enter: Callable[[Any, Any], AbstractAsyncContextManager[Any]]
) -> grpc.RpcMethodHandler[Any, Any]:
    """The same handler within something else, from the request until the last answer.

    gRPC's state of a call keeps the error with which it was aborted. That must not lead back to the call
    through the frames of its traceback, or the two keep each other, and the request, until Python looks for
    cycles: under overload never.

    Args:
        handler: what is done.
        enter: takes the request and the context; a context manager of the request to go on with.
    """
    behaviour = behaviour_of(handler)

    async def within(request: Any, context: Any) -> Any:
        async with enter(request, context) as given:
            return await behaviour(given, context)

    async def answered(request: Any, context: Any) -> Any:
        try:
            return await within(request, context)
        except grpc.aio.AbortError as error:
            del request, context
            error.__traceback__ = None
            raise

    async def streamed_within(request: Any, context: Any) -> AsyncGenerator[Any, None]:
        async with enter(request, context) as given:
            answers = behaviour(given, context)
            if not isinstance(answers, AsyncGenerator):
                await answers  # refused: there is nothing to stream
                return
            async with aclosing(answers):
                async for answer in answers:
                    yield answer

    async def streamed(request: Any, context: Any) -> AsyncIterator[Any]:
        try:
            async with aclosing(streamed_within(request, context)) as answers:
                async for answer in answers:
                    yield answer
        except grpc.aio.AbortError as error:
            del request, context
            error.__traceback__ = None
            raise

    return with_behaviour(handler, streamed if handler.response_streaming else answered)


def generic_handlers(
    files: tuple[FileDescriptor, ...], built: Mapping[str, Behaviour]
) -> tuple[grpc.GenericRpcHandler, ...]:
    """One handler for each service of the files.

    Args:
        files: descriptors of the files that declare services.
        built: by full method name, e.g. ``gangplan.v1.PlacementService.PlanRound``, what answers it; each
            other method is answered with UNIMPLEMENTED.

    Raises:
        ValueError: a method of ``built`` is not in the contract.
    """
    unknown = set(built)
    handlers = []
    for service in (service for file in files for service in file.services_by_name.values()):
        methods: dict[str, grpc.RpcMethodHandler[Any, Any]] = {}
        for method in service.methods:
            behaviour = built.get(method.full_name)
            if behaviour is None:
                methods[method.name] = _not_built(
                    method.full_name, client=method.client_streaming, server=method.server_streaming
                )
                continue
            make = _MAKERS[method.client_streaming, method.server_streaming]
            methods[method.name] = make(behaviour)
            unknown.discard(method.full_name)
        handlers.append(grpc.method_handlers_generic_handler(service.full_name, methods))
    if unknown:
        raise ValueError(f"not in the contract: {', '.join(sorted(unknown))}")
    return tuple(handlers)


def _not_built(name: str, *, client: bool, server: bool) -> grpc.RpcMethodHandler[Any, Any]:
    async def refuse(_: object, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        await abort(context, unimplemented(name))

    handler: grpc.RpcMethodHandler[Any, Any] = _MAKERS[client, server](refuse)
    return handler
