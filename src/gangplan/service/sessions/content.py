"""The content of a session: named objects as encoded bytes, with a digest that depends on nothing else.

The digest is the sum modulo 2^256 of one SHA-256 for each object: a multiset hash (Clarke, Devadas, van Dijk,
Gassend and Suh, "Incremental multiset hash functions and their application to memory integrity checking",
ASIACRYPT 2003, section 5, MSet-Add-Hash, here without a key). It costs what has changed, and is the same
whatever the way to a content. It tells drift from agreement; it is no defence against an attacker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

_MODULUS = 2**256


class Kind(Enum):
    """What an object is; the value is part of the digest."""

    ROUND = "round"
    """Everything of a round that is no list of named objects: one object, with an empty name."""
    ACCELERATOR = "accelerator"
    QUEUE = "queue"
    PROFILE = "profile"
    NODE = "node"
    JOB = "job"


Key = tuple[Kind, str]


@dataclass(frozen=True, slots=True)
class Item:
    """One object.

    Attributes:
        body: encoded, but for its name and revision; alike objects have equal bodies.
        revision: the caller's version of it.
    """

    body: bytes
    revision: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What is new or other, and what is gone. No key is in both.

    Attributes:
        put: by key.
        removed: keys.
    """

    put: Mapping[Key, Item] = field(default_factory=dict)
    removed: frozenset[Key] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.put or self.removed)


@dataclass(frozen=True, slots=True)
class Content:
    """An immutable content.

    Attributes:
        items: by key.
        total: the digest as a number.
    """

    items: MappingProxyType[Key, Item]
    total: int

    @classmethod
    def of(cls, items: Mapping[Key, Item]) -> Content:
        """With the digest of ``items``."""
        total = sum(_number(key, item) for key, item in items.items())
        return cls(MappingProxyType(dict(items)), total % _MODULUS)

    @property
    def digest(self) -> bytes:
        """32 bytes, the highest first."""
        return self.total.to_bytes(32, "big")

    def changed(self, change: Change) -> Content:
        """The content after ``change``.

        Raises:
            KeyError: something removed is not there.
        """
        items = self.items.copy()  # as a dict copies itself: no key is hashed
        total = self.total
        for key in change.removed:
            total -= _number(key, items.pop(key))
        for key, item in change.put.items():
            before = items.get(key)
            if before is not None:
                total -= _number(key, before)
            total += _number(key, item)
            items[key] = item
        return Content(MappingProxyType(items), total % _MODULUS)

    def change_to(self, other: Content) -> Change:
        """The least change that leads to ``other``."""
        mine = self.items
        return Change(
            {key: item for key, item in other.items.items() if mine.get(key) != item},
            frozenset(mine.keys() - other.items.keys()),
        )

    def names(self, kind: Kind) -> list[str]:
        """Names of a kind, sorted."""
        return sorted(name for other, name in self.items if other is kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and dict(self.items) == dict(other.items)

    def __hash__(self) -> int:
        return hash(self.total)


def request_digest(parts: Iterable[bytes]) -> bytes:
    """A digest that tells one request from another: of ``parts`` in order, each with its length."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def _number(key: Key, item: Item) -> int:
    kind, name = key
    parts = (kind.value.encode(), name.encode(), item.revision.encode(), item.body)
    return int.from_bytes(request_digest(parts), "big")
