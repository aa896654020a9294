"""From the path of a field to the line of a file that it stands on."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

_STEP = re.compile(r'(?P<name>\w+)|\["(?P<key>[^"]*)"\]|\[(?P<index>\d+)\]')


class LineMap:
    """Finds lines in a YAML or JSON file (JSON is read as YAML); read when the first line is asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._root: yaml.Node | None = None
        self._ready = False

    def place(self, field: str) -> str:
        """``file:line: field``, without the line where the file has none."""
        line = self.line(field)
        where = f"{self._path}:{line}" if line is not None else f"{self._path}"
        return f"{where}: {field}" if field else where

    def line(self, field: str) -> int | None:
        """Line, from 1, of the innermost part of ``field`` that stands in the file."""
        if not self._ready:
            self._ready = True
            self._root = self._compose()
        node = self._root
        if node is None:
            return None
        line = int(node.start_mark.line) + 1
        for step in _STEP.finditer(field):
            found = _child(node, step)
            if found is None:
                return line
            at, node = found
            line = int(at.start_mark.line) + 1
        return line

    def _compose(self) -> yaml.Node | None:
        if self._path.suffix.lower() == ".pb":
            return None
        try:
            return yaml.compose(self._path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError):
            return None


def _child(node: yaml.Node, step: re.Match[str]) -> tuple[yaml.Node, yaml.Node] | None:
    """Where a child begins, and the child."""
    if step["index"] is not None and isinstance(node, yaml.SequenceNode):
        index = int(step["index"])
        return (node.value[index], node.value[index]) if index < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        wanted = step["key"] if step["key"] is not None else step["index"] or _plain(step["name"])
        for key, value in node.value:
            if key.value == wanted or (step["name"] is not None and _plain(key.value) == wanted):
                return key, value
    return None


def _plain(name: str) -> str:
    """A field's name without its way of writing: ``task_groups`` and ``taskGroups`` are the same."""
    return name.replace("_", "").lower()
