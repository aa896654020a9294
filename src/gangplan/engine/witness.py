"""A schedule that meets deadlines, found by planning step after step with the real binder and verifier.

Whoever needs most of its time goes first (least laxity). Every start pays its restart, the first one too; a
stop throws away what was done since the last checkpoint, and since the start where nothing is known of later
ones. Nothing is proved by failing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gangplan.domain.admission import WitnessStep
from gangplan.domain.job import Job, Running
from gangplan.domain.plan import Action, ActionKind
from gangplan.domain.policy import Policy
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.bundles import is_chosen
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.runner import Cancellation
from gangplan.model.verifier.facts import round_facts

MOST_STEPS = 96
_STEPS = 32
"""Steps until the last deadline, when no job ends on the way."""
_LIGHT = 1e-3
"""Weight of jobs without a deadline."""
_STEEP = 6.0
"""How fast weight grows with the share of its time that a job still needs."""
_ON_TIME = 1e-6
"""Seconds by which rounding may let a job be late."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A schedule.

    Attributes:
        steps: one after the other.
        disturbed: names of jobs without a deadline that it stops, moves or resizes.
    """

    steps: tuple[WitnessStep, ...]
    disturbed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Course:
    """A job on its way.

    Attributes:
        job: as the next step sees it.
        ready_at: when it has started and works.
        unsafe: work units that a stop would throw away.
    """

    job: Job
    ready_at: float
    unsafe: float


def find_witness(
    round_: Round,
    due: Mapping[str, float],
    budget: Budget,
    cancellation: Cancellation | None = None,
    *,
    others_stay: bool,
    once_started: bool = False,
) -> Witness | None:
    """A schedule under which every job of ``due`` is done by its time; None: none was found.

    Args:
        round_: what is there now; jobs that wait and are not of ``due`` go on waiting.
        due: seconds since the epoch by job name; their work left is known.
        budget: when to give up.
        cancellation: to give up earlier.
        others_stay: whether running jobs that are not of ``due`` stay where they are until they are done.
        once_started: whether jobs of ``due`` do so, too, from their start. Two that take turns throw away
            work at each, and one after the other may both be in time.
    """
    facts = round_facts(round_)
    here: dict[str, _Course] = {}
    for job in round_.jobs:
        if job.running is not None or job.name in due:
            mine = facts.jobs[job.name]
            unsafe = min(job.work_done, mine.lost_seconds * mine.present_throughput)
            stays = once_started if job.name in due else others_stay
            entered = _nailed(job) if stays and job.running is not None else job
            here[job.name] = _Course(entered, round_.now, unsafe)
    reference = {name: facts.jobs[name].reference for name in due}
    now = round_.now
    steps: list[WitnessStep] = []
    disturbed: set[str] = set()
    while any(name in here for name in due):
        if budget.exhausted or (cancellation is not None and cancellation.cancelled):
            return None
        if len(steps) == MOST_STEPS or any(now >= due[name] for name in due if name in here):
            return None
        step = _step_round(round_, now, here, due, reference)
        answer = plan_round(step, PlanParameters(pipeline="greedy"), budget=budget.less(0.0))
        actions = {action.job: action for action in answer.plan.actions}
        ends = {name: _end(course, actions.get(name), now) for name, course in here.items()}
        until = min(now + step.round_seconds, *(end for end in ends.values() if end > now))
        steps.append(WitnessStep(step, answer.plan, until))
        if any(ends[name] <= until and ends[name] > due[name] + _ON_TIME for name in due if name in here):
            return None
        disturbed |= {a.job for a in answer.plan.actions if a.job not in due and is_chosen(a)}
        here = {
            name: _after(course, actions.get(name), now, until, stays=once_started and name in due)
            for name, course in here.items()
            if ends[name] > until and (name in due or not _stops(actions.get(name)))
        }
        now = until
    return Witness(tuple(steps), tuple(sorted(disturbed)))


def _nailed(job: Job) -> Job:
    return replace(
        job, capabilities=replace(job.capabilities, pausable=False, movable=False, resizable=False)
    )


def _step_round(
    round_: Round,
    now: float,
    here: Mapping[str, _Course],
    due: Mapping[str, float],
    reference: Mapping[str, float],
) -> Round:
    """The round of a step: who takes part, weighted by how pressed it is."""
    jobs = []
    for name, course in sorted(here.items()):
        weight = _LIGHT
        if name in due:
            weight = math.exp(_STEEP * min(1.0, _pressed(course.job, due[name] - now, reference[name])))
        jobs.append(replace(course.job, weight=weight, priority=0, submit_time=None))
    last = max(due[name] for name in due if name in here) - now
    length = max(min(round_.round_seconds, last), last / _STEPS)
    policy = replace(
        Policy(fairness_power=0.0, queue_fairness_power=0.0, deadline_weight=2.0, locality_weight=0.0),
        size_exponent=round_.policy.size_exponent,
        reference_host=round_.policy.reference_host,
    )
    return replace(
        round_,
        now=now,
        round_seconds=length,
        horizon_seconds=max(length, last),
        jobs=tuple(jobs),
        policy=policy,
        outlook=None,
    )


def _pressed(job: Job, seconds: float, reference: float) -> float:
    """Share of the time until its deadline that a job needs at its reference throughput."""
    if reference <= 0.0 or seconds <= 0.0 or job.work_left is None:
        return 1.0
    return (job.work_left / reference + job.restart_seconds) / seconds


def _stops(action: Action | None) -> bool:
    return action is not None and action.kind is ActionKind.EVICT


def _starts(action: Action) -> bool:
    return action.kind in (ActionKind.PLACE, ActionKind.MIGRATE, ActionKind.RESIZE)


def _end(course: _Course, action: Action | None, now: float) -> float:
    """When a job is done if it goes on as the step has it; ``inf``: never, or unknown."""
    job = course.job
    if action is None or _stops(action) or action.throughput <= 0.0 or job.work_left is None:
        return math.inf
    if _starts(action):
        return now + job.restart_seconds + (job.work_left + course.unsafe) / action.throughput
    return max(now, course.ready_at) + job.work_left / action.throughput


def _after(course: _Course, action: Action | None, now: float, until: float, *, stays: bool) -> _Course:
    """The job at the end of a step in which it is not done; it ``stays`` where it has started."""
    job, ready, unsafe = course.job, course.ready_at, course.unsafe
    if action is None:
        return course
    if action.kind is not ActionKind.KEEP and job.running is not None:  # what is unsafe has to be done again
        left = None if job.work_left is None else job.work_left + unsafe
        job = replace(job, work_left=left, work_done=max(0.0, job.work_done - unsafe), running=None)
    if _stops(action):
        return _Course(job, until, 0.0)
    running = job.running
    if _starts(action):
        running, ready, unsafe = Running(action.placements, started_at=now), now + job.restart_seconds, 0.0
        job = _nailed(job) if stays else job
    assert running is not None
    if running.checkpoint_age_seconds is not None:
        running = replace(running, checkpoint_age_seconds=running.checkpoint_age_seconds + until - now)
    worked = max(0.0, until - max(now, ready)) * action.throughput
    left = None if job.work_left is None else max(0.0, job.work_left - worked)
    job = replace(job, running=running, work_left=left, work_done=job.work_done + worked)
    return _Course(job, ready, unsafe + worked)
