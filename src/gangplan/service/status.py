"""From our errors to rich gRPC statuses (design, section 11), and back on the client's side."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2  # type: ignore[import-untyped]
from grpc import StatusCode
from grpc_status import rpc_status

from gangplan.errors import (
    FieldViolation,
    GangplanError,
    InvalidInputError,
    OverloadedError,
    PermissionDeniedError,
    RequestTooLargeError,
    ResyncRequiredError,
    ServiceError,
    SessionStoreError,
    UnauthenticatedError,
    UnknownProposerError,
    UnknownSessionError,
    UnknownSolverError,
)

DOMAIN = "gangplan"
"""Domain of every ``ErrorInfo``."""

MOST_BYTES = 5_000
"""Largest status sent. It travels in the trailing metadata, in base64, of which many clients take 8 KiB."""
_MESSAGE_BYTES = 1_000
"""Longest message, which travels there a second time, percent-encoded."""
_AS_IT_IS = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) != "%")
_LONGEST_DESCRIPTION = 400
_LONG_KEY = re.compile(r'\["([^"]{40})[^"]*"\]')


def status_of(error: Exception, *, incident: str = "") -> status_pb2.Status:
    """The rich status of an error; what we did not raise on purpose becomes INTERNAL and reveals nothing.

    Args:
        error: what went wrong.
        incident: an id to find the matching log lines by.
    """
    match error:
        case InvalidInputError():
            return _invalid(error.reason, error.violations)
        case UnknownSolverError() | UnknownProposerError():
            return _invalid(error.reason, (FieldViolation(error.field, str(error)),))
        case OverloadedError():
            retry = error_details_pb2.RetryInfo()
            retry.retry_delay.FromNanoseconds(round(error.retry_after_seconds * 1e9))
            message = f"too many calls: {error}; try again in {error.retry_after_seconds:.2g} s"
            return _status(code_pb2.RESOURCE_EXHAUSTED, message, error.reason, retry)
        case UnauthenticatedError():
            return _status(code_pb2.UNAUTHENTICATED, str(error), error.reason)
        case PermissionDeniedError():
            return _status(code_pb2.PERMISSION_DENIED, str(error), error.reason)
        case RequestTooLargeError():
            return _status(code_pb2.RESOURCE_EXHAUSTED, str(error), error.reason)
        case UnknownSessionError():
            return _status(code_pb2.NOT_FOUND, str(error), error.reason)
        case ResyncRequiredError():
            return _status(code_pb2.ABORTED, str(error), error.reason)
        case SessionStoreError():
            message = (
                f"sessions cannot be read or written now; see the log of the service, incident {incident}"
            )
            return _status(code_pb2.UNAVAILABLE, message, error.reason)
        case GangplanError():
            message = f"planning failed; see the log of the service, incident {incident}"
            return _status(code_pb2.INTERNAL, message, error.reason)
        case _:
            message = f"internal error; see the log of the service, incident {incident}"
            return _status(code_pb2.INTERNAL, message, "INTERNAL")


def unimplemented(method: str) -> status_pb2.Status:
    """The status of a call to a method that is in the contract and not built yet."""
    message = f"{method} is not built yet; GetCapabilities tells what is"
    return _status(code_pb2.UNIMPLEMENTED, message, "NOT_BUILT")


def unavailable(message: str) -> status_pb2.Status:
    """The status of a server that is not ready, or no longer."""
    return _status(code_pb2.UNAVAILABLE, message, "NOT_SERVING")


def too_large(size: int, limit: int) -> status_pb2.Status:
    """The status of an answer that no client would take."""
    message = (
        f"the answer has {size} bytes, and the limit is {limit}; raise it on both sides, or ask for less"
    )
    return _status(code_pb2.RESOURCE_EXHAUSTED, message, "ANSWER_TOO_LARGE")


def snapshot_too_large(limit: int) -> status_pb2.Status:
    """The status of a snapshot whose chunks are too much together."""
    message = f"the snapshot has more than {limit} bytes, the limit for all chunks together"
    return _status(code_pb2.RESOURCE_EXHAUSTED, message, "SNAPSHOT_TOO_LARGE")


def service_error(status: status_pb2.Status) -> ServiceError:
    """What a client raises for a status."""
    violations: list[FieldViolation] = []
    reason, retry_after = "", None
    for detail in status.details:
        bad, info, retry = (
            error_details_pb2.BadRequest(),
            error_details_pb2.ErrorInfo(),
            error_details_pb2.RetryInfo(),
        )
        if detail.Unpack(bad):
            violations += [FieldViolation(v.field, v.description) for v in bad.field_violations]
        elif detail.Unpack(info):
            reason = info.reason
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.ToNanoseconds() / 1e9
    return ServiceError(
        status.message,
        code_pb2.Code.Name(status.code),
        violations,
        service_reason=reason,
        retry_after_seconds=retry_after,
    )


def error_of_call(call: Any) -> ServiceError:
    """What a client raises for a failed gRPC call.

    Args:
        call: a ``grpc.RpcError`` that is a ``grpc.Call`` too, as gRPC raises it.
    """
    code: StatusCode = call.code()
    details: str = call.details() or ""
    try:
        rich = rpc_status.from_call(call)
    except ValueError:  # its details are of another server's making
        rich = None
    if rich is not None:
        return service_error(rich)
    return ServiceError(details, code.name)


def _invalid(reason: str, violations: Sequence[FieldViolation]) -> status_pb2.Status:
    number = len(violations)
    first = _shortened(str(violations[0])) if violations else ""
    message = first if number == 1 else f"{number} violations; the first: {first}"
    status = _status(code_pb2.INVALID_ARGUMENT, message, reason, error_details_pb2.BadRequest())
    bad = error_details_pb2.BadRequest()
    left = MOST_BYTES - status.ByteSize() - 200
    for place, violation in enumerate(violations):
        entry = error_details_pb2.BadRequest.FieldViolation(
            field=_shortened_path(violation.field), description=_shortened(violation.description)
        )
        left -= entry.ByteSize() + 4
        if left < 0:
            more = f"and {number - place} more violations: mend these first"
            bad.field_violations.add(field="", description=more)
            break
        bad.field_violations.append(entry)
    status.details[-1].Pack(bad)
    return status


def _status(code: int, message: str, reason: str, *details: Message) -> status_pb2.Status:
    """A status, with as much of its message as fits: names in it are the caller's, and of any length."""
    info = error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN)
    message = _shortened(message)
    while len(quote(message, safe=_AS_IT_IS)) > _MESSAGE_BYTES:
        message = f"{message[: len(message) * 3 // 4]}..."
    return status_pb2.Status(code=code, message=message, details=[_packed(part) for part in (info, *details)])


def _packed(message: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed


def _shortened_path(path: str) -> str:
    """A path that is still one: long keys of maps are cut, and then the steps at the end."""
    if len(path) <= _LONGEST_DESCRIPTION:
        return path
    path = _LONG_KEY.sub(r'["\1..."]', path)
    while len(path) > _LONGEST_DESCRIPTION and "." in path:
        path = path.rpartition(".")[0]
    return path[:_LONGEST_DESCRIPTION]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_DESCRIPTION else f"{text[: _LONGEST_DESCRIPTION - 3]}..."
