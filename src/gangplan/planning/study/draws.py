"""What differs from seed to seed in the jobs that arrive."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from gangplan.planning.rounds.history import Arrival
from gangplan.planning.sources import Source
from gangplan.planning.trace.records import JobRecord
from gangplan.planning.trace.replay import Replay, wanted


def drawn(source: Source, how: Replay, draw: str, seed: int) -> tuple[Source, Replay]:
    """The source and its replay under a seed.

    ``resample`` is the bootstrap over jobs (Efron, *Bootstrap methods*, Annals of Statistics 7, 1979):
    arrival times stay, and each has one of the source's jobs, drawn with replacement: what a job asks for,
    its work and its deadline go together. Every point of a study has the same draw under the same seed, so
    that points are compared on the same jobs.

    Args:
        source: as it is.
        how: a trace is replayed.
        draw: ``nothing``, ``resample`` or ``windows``.
        seed: from 0.

    Raises:
        InvalidInputError: no job of the trace is wanted.
    """
    if draw == "windows":
        return source, replace(how, skip=how.skip + seed * (how.most_jobs or 0))
    if draw == "nothing":
        return source, how
    if source.trace is None:
        return replace(source, arrivals=_resampled(source.arrivals, seed)), how
    trace = replace(source.trace, jobs=_resampled_records(wanted(source.trace, how), seed))
    return replace(source, trace=trace), replace(how, queue=None, skip=0, most_jobs=None)


def _resampled_records(jobs: Sequence[JobRecord], seed: int) -> tuple[JobRecord, ...]:
    rng = random.Random(f"resample/{seed}")
    found = []
    for slot in jobs:
        body = jobs[rng.randrange(len(jobs))]
        deadline = None if body.deadline_s is None else slot.submit_s + body.deadline_s - body.submit_s
        values = tuple(
            value.model_copy(update={"by_s": slot.submit_s + value.by_s - body.submit_s})
            for value in body.deadline_values
        )
        changed = {
            "id": slot.id,
            "submit_s": slot.submit_s,
            "deadline_s": deadline,
            "deadline_values": values,
        }
        found.append(body.model_copy(update=changed))
    return tuple(found)


def _resampled(arrivals: Sequence[Arrival], seed: int) -> tuple[Arrival, ...]:
    """Jobs that run at the beginning, or wait for others, stay as they are."""
    rng = random.Random(f"resample/{seed}")
    ordered = sorted(arrivals, key=lambda arrival: (arrival.job.submit_time or 0.0, arrival.job.name))
    free = [one for one in ordered if one.job.running is None and not one.job.gate.after_jobs]
    found = []
    for slot in ordered:
        if slot.job.running is not None or slot.job.gate.after_jobs:
            found.append(slot)
            continue
        body = free[rng.randrange(len(free))]
        later = (slot.job.submit_time or 0.0) - (body.job.submit_time or 0.0)
        gate = body.job.gate
        if gate.not_before is not None:
            gate = replace(gate, not_before=gate.not_before + later)
        job = replace(
            body.job,
            name=slot.job.name,
            submit_time=slot.job.submit_time,
            deadline=None if body.job.deadline is None else body.job.deadline + later,
            gate=gate,
        )
        found.append(replace(body, job=job))
    return tuple(found)
