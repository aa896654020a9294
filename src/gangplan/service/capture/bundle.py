"""The file of one captured round: a ``CapturedRound`` of the contract, compressed with gzip.

gzip has a checksum and knows its end, so that a file that was cut short or damaged is told from a whole one.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from google.protobuf.message import DecodeError

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.v1 import captured_round_pb2

SUFFIX = ".capture"
_LEVEL = 1
"""Rounds are mostly names that repeat: higher levels take several times the time for a tenth of the size."""
_MOST_BYTES = 4 * 2**30
"""Largest round that is read: protobuf itself takes no message above 2 GiB."""


def encode_bundle(captured: captured_round_pb2.CapturedRound) -> bytes:
    """The bytes of a file; the same round gives the same bytes."""
    return gzip.compress(captured.SerializeToString(deterministic=True), _LEVEL, mtime=0)


def read_bundle(path: str | Path) -> captured_round_pb2.CapturedRound:
    """The round in a file.

    Raises:
        InvalidInputError: the file cannot be read, is damaged or cut short, or holds something else.
    """
    path = Path(path)
    try:
        with gzip.open(path) as file:
            content = file.read(_MOST_BYTES)
    except gzip.BadGzipFile as error:
        raise _refusal(path, f"is damaged, or no captured round: {error}") from error
    except EOFError as error:
        raise _refusal(path, "is cut short: its writer was stopped, or the disk was full") from error
    except zlib.error as error:
        raise _refusal(path, f"is damaged: {error}") from error
    except OSError as error:
        raise _refusal(path, f"cannot be read: {error.strerror or error}") from error
    try:
        captured = captured_round_pb2.CapturedRound.FromString(content)
    except DecodeError as error:
        raise _refusal(path, "holds no captured round") from error
    if not captured.HasField("request"):
        raise _refusal(path, "holds no captured round: it has no request")
    return captured


def _refusal(path: Path, why: str) -> InvalidInputError:
    return InvalidInputError([FieldViolation(f"{path}", why)])
