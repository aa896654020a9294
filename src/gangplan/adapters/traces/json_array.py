"""The elements of a JSON array in a file, one at a time, however long it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gangplan.errors import FieldViolation, TraceError
from gangplan.planning.trace.lines import open_text

_CHUNK = 1 << 16
_BETWEEN = " \t\r\n"


def elements(path: Path) -> Iterator[tuple[int, Any]]:
    """Each element and the line where it begins.

    Raises:
        OSError: the file cannot be read.
        TraceError: it is no JSON array; the place is that of the element that is wrong.
    """
    decoder = json.JSONDecoder()
    with open_text(path) as file:
        text, line, more = file.read(_CHUNK), 1, True
        opened, separator = False, "["
        while True:
            kept = text.lstrip(_BETWEEN + ("," if opened and separator == "," else ""))
            line += text.count("\n", 0, len(text) - len(kept))
            text = kept
            if text:
                if not opened:
                    if text[0] != "[":
                        raise _wrong(path, line, "is no JSON array")
                    text, opened, separator = text[1:], True, ""
                    continue
                if text[0] == "]":
                    return
                try:
                    element, end = decoder.raw_decode(text)
                except json.JSONDecodeError as error:
                    if not more:
                        raise _wrong(path, line, f"is no JSON: {error.msg}") from error
                else:
                    if text[end:].lstrip(_BETWEEN)[:1] in {",", "]"}:  # it may go on in the next piece
                        yield line, element
                        line += text.count("\n", 0, end)
                        text, separator = text[end:], ","
                        continue
            if not more:
                raise _wrong(path, line, "the array is cut off")
            chunk = file.read(_CHUNK)
            text, more = text + chunk, bool(chunk)


def _wrong(path: Path, line: int, description: str) -> TraceError:
    return TraceError([FieldViolation(f"{path}:{line}", description)])
