"""From a scenario to all that happens in it: its jobs as they arrive, and nodes that fail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gangplan.domain.job import Job
from gangplan.errors import FieldViolation, ScenarioError
from gangplan.planning.rounds.history import Arrival, Failure, History
from gangplan.planning.scenario.expand import expand, resolve
from gangplan.planning.scenario.schema import Scenario
from gangplan.planning.scenario.schema.source import GeneratedSource


def history(scenario: Scenario, *, folder: Path | None = None) -> History:
    """What a simulation plays: every job with its ``work``, from the scenario's start on.

    A job without ``age`` and ``arrives`` is submitted at the start.

    Args:
        scenario: read or made.
        folder: what a source's paths are relative to; None: the working directory.

    Raises:
        ScenarioError: the parts contradict each other, a source cannot be read, or a job has no ``work``.
    """
    simulation = scenario.simulation
    scenario = resolve(scenario, folder=folder)
    first = expand(scenario, folder=folder)
    everybody = first
    own: dict[str, float | None] = {}
    if not isinstance(scenario.source, GeneratedSource):
        last = max((g.arrives + g.every * len(list(g.numbered_names())) for g in scenario.jobs), default=0.0)
        everybody = expand(scenario.model_copy(update={"at": [last + scenario.at[0]]}), folder=folder)
        own = {name: group.checkpoint_every for group in scenario.jobs for name in group.numbered_names()}
    problems = [
        FieldViolation(f"jobs: {job.name}", "write its `work`: only a job with work left ever ends")
        for job in everybody.jobs
        if not job.work_left
    ]
    if problems:
        raise ScenarioError(problems)
    start = first.now

    def arrival(job: Job) -> Arrival:
        every = own.get(job.name)
        return Arrival(
            replace(job, submit_time=start if job.submit_time is None else job.submit_time, work_left=None),
            work=job.work_done + (job.work_left or 0.0),
            checkpoint_seconds=simulation.checkpoint_every if every is None else every,
        )

    return History(
        template=replace(first, jobs=()),
        arrivals=tuple(arrival(job) for job in everybody.jobs),
        failures=tuple(
            Failure(one.node, start + one.at, start + one.at + one.lasts) for one in simulation.failures
        ),
        name=scenario.title,
        seed=simulation.seed,
    )
