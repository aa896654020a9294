"""Finds what is set in a request although its behaviour is not built yet, or is not known at all.

The contract itself marks such fields and enum values (``proto/gangplan/v1/options.proto``), so there is one
table and it is public. For every message type a plan of the fields worth looking at is made once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from gangplan.service.wire.built import sets_built_fields_only
from gangplan.service.wire.fields import Fields
from gangplan.v1 import options_pb2, placement_service_pb2


@dataclass(frozen=True, slots=True)
class _Enum:
    """Numbers of an enum: all that are known, and those that are planned."""

    known: frozenset[int]
    planned: dict[int, str]


@dataclass(frozen=True, slots=True)
class _Watched:
    """A field worth looking at; exactly one of the last three says why."""

    name: str
    repeated: bool
    planned: bool = False
    enum: _Enum | None = None
    message: Descriptor | None = None


def refuse_planned(message: Message, path: str, fields: Fields) -> None:
    """Note everything in ``message`` that is planned or unknown, with its full path.

    Planned messages are followed down to the values that are set in them.
    """
    if sets_built_fields_only(message):
        return
    _scan(message, _watched(message.DESCRIPTOR), path, fields)
    bare = type(message)()
    bare.CopyFrom(message)
    bare.DiscardUnknownFields()
    if bare.ByteSize() != message.ByteSize():
        _refuse_unknown(message, path, fields)


def planned_names() -> tuple[str, ...]:
    """Full names of all planned fields and enum values of requests, sorted."""
    names: set[str] = set()
    todo = [placement_service_pb2.ValidatePlanRequest.DESCRIPTOR]
    seen = set(todo)
    while todo:
        for field in todo.pop().fields:
            if _is_planned(field):
                names.add(field.full_name)
                continue
            if field.enum_type is not None:
                names.update(
                    f"{field.enum_type.full_name}.{name}" for name in _enum(field.enum_type).planned.values()
                )
            if field.message_type is not None and field.message_type not in seen:
                seen.add(field.message_type)
                todo.append(field.message_type)
    return tuple(sorted(names))


def _is_planned(field: FieldDescriptor) -> bool:
    return bool(field.GetOptions().Extensions[options_pb2.planned])


@cache
def _enum(enum: EnumDescriptor) -> _Enum:
    planned = {
        value.number: value.name
        for value in enum.values
        if value.GetOptions().Extensions[options_pb2.planned_value]
    }
    return _Enum(frozenset(value.number for value in enum.values), planned)


@cache
def _watched(message: Descriptor) -> dict[int, _Watched]:
    """The fields of a message type that are planned, enums, or messages of ours, by number."""
    watched = {}
    for field in message.fields:
        repeated = field.is_repeated
        if _is_planned(field):
            watched[field.number] = _Watched(field.name, repeated, planned=True)
        elif field.enum_type is not None:
            watched[field.number] = _Watched(field.name, repeated, enum=_enum(field.enum_type))
        elif (
            field.message_type is not None
            and field.message_type.file.package == message.file.package
            and not field.message_type.GetOptions().map_entry
        ):
            watched[field.number] = _Watched(field.name, repeated, message=field.message_type)
    return watched


def _scan(message: Message, watched: dict[int, _Watched], path: str, fields: Fields) -> None:
    for field, value in message.ListFields():
        watch = watched.get(field.number)
        if watch is None:
            continue
        if watch.planned:
            for leaf in _leaves(field, value, f"{path}{watch.name}"):
                fields.refuse_planned(leaf)
        elif watch.enum is not None:
            for number, at in _items(value, watch, path):
                if number in watch.enum.planned:
                    fields.refuse_planned(at, f"{watch.enum.planned[number]} is not supported yet")
                elif number not in watch.enum.known:
                    fields.refuse(at, f"{number} is no known value")
        elif watch.message is not None:
            inner = _watched(watch.message)
            if not watch.repeated:
                _scan(value, inner, f"{path}{watch.name}.", fields)
            elif inner:
                for index, item in enumerate(value):
                    _scan(item, inner, f"{path}{watch.name}[{index}].", fields)


def _items(value: Any, watch: _Watched, path: str) -> Iterator[tuple[int, str]]:
    if watch.repeated:
        for index, item in enumerate(value):
            yield item, f"{path}{watch.name}[{index}]"
    else:
        yield value, f"{path}{watch.name}"


def _leaves(field: FieldDescriptor, value: Any, path: str) -> Iterator[str]:
    """Paths of what is set in a planned field; its own path when nothing is set inside."""
    if field.message_type is None:
        yield path
    elif field.message_type.GetOptions().map_entry:
        yield from (f"{path}[{_key(key)}]" for key in sorted(value))
    elif field.is_repeated:
        for index, item in enumerate(value):
            yield from _inner_leaves(item, f"{path}[{index}]")
    else:
        yield from _inner_leaves(value, path)


def _inner_leaves(message: Message, path: str) -> Iterator[str]:
    set_fields = message.ListFields() if message.DESCRIPTOR.file.package.startswith("gangplan.") else ()
    if not set_fields:
        yield path
    for field, value in set_fields:
        yield from _leaves(field, value, f"{path}.{field.name}")


def _key(key: object) -> str:
    return f'"{key}"' if isinstance(key, str) else str(key)


def _refuse_unknown(message: Message, path: str, fields: Fields) -> None:
    unknown = UnknownFieldSet(message)
    for index in range(len(unknown)):
        number = unknown[index].field_number
        fields.refuse(path.rstrip("."), f"field number {number} is not known to this version")
    for field, value in message.ListFields():
        inner = field.message_type
        if inner is None:
            continue
        if inner.GetOptions().map_entry:
            if inner.fields_by_name["value"].message_type is not None:
                for key in sorted(value):
                    _refuse_unknown(value[key], f"{path}{field.name}[{_key(key)}].", fields)
        elif field.is_repeated:
            for index, item in enumerate(value):
                _refuse_unknown(item, f"{path}{field.name}[{index}].", fields)
        else:
            _refuse_unknown(value, f"{path}{field.name}.", fields)
