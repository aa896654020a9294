"""Traces drawn with the statistics of a given one, as long as one likes.

Three parts are fitted, and each is drawn from what was seen rather than from a named distribution, since no
named one fits the tails of GPU traces (Jeon et al., USENIX ATC 2019; Hu et al., SC 2021):

* **Gaps between arrivals** by the hour of the day, so that busy hours stay busy: each gap is one that was
  seen after an arrival in that hour.
* **Kinds**: what a job asks for (groups, types), its queue, user, model, batch size and work unit are drawn
  together, as one job had them, so that they stay as correlated as they were. A job repeats the one before
  it as often as that was so in the trace beyond chance: users submit in series.
* **Durations** given the number of GPUs: quantile by quantile, linear between the sorted ones of the jobs
  with as many GPUs (inverse transform of the empirical distribution; Law, *Simulation Modeling and
  Analysis*, section 8.3.16), so that lengths occur that were not seen, but none beyond the shortest and
  longest. Work grows with the duration, and deadlines keep their distance as a multiple of it.

Same trace, number and seed, same jobs.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterator

from gangplan.errors import FieldViolation, TraceError
from gangplan.planning.trace.lines import Trace
from gangplan.planning.trace.records import DeadlineValue, End, Header, JobRecord, Record

_HOUR, _DAY = 3600.0, 86_400.0
_LEAST = 2
"""Jobs that a trace must have to say anything of arrivals."""


class Fitted:
    """What is kept of a trace.

    Args:
        trace: at least two jobs, of which one has a duration.

    Raises:
        TraceError: there are too few.
    """

    def __init__(self, trace: Trace) -> None:
        jobs = sorted(trace.jobs, key=lambda job: (job.submit_s, job.id))
        if len(jobs) < _LEAST or all(job.duration_s is None for job in jobs):
            said = f"has {len(jobs)} jobs: at least two are needed, and a duration"
            raise TraceError([FieldViolation(trace.header.name, said)])
        self._trace = trace
        self._jobs = jobs
        self._start = jobs[0].submit_s
        self._gaps: dict[int, list[float]] = defaultdict(list)
        for one, two in itertools.pairwise(jobs):
            self._gaps[_hour(one.submit_s)].append(two.submit_s - one.submit_s)
        self._all_gaps = [gap for gaps in self._gaps.values() for gap in gaps]
        self._durations: dict[float, list[float]] = defaultdict(list)
        for job in jobs:
            if job.duration_s is not None:
                self._durations[job.gpus].append(job.duration_s)
        for durations in self._durations.values():
            durations.sort()
        alike = sum(_kind(one) == _kind(two) for one, two in itertools.pairwise(jobs))
        counts: dict[object, int] = defaultdict(int)
        for job in jobs:
            counts[_kind(job)] += 1
        chance = sum(count * (count - 1) for count in counts.values()) / (len(jobs) * (len(jobs) - 1))
        seen = alike / (len(jobs) - 1)
        self.series = max(0.0, (seen - chance) / (1.0 - chance)) if chance < 1.0 else 0.0
        """How often a job repeats the one before it, beyond what chance does."""

    def draw(self, jobs: int, seed: int = 0) -> Iterator[Record]:
        """A trace of so many jobs, from header to end.

        Args:
            jobs: how many, at least 1.
            seed: of all draws.
        """
        rng = random.Random(f"{seed}/{jobs}")
        header = self._trace.header
        yield Header(
            format=header.format,
            name=f"{header.name}, fitted, seed {seed}",
            reader="",
            source=header.source,
            licence=header.licence,
            cite=header.cite,
            time_zero=header.time_zero,
        )
        yield from self._trace.measurements
        now, like = self._start, rng.choice(self._jobs)
        for number in range(jobs):
            if number:
                now += rng.choice(self._gaps.get(_hour(now)) or self._all_gaps)
                if rng.random() >= self.series:
                    like = rng.choice(self._jobs)
            yield self._job(f"fitted-{number:07}", now, like, rng)
        yield End(jobs=jobs, measurements=len(self._trace.measurements))

    def _job(self, name: str, submit: float, like: JobRecord, rng: random.Random) -> JobRecord:
        """A job like another, with a duration of its own."""
        durations = self._durations.get(like.gpus, [])
        if like.duration_s is None or not durations:
            return _at(like, name, submit, 1.0, like.duration_s)
        place = rng.random() * (len(durations) - 1)
        low = durations[int(place)]
        high = durations[min(int(place) + 1, len(durations) - 1)]
        seconds = low + (place - int(place)) * (high - low)
        factor = seconds / like.duration_s if like.duration_s > 0 else 1.0
        return _at(like, name, submit, factor, seconds)


def _at(like: JobRecord, name: str, submit: float, factor: float, seconds: float | None) -> JobRecord:
    """The job at another time and so many times as long; its raw columns, start and end are not its own."""

    def moved(time: float) -> float:
        return submit + (time - like.submit_s) * factor

    return like.model_copy(
        update={
            "id": name,
            "submit_s": submit,
            "duration_s": seconds,
            "duration_by_type": {kind: each * factor for kind, each in like.duration_by_type.items()},
            "work": None if like.work is None else like.work * factor,
            "deadline_s": None if like.deadline_s is None else moved(like.deadline_s),
            "deadline_values": tuple(
                DeadlineValue(by_s=moved(each.by_s), value=each.value) for each in like.deadline_values
            ),
            "older": False,
            "start_s": None,
            "end_s": None,
            "line": 0,
            "raw": {},
        }
    )


def _kind(job: JobRecord) -> object:
    """What draws of jobs keep together."""
    return (job.groups, job.gpu_types, job.queue, job.user, job.model, job.batch_size)


def _hour(seconds: float) -> int:
    return int(seconds % _DAY // _HOUR)
