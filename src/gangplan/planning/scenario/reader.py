"""Reads a scenario file; every problem is named at once, each with file, line and how to mend it."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from gangplan.errors import FieldViolation, ScenarioError
from gangplan.planning.scenario import checks
from gangplan.planning.scenario.expand import show_path
from gangplan.planning.scenario.schema import Scenario

LARGEST_FILE = 64 * 2**20
"""Bytes; larger files are refused."""
_MOST_VALUES = 4_000_000
"""Values of a file with its aliases written out; a file with more is refused."""
_DEEPEST = 100

FLOAT = re.compile(
    r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?$|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
)

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """YAML with the scalars of YAML 1.2: ``04:30`` is a text, not 270, and ``on`` is one too."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[tuple[str, re.Pattern[str]]]]] = {}


for _tag, _pattern, _first in (
    ("null", r"~$|null$|Null$|NULL$|$", ["~", "n", "N", ""]),
    ("bool", r"true$|True$|TRUE$|false$|False$|FALSE$", list("tTfF")),
    ("int", r"[-+]?\d+$", list("-+0123456789")),
    ("float", FLOAT.pattern, list("-+.0123456789")),
    ("merge", r"<<$", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first)


def _plain_int(loader: Any, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))


def _plain_float(loader: Any, node: yaml.ScalarNode) -> float:
    text = str(loader.construct_scalar(node)).lower()
    return float(
        text.replace(".inf", "inf").replace(".nan", "nan") if text.lstrip("+-")[1:].isalpha() else text
    )


_Loader.add_constructor("tag:yaml.org,2002:int", _plain_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _plain_float)


_M = TypeVar("_M", bound=BaseModel)


def load(path: str | Path) -> Scenario:
    """Read a scenario file.

    Raises:
        ScenarioError: the file cannot be read or is no scenario; every violation with file and line.
    """
    return loads(text_of(path), name=str(path))


def text_of(path: str | Path) -> str:
    """The text of a file, without the mark of byte order that some editors begin it with.

    Raises:
        ScenarioError: it cannot be read, or is no text.
    """
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ScenarioError([FieldViolation(str(path), f"is larger than {LARGEST_FILE // 2**20} MiB")])
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ScenarioError([FieldViolation(str(path), f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ScenarioError([FieldViolation(f"{path}:{line}", "is not UTF-8")]) from None


def loads(text: str, *, name: str = "scenario") -> Scenario:
    """Read a scenario from its text; ``name`` stands for the file in messages.

    Raises:
        ScenarioError: the text is no scenario; every violation with its line.
    """
    scenario, spot = parsed(text, name, Scenario, "scenario/v1")
    problems = checks.check(scenario)
    if problems:
        raise ScenarioError([FieldViolation(spot(path), message) for path, message in problems])
    return scenario


def parsed(
    text: str, name: str, kind: type[_M], form: str
) -> tuple[_M, Callable[[Sequence[str | int]], str]]:
    """A file of one of our forms, and what says ``file:line: path`` of a path in it.

    Args:
        text: of the file.
        name: stands for the file in messages.
        kind: what it holds.
        form: what its first line names, such as ``scenario/v1``.

    Raises:
        ScenarioError: the text is no such file; every violation with its line.
    """
    first = next(
        (
            (number, line.rstrip())
            for number, line in enumerate(text.splitlines(), 1)
            if line.strip() and not line.lstrip().startswith("#")
        ),
        (1, ""),
    )
    what = form.partition("/")[0]
    if not re.fullmatch(rf"gangplan:\s+(['\"]?){re.escape(form)}\1(\s+#.*)?", first[1]):
        description = f"a {what}'s first line is `gangplan: {form}`"
        raise ScenarioError([FieldViolation(f"{name}:{first[0]}", description)])
    root, value = _parse(text, name, what)
    try:
        found = kind.model_validate(value)
    except ValidationError as error:
        raise ScenarioError(_from_pydantic(error.errors(include_url=False), root, name, kind)) from None
    return found, lambda path: _spot(name, root, path)


def _parse(text: str, name: str, what: str) -> tuple[yaml.Node, Any]:
    try:
        loader = _Loader(text)
        try:
            root = loader.get_single_node()
            if not isinstance(root, yaml.MappingNode):
                raise ScenarioError([FieldViolation(f"{name}:1", f"a {what} is a mapping of its parts")])
            repeated = list(_repeated_keys(root, name))
            if repeated:
                raise ScenarioError(repeated)
            return root, loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        said = ", ".join(part for part in (error.context, error.problem) if part)
        raise ScenarioError([FieldViolation(f"{name}:{line}", f"is not YAML: {said}")]) from None
    except yaml.YAMLError as error:
        where = re.search(r"position (\d+)", str(error))
        line = text[: int(where[1])].count("\n") + 1 if where else 1
        said = str(error).splitlines()[0]
        raise ScenarioError([FieldViolation(f"{name}:{line}", f"is not YAML: {said}")]) from None
    except (RecursionError, ValueError) as error:
        raise ScenarioError([FieldViolation(name, f"is not YAML that can be read: {error}")]) from None


def _repeated_keys(root: yaml.Node, name: str) -> Iterator[FieldViolation]:
    """Keys that stand twice in one mapping, which YAML readers pass over in silence; and files that swell."""
    visited = 0
    stack: list[tuple[yaml.Node, int]] = [(root, 0)]
    reported: set[int] = set()
    while stack:
        node, depth = stack.pop()
        visited += 1
        if visited > _MOST_VALUES or depth > _DEEPEST:
            yield FieldViolation(
                f"{name}:{node.start_mark.line + 1}",
                f"is nested deeper than {_DEEPEST}, or has more than {_MOST_VALUES} values with its aliases",
            )
            return
        if isinstance(node, yaml.SequenceNode):
            stack.extend((item, depth + 1) for item in reversed(node.value))
        elif isinstance(node, yaml.MappingNode):
            seen: dict[tuple[str, Hashable], int] = {}
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode):
                    same = (key.tag, key.value)
                    if same in seen and id(key) not in reported:
                        reported.add(id(key))
                        yield FieldViolation(
                            f"{name}:{key.start_mark.line + 1}",
                            f"{key.value!r} is written twice, first in line {seen[same]}: keep one",
                        )
                    seen.setdefault(same, key.start_mark.line + 1)
            stack.extend((item, depth + 1) for _, item in reversed(node.value))


def _descend(node: yaml.Node, step: str | int) -> tuple[yaml.Node, int] | None:
    """The value below one key or index, with the line of the key; None when the file has none there."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(step):
                return value, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step].start_mark.line + 1
    return None


def _spot(name: str, root: yaml.Node, path: Sequence[str | int]) -> str:
    """``file:line: path``, with the line of the innermost part of the path that the file has."""
    node, line = root, root.start_mark.line + 1
    for step in path:
        below = _descend(node, step)
        if below is None:
            break
        node, line = below
    return f"{name}:{line}: {show_path(path)}"


def _from_pydantic(
    errors: Sequence[ErrorDetails], root: yaml.Node, name: str, kind: type[BaseModel]
) -> list[FieldViolation]:
    """One violation per place; the branches of a union speak with one voice."""
    found: dict[tuple[str | int, ...], list[str]] = {}
    for error in errors:
        node: yaml.Node = root
        path: list[str | int] = []
        for position, step in enumerate(error["loc"]):
            below = _descend(node, step)
            if below is not None:
                node = below[0]
                path.append(step)
            elif error["type"] == "missing" and position == len(error["loc"]) - 1:
                path.append(step)
        messages = found.setdefault(tuple(path), [])
        message = _say(error, kind)
        if message not in messages:
            messages.append(message)
    return [FieldViolation(_spot(name, root, path), _join(messages)) for path, messages in found.items()]


def _join(messages: Sequence[str]) -> str:
    return "; or ".join(messages)


def _say(error: ErrorDetails, model: type[BaseModel]) -> str:
    kind, given = error["type"], error["input"]
    if kind == "extra_forbidden":
        key = str(error["loc"][-1])
        fields = _fields_at(model, error["loc"][:-1])
        return "unknown field; " + checks.did_you_mean(key, fields, "field")
    if kind == "missing":
        return "is missing"
    if kind == "string_type" and not isinstance(given, Mapping | list) and given is not None:
        return f"is a text: write it in quotes, '{given}'"
    message = error["msg"].removeprefix("Value error, ")
    if kind == "string_pattern_mismatch":
        message = "a name is at least one character, without white space"
    if kind == "bool_type":
        message = "write true or false"
    message = re.sub(r"^(Input|String|List|Dictionary|Value) should", "should", message)
    if kind != "value_error" and not isinstance(given, Mapping | list):
        shown = repr(given)
        message += f", not {shown if len(shown) <= 60 else shown[:57] + '...'}"
    return message


def _fields_at(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """Names of the fields that may stand at a path of the file."""
    kinds: list[Any] = [model]
    for step in path:
        below: list[Any] = []
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                field = kind.model_fields.get(str(step))
                if field is not None:
                    below.extend(_branches(field.annotation))
            elif get_origin(kind) in (list, dict):
                below.extend(_branches(get_args(kind)[-1]))
        if below:  # else the step is the name of a union's branch, which the file does not have
            kinds = below
    return [
        name
        for kind in kinds
        if isinstance(kind, type) and issubclass(kind, BaseModel)
        for name in kind.model_fields
    ]


def _branches(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, UnionType):
        return [branch for each in get_args(annotation) for branch in _branches(each)]
    if hasattr(annotation, "__metadata__"):
        return _branches(annotation.__origin__)
    return [annotation]
