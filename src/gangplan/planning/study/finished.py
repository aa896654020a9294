"""Finished simulations in a file, so that a study goes on where it was stopped.

JSON Lines: each line is a simulation with its key, which says all that it depends on, so that one file may
serve several studies. A last line that was cut off is removed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.study.task import Outcome, Task


class Finished:
    """Outcomes by key, in memory and in a file where there is one.

    Args:
        path: of the file, made when the first outcome comes; None: none is kept.

    Raises:
        InvalidInputError: the file holds something else.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._found: dict[str, Outcome] = {}
        if path is not None and path.exists():
            self._read(path)

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: str) -> Outcome | None:
        """The outcome under a key; None: it is not there."""
        return self._found.get(key)

    def keep(self, key: str, task: Task, outcome: Outcome) -> None:
        """Keep an outcome; one that failed is kept in memory only, and is tried again by another run."""
        self._found[key] = outcome
        if self._path is None or outcome.error:
            return
        line = {"key": key, "point": dict(task.point), "seed": task.seed, **outcome.document()}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _read(self, path: Path) -> None:
        whole, newline, rest = path.read_text(encoding="utf-8").rpartition("\n")
        if rest:  # cut off while it was written
            path.write_text(whole + newline, encoding="utf-8")
        for number, line in enumerate(whole.split("\n") if newline else (), 1):
            try:
                found: Mapping[str, Any] = json.loads(line)
                outcome = Outcome(found["figures"], found["left_out"], found["cpu_s"], found["error"])
                self._found[found["key"]] = outcome
            except (ValueError, KeyError, TypeError) as error:
                description = "is no finished simulation of a study: name another file, or remove it"
                raise InvalidInputError([FieldViolation(f"{path}:{number}", description)]) from error
