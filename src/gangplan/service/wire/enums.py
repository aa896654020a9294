"""Enums of the contract and of the domain: the same names, on the wire with the enum's name before them."""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import TypeVar

from google.protobuf.descriptor import EnumDescriptor

from gangplan.service.wire.fields import Fields

E = TypeVar("E", bound=Enum)


@cache
def numbers(wire: EnumDescriptor) -> dict[str, int]:
    """Numbers of a wire enum by name without prefix."""
    prefix = wire.values[0].name.removesuffix("UNSPECIFIED")
    return {value.name.removeprefix(prefix): value.number for value in wire.values}


@cache
def _values(domain: type[E], wire: EnumDescriptor) -> dict[int, E]:
    """Values of a domain's enum by the number of the wire enum's value of the same name."""
    known = numbers(wire)
    return {known[value.name]: value for value in domain if value.name in known}


def read_enum(domain: type[E], wire: EnumDescriptor, number: int, path: str, fields: Fields) -> E:
    """The domain's value of the same name; any value when there is none, which is noted."""
    value: E | None = _values(domain, wire).get(number)
    if value is not None:
        return value
    fields.refuse(path, "must be set" if number == 0 else f"{number} is no known value")
    return next(iter(domain))
