"""Fields that say what none should: boundary values, NaN, empty and double names, wrong references."""

from __future__ import annotations

import random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from tests.fuzz.places import messages_in, strings_in

_F = FieldDescriptor
_INT32 = (0, 1, -1, 2, 3, 7, 64, 1024, 1025, 2**16, 2**16 + 1, 2**31 - 1, -(2**31))
_INT64 = (*_INT32, 10**9, 10**9 + 1, 2**40, 2**40 + 1, 2**46, 2**53 + 1, 2**63 - 1, -(2**63))
_REALS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 1e-300, 5e-324, 1e-9, 1e9, 1e15, 1e18, 1e300, -1e300),
    *(float("inf"), float("-inf"), float("nan")),
)
_TEXTS = (
    "",
    " ",
    "x",
    " x",
    "x ",
    "\0",
    "a\nb",
    "a" * 512,
    "a" * 513,
    "a" * 5_000,
    "\u202e",
    "é",
    "𝕏",
    '"',
    "]",
)
_BYTES = (b"", b"\0", b"x" * 100, b"\xff" * 40)
NUMBERS: dict[int, tuple[Any, ...]] = {
    **dict.fromkeys((_F.TYPE_INT32, _F.TYPE_SINT32, _F.TYPE_SFIXED32), _INT32),
    **dict.fromkeys((_F.TYPE_INT64, _F.TYPE_SINT64, _F.TYPE_SFIXED64), _INT64),
    **dict.fromkeys((_F.TYPE_DOUBLE, _F.TYPE_FLOAT), _REALS),
    _F.TYPE_BOOL: (False, True),
    _F.TYPE_BYTES: _BYTES,
}
"""By type of field, the values at and beyond its borders."""


def value_of(field: FieldDescriptor, names: list[str], rng: random.Random) -> Any:
    """Some value that the field's type allows."""
    if field.type == _F.TYPE_STRING:
        return rng.choice(names) if names and rng.random() < 0.5 else rng.choice(_TEXTS)
    if field.enum_type is not None:
        known = [value.number for value in field.enum_type.values]
        return rng.choice((*known, max(known) + 1, -1, 2**31 - 1))
    return rng.choice(NUMBERS[field.type])


def mutated(message: Message, rng: random.Random) -> None:
    """Change one to four fields of a request, at any depth, in place."""
    holders = list(messages_in(message))
    names = strings_in(holders)
    for change_number in range(rng.choice((1, 1, 1, 2, 4))):
        if change_number:  # the last change may have made or deleted some
            holders = list(messages_in(message))
        holder = rng.choice(holders)
        # What is set is more often worth a change than what is not.
        set_fields = [field for field, _ in holder.ListFields()]
        fields = set_fields if set_fields and rng.random() < 0.6 else list(holder.DESCRIPTOR.fields)
        if fields:
            change(holder, rng.choice(fields), names, rng)


def change(holder: Any, field: FieldDescriptor, names: list[str], rng: random.Random) -> None:
    """Change one field."""
    if rng.random() < 0.1:
        holder.ClearField(field.name)
    elif field.message_type is not None and field.message_type.GetOptions().map_entry:
        _change_map(getattr(holder, field.name), field, names, rng)
    elif field.is_repeated:
        _change_list(getattr(holder, field.name), field, names, rng)
    elif field.message_type is not None:
        inner = getattr(holder, field.name)
        inner.SetInParent()
        if rng.random() < 0.3:
            inner.Clear()
            inner.SetInParent()
    else:
        setattr(holder, field.name, value_of(field, names, rng))


def _change_map(entries: Any, field: FieldDescriptor, names: list[str], rng: random.Random) -> None:
    key_field, value_field = (field.message_type.fields_by_name[name] for name in ("key", "value"))
    key = value_of(key_field, names, rng)
    if value_field.message_type is not None:
        entries[key].SetInParent()
    else:
        entries[key] = value_of(value_field, names, rng)


def _change_list(items: Any, field: FieldDescriptor, names: list[str], rng: random.Random) -> None:
    what = rng.randrange(6)
    if what == 0 and items:
        del items[rng.randrange(len(items))]
    elif what == 1 and items:
        copied = rng.choice(list(items))
        items.extend([copied] * rng.choice((1, 1, 3)))
    elif what == 2 and len(items) > 1:
        shuffled = list(items)
        rng.shuffle(shuffled)
        del items[:]
        items.extend(shuffled)
    elif what == 3:
        del items[:]
    elif field.message_type is not None:
        items.add()
    elif what == 4 and items:
        items[rng.randrange(len(items))] = value_of(field, names, rng)
    else:
        items.append(value_of(field, names, rng))
