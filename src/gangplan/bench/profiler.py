"""Where the time of one round goes: by phase, and by function."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gangplan.domain.plan import RoundResult
    from gangplan.domain.round import Round
    from gangplan.engine.parameters import PlanParameters


@dataclass(frozen=True, slots=True)
class Function:
    """One line of a profile.

    Attributes:
        name: function, with file and line.
        calls: how often it was called.
        own_s: seconds in itself.
        all_s: seconds in it and in what it called.
    """

    name: str
    calls: int
    own_s: float
    all_s: float


@dataclass(frozen=True, slots=True)
class Profile:
    """What was found.

    Attributes:
        result: the answer of the profiled run.
        plain: seconds by phase of a run without the profiler, which slows Python code down.
        functions: those with the most time, first.
        stats: the profile itself.
    """

    result: RoundResult
    plain: Mapping[str, float]
    functions: tuple[Function, ...]
    stats: pstats.Stats


def profile(round_: Round, parameters: PlanParameters, *, top: int = 25, by: str = "own") -> Profile:
    """Plan a round three times in this process: for practice, by the clock, and under the profiler.

    Solvers run in this thread, so that their time is seen as theirs.

    Args:
        round_: the round.
        parameters: how to plan it.
        top: how many functions.
        by: ``own`` or ``all``.
    """
    from gangplan.engine.round import plan_round

    plan_round(round_, parameters)
    plain = plan_round(round_, parameters)
    profiler = cProfile.Profile()
    result = profiler.runcall(plan_round, round_, parameters)
    stats = pstats.Stats(profiler)
    return Profile(result, plain.seconds_by_phase, functions(stats, top=top, by=by), stats)


def functions(stats: pstats.Stats, *, top: int, by: str) -> tuple[Function, ...]:
    """The functions with the most time."""
    entries: Any = stats.stats  # type: ignore[attr-defined]  # typeshed knows the methods only
    found = [
        Function(_name(*place), int(calls), own, everything)
        for place, (_, calls, own, everything, _) in entries.items()
    ]
    found.sort(key=lambda one: (-(one.own_s if by == "own" else one.all_s), one.name))
    return tuple(found[:top])


def _name(file: str, line: int, function: str) -> str:
    if file == "~":
        return function
    parts = Path(file).parts
    for package in ("gangplan", "gangplan_solvers", "site-packages"):
        if package in parts:
            at = len(parts) - 1 - parts[::-1].index(package)
            parts = parts[at + (package == "site-packages") :]
            break
    else:
        parts = parts[-1:]
    return f"{'/'.join(parts)}:{line} {function}"
