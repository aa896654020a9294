"""The same request in other bytes: lists in another order, fields in another order, defaults written out.

An encoder of its own, since protobuf writes one form only: fields of a message in any order; scalars without
presence that are at their default written out all the same; packed numbers one by one; a message that is set
once in two parts, which parsers merge; varints with more bytes than they need.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from tests.fuzz.bytes_level import varint

_F = FieldDescriptor
_EIGHT = frozenset({_F.TYPE_DOUBLE, _F.TYPE_FIXED64, _F.TYPE_SFIXED64})
_FOUR = frozenset({_F.TYPE_FLOAT, _F.TYPE_FIXED32, _F.TYPE_SFIXED32})
_LONG = frozenset({_F.TYPE_STRING, _F.TYPE_BYTES})
UNORDERED = frozenset(
    """cluster.nodes cluster.node_classes cluster.topology.domains accelerators queues jobs job_classes
    profiles reservations claims""".split()
)
"""Lists whose order means nothing."""


def permuted(message: Any, rng: random.Random) -> None:
    """Put every list whose order means nothing in another, in place."""
    for path in sorted(UNORDERED):
        *way, last = path.split(".")
        holder = message
        for step in way:
            holder = getattr(holder, step)
        items = list(getattr(holder, last))
        if len(items) > 1:
            rng.shuffle(items)
            holder.ClearField(last)
            getattr(holder, last).extend(items)


def encoded(message: Message, rng: random.Random) -> bytes:
    """The message in other bytes."""
    parts = list(_fields(message, rng))
    parts += list(_defaults(message, rng))
    order = list(range(len(parts)))
    rng.shuffle(order)
    # Elements of one list keep their order; everything else may stand anywhere.
    by_number: dict[int, list[bytes]] = {}
    for number, body in parts:
        by_number.setdefault(number, []).append(body)
    return b"".join(by_number[parts[place][0]].pop(0) for place in order)


def _fields(message: Message, rng: random.Random) -> Iterator[tuple[int, bytes]]:
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for item in value if field.is_repeated else (value,):
                yield from _message(field, item, rng)
        elif field.is_repeated and field.message_type is None and field.type not in _LONG:
            for item in value:
                bare = type(message)()
                getattr(bare, field.name).append(item)
                packed = bare.SerializeToString()
                # Tag, length, one number: without its length, and of the number's own wire type.
                head = len(varint(field.number << 3 | 2))
                yield field.number, varint(field.number << 3 | _wire_type(field)) + packed[head + 1 :]
        else:
            bare = type(message)()
            if field.is_repeated:
                getattr(bare, field.name).MergeFrom(value)
            else:
                setattr(bare, field.name, value)
            yield field.number, bare.SerializeToString()


def _message(field: FieldDescriptor, item: Message, rng: random.Random) -> Iterator[tuple[int, bytes]]:
    tag = varint(field.number << 3 | 2)
    body = encoded(item, rng)
    yield field.number, tag + _long_varint(len(body), rng) + body
    if not field.is_repeated and rng.random() < 0.2:
        yield field.number, tag + b"\0"  # a second part that says nothing


def _defaults(message: Message, rng: random.Random) -> Iterator[tuple[int, bytes]]:
    given = {field.number for field, _ in message.ListFields()}
    for field in message.DESCRIPTOR.fields:
        silent = not field.is_repeated and not field.has_presence
        if silent and field.number not in given and rng.random() < 0.3:
            kind = _wire_type(field)
            zero = {0: b"\0" if rng.random() < 0.5 else b"\x80\0", 1: bytes(8), 2: b"\0", 5: bytes(4)}[kind]
            yield field.number, varint(field.number << 3 | kind) + zero


def _wire_type(field: FieldDescriptor) -> int:
    if field.type in _EIGHT:
        return 1
    if field.type in _FOUR:
        return 5
    return 2 if field.type in _LONG else 0


def _long_varint(value: int, rng: random.Random) -> bytes:
    short = varint(value)
    if rng.random() < 0.9 or len(short) > 3:
        return short
    return bytes([*(byte | 0x80 for byte in short), 0])
