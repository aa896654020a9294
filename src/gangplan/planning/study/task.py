"""One simulation of a study, as the process that plays it is given it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gangplan.domain.job import WHOLE_DEVICE, Component
from gangplan.errors import FieldViolation, GangplanError, InvalidInputError
from gangplan.planning import policies
from gangplan.planning.metrics import job_reports, measure
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.loop import Settings, play
from gangplan.planning.rounds.told import Told
from gangplan.planning.sources import Source, failing
from gangplan.planning.study import draws
from gangplan.planning.study.edits import Setup, applied
from gangplan.planning.study.figures import figures
from gangplan.planning.study.schema import Base as BasePart
from gangplan.planning.study.schema import Study
from gangplan.planning.trace.replay import Replay

Point = tuple[tuple[str, Any], ...]
"""Values by axis, in order."""


@dataclass(frozen=True, slots=True)
class Base:
    """What every simulation of a study starts from; sent once to each process.

    Attributes:
        sources: one for all seeds, or one for each.
        part: the study's ``base``.
        draw: the study's.
        digest: of all that, but not of what a point changes.
    """

    sources: tuple[Source, ...]
    part: BasePart
    draw: str
    digest: str

    @classmethod
    def of(cls, study: Study, found: tuple[Source, ...]) -> Base:
        """The base of a study."""
        return cls.made(study.base, study.draw, found)

    @classmethod
    def made(cls, part: BasePart, draw: str, found: tuple[Source, ...]) -> Base:
        """A base without a study around it."""
        digest = hashlib.sha256(part.model_dump_json().encode())
        digest.update(draw.encode())
        for source in found:
            digest.update(repr((source.site, source.part, source.arrivals, source.failures)).encode())
            if source.trace is not None:
                digest.update(repr(source.trace).encode())
        return cls(found, part, draw, digest.hexdigest())


@dataclass(frozen=True, slots=True)
class Task:
    """One simulation.

    Attributes:
        point: values by axis.
        changes: made to the base, in order.
        seed: from 0.
    """

    point: Point
    changes: tuple[Mapping[str, Any], ...]
    seed: int

    def key(self, base: Base) -> str:
        """What tells it from all others: what it is, not what its axes are called."""
        text = json.dumps([base.digest, self.changes, self.seed], sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a simulation.

    Attributes:
        figures: by name; empty where it failed.
        left_out: jobs of a trace that are not in it, by reason.
        cpu_s: CPU seconds of the process that played it.
        error: why it failed; empty: it did not.
    """

    figures: Mapping[str, float | None]
    left_out: Mapping[str, int]
    cpu_s: float
    error: str = ""

    def document(self) -> dict[str, Any]:
        """As JSON says it."""
        return {
            "figures": dict(self.figures),
            "left_out": dict(self.left_out),
            "cpu_s": self.cpu_s,
            "error": self.error,
        }


def evaluate(base: Base, task: Task) -> Outcome:
    """Play it. What cannot be played is an outcome with an error, not an exception."""
    begin = time.process_time()
    try:
        setup = setup_of(base, task)
        history, settings, impossible, left_out = world(setup, base, task.seed)
        played = play(history, policies.make(setup.policy, setup.how), settings)
    except GangplanError as error:
        return Outcome({}, {}, time.process_time() - begin, f"{type(error).__name__}: {error}")
    reports = job_reports(played)
    found = figures(played, measure(played, reports), reports, impossible)
    return Outcome(found, left_out, time.process_time() - begin)


def setup_of(base: Base, task: Task) -> Setup:
    """The setup of a simulation, all changes made.

    Raises:
        InvalidInputError: one cannot be made.
    """
    part, source = base.part, base.sources[task.seed % len(base.sources)]
    setup = Setup(
        source=source,
        site=History(source.site, ()).under(part.preset, "base.preset").template,
        replay=Replay(
            queue=part.replay.queue,
            skip=part.replay.skip,
            most_jobs=part.replay.most_jobs,
            elastic=part.replay.elastic,
            types=part.replay.types,
            restart_seconds=part.replay.restart,
            seed=task.seed,
        ),
        policy=part.policy,
        how=policies.How(pipeline=part.pipeline, seed=task.seed),
        telling=source.telling(None if part.told is None else Told(part.told), part.noise, task.seed),
        most_rounds=part.rounds or source.most_rounds,
        mtbf=part.mtbf,
        repair=part.repair,
    )
    for index, change in enumerate(task.changes):
        setup = applied(setup, change, f"changes[{index}]")
    if not any(node.usable_device_count for node in setup.site.cluster.nodes):
        raise InvalidInputError([FieldViolation("changes", "no device would be left")])
    return setup


def world(
    setup: Setup, base: Base, seed: int
) -> tuple[History, Settings, tuple[tuple[float, bool], ...], Mapping[str, int]]:
    """What is played, how, which jobs no node could ever hold, and what is left out by reason."""
    source, how = draws.drawn(_chosen(setup.source, setup), setup.replay, base.draw, seed)
    replayed = source.history(replace(how, load=setup.load), site=setup.site)
    history = replayed.history
    arrivals = history.arrivals
    if source.trace is None and setup.load != 1.0:
        arrivals = tuple(_sooner(arrival, history.template.now, setup.load) for arrival in arrivals)
    history = replace(history, arrivals=arrivals, seed=seed)
    if setup.mtbf is not None:
        history = failing(history, setup.most_rounds, setup.mtbf, setup.repair, seed)
    return history, Settings(setup.telling, setup.most_rounds), replayed.impossible, replayed.left_out


def _chosen(source: Source, setup: Setup) -> Source:
    """The source with the jobs that are wanted."""
    if not setup.users and not setup.queues and setup.most_gpus is None:
        return source

    def wanted(user: str, queue: str | None, gpus: float) -> bool:
        if setup.users and user not in setup.users:
            return False
        if setup.queues and queue not in setup.queues:
            return False
        return setup.most_gpus is None or gpus <= setup.most_gpus

    if source.trace is not None:
        jobs = tuple(job for job in source.trace.jobs if wanted(job.user, job.queue, job.gpus))
        return replace(source, trace=replace(source.trace, jobs=jobs))
    arrivals = tuple(
        arrival
        for arrival in source.arrivals
        if wanted(arrival.job.user, arrival.job.queue, _gpus(arrival.job.component))
    )
    return replace(source, arrivals=arrivals)


def _gpus(component: Component) -> float:
    return sum(group.count * group.device_milli for group in component.task_groups) / WHOLE_DEVICE


def _sooner(arrival: Arrival, start: float, load: float) -> Arrival:
    """The job submitted so many times as soon after the start; who was there before stays."""
    job = arrival.job
    if job.submit_time is None or job.submit_time <= start:
        return arrival
    earlier = (job.submit_time - start) * (1 - 1 / load)
    gate = job.gate
    if gate.not_before is not None:
        gate = replace(gate, not_before=gate.not_before - earlier)
    return replace(
        arrival,
        job=replace(
            job,
            submit_time=job.submit_time - earlier,
            deadline=None if job.deadline is None else job.deadline - earlier,
            gate=gate,
        ),
    )
