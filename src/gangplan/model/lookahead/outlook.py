"""The outlook: targets for this round, what earlier ones still owe, and estimates (decision 31).

Targets that are a share of a round are met over several: what a round did not give is owed by the next, up to
a bound. That is the round mechanism of Gavel (Narayanan et al., OSDI 2020, section 5: priority is the share
asked for over the share received), in its linear form. What a job got beyond its target is not held against
it: the next plan starts from the work that is left.
"""

from __future__ import annotations

import numpy as np

from gangplan.domain.outlook import JobOutlook, Outlook
from gangplan.model.instance.instance import Instance
from gangplan.model.lookahead.buckets import LONGEST_SECONDS
from gangplan.model.lookahead.crowd import JobNumbers
from gangplan.model.lookahead.estimates import estimate, learned
from gangplan.model.lookahead.fluid import Fluid, finishes
from gangplan.model.lookahead.free_blocks import free_blocks
from gangplan.model.lookahead.last_end import last_to_end
from gangplan.model.lookahead.reserve import reservations, whole_node_gang
from gangplan.model.lookahead.room import RELAXED
from gangplan.model.lookahead.service import Service, hand_out
from gangplan.model.lookahead.worth import worths
from gangplan.model.program import BoolArray, FloatArray

MOST_OWED = 2.0
"""Rounds of reference service that a job may be owed."""
_GRAIN = 16.0
"""Targets and what is owed are multiples of one in so many, so that alike jobs stay alike."""
_MOST_SERVICE = 1e6
_LEAST_ASKED = 0.5
"""Rounds of service below which who waits is not asked for."""


def make_outlook(fluid: Fluid, values: FloatArray, last: Outlook | None) -> Outlook:
    """The outlook that a solution of the fluid plan gives.

    Args:
        fluid: the plan's programme.
        values: shape (columns,), its solution.
        last: the outlook of an earlier round; None: there is none, and nothing is owed.
    """
    instance, numbers = fluid.instance, fluid.numbers
    service = hand_out(fluid, values)
    round_ = instance.round
    owed = _owed(instance, numbers, last)
    large = _large_gangs_that_never_ran(instance, numbers)
    last_ends = last_to_end(fluid)
    worth = worths(fluid, service, large)
    worth[last_ends] = np.maximum(worth[last_ends], round_.policy.makespan_weight)
    errors = learned(round_, last)
    ratios = {entry.kind: entry.ratios for entry in errors}
    earlier = {} if last is None else {entry.job: entry for entry in last.jobs}
    entries = []
    for j, job in enumerate(instance.jobs):
        if numbers.planned[j]:
            start, end = float(service.start[j]), float(service.end[j])
            target = _grain(_target(fluid, service, j, float(owed[j]), full=bool(large[j] or last_ends[j])))
        elif numbers.fixed[j]:
            start, end = 0.0, finishes(instance, j)
            target = _grain(_present(instance, j))
        else:
            continue
        by = told_at = None
        told = 0.0
        if job.running is None and job.work_done <= 0.0 and start <= LONGEST_SECONDS:
            said = estimate(job, start, round_, earlier, ratios)
            start, end = said.seconds, end + said.seconds - start
            told_at, told = said.told_at, said.told_seconds
            by = None if said.by_seconds is None else _moment(round_.now, said.by_seconds)
        foreseen = job.work_left is not None or job.left_quantiles is not None
        entries.append(
            JobOutlook(
                job=job.name,
                target=target,
                deficit=_grain(float(owed[j])) if target < 1.0 else 0.0,
                work_done=job.work_done,
                estimated_start=round_.now if numbers.running[j] else _moment(round_.now, start),
                estimated_end=_moment(round_.now, end) if foreseen else None,
                worth=float(worth[j]),
                estimated_start_by=by,
                told_at=told_at,
                told_seconds=told,
            )
        )
    blocks, watched = free_blocks(instance, last)
    return Outlook(
        made_at=round_.now,
        round_seconds=round_.round_seconds,
        jobs=tuple(entries),
        reservations=reservations(fluid, service),
        relaxed=_relaxed(fluid, service),
        start_errors=errors,
        free_blocks=blocks,
        watched_seconds=watched,
    )


def _target(fluid: Fluid, service: Service, job: int, owed: float, *, full: bool) -> float:
    """Service that a job should get this round, in rounds at its reference: what whole jobs can follow.

    Fractions are the plan's way to say that jobs take turns; a round runs a job or does not. So

    * a running job that the plan serves at all is served as it is: no fraction pulls it off or elsewhere;
    * who needs less than a round until its end is served in full when it gets that: nobody else has its place
      before the next round, and what such a job gets, in rounds, would never be worth asking for;
    * a waiting one that would get less than half a round, what is owed counted in, is not asked for yet;
    * a gang of a whole node or more that has never run is asked for in full: it cannot run in part, and what
      the plan gives it in bits would let it wait until nobody else does; so is who the end of all waits for.
    """
    instance, numbers = fluid.instance, fluid.numbers
    one_round = max(1e-300, float(numbers.reference[job]) * instance.round.round_seconds)
    target = float(service.first[job]) / min(one_round, float(numbers.left[job]))
    running = bool(numbers.running[job])
    if running and (full or target > 0.0):
        present = float(instance.keeps.throughput[int(instance.class_of_job[job])])
        target = max(target, present / max(1e-300, float(numbers.reference[job])))
    if full:
        return max(1.0, target)
    return target if running or target + owed >= _LEAST_ASKED else 0.0


def _large_gangs_that_never_ran(instance: Instance, numbers: JobNumbers) -> BoolArray:
    """Waiting gangs of a whole node or more without any work done, shape (jobs,).

    One that has held devices has run, also where it was stopped before its first checkpoint and has nothing
    to show for it: were it new again, it would be started and stopped for ever.
    """
    new = (numbers.planned & ~numbers.running).tolist()
    return np.array(
        [
            new[j]
            and job.work_done <= 0.0
            and not job.service_received_device_seconds
            and whole_node_gang(instance, j) is not None
            for j, job in enumerate(instance.jobs)
        ],
        dtype=np.bool_,
    )


def _present(instance: Instance, job: int) -> float:
    """Relative throughput of a job where it is."""
    mine = int(instance.class_of_job[job])
    return 0.0 if not instance.keeps.throughput[mine] else 1.0


def _owed(instance: Instance, numbers: JobNumbers, last: Outlook | None) -> FloatArray:
    """Service that earlier targets gave and the rounds did not, 0 to :data:`MOST_OWED`, shape (jobs,)."""
    owed = np.zeros(len(instance.jobs))
    if last is None:
        return owed
    rounds = max(0.0, instance.round.now - last.made_at) / last.round_seconds
    for entry in last.jobs:
        j = instance.job_index.get(entry.job)
        if j is None or numbers.reference[j] <= 0.0:
            continue
        got = (instance.jobs[j].work_done - entry.work_done) / (numbers.reference[j] * last.round_seconds)
        owed[j] = min(MOST_OWED, max(0.0, entry.deficit + entry.target * rounds - max(0.0, got)))
    return owed


def _grain(service: float) -> float:
    return min(_MOST_SERVICE, round(service * _GRAIN) / _GRAIN)


def _moment(now: float, seconds: float) -> float | None:
    return now + seconds if seconds <= LONGEST_SECONDS else None


def _relaxed(fluid: Fluid, service: Service) -> tuple[str, ...]:
    del service
    found = list(RELAXED)
    jobs, classes = int(fluid.crowd.size.sum()), len(fluid.crowd.members)
    if jobs > classes:
        found.append(f"{jobs} jobs by {classes} classes of alike ones")
    unknown = sum(job.work_left is None and job.left_quantiles is None for job in fluid.instance.jobs)
    if unknown:
        found.append(f"work left of {unknown} jobs is unknown: taken for what they have done")
    return tuple(found)
