"""The prototypes' process, called: rows of what they solve, and files of their instances."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from gangplan.bench import curve, machine
from gangplan.bench.runs import Row, Run, Status

OPTIMAL_GAP = 1e-6
_SPARE_SECONDS = 280.0


def measure(run: Run) -> Row:
    """The row of a prototype's run. Its own check of its plan is all the verification there is."""
    calibration, load = [machine.calibrate()], [machine.load_average()]
    settings = run.who.partition("-")[2]
    if settings == "pipeline":
        found = _pipeline(run, _process(run, "pipeline", *_named(run), str(run.time_limit_s)))
    else:
        limit = str(run.time_limit_s)
        found = _process(run, "solve", *_named(run), run.solver, settings, limit)
        found["gap"] = _gap(found["programme_bound"], found["programme_objective"])
        found["status"] = (Status.OPTIMAL if found["proved"] else Status.FEASIBLE).value
    calibration.append(machine.calibrate())
    load.append(machine.load_average())
    return {**found, "calibration_s": calibration, "load": load, "permuted_same": None}


def instance_file(run: Run, folder: Path) -> Path:
    """The prototype's instance of the run's name, written to a folder.

    Raises:
        CalledProcessError: the prototypes failed.
    """
    path = folder / "instance.npz"
    _process(run, "export", *_named(run), str(path))
    return path


def _named(run: Run) -> tuple[str, str, str]:
    size, _, occupancy, seed = run.instance.split("/")
    return size, seed.removeprefix("seed"), str(int(occupancy) / 100)


def _pipeline(run: Run, found: dict[str, Any]) -> Row:
    """Their pipeline's row: its events are when a plan was found; the bound is known at the end only."""
    bound, objective, wall = found["bound"], found["objective"], found["wall_s"]
    points = [curve.Point(seconds, value, None) for seconds, value in found["events"]]
    line = curve.incumbents([*points, curve.Point(wall, objective, bound)])
    first = points[0]
    gap = _gap(bound, objective)
    return {
        "status": (Status.OPTIMAL if gap <= OPTIMAL_GAP else Status.FEASIBLE).value,
        "pipeline_taken": "full",
        "objective": objective,
        "bound": bound,
        "gap": gap,
        "proved": gap <= OPTIMAL_GAP,
        "first_s": first.seconds,
        "first_gap": _gap(bound, first.objective or 0.0),
        "wall_s": wall,
        "seconds_by_phase": found["seconds_by_phase"],
        "statistics": {"columns": found["columns"], "unbound_gangs": found["unbound_gangs"]},
        "peak_rss_bytes": found["peak_rss_bytes"],
        "sum_rss_bytes": found["peak_rss_bytes"],
        **_without_gain(curve.summary(line, bound, 0.0, max(run.time_limit_s, wall))),
    }


def _without_gain(summary: Any) -> Row:
    """A curve's columns without the gap of gain: the prototypes know no keep-and-fill."""
    row = dict(summary)
    row["gaps_at"] = {
        moment: {name: value for name, value in gaps.items() if not name.startswith("of_gain")}
        for moment, gaps in row["gaps_at"].items()
    }
    return row


def _gap(bound: float, objective: float) -> float:
    return max(0.0, bound - objective) / max(abs(bound), 1e-9)


def _process(run: Run, verb: str, *words: str) -> dict[str, Any]:
    """The object on the last line of the prototypes' output; they leave pickles in their working folder."""
    script = Path(__file__).with_name("process.py")
    python = str(run.options.get("python") or "python3")
    with tempfile.TemporaryDirectory(prefix="gangplan-prototype-") as folder:
        done = subprocess.run(
            [python, str(script), run.source, verb, *words],
            cwd=folder,
            env=os.environ | {"NUMBA_CACHE_DIR": str(Path(folder) / "numba")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SPARE_SECONDS + 2 * run.time_limit_s,
            check=False,
        )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:]
        raise RuntimeError(f"the prototypes ended with {done.returncode}: {''.join(last)}")
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
