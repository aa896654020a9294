"""Messages put together from bytes that are known already: twins share what they have in common."""

from __future__ import annotations

from functools import lru_cache

_LENGTH = 2


@lru_cache(maxsize=4096)
def varint(value: int) -> bytes:
    """An integer as a varint; negative ones as 64 bits of two's complement."""
    value &= 2**64 - 1
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


@lru_cache(maxsize=4096)
def head(number: int, length: int) -> bytes:
    """What stands before so many bytes of a text, a message or a packed list in field ``number``."""
    return varint(number << 3 | _LENGTH) + varint(length)


def delimited(number: int, body: bytes) -> bytes:
    """A text or a message in field ``number``, set though it may be empty."""
    return head(number, len(body)) + body
