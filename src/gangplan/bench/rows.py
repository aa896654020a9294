"""Files of rows: JSON Lines that are only appended to, or one JSON list."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gangplan.bench.runs import Row, Status, key
from gangplan.errors import FieldViolation, InvalidInputError


class RowFile:
    """Rows on the disk; every one is there as soon as it was measured.

    Args:
        path: ``.jsonl`` is appended to, ``.json`` is one list, written anew with every row; None: nothing is
            kept.

    Raises:
        InvalidInputError: the file has another suffix.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._rows: list[Row] = []
        if path is None:
            return
        if path.suffix not in {".jsonl", ".json"}:
            raise InvalidInputError(
                [FieldViolation("--output", f"{path} ends with neither .jsonl nor .json")]
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_file():
            self._rows = read_rows([path])
            if path.suffix == ".jsonl":
                _end_last_line(path)

    def known(self, wanted: tuple[object, ...]) -> list[Row]:
        """Rows of that key which need not be measured again: all but failures of the machinery."""
        return [row for row in self._rows if key(row) == wanted and row.get("status") != Status.ERROR.value]

    def append(self, row: Row) -> None:
        """Keep a row."""
        self._rows.append(row)
        if self.path is None:
            return
        if self.path.suffix == ".jsonl":
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            return
        beside = self.path.with_name(f".{self.path.name}.new")
        beside.write_text(json.dumps(self._rows, indent=1) + "\n", encoding="utf-8")
        os.replace(beside, self.path)  # noqa: PTH105 - one step, so that no reader sees half a file


def read_rows(paths: Iterable[Path]) -> list[Row]:
    """The rows of files, in order. A line that an interruption cut off is passed over.

    Raises:
        InvalidInputError: a file is missing, or holds no rows.
    """
    found: list[Row] = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError([FieldViolation(str(path), f"cannot be read: {error}")]) from error
        mine = _parsed(text, path)
        if text.strip() and not mine:
            raise InvalidInputError([FieldViolation(str(path), "holds no rows of `gangplan bench run`")])
        found += mine
    return found


def _parsed(text: str, path: Path) -> list[Row]:
    if path.suffix == ".json":
        try:
            document = json.loads(text) if text.strip() else []
        except ValueError as error:
            raise InvalidInputError([FieldViolation(str(path), f"is no JSON: {error}")]) from error
        return [row for row in document if _is_row(row)] if isinstance(document, list) else []
    found = []
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if _is_row(row):
            found.append(row)
    return found


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and "instance" in row and "status" in row


def _end_last_line(path: Path) -> None:
    """Begin a new line after one that was cut off, so that the next row does not join it."""
    with path.open("rb+") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")


def latest(rows: Iterable[Row]) -> list[Row]:
    """The last row of each run, whatever its code: where one was measured again, the later counts.

    Rows of another code would otherwise stand in one median with it.
    """
    found: dict[tuple[object, ...], Row] = {}
    for row in rows:
        found[*key(row)[:-1], row.get("name")] = row
    return list(found.values())
