"""Bytes -> a message; what is none is the caller's fault."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from gangplan.errors import FieldViolation, InvalidInputError

_M = TypeVar("_M", bound=Message)


def parsed(kind: type[_M], encoded: bytes) -> _M:
    """Decode a message.

    Raises:
        InvalidInputError: the bytes are no such message.
    """
    try:
        return kind.FromString(encoded)
    except DecodeError as error:
        description = f"the bytes are no {kind.DESCRIPTOR.full_name} message"
        raise InvalidInputError([FieldViolation("", description)]) from error
