"""Which simulations a question needs, one batch after the other, and what they answer.

The path of a search depends on the figures alone, so that the same study has the same answer however many
workers there are, and whichever simulation ends first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Protocol

from gangplan.planning.study.finished import Finished
from gangplan.planning.study.questions import question
from gangplan.planning.study.reader import Given
from gangplan.planning.study.result import Found, Result
from gangplan.planning.study.task import Outcome, Point


class Runner(Protocol):
    """Where simulations run; see :mod:`gangplan.planning.study.runners`."""

    @property
    def about(self) -> str:
        """Where, in words."""
        ...

    def run(self, base: Any, tasks: Any, seconds: float | None) -> Any:
        """Outcomes by key, as they come."""
        ...


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a study is.

    Attributes:
        done: simulations that are finished, those from the file included.
        wanted: as far as is known by now.
        last: the point of the last one; None: none yet.
    """

    done: int
    wanted: int
    last: Point | None


def ask(
    given: Given,
    runner: Runner,
    finished: Finished | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Answer a study.

    Args:
        given: the study.
        runner: where simulations run.
        finished: those that need not run again; what is played is kept there.
        on_progress: called after each of them.
    """
    finished = Finished() if finished is None else finished
    asked = _Asked(given, runner, finished, on_progress or (lambda _: None))
    answer, findings = question(given.study)(given, asked.points)
    return Result(
        given, tuple(asked.found.values()), answer, findings, runner.about, asked.played, asked.reused
    )


class _Asked:
    """All points that have been asked for, in order."""

    def __init__(
        self, given: Given, runner: Runner, finished: Finished, tell: Callable[[Progress], None]
    ) -> None:
        self._given, self._runner, self._finished, self._tell = given, runner, finished, tell
        self.found: dict[str, Found] = {}
        self.played = self.reused = 0

    def points(self, points: Sequence[Point]) -> list[Found]:
        """What becomes of points under all seeds; those that are new run together."""
        given, base = self._given, self._given.base
        seeds = range(given.study.seeds)
        tasks = {}
        for point in points:
            for seed in seeds:
                task = given.task(point, seed)
                key = task.key(base)
                if self._finished.get(key) is None:
                    tasks[key] = task
                elif repr(point) not in self.found:
                    self.reused += 1
        wanted = self.played + self.reused + len(tasks)
        self._tell(Progress(self.played + self.reused, wanted, None))
        if tasks:
            with closing(self._runner.run(base, tasks, given.study.time_limit)) as outcomes:
                for key, outcome in outcomes:
                    self._finished.keep(key, tasks[key], outcome)
                    self.played += 1
                    self._tell(Progress(self.played + self.reused, wanted, tasks[key].point))
        return [self._of(point) for point in points]

    def _of(self, point: Point) -> Found:
        known = self.found.get(repr(point))
        if known is None:
            outcomes: list[Outcome] = []
            for seed in range(self._given.study.seeds):
                outcome = self._finished.get(self._given.task(point, seed).key(self._given.base))
                assert outcome is not None
                outcomes.append(outcome)
            known = self.found[repr(point)] = Found(point, tuple(outcomes))
        return known
