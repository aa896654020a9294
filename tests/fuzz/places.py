"""Places in messages: all of them in a request, and whether a path in a refusal names one that exists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

_STEP = re.compile(r"([a-z_0-9]+)((?:\[(?:-?\d+|\"(?:[^\"\\]|\\.|\"(?!\]))*\")\])?)", re.DOTALL)


def messages_in(message: Message) -> Iterator[Message]:
    """The message and every message set within it, ours and the well-known ones."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            if field.message_type.fields_by_name["value"].message_type is not None:
                for key in value:
                    yield from messages_in(value[key])
        elif field.is_repeated:
            for item in value:
                yield from messages_in(item)
        else:
            yield from messages_in(value)


def strings_in(messages: Iterable[Message]) -> list[str]:
    """Every string set in messages themselves: names to be used where they do not belong."""
    found: list[str] = []
    for each in messages:
        for field, value in each.ListFields():
            if field.type == FieldDescriptor.TYPE_STRING:
                found += list(value) if field.is_repeated else [value]
    return found


def exists(path: str, kind: Descriptor) -> bool:
    """Whether a path such as ``jobs[3].running.placements[0].node`` or ``labels["zone"]`` is in a message.

    Indices are not held against a message: a delta's refusal may speak of what was there before.
    """
    rest, here = path, kind
    while rest:
        match = _STEP.match(rest)
        if match is None:
            return False
        field = here.fields_by_name.get(match[1])
        if field is None or (match[2] and not field.is_repeated):
            return False
        rest = rest[match.end() :]
        if not rest:
            return True
        if not rest.startswith(".") or field.message_type is None:
            return False
        rest = rest[1:]
        here = _inner(field)
        if here is None:
            return False
    return False


def _inner(field: FieldDescriptor) -> Descriptor | None:
    kind: Any = field.message_type
    if kind.GetOptions().map_entry:
        return kind.fields_by_name["value"].message_type  # type: ignore[no-any-return]
    return kind  # type: ignore[no-any-return]
