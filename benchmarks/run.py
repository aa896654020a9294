"""The benchmarks: every run in a process of its own, a row of JSON for each, a table of medians.

    python benchmarks/run.py [--smoke] [--only PATTERN]... [--seeds 0,1] [-o ROWS] [--report FILE]
    python benchmarks/run.py --prototypes FOLDER [--prototypes-python PYTHON] ...
    python benchmarks/run.py --openb FOLDER ...

Rows go to standard output. New ones are appended to ROWS when named; what stands there already for the same
code, instance, solver and limit is not run again. The table goes to FILE, else to standard error. Exit code
1 when a row is not verified, when permuted input gave another plan, when solvers contradict each other, when
a run failed, or (with ``--smoke``) when a row is not OPTIMAL.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import cases
import machine
import report

from gangplan_solvers import catalog

HERE = Path(__file__).parent
AGREEMENT = 1e-6
"""Most by which two solvers' proven optima may differ, relative (decision 23)."""
PROTOTYPE_AGREEMENT = {"highs": AGREEMENT, "cpsat": 5e-5}
"""The same against the prototype; its CP-SAT model rounds coefficients to thousandths."""
_SPARE_S = 300.0
"""Beside twice the time limit (the round and its permuted copy), for starting, reading and judging."""

Row = dict[str, Any]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for and not there yet; returns the exit code."""
    asked = _parse(arguments)
    with tempfile.TemporaryDirectory(prefix="gangplan-bench-") as scratch:
        runs = list(_runs(asked, Path(scratch)))
        if not runs:
            print("no instance has such a name", file=sys.stderr)
            return 2
        done = _rows_of(asked.output, runs)
        sink = asked.output.open("a", encoding="utf-8") if asked.output else None
        try:
            rows = [_row(run, done, sink, asked, Path(scratch), n, len(runs)) for n, run in enumerate(runs)]
        finally:
            if sink is not None:
                sink.close()
    text = report.markdown([row for row in rows if "error" not in row])
    if asked.report:
        asked.report.write_text(text, encoding="utf-8")
    else:
        print(text, file=sys.stderr)
    wrong = problems(rows, must_be_optimal=asked.smoke)
    for line in wrong:
        print(f"WRONG: {line}", file=sys.stderr)
    return 1 if wrong else 0


def problems(rows: Iterable[Row], *, must_be_optimal: bool) -> list[str]:
    """What no row may show, one sentence each."""
    found: list[str] = []
    by_instance: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        name = f"{row['instance']} by {row['who']} with {row['solver']}"
        if "error" in row:
            found.append(f"{name} failed: {row['error']}")
            continue
        by_instance.setdefault((row["suite"], row["instance"]), []).append(row)
        if row["who"] != "gangplan":
            continue
        if not row["verified"]:
            found.append(f"{name} is not verified")
        if row["permuted_same"] is False:
            found.append(f"{name} has another plan when its lists are permuted")
        if must_be_optimal and row["reason"] != "OPTIMAL":
            found.append(f"{name} is {row['reason']} (limit {row['limit']}, gap {row['gap']:.2g})")
    for (_, instance), others in by_instance.items():
        found.extend(_contradictions(instance, others))
    return found


def _contradictions(instance: str, rows: Sequence[Row]) -> Iterator[str]:
    """Values above another's bound, and proven optima of the programme that differ."""
    ours = [row for row in rows if row["who"] == "gangplan"]
    for row in ours:
        for other in ours:
            slack = AGREEMENT * max(1.0, abs(row["exact_objective"]))
            if row["exact_objective"] > other["bound"] + slack:
                yield (
                    f"{instance}: {row['solver']} reaches {row['exact_objective']!r}, above the bound "
                    f"{other['bound']!r} of {other['solver']}"
                )
    proved = [row for row in ours if row["proved"]]
    for row, other in itertools.pairwise(proved):
        slack = AGREEMENT * max(1.0, abs(row["exact_objective"]))
        if abs(row["exact_objective"] - other["exact_objective"]) > slack:
            yield (
                f"{instance}: {row['solver']} proves {row['exact_objective']!r}, "
                f"{other['solver']} proves {other['exact_objective']!r}"
            )
    theirs = [row for row in rows if row["who"] == "prototype-same" and row["proved"]]
    for row in proved:
        for other in theirs:
            mine, value = row["objective_in_their_unit"], other["objective"]
            slack = PROTOTYPE_AGREEMENT[other["solver"]] * max(1.0, abs(value))
            if row["running"] == 0 and abs(mine - value) > slack:
                yield f"{instance}: ours proves {mine!r}, the prototype {value!r}, and nothing runs"


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--smoke", action="store_true", help="two small instances, seconds; each must be optimal"
    )
    parser.add_argument("--prototypes", type=Path, metavar="FOLDER", help="compare with the prototypes there")
    parser.add_argument(
        "--prototypes-python",
        type=_program,
        default=sys.executable,
        metavar="PYTHON",
        help="interpreter with numpy, scipy, numba, highspy and ortools (default: this one)",
    )
    parser.add_argument("--openb", type=Path, metavar="FOLDER", help="the openb trace there, 10 s each")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="e.g. 'M/steady/85/*'")
    parser.add_argument("--seeds", type=_numbers, default=cases.SEEDS, metavar="0,1,2")
    parser.add_argument(
        "--solver", action="append", choices=catalog.names(), help=f"default: {' and '.join(cases.SOLVERS)}"
    )
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="default: 60; 10 with --openb")
    parser.add_argument("-o", "--output", type=Path, metavar="ROWS", help="JSON Lines, appended to")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the table there (Markdown)")
    asked = parser.parse_args(arguments)
    if asked.smoke + (asked.prototypes is not None) + (asked.openb is not None) > 1:
        parser.error("--smoke, --prototypes and --openb are suites: name one at most")
    if asked.prototypes and not set(asked.solver or ()) <= set(cases.SOLVERS):
        parser.error(f"the prototype knows {' and '.join(cases.SOLVERS)} only")
    for folder in (asked.prototypes, asked.openb):
        if folder is not None and not folder.is_dir():
            parser.error(f"{folder} is not a folder")
    for file in (asked.output, asked.report):
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
    if asked.time_limit is None:
        asked.time_limit = 10.0 if asked.openb else 60.0
    return asked


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def _program(text: str) -> str:
    """A program's path, whatever folder it is started in."""
    return os.path.abspath(text) if os.sep in text else text  # noqa: PTH100 (a venv's link must stay one)


def _runs(asked: argparse.Namespace, scratch: Path) -> Iterator[cases.Run]:
    solvers = tuple(asked.solver or cases.SOLVERS)
    if asked.smoke:
        yield from cases.smoke(solvers, asked.time_limit)
    elif asked.prototypes:
        folder = asked.prototypes.resolve()
        yield from cases.prototypes(asked.only, asked.seeds, solvers, asked.time_limit, scratch, folder)
    elif asked.openb:
        repeats = len(asked.seeds)
        yield from cases.openb(asked.openb.resolve(), asked.only, solvers, asked.time_limit, repeats)
    else:
        yield from cases.generated(asked.only, asked.seeds, solvers, asked.time_limit)


def _key(row: Row) -> tuple[object, ...]:
    names = ("suite", "who", "instance", "solver", "seed", "time_limit_s", "code")
    return tuple(row.get(name) for name in names)


def _rows_of(path: Path | None, runs: Sequence[cases.Run]) -> dict[tuple[object, ...], Row]:
    """Rows that are there already for the same code; a line cut off by an interruption is passed over."""
    found: dict[tuple[object, ...], Row] = {}
    if path is not None and path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if "error" not in row:
                found[_key(row)] = row
    wanted = {_key(_head(run)) for run in runs}
    return {key: row for key, row in found.items() if key in wanted}


def _head(run: cases.Run) -> Row:
    return {**dataclasses.asdict(run), "code": machine.code(), "revision": machine.revision()}


def _row(
    run: cases.Run,
    done: dict[tuple[object, ...], Row],
    sink: TextIO | None,
    asked: argparse.Namespace,
    scratch: Path,
    number: int,
    total: int,
) -> Row:
    """The row of a run: the one that is there, or a new one, written out at once."""
    head = _head(run)
    row = done.get(_key(head))
    if row is not None:
        print(json.dumps(row), flush=True)
        return row
    print(f"{number + 1}/{total} {run.instance} {run.who} {run.solver}", file=sys.stderr, flush=True)
    try:
        row = _measured(run, asked, scratch) | head
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        row = head | {"error": _reason(error)}
    row |= {"source": Path(run.source).name}
    line = json.dumps(row)
    print(line, flush=True)
    if sink is not None:
        sink.write(line + "\n")
        sink.flush()
    return row


def _measured(run: cases.Run, asked: argparse.Namespace, scratch: Path) -> Row:
    size, _, occupancy, seed = (*run.instance.split("/"), "", "", "")[:4]
    at = [size, seed.removeprefix("seed"), str(int(occupancy or "0") / 100)] if asked.prototypes else []
    if run.who == "gangplan":
        if asked.prototypes and not Path(run.source).is_file():
            _prototype(asked, scratch, "export", *at, run.source)
        return _child([sys.executable, str(HERE / "measure.py"), json.dumps(dataclasses.asdict(run))], run)
    settings = run.who.partition("-")[2]
    calibration, load = [machine.calibrate()], [machine.load_average()]
    row = _prototype(asked, scratch, "solve", *at, run.solver, settings, str(run.time_limit_s), run=run)
    calibration.append(machine.calibrate())
    load.append(machine.load_average())
    return {**row, "calibration_s": calibration, "load": load, "machine": machine.describe()}


def _prototype(
    asked: argparse.Namespace, scratch: Path, verb: str, *rest: str, run: cases.Run | None = None
) -> Row:
    """The prototype's answer, from its own process in the scratch folder (where it keeps its instances)."""
    script = str(HERE / "prototype_process.py")
    return _child(
        [asked.prototypes_python, script, str(asked.prototypes.resolve()), verb, *rest], run, scratch
    )


def _child(command: Sequence[str], run: cases.Run | None, folder: Path | None = None) -> Row:
    """The object on the last line of a process's output."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | ({"NUMBA_CACHE_DIR": str(folder / "numba")} if folder else {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SPARE_S + 2 * (run.time_limit_s if run else 0.0),
        check=True,
    )
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        last = (error.stderr or "").strip().splitlines()[-1:]
        return f"exit code {error.returncode}: {''.join(last)}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer after {error.timeout:.0f} s"
    return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    sys.exit(main())
