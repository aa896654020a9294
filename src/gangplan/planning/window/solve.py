"""The best schedule of a window, and a bound that nobody beats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gangplan.engine.budget import Budget
from gangplan.engine.registry import AUTO, choose
from gangplan.engine.runner import InProcessRunner, Runner
from gangplan.model.program import Program, SolveLimit, SolveParameters
from gangplan.planning.rounds.loop import Played
from gangplan.planning.window.programme import Goal, Layout, formulate, lay_out, values_of
from gangplan.planning.window.ways import Window, round_of

_OPTIMAL = 1e-6
_SLACK = 1e-6
"""By which the worst rho may be worse where completion decides."""
_SPARE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """What was found.

    Attributes:
        window: the window.
        goal: what was best.
        chosen: by job: the way in each round, an index into its ``ways``; -1 where it does not run.
        value: of the schedule; rounds (total weighted), rho, or deadlines met.
        bound: no schedule has a lower completion or worst rho, or meets more deadlines.
        proved: whether the value is proved to be the best.
        complete: whether every job ends within the window. Otherwise what does not counts one round more than
            the window has, and value and bound are still bounds on what there is.
        columns, rows: sizes of the programme.
        solver: name and version.
    """

    window: Window
    goal: Goal
    chosen: Mapping[str, tuple[int, ...]]
    value: float
    bound: float
    proved: bool
    complete: bool
    columns: int
    rows: int
    solver: str


def plan_window(
    window: Window,
    goal: Goal = Goal.COMPLETION,
    *,
    time_limit_seconds: float | None = None,
    start: Played | None = None,
    solver: str = AUTO,
    runner: Runner | None = None,
    seed: int = 0,
) -> Schedule:
    """Find the best schedule of a window.

    Args:
        window: what is planned; with :attr:`Grain.TYPE` the schedule may have no places.
        goal: what is best.
        time_limit_seconds: of the solver; None: until it is proved, which repeats exactly.
        start: a played history of the same jobs to begin with; it must be on the grain of nodes.
        solver: backend.
        runner: where it runs; None: in this thread.
        seed: of the solver.

    Raises:
        BackendError: the solver failed or found nothing.
        UnknownSolverError: there is no such solver.
    """
    layout = lay_out(window, goal)
    first = values_of(window, layout, {} if start is None else _as_chosen(window, start))
    ask = _Ask(solver, runner or InProcessRunner(), time_limit_seconds, seed)
    found = ask.solve(formulate(window, goal, layout), first)
    x, value = found.x, found.value
    if goal is Goal.WORST_RHO:
        x = ask.solve(formulate(window, goal, layout, worst=-value + _SLACK * abs(value)), x).x
    chosen = _chosen(window, layout, x)
    exact = values_of(window, layout, {name: list(ways) for name, ways in chosen.items()})
    sign = 1.0 if goal is Goal.DEADLINES else -1.0
    return Schedule(
        window=window,
        goal=goal,
        chosen=chosen,
        value=sign * value,
        bound=sign * found.bound,
        proved=found.proved,
        complete=all(exact[layout.done[i][-1]] > 0.5 for i in range(len(window.jobs))),
        columns=found.columns,
        rows=found.rows,
        solver=found.solver,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """An answer: column values, their value, a bound, and how it was had."""

    x: np.ndarray
    value: float
    bound: float
    proved: bool
    columns: int
    rows: int
    solver: str


@dataclass(frozen=True, slots=True)
class _Ask:
    """How the solver is asked."""

    solver: str
    runner: Runner
    time_limit_seconds: float | None
    seed: int

    def solve(self, program: Program, first: np.ndarray) -> _Found:
        """Solve from ``first`` on, if that is feasible."""
        limit = self.time_limit_seconds
        parameters = SolveParameters(time_limit_seconds=limit, relative_gap=_OPTIMAL / 10, seed=self.seed)
        start = first if program.worst_violation(first) <= _OPTIMAL else None
        budget = Budget(None if limit is None else limit + _SPARE_SECONDS)
        backend = choose(self.solver, program, parameters)
        solution = self.runner.solve(backend, program, parameters, start, budget)
        x = first if solution.values is None else solution.values
        value = program.evaluate(x)
        bound = max(value, solution.bound)
        proved = solution.limit is SolveLimit.NONE and bound - value <= _OPTIMAL * max(1.0, abs(bound))
        return _Found(x, value, bound, proved, program.columns, program.rows, solution.solver)


def _as_chosen(window: Window, played: Played) -> dict[str, list[int]]:
    template = played.history.template
    found: dict[str, list[int]] = {}
    for job in window.jobs:
        known = {way.tasks: k for k, way in enumerate(job.ways)}
        ways = [-1] * window.rounds
        state = played.state.jobs.get(job.name)
        for span in () if state is None else state.spans:
            tasks: dict[str, int] = {}
            for placement in span.placements:
                tasks[placement.node] = tasks.get(placement.node, 0) + placement.tasks
            k = known.get(tuple(sorted(tasks.items())), -1)
            begins = round((span.begins - template.now) / template.round_seconds)
            ends = round_of(template, span.ends)
            for t in range(max(begins, job.arrives), min(ends + 1, window.rounds)):
                ways[t] = k
        found[job.name] = ways
    return found


def _chosen(window: Window, layout: Layout, x: np.ndarray) -> dict[str, tuple[int, ...]]:
    """The ways that run, nothing after a job is done."""
    found = {}
    for i, job in enumerate(window.jobs):
        ways, done = [-1] * window.rounds, 0.0
        for t in range(job.arrives, window.rounds):
            if done >= job.work * (1 - 1e-9):
                break
            running = np.flatnonzero(x[layout.runs[i][:, t]] > 0.5)
            if not len(running):
                continue
            k = ways[t] = int(running[0])
            seconds = window.round_seconds
            if t == job.arrives or ways[t - 1] != k:
                seconds -= min(job.restart_seconds, window.round_seconds)
            done += job.ways[k].throughput * seconds
        found[job.name] = tuple(ways)
    return found
