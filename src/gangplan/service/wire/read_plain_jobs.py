"""Very many jobs on the wire -> :class:`~gangplan.domain.job.Job`, those that say nothing unusual.

What is wrong is never said here: a job about which anything is unusual is left to
:mod:`~gangplan.service.wire.read_job`, which reads it field by field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, repeat
from typing import Any

import numpy as np

from gangplan.domain.job import OPEN, Capabilities, Component, DeadlineKind, Job
from gangplan.service.wire import limits
from gangplan.service.wire.columns import Bools, Columns, Reals, Span, lists, or_none
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.known import Known
from gangplan.service.wire.read_capabilities import read_capabilities
from gangplan.service.wire.read_component import Components
from gangplan.service.wire.read_plain_running import plain_running
from gangplan.twins import twin_maker
from gangplan.v1 import job_pb2

_KINDS = (DeadlineKind.TARGET, DeadlineKind.TARGET, DeadlineKind.STRICT, DeadlineKind.SOFT)
"""By the number of the wire's kind."""
_SOFT = job_pb2.DEADLINE_KIND_SOFT
_LONGEST_PROFILE = 127
_job = twin_maker(Job)


def plain_jobs(
    messages: Sequence[job_pb2.Job],
    names: Sequence[str],
    components: Components,
    known: Known,
    fields: Fields,
) -> tuple[list[Job | None], bool]:
    """The jobs, and None for each that is left to be read by itself; names are taken as they are.

    Also whether it is sure that no device is held by two jobs.
    """
    rows, data = Columns.of([message.SerializeToString() for message in messages])
    rows.span(1)
    queues = _looked_up(rows, rows.span(2)[0], data, {b"": None, **{q.encode(): q for q in known.queues}})
    made = _components(rows, data, components)
    weights = _real(rows, 4, limits.SMALLEST_FACTOR, limits.LARGEST_FACTOR, unset=1.0)
    priorities, _ = rows.integer(5)
    rows.refuse(np.abs(priorities) > limits.PRIORITY)
    submitted = or_none(*rows.seconds(6, limits.EPOCH_SECONDS))
    done, left = _work(rows)
    progress, finish_ages = _fair_share(rows)
    deadlines, kinds, decays = _deadlines(rows)
    restarts, checkpoints = _interruptions(rows)
    capabilities = _capabilities(rows, data)
    running, runs, apart = plain_running(rows, data, made, known, fields)
    revisions = _texts(rows, rows.span(13)[0], data)
    received = or_none(*_checked(rows, rows.real(14), 0.0, limits.WORK))
    users = _texts(rows, rows.span(20)[0], data)

    clean = rows.clean().tolist()
    columns: tuple[Any, ...] = (
        names,
        made,
        queues,
        weights,
        priorities.tolist(),
        submitted,
        done,
        left,
        progress,
        finish_ages,
        deadlines,
        kinds,
        decays,
        restarts,
        checkpoints,
        capabilities,
        running,
        repeat(OPEN, len(names)),
        repeat((), len(names)),
        revisions,
        received,
        repeat(None, len(names)),
        users,
        repeat(None, len(names)),
    )
    found: list[Job | None] = [None] * len(names)
    jobs = map(_job, *(compress(column, clean) for column in columns))
    for index, job in zip(compress(range(len(names)), clean), jobs, strict=True):
        found[index] = job
    return found, apart and bool(rows.clean()[runs].all())


def _components(rows: Columns, data: bytes, components: Components) -> list[Component | None]:
    """Components of one task group that were looked at before but for their profile."""
    whole, _ = rows.span(3)
    group, _ = rows.within(whole).inner(2)
    group.span(1)
    group.integer(2)
    group.span(3)
    group.span(4)
    group.integer(5)
    group.span(6)
    group.skip_all(7)
    profile, _ = group.span(8)
    found = [
        components.plain(data[start:stop], (at - start, to - start) if at else (0, 0))
        for start, stop, at, to in zip(*lists(whole), *lists(profile), strict=True)
    ]
    rows.refuse(np.fromiter([one is None for one in found], np.bool_, len(found)))
    return found


def _real(rows: Columns, number: int, low: float, high: float, unset: float = 0.0) -> list[float]:
    """A number in its range; ``unset`` where it is not set."""
    values, there = _checked(rows, rows.real(number), low, high)
    numbers: list[float] = np.where(there, values, unset).tolist()
    return numbers


def _checked(rows: Columns, column: tuple[Reals, Bools], low: float, high: float) -> tuple[Reals, Bools]:
    values, there = column
    rows.refuse(there & ~((values >= low) & (values <= high)))
    return values, there


def _work(rows: Columns) -> tuple[list[float], list[float | None]]:
    """Work done, and left where that is known exactly."""
    work, _ = rows.inner(7)
    done = _real(work, 1, 0.0, limits.WORK)
    left = or_none(*_checked(work, work.real(2), 0.0, limits.WORK))
    (start, stop), _ = work.span(4)
    rows.refuse((start != stop) | ~work.clean())
    return done, left


def _fair_share(rows: Columns) -> tuple[list[float], list[float | None]]:
    """Work of the fair self, and its age when it was done."""
    fair, _ = rows.inner(8)
    progress = _real(fair, 1, 0.0, limits.WORK)
    age = or_none(*fair.seconds(2, limits.SECONDS))
    rows.refuse(~fair.clean())
    return progress, age


def _deadlines(rows: Columns) -> tuple[list[float | None], list[DeadlineKind], list[float]]:
    """When, what missing it means, and how fast a soft one falls."""
    deadline, there = rows.inner(9)
    time, timed = deadline.seconds(1, limits.EPOCH_SECONDS)
    numbers, _ = deadline.integer(2)
    wrong = (numbers < 0) | (numbers >= len(_KINDS)) | (there & ~timed)
    decay, falls = deadline.seconds(3, limits.SECONDS)
    wrong |= (falls != (numbers == _SOFT)) | (falls & (decay <= 0.0))
    rows.refuse(wrong | ~deadline.clean())
    numbers[wrong] = 0
    return or_none(time, there), [_KINDS[number] for number in numbers.tolist()], decay.tolist()


def _interruptions(rows: Columns) -> tuple[list[float], list[float]]:
    """Time from stop to useful work, and for a checkpoint."""
    cost, _ = rows.inner(10)
    restart, _ = cost.seconds(1, limits.SECONDS)
    checkpoint, _ = cost.seconds(2, limits.SECONDS)
    rows.refuse(~cost.clean())
    return restart.tolist(), checkpoint.tolist()


def _capabilities(rows: Columns, data: bytes) -> list[Capabilities]:
    """What may be done to them; most say nothing."""
    known = {b"": Capabilities()}
    found = []
    for start, stop in zip(*lists(rows.span(11)[0]), strict=True):
        encoded = data[start:stop]
        if encoded not in known:
            known[encoded] = read_capabilities(job_pb2.Capabilities.FromString(encoded))
        found.append(known[encoded])
    return found


def _looked_up(rows: Columns, span: Span, data: bytes, known: Mapping[bytes, str | None]) -> list[str | None]:
    """What is known by the bytes that are there; who names anything else is refused."""
    texts = [data[start:stop] for start, stop in zip(*lists(span), strict=True)]
    rows.refuse(np.fromiter([text not in known for text in texts], np.bool_, len(texts)))
    return [known.get(text) for text in texts]


def _texts(rows: Columns, span: Span, data: bytes) -> list[str]:
    """Texts that may be empty."""
    texts = [data[start:stop].decode() for start, stop in zip(*lists(span), strict=True)]
    rows.refuse(np.fromiter([not _is_text(text) for text in texts], np.bool_, len(texts)))
    return texts


def _is_text(text: str) -> bool:
    return not text or (len(text) <= limits.NAME_LENGTH and text.isprintable())
