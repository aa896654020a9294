"""What a study changes: one edit a file, found by scanning this folder.

A module here that has ``KEY`` and ``Edit`` is an edit: a change of a study is a mapping with that key alone,
and ``Edit`` the pydantic type of its value. It changes the site, the jobs, or how they are played
(:class:`~gangplan.planning.study.edits.protocol.Setup`). The next one is one new file.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.scenario.checks import did_you_mean
from gangplan.planning.study.edits.protocol import Setup

__all__ = ["Setup", "applied", "describe", "schema"]


def applied(setup: Setup, change: Mapping[str, Any], field: str) -> Setup:
    """The setup after one change.

    Args:
        setup: before it.
        change: the key of an edit, with its value; a value that is None changes nothing.
        field: where it stands, for errors.

    Raises:
        InvalidInputError: there is no such edit, or it cannot be made here.
    """
    if len(change) != 1:
        raise InvalidInputError(
            [
                FieldViolation(
                    field, f"write one edit a change, not {len(change)}: {', '.join(sorted(_edits()))}"
                )
            ]
        )
    ((key, value),) = change.items()
    if key not in _edits():
        raise InvalidInputError([FieldViolation(f"{field}.{key}", did_you_mean(key, _edits(), "edit"))])
    if value is None:
        return setup
    try:
        edit = _edits()[key].validate_python(value)
    except ValidationError as error:
        raise InvalidInputError(
            [
                FieldViolation(
                    ".".join([field, key, *(str(step) for step in each["loc"])]),
                    each["msg"].removeprefix("Value error, "),
                )
                for each in error.errors(include_url=False)
            ]
        ) from error
    try:
        changed: Setup = edit.change(setup)
    except InvalidInputError as error:
        raise error.placed(lambda inner: ".".join(part for part in (field, key, inner) if part)) from error
    return changed


def describe() -> dict[str, str]:
    """One line on each edit, by key."""
    return {key: str(adapter._type.__doc__).split("\n")[0] for key, adapter in _edits().items()}


def schema() -> dict[str, Any]:
    """JSON schema of a change; ``$name`` may stand for any value, and is that of an axis."""
    axis = {
        "type": "string",
        "pattern": r"^\$[A-Za-z_][A-Za-z0-9_-]*$",
        "description": "the value of an axis",
    }

    def open_to_axes(node: Any) -> Any:
        if isinstance(node, dict):
            found = {key: open_to_axes(value) for key, value in node.items() if key != "properties"}
            if "properties" in node:
                found["properties"] = {
                    name: {"anyOf": [open_to_axes(value), axis]} for name, value in node["properties"].items()
                }
            return found
        return [open_to_axes(each) for each in node] if isinstance(node, list) else node

    each = []
    for key, adapter in _edits().items():
        value = open_to_axes(adapter.json_schema(ref_template=f"#/$defs/{key}.{{model}}"))
        inner = {f"{key}.{name}": one for name, one in value.pop("$defs", {}).items()}
        each.append((key, value, inner))
    return {
        "$defs": {name: one for _, _, inner in each for name, one in inner.items()},
        "oneOf": [
            {
                "type": "object",
                "properties": {key: {"anyOf": [value, axis, {"type": "null"}]}},
                "required": [key],
                "additionalProperties": False,
            }
            for key, value, _ in each
        ],
    }


@cache
def _edits() -> dict[str, TypeAdapter[Any]]:
    found = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        if hasattr(module, "KEY"):
            found[str(module.KEY)] = TypeAdapter(module.Edit)
    return found
