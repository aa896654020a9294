"""``gangplan import``: public traces as trace files, and openb as a scenario, too."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from gangplan.cli.exits import explained, say
from gangplan.cli.options.places import check_places
from gangplan.cli.options.traces import TraceTo, written

HELP = "Turn a public trace into a trace file (.jsonl), or openb into a scenario."


class FractionalChoice(Enum):
    """What becomes of pods that ask for part of a GPU."""

    REFUSE = "refuse"
    WHOLE = "whole"
    SHARE = "share"


@explained
def openb(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="The trace's folder, or its node list and pod list (.csv) in any order."
        ),
    ],
    *,
    to: Annotated[
        Path | None, written("Scenario to write (.yaml), or trace of the pods with their times (.jsonl).")
    ] = None,
    fractional: Annotated[
        FractionalChoice,
        typer.Option(
            help="Pods that ask for part of a GPU: refuse them, give each a whole one, or its part."
        ),
    ] = FractionalChoice.REFUSE,
    node_list: Annotated[
        str, typer.Option(help="Which node list of a folder: all_node, gpu_node.")
    ] = "all_node",
    pod_list: Annotated[
        str, typer.Option(help="Which pod list of a folder: default, cpu050, ...")
    ] = "default",
) -> None:
    """Import the openb production trace: 1,523 nodes, 6,212 GPUs, thousands of pods, all waiting at once.

    \b
    gangplan import openb FOLDER -o openb.yaml --fractional share
    gangplan import openb FOLDER --pod-list gpushare40 -o openb.jsonl
    """  # noqa: D301 - \b keeps the lines
    from gangplan.adapters.traces.openb import Fractional, find_lists, import_openb
    from gangplan.planning.scenario import dumps

    check_places(output=to)
    if to is not None and {".jsonl", ".JSONL"} & set(to.suffixes):
        pods = find_lists(files[0], nodes=node_list, pods=pod_list)[1] if files[0].is_dir() else files[0]
        _convert("openb", [pods], to, skip_wrong=False)
        return
    if len(files) == 1 and files[0].is_dir():
        lists: tuple[Path | None, Path | None] = find_lists(files[0], nodes=node_list, pods=pod_list)
    else:
        lists = _by_header(files)
    imported = import_openb(*lists, Fractional(fractional.value))
    header = f"Imported with `gangplan import openb --fractional {fractional.value}`."
    text = dumps(imported.scenario, header=header)
    if to is None:
        sys.stdout.write(text)
    else:
        to.write_text(text, encoding="utf-8")
    for line in imported.summary.lines():
        say(line)
    if to is not None:
        say(f"wrote {to}")


def _by_header(files: list[Path]) -> tuple[Path | None, Path | None]:
    """The node list and the pod list among the files, told apart by their columns."""
    from gangplan.errors import FieldViolation, ScenarioError

    found: dict[str, Path] = {}
    violations = []
    for file in files:
        with file.open(encoding="utf-8-sig", errors="replace") as lines:
            columns = {column.strip() for column in lines.readline().split(",")}
        kind = "pod" if "num_gpu" in columns else "node" if "sn" in columns else None
        if kind is None:
            description = "is neither a node list (column sn) nor a pod list (column num_gpu)"
            violations.append(FieldViolation(f"{file}:1", description))
        elif kind in found:
            violations.append(FieldViolation(f"{file}:1", f"is a second {kind} list, after {found[kind]}"))
        else:
            found[kind] = file
    if violations:
        raise ScenarioError(violations)
    return found.get("node"), found.get("pod")


def _verb(name: str, about: str) -> Callable[..., Any]:
    """The command that converts what a reader reads."""

    def convert(
        files: Annotated[
            list[Path], typer.Argument(metavar="PATH...", help="The files or folders that it reads.")
        ],
        *,
        to: TraceTo = None,
        skip_wrong: Annotated[
            bool, typer.Option("--skip-wrong", help="Leave out lines that are wrong, and count them.")
        ] = False,
    ) -> None:
        _convert(name, files, to, skip_wrong=skip_wrong)

    convert.__name__ = name
    convert.__doc__ = f"{about[:1].upper()}{about[1:]}.\n\n\b\ngangplan import {name} PATH -o {name}.jsonl\n"
    return explained(convert)


def _convert(name: str, files: list[Path], to: Path | None, *, skip_wrong: bool) -> None:
    from gangplan.adapters.traces import records
    from gangplan.planning.trace.ledger import Ledger
    from gangplan.planning.trace.lines import line_of, write_records

    check_places(output=to)
    ledger = Ledger(skip_wrong=skip_wrong)
    found = records(name, files, ledger)
    if to is None:
        sys.stdout.writelines(map(line_of, found))
    else:
        write_records(found, to)
    for line in ledger.lines():
        say(line)
    for violation in ledger.wrong:
        say(f"wrong: {violation}")
    if to is not None:
        say(f"wrote {to}")


def verbs() -> tuple[Callable[..., Any], ...]:
    """One for every reader."""
    from gangplan.adapters.traces import describe

    others = (_verb(name, about) for name, about in describe().items() if name != "openb")
    return (openb, *others)
