"""Honest estimates of starts: they learn from how wrong earlier ones were.

The fluid plan says when a job would start if nothing else came and all went as planned. When a job starts,
what it was first told is held against what came of it, as a ratio of waits

    e = (started - told at + D) / (estimated - told at + D),

with a round's length D added to both, so that no ratio is extreme. Who starts in the very round in which it
would be told is told nothing, and teaches nothing: most jobs do, and of those who wait they say too little.
So every estimate is of a round or more. The last :data:`MOST_ERRORS` of its class of jobs (by devices, in
powers of two) are kept in the outlook, which the caller hands back. With n of them, at least
:data:`LEAST_ERRORS`, an estimate of w more seconds becomes

    (w + D) q - D

where q is their median; and with the ceil(0.9 (n + 1))-th smallest of them as q, the time by which nine in
ten such jobs have started: split conformal prediction (Vovk, Gammerman and Shafer, "Algorithmic Learning in a
Random World", 2005; Lei et al., "Distribution-Free Predictive Inference for Regression", JASA 2018), which
holds as often as it says where errors to come are drawn like those that were. Rounds are no such thing:
``benchmarks/results`` has how often it held.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from gangplan.domain.job import WHOLE_DEVICE, Job
from gangplan.domain.outlook import JobOutlook, Outlook, StartErrors
from gangplan.domain.round import Round

MOST_ERRORS = 64
"""Kept of each class, the latest."""
LEAST_ERRORS = 5
"""From so many on they are believed."""
COVERAGE = 0.9
"""How often a job should have started by the time that is given for it."""
_MOST_RATIO = 1e6
_EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class Estimate:
    """When a job that waits will start.

    Attributes:
        seconds: from now; the middle of what came of such estimates.
        by_seconds: from now; nine in ten have started by then. None: too little is known.
        told_at: seconds since the epoch; when it was first told an estimate.
        told_seconds: that estimate, from ``told_at``, as the fluid plan had it.
    """

    seconds: float
    by_seconds: float | None
    told_at: float
    told_seconds: float


def kind_of(job: Job) -> str:
    """The class of a job: the devices that it asks for, down to a power of two; ``0`` is below one."""
    milli = sum(group.count * group.device_milli for group in job.component.task_groups)
    return str(2 ** ((milli // WHOLE_DEVICE).bit_length() - 1) if milli >= WHOLE_DEVICE else 0)


def learned(round_: Round, last: Outlook | None) -> tuple[StartErrors, ...]:
    """The errors that are known, with those of the jobs that have started since; by class."""
    if last is None:
        return ()
    known = {entry.kind: list(entry.ratios) for entry in last.start_errors}
    told = {entry.job: entry for entry in last.jobs if entry.told_at is not None}
    length = last.round_seconds
    started = []
    for job in round_.jobs:
        entry = told.get(job.name)
        if entry is None or entry.told_at is None or job.running is None:
            continue
        begun = round_.now if job.running.started_at is None else job.running.started_at
        waited = begun - entry.told_at
        if waited < length * (1.0 - _EDGE):
            continue
        started.append((begun, job.name, kind_of(job), (waited + length) / (entry.told_seconds + length)))
    for _, _, kind, ratio in sorted(started):
        known.setdefault(kind, []).append(min(_MOST_RATIO, max(1.0 / _MOST_RATIO, ratio)))
    return tuple(StartErrors(kind, tuple(known[kind][-MOST_ERRORS:])) for kind in sorted(known))


def estimate(
    job: Job,
    seconds: float,
    round_: Round,
    last: Mapping[str, JobOutlook],
    errors: Mapping[str, Sequence[float]],
) -> Estimate:
    """What a waiting job is told.

    Args:
        job: that has never run.
        seconds: from now until the fluid plan has it start.
        round_: the round.
        last: what the last outlook said, by job.
        errors: ratios by class.
    """
    entry = last.get(job.name)
    told_at, told = round_.now, max(seconds, round_.round_seconds)
    if entry is not None and entry.told_at is not None:
        told_at, told = entry.told_at, entry.told_seconds
    ratios = sorted(errors.get(kind_of(job), ()))
    if len(ratios) < LEAST_ERRORS:
        return Estimate(seconds, None, told_at, told)
    length = round_.round_seconds
    seconds = max(seconds, length)
    middle = max(0.0, (seconds + length) * median(ratios) - length)
    place = math.ceil(COVERAGE * (len(ratios) + 1))
    if place > len(ratios):
        return Estimate(middle, None, told_at, told)
    return Estimate(middle, max(middle, (seconds + length) * ratios[place - 1] - length), told_at, told)
