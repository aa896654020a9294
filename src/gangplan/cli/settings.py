"""A command's options from a file: flags count before the environment, that before it, it before defaults."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from gangplan.cli.exits import Exit, explain
from gangplan.errors import FieldViolation, InvalidInputError

HEADER = "gangplan"
_PASSWORD = (
    re.compile(r"(?P<before>://[^:/@?#]*:).*(?=@)"),
    re.compile(r"(?P<before>[?&](?:ssl)?password=)[^&#]*", re.IGNORECASE),
)


def file_of_settings(kind: str) -> Any:
    """What reads ``--config FILE`` before all other options, which then take their defaults from it.

    Args:
        kind: what the file has to say that it is, e.g. ``serve/v1``.
    """

    def read(context: typer.Context, value: Path | None) -> Path | None:
        if value is not None and not context.resilient_parsing:
            try:
                context.default_map = _read(context, value, kind)
            except InvalidInputError as error:
                raise typer.Exit(int(explain(error))) from error
            except OSError as error:
                typer.echo(f"error: {error.strerror}: {value}", err=True)
                raise typer.Exit(int(Exit.INVALID_INPUT)) from error
        return value

    return read


def _read(context: typer.Context, path: Path, kind: str) -> dict[str, Any]:
    """Values by option, each checked as if it stood on the command line.

    Raises:
        InvalidInputError: there are other names in the file than options, or wrong values; all at once.
        OSError: the file cannot be read.
    """
    import yaml

    from gangplan.service.lines import LineMap

    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InvalidInputError([FieldViolation(str(path), f"is no YAML: {error}")]) from None
    if not isinstance(content, dict) or content.pop(HEADER, None) != kind:
        raise InvalidInputError([FieldViolation(str(path), f"must begin with `{HEADER}: {kind}`")])
    lines = LineMap(path)
    options = {option.name: option for option in _options(context)}
    values, violations = {}, []
    for name, value in content.items():
        option = options.get(name)
        if option is None:
            near = difflib.get_close_matches(str(name), [str(each) for each in options], 1)
            why = f"is no option{f'; {near[0]} is' if near else ''}"
        else:
            why = _fault(context, option, value)
        if why:
            violations.append(FieldViolation(lines.place(str(name)), why))
        else:
            values[name] = value if isinstance(value, bool) else str(value)
    if violations:
        raise InvalidInputError(violations)
    return values


def _fault(context: typer.Context, option: Any, value: Any) -> str:
    """What is wrong with a value; empty: nothing."""
    if isinstance(value, bool) != bool(option.is_flag) or isinstance(value, (dict, list, type(None))):
        return "must be true or false" if option.is_flag else "must be one value"
    try:
        option.process_value(context, value if isinstance(value, bool) else str(value))
    except typer.BadParameter as error:
        return error.message
    return ""


def shown(context: typer.Context) -> Iterator[str]:
    """The lines of a file with all settings in force, each with where it is from; passwords are masked."""
    source_of = context.get_parameter_source
    for option in _options(context):
        name = str(option.name)
        source = getattr(source_of(name), "name", "DEFAULT")
        origin = {
            "COMMANDLINE": f"flag {option.opts[0]}",
            "ENVIRONMENT": f"environment {option.envvar}",
            "DEFAULT_MAP": f"file {context.params.get('config')}",
        }.get(source, "default")
        value = context.params.get(name)
        if value is None or value == "":
            yield f"# {name}:  # {origin}"
        else:
            yield f"{name}: {_scalar(value)}  # {origin}"


def masked(text: str) -> str:
    """A text without the passwords of the URLs in it."""
    for pattern in _PASSWORD:
        text = pattern.sub(r"\g<before>***", text)
    return text


def _scalar(value: Any) -> str:
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    text = masked(str(value))
    return text if re.fullmatch(r"[A-Za-z/][\w./-]*", text) else json.dumps(text, ensure_ascii=False)


def _options(context: typer.Context) -> Iterator[Any]:
    """Those that a file may set: not the one that names it, nor those that only show something."""
    for option in context.command.params:
        if option.param_type_name == "option" and not option.is_eager and option.name != "show_config":
            yield option
