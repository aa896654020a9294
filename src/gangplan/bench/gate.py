"""The gate: deterministic counters of small rounds, compared with committed figures.

Counters are what work was done, not how long it took: columns, rows, solver iterations, branch-and-bound
nodes, candidates judged. They are the same on every machine for the same code and libraries, so that a change
of one is a change of the code. Each may grow by a stated share, beside a stated absolute allowance for small
ones; what shrinks passes, and ``--update`` takes it over.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gangplan.bench.runs import Run, named
from gangplan.domain.plan import RoundResult, TerminationLimit
from gangplan.errors import FieldViolation, InvalidInputError

FILE = Path("benchmarks/gates.toml")
TOLERANCE, ALLOWANCE = 0.02, 2.0
"""Written into a new file."""
STOPPED = "stopped_by_a_limit"
"""Counter of a run that time, a failure or a cancellation cut off."""
_SECONDS = "seconds"

Counters = dict[str, float]


@dataclass(frozen=True, slots=True)
class Gates:
    """Committed figures.

    Attributes:
        tolerance: share by which a counter may grow.
        allowance: what it may grow by in any case.
        counters: by run (instance, solver, pipeline) and name.
    """

    tolerance: float
    allowance: float
    counters: Mapping[str, Counters]

    def most(self, figure: float) -> float:
        """The largest value that passes where ``figure`` is committed."""
        return max(figure * (1 + self.tolerance), figure + self.allowance)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the gate refuses.

    Attributes:
        run: which run.
        message: one sentence.
    """

    run: str
    message: str

    def __str__(self) -> str:
        return f"{self.run}: {self.message}"


def read(path: Path) -> Gates:
    """Committed figures.

    Raises:
        InvalidInputError: no such file, or it is at fault.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        runs = {str(name): _numbers(table) for name, table in document["runs"].items()}
        return Gates(float(document["tolerance"]), float(document["allowance"]), runs)
    except OSError as error:
        raise _invalid(path, f"cannot be read: {error.strerror}; `--update` writes it") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise _invalid(path, f"is no file of gates: {error}; `--update` writes it anew") from error


def _numbers(table: Mapping[str, Any]) -> Counters:
    return {str(name): float(value) for name, value in table.items()}


def write(path: Path, gates: Gates) -> None:
    """Write figures, for a person to read and to commit."""
    lines = [
        "# Deterministic counters of small rounds. `gangplan bench gate --update` writes this file; commit",
        "# what it changes together with the change that made it so, and say why. A counter may grow by the",
        "# share `tolerance`, or by `allowance` where that is more.",
        f"tolerance = {gates.tolerance!r}",
        f"allowance = {gates.allowance!r}",
    ]
    for run, counters in sorted(gates.counters.items()):
        lines += ["", f'[runs."{run}"]']
        lines += [f"{name} = {_plain(value)}" for name, value in sorted(counters.items())]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def counters(result: RoundResult) -> Counters:
    """What work a round took: all its statistics but seconds, and the candidates judged."""
    found = {name: float(value) for name, value in result.statistics.items() if _SECONDS not in name}
    found["candidates"] = float(len(result.stages))
    return found


def measure(
    runs: Iterable[Run], on_run: Callable[[str, RoundResult], None] = lambda *_: None
) -> dict[str, Counters]:
    """The counters of runs, in this process with one warm solver process.

    A run that a limit stopped has the counter :data:`STOPPED`, which the gate refuses: its others are luck.
    """
    from gangplan.bench import rounds
    from gangplan.bench.permute import permute_round
    from gangplan.engine.budget import Budget
    from gangplan.engine.runner import Cancellation
    from gangplan.service.planner import EnginePlanner

    found: dict[str, Counters] = {}
    planner = EnginePlanner(workers=1)
    try:
        planner.warm()
        for run in runs:
            round_ = permute_round(rounds.load(run).round, run.seed)
            budget = Budget(run.time_limit_s)
            result = planner.plan(round_, rounds.parameters(run), budget, Cancellation())
            found[named(run)] = counters(result)
            if result.limit not in {TerminationLimit.NONE, TerminationLimit.NODE}:
                found[named(run)] = {STOPPED: 1.0}
            on_run(named(run), result)
    finally:
        planner.close()
    return found


def compare(gates: Gates, measured: Mapping[str, Counters]) -> list[Finding]:
    """What grew beyond its tolerance, and what is there on one side only."""
    found: list[Finding] = []
    for run in sorted(gates.counters.keys() | measured.keys()):
        if run not in measured:
            found.append(Finding(run, "is committed but was not measured"))
            continue
        if STOPPED in measured[run]:
            found.append(Finding(run, "was stopped by a limit or a failure, so that no counter repeats"))
            continue
        if run not in gates.counters:
            found.append(Finding(run, "was measured but is not committed: `--update` adds it"))
            continue
        found += [Finding(run, message) for message in _grown(gates, gates.counters[run], measured[run])]
    return found


def _grown(gates: Gates, committed: Counters, measured: Counters) -> Sequence[str]:
    messages = []
    for name in sorted(committed.keys() | measured.keys()):
        if name not in measured:
            messages.append(f"{name} is committed but is no counter any more: `--update` drops it")
        elif name not in committed:
            messages.append(f"{name} is a new counter: `--update` adds it")
        elif measured[name] > gates.most(committed[name]):
            messages.append(
                f"{name} grew from {_plain(committed[name])} to {_plain(measured[name])}, "
                f"above {gates.most(committed[name]):g}"
            )
    return messages


def shrunk(gates: Gates, measured: Mapping[str, Counters]) -> list[Finding]:
    """What became less than committed by more than the tolerance: good news that ``--update`` keeps."""
    return [
        Finding(run, f"{name} fell from {_plain(was)} to {_plain(measured[run][name])}")
        for run, committed in gates.counters.items()
        for name, was in committed.items()
        if run in measured and name in measured[run] and gates.most(measured[run][name]) < was
    ]


def _invalid(path: Path, description: str) -> InvalidInputError:
    return InvalidInputError([FieldViolation(str(path), description)])
