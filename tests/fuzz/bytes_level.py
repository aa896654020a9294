"""Encoded requests broken on the wire: cut, flipped, with huge lengths, unknown fields, deep groups."""

from __future__ import annotations

import random
from collections.abc import Callable

Mutation = Callable[[bytearray, random.Random], None]
_LENGTHS = (0x7F, 0x80, 2**14, 2**21, 2**28, 2**31 - 1, 2**31, 2**32 - 1, 2**35, 2**63, 2**64 - 1)


def varint(value: int) -> bytes:
    """A number as protobuf writes it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _at(data: bytearray, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def cut(data: bytearray, rng: random.Random) -> None:
    """The end is missing."""
    del data[_at(data, rng) :]


def without(data: bytearray, rng: random.Random) -> None:
    """A piece in the middle is missing."""
    start = _at(data, rng)
    del data[start : start + rng.randint(1, 16)]


def flip(data: bytearray, rng: random.Random) -> None:
    """Some bits are others."""
    for _ in range(rng.randint(1, 8) if data else 0):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def noise(data: bytearray, rng: random.Random) -> None:
    """Something was put in."""
    start = _at(data, rng)
    data[start:start] = rng.randbytes(rng.randint(1, 32))


def huge_length(data: bytearray, rng: random.Random) -> None:
    """A field says that it is longer than all there is."""
    start = _at(data, rng)
    data[start:start] = varint(rng.randint(1, 40) << 3 | 2) + varint(rng.choice(_LENGTHS))


def unknown_field(data: bytearray, rng: random.Random) -> None:
    """A field that nobody knows, of any wire type, at the end."""
    number = rng.choice((90, 1_000, 19_500, 2**29 - 1))
    body = {
        0: varint(rng.choice(_LENGTHS)),
        1: rng.randbytes(8),
        2: varint(3) + b"abc",
        3: varint(number << 3 | 4),
        5: rng.randbytes(4),
        7: b"",
    }
    kind = rng.choice(sorted(body))
    data += varint(number << 3 | kind) + body[kind]


def deep(data: bytearray, rng: random.Random) -> None:
    """Groups or messages within each other, more than any parser follows."""
    depth = rng.choice((50, 101, 500, 5_000))
    if rng.random() < 0.5:
        data += varint(900 << 3 | 3) * depth
        return
    body = b""
    for _ in range(min(depth, 500)):
        body = varint(rng.randint(1, 20) << 3 | 2) + varint(len(body)) + body
    data += body


def twice(data: bytearray, rng: random.Random) -> None:
    """A piece comes twice."""
    start = _at(data, rng)
    data += data[start : start + rng.randint(1, 200)]


def nothing_of_it(data: bytearray, rng: random.Random) -> None:
    """Any bytes at all."""
    data[:] = rng.randbytes(rng.randint(0, 300))


MUTATIONS: tuple[Mutation, ...] = (
    cut,
    without,
    flip,
    flip,
    noise,
    huge_length,
    unknown_field,
    deep,
    twice,
    nothing_of_it,
)


def mutated(encoded: bytes, rng: random.Random) -> bytes:
    """``encoded`` after one to three mutations."""
    data = bytearray(encoded)
    for _ in range(rng.choice((1, 1, 2, 3))):
        rng.choice(MUTATIONS)(data, rng)
    return bytes(data)
