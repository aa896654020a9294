"""Round files: a request or an answer of the contract as ``.json``, ``.yaml`` or ``.pb``.

Text is protobuf's own JSON mapping. A field that the contract does not know is an error. Every error says
where: ``round.yaml:14: jobs[3].weight``.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass

from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.service.capture.bundle import SUFFIX as CAPTURED
from gangplan.service.capture.bundle import read_bundle
from gangplan.service.lines import LineMap
from gangplan.service.wire import read_round_request
from gangplan.v1 import round_pb2

M = TypeVar("M", bound=Message)

SUFFIXES = (".json", ".yaml", ".yml", ".pb")
"""Endings of the files that are read and written; captured rounds (``.capture``) are read as well."""


def load_round(path: str | Path) -> tuple[Round, PlanParameters]:
    """The round in a file and how to solve it.

    Raises:
        InvalidInputError: the file cannot be read or breaks the contract; all violations at once, each with
            file, line (in text files) and field.
    """
    path = Path(path)
    request = load_message(path, round_pb2.PlanRoundRequest)
    try:
        return read_round_request(request)
    except InvalidInputError as error:
        raise error.placed(LineMap(path).place) from None


def load_answer(path: str | Path) -> round_pb2.PlanRoundResponse:
    """The answer in a file (decision 35).

    Raises:
        InvalidInputError: the file cannot be read or holds something else.
    """
    return load_message(Path(path), round_pb2.PlanRoundResponse)


def load_message(path: Path, kind: type[M]) -> M:
    """The message of type ``kind`` in a file; not yet checked beyond its shape.

    Raises:
        InvalidInputError: the file cannot be read, is no text of its format, or does not fit the message.
    """
    if path.suffix.lower() == CAPTURED:
        return _captured(path, kind)
    suffix = _suffix(path)
    message = kind()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _refusal(f"{path}", f"cannot be read: {error.strerror}") from error
    if suffix == ".pb":
        try:
            message.ParseFromString(content)
        except DecodeError as error:
            raise _refusal(f"{path}", f"holds no {kind.DESCRIPTOR.name}: {error}") from error
        return message
    tree = _read_tree(path, content, suffix)
    if not isinstance(tree, dict):
        raise _refusal(f"{path}", f"holds no {kind.DESCRIPTOR.name}: the outermost value is no mapping")
    try:
        json_format.ParseDict(tree, message)
    except (json_format.ParseError, AttributeError, RecursionError, TypeError, ValueError) as error:
        lines = LineMap(path)
        found = [FieldViolation(lines.place(at), why) for at, why in _misfits(tree, kind.DESCRIPTOR, "", 0)]
        raise InvalidInputError(found or [FieldViolation(f"{path}", str(error))]) from error
    return message


def _captured(path: Path, kind: type[M]) -> M:
    """The request, or the answer, of a captured round."""
    captured = read_bundle(path)
    for name in ("request", "response"):
        part = getattr(captured, name)
        if isinstance(part, kind) and captured.HasField(name):
            return part
    why = f"has no {kind.DESCRIPTOR.name}" + (f": {captured.error}" if captured.error else "")
    raise _refusal(f"{path}", why)


def save_message(path: str | Path, message: Message) -> None:
    """Write ``message`` to a file, whole or not at all, in the format of the file's suffix.

    Raises:
        InvalidInputError: the suffix is not known.
        OSError: the file cannot be written.
    """
    path = Path(path)
    suffix = _suffix(path)
    if suffix == ".pb":
        content = message.SerializeToString(deterministic=True)
    elif suffix == ".json":
        content = json_format.MessageToJson(message, ensure_ascii=False).encode() + b"\n"
    else:
        content = yaml.dump(
            json_format.MessageToDict(message), Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True
        ).encode()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class _Loader(yaml.CSafeLoader):
    """YAML in which times stay text, only ``true`` and ``false`` are truth values, and no key comes twice."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - the base class's own
        first: [
            (tag, pattern)
            for tag, pattern in resolvers
            if tag != "tag:yaml.org,2002:timestamp" and (tag != "tag:yaml.org,2002:bool" or first in "tTfF")
        ]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001
        """A mapping, unless a key comes twice."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"duplicate key {key.value!r}", key.start_mark
                )
            if key.tag != "tag:yaml.org,2002:merge":
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise _refusal(f"{path}", f"must end in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    return suffix


def _refusal(where: str, why: str) -> InvalidInputError:
    return InvalidInputError([FieldViolation(where, why)])


def _read_tree(path: Path, content: bytes, suffix: str) -> Any:
    """The plain values in a text file."""
    try:
        text = content.decode()
        if suffix == ".json":
            return json.loads(text, object_pairs_hook=_without_duplicates)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader, made stricter
    except UnicodeDecodeError as error:
        raise _refusal(
            f"{path}", f"is not UTF-8: byte {error.start} is {content[error.start]:#04x}"
        ) from error
    except json.JSONDecodeError as error:
        raise _refusal(f"{path}:{error.lineno}", f"is not JSON: {error.msg}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise _refusal(f"{path}:{line}", f"is not YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _refusal(f"{path}", f"cannot be read: {error}") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"duplicate key {twice!r}")
    return found


_PACKAGE = "gangplan.v1"

_DEPTH = 100
"""Deepest nesting that is followed."""


def _misfits(tree: Any, kind: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """Every place where ``tree`` does not fit the message type with descriptor ``kind``, with why."""
    if not isinstance(tree, Mapping) or depth > _DEPTH:
        yield path.rstrip("."), f"must be a mapping, and is {_kind(tree)}"
        return
    fields = {name: field for field in kind.fields for name in (field.json_name, field.name)}
    chosen: dict[str, str] = {}
    for key, value in tree.items():
        field = fields.get(key) if isinstance(key, str) else None
        if field is None:
            yield (
                f"{path}{key}",
                f"no such field; known are {', '.join(sorted(each.name for each in kind.fields))}",
            )
            continue
        at = f"{path}{field.name}"
        slot = field.containing_oneof.name if field.containing_oneof is not None else field.name
        if value is not None and chosen.setdefault(slot, field.name) != field.name:
            yield at, f"must not be set together with {chosen[slot]}"
        yield from _field_misfits(value, field, at, depth)


def _field_misfits(value: Any, field: Any, at: str, depth: int) -> Iterator[tuple[str, str]]:
    inner = field.message_type
    if value is None:
        return
    if inner is not None and inner.GetOptions().map_entry:
        if not isinstance(value, Mapping):
            yield at, f"must be a mapping, and is {_kind(value)}"
            return
        for key, each in value.items():
            yield from _leaf_misfits({key: each}, field, f'{at}["{key}"]')
    elif field.is_repeated:
        if not isinstance(value, list):
            yield at, f"must be a list, and is {_kind(value)}"
            return
        for index, each in enumerate(value):
            if inner is not None and inner.file.package == _PACKAGE:
                yield from _misfits(each, inner, f"{at}[{index}].", depth + 1)
            else:
                yield from _leaf_misfits([each], field, f"{at}[{index}]")
    elif inner is not None and inner.file.package == _PACKAGE:
        yield from _misfits(value, inner, f"{at}.", depth + 1)
    else:
        yield from _leaf_misfits(value, field, at)


def _leaf_misfits(value: Any, field: Any, at: str) -> Iterator[tuple[str, str]]:
    """Whether protobuf takes a single value; it alone knows its mapping."""
    try:
        json_format.ParseDict({field.name: value}, GetMessageClass(field.containing_type)())
    except (json_format.ParseError, AttributeError, TypeError, ValueError) as error:
        wanted = _wanted(field)
        yield at, f"must be {wanted}, and is {_shown(value)}" if wanted else _plain(str(error))


def _wanted(field: Any) -> str:
    """What a scalar field takes, in words; empty for messages, of which protobuf says more itself."""
    if field.message_type is not None:
        return ""
    if field.enum_type is not None:
        return "one of " + ", ".join(value.name for value in field.enum_type.values if value.number)
    if field.cpp_type in (FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64):
        return f"a whole number of {32 if field.cpp_type == FieldDescriptor.CPPTYPE_INT32 else 64} bits"
    return {
        FieldDescriptor.CPPTYPE_DOUBLE: "a number",
        FieldDescriptor.CPPTYPE_BOOL: "true or false",
        FieldDescriptor.CPPTYPE_STRING: "text",
    }.get(field.cpp_type, "")


def _shown(value: Any) -> str:
    """A wrong value as it is told: scalars themselves, cut short, and the kind of all else."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else f"{value[:37]}...")
    return str(value) if isinstance(value, (int, float)) else _kind(value)


def _plain(message: str) -> str:
    """What protobuf says, without its own idea of the path."""
    while message.startswith("Failed to parse ") and " field: " in message:
        message = message.split(" field: ", 1)[1]
    return message.split(" at ", 1)[0].rstrip(".")


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
