"""The contract as far as it is built, in message types of its own: all that they cannot hold is refused.

Looking at every field of a request for 50,000 jobs from Python takes longer than reading it. So the contract
is made a second time, without planned fields and enum values and with closed enums: a message that comes out
of these types as long as it went in sets nothing else. protobuf does all of that in C.
"""

from __future__ import annotations

from functools import cache

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from gangplan.v1 import options_pb2, placement_service_pb2, planning_service_pb2, session_service_pb2

_NEVER_PACKED = frozenset(
    {
        FieldDescriptorProto.TYPE_STRING,
        FieldDescriptorProto.TYPE_BYTES,
        FieldDescriptorProto.TYPE_MESSAGE,
        FieldDescriptorProto.TYPE_GROUP,
    }
)


def sets_built_fields_only(message: Message) -> bool:
    """Whether ``message`` sets nothing that is planned, and nothing that is not known at all."""
    encoded = message.SerializeToString()
    built = _built(message.DESCRIPTOR.full_name).FromString(encoded)
    built.DiscardUnknownFields()
    return len(built.SerializePartialToString()) == len(encoded)  # ByteSize takes half as long again


@cache
def _built(full_name: str) -> type[Message]:
    """The type of that name without what is planned."""
    return GetMessageClass(_pool().FindMessageTypeByName(full_name))


@cache
def _pool() -> DescriptorPool:
    pool = DescriptorPool()
    seen: set[str] = set()
    for file in (
        placement_service_pb2.DESCRIPTOR,
        session_service_pb2.DESCRIPTOR,
        planning_service_pb2.DESCRIPTOR,
    ):
        _add(file, pool, seen)
    return pool


def _add(file: FileDescriptor, pool: DescriptorPool, seen: set[str]) -> None:
    """Add a file to ``pool``, after all that it imports; files of others as they are."""
    if file.name in seen:
        return
    seen.add(file.name)
    for imported in file.dependencies:
        _add(imported, pool, seen)
    proto = FileDescriptorProto()
    file.CopyToProto(proto)
    if file.package == placement_service_pb2.DESCRIPTOR.package and file.name != options_pb2.DESCRIPTOR.name:
        proto.syntax = "proto2"  # there alone enums are closed
        del proto.service[:]
        for enum in proto.enum_type:
            _prune_enum(enum)
        for message in proto.message_type:
            _prune(message)
    pool.Add(proto)


def _prune(message: DescriptorProto) -> None:
    for enum in message.enum_type:
        _prune_enum(enum)
    for nested in message.nested_type:
        _prune(nested)
    built = [field for field in message.field if not field.options.Extensions[options_pb2.planned]]
    for field in built:
        field.ClearField("proto3_optional")
        field.ClearField("oneof_index")  # which field of a oneof is set does not matter here
        if field.label == FieldDescriptorProto.LABEL_REPEATED and field.type not in _NEVER_PACKED:
            field.options.packed = True  # as the contract has it, so that lengths can be compared
    del message.oneof_decl[:]
    del message.field[:]
    message.field.extend(built)


def _prune_enum(enum: EnumDescriptorProto) -> None:
    built = [value for value in enum.value if not value.options.Extensions[options_pb2.planned_value]]
    del enum.value[:]
    enum.value.extend(built)
