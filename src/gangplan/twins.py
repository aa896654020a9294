"""Frozen values made by the hundred thousand: through a twin class that is not frozen.

A frozen dataclass sets each field by ``object.__setattr__``, which for a job takes seven times as long
as plain assignment does. A twin with the same slots is filled in plainly and then declared to be what it is.
"""

from __future__ import annotations

from dataclasses import fields, make_dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


def twin_maker(kind: type[T]) -> type[T]:
    """A function that makes a ``kind`` as its constructor does, of all fields by position.

    Args:
        kind: a frozen dataclass with slots, without ``__post_init__``.

    Raises:
        TypeError: it is something else.
    """
    if hasattr(kind, "__post_init__") or not hasattr(kind, "__slots__"):
        raise TypeError(f"{kind.__name__} has no slots, or more to do than to fill them")
    twin = make_dataclass(
        f"{kind.__name__}Twin", [field.name for field in fields(cast("Any", kind))], slots=True
    )

    def make(*values: object) -> Any:
        thing = twin(*values)
        thing.__class__ = kind
        return thing

    return cast("type[T]", make)
