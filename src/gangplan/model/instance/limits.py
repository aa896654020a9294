"""Device limits as the model sees them: of the queue tree, the headroom for interactive jobs, and promises.

The headroom is a limit like a queue's, on all jobs that are not interactive (``constraints/headroom.py``).
Since they are in queues of their own as well, every queue has a twin for them, below both; twins have no
limits. So what knows limits of queues (rows, prices, quotas of the packing) knows the headroom.

So it is with the room that a limit keeps for those who are promised a place (``promised_room.py``): it is a
limit on some jobs of the queue, who are in a twin of their own queue below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from gangplan.columns import Columns
from gangplan.domain.job import WHOLE_DEVICE, Job, TaskPlacement
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.model.instance.promised_room import PromisedRoom, chain
from gangplan.model.instance.sites import Nodes
from gangplan.model.program import IntArray

HEADROOM = "\0headroom"
"""Stands for all jobs that are not interactive; no queue of a caller is named so."""
_TWIN = "\0batch/"
_ROOM, _MEMBERS = "\0room/", "\0members/"


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """Who counts under which limit.

    Attributes:
        names: of queues in order; the headroom, and the twins of queues for those under it, come last.
        queues: limits by name.
        ancestors: by position in ``names``: the queues that a member counts under, its own first.
        limited: whether there is any limit at all.
        keeps_room: the queue whose limit it is, by the name of what that limit keeps for promises.
    """

    names: tuple[str, ...]
    queues: Mapping[str, Queue]
    ancestors: tuple[tuple[int, ...], ...]
    limited: bool
    keeps_room: Mapping[str, str]
    _index: Mapping[str, int]
    _apart: Mapping[str, int]

    def of(self, job: Job) -> int:
        """Position of the queue that a job counts in; -1: none."""
        if job.name in self._apart:
            return self._apart[job.name]
        if HEADROOM in self._index and job.interactive is None:
            return self._index[HEADROOM if job.queue is None else _TWIN + job.queue]
        return -1 if job.queue is None else self._index[job.queue]

    def of_all(self, jobs: Columns[Job]) -> IntArray:
        """:meth:`of` of all jobs, shape (jobs,)."""
        if HEADROOM in self._index or self._apart:
            return np.array([self.of(job) for job in jobs.things], dtype=np.int64)
        return self.queue_of(jobs)

    def queue_of(self, jobs: Columns[Job]) -> IntArray:
        """Position of the queue that each job names, shape (jobs,); -1: none."""

        def read(some: Sequence[Job]) -> IntArray:
            known: dict[str | None, int] = {None: -1}
            known.update(self._index)
            return np.array([known[queue] for queue in map(attrgetter("queue"), some)], dtype=np.int64)

        return jobs.of("queue", read, *self.names)

    def chain(self, job: Job) -> tuple[str, ...]:
        """Names of the queues that a job counts under."""
        own = self.of(job)
        return () if own < 0 else tuple(self.names[q] for q in self.ancestors[own])


def build_limits(
    round_: Round,
    kept: Mapping[str, Sequence[TaskPlacement]],
    nodes: Nodes,
    rooms: Sequence[PromisedRoom] = (),
) -> Limits:
    """The limits of a round.

    Args:
        round_: the round.
        kept: what the running jobs that may stay hold, by name.
        nodes: of the round.
        rooms: what promises leave of limits.
    """
    queues = {queue.name: queue for queue in sorted(round_.queues, key=lambda queue: queue.name)}
    chains = {name: chain(queues, name) for name in queues}
    if any(round_.policy.headroom.values()):
        queues[HEADROOM] = Queue(HEADROOM, device_limit_by_type=_for_others(round_, kept, nodes))
        chains[HEADROOM] = (HEADROOM,)
        for name in [name for name in queues if name != HEADROOM]:
            queues[_TWIN + name] = Queue(_TWIN + name)
            chains[_TWIN + name] = (_TWIN + name, *chains[name], HEADROOM)
    apart = _set_apart(round_, rooms, queues, chains)
    names = tuple(queues)
    index = {name: q for q, name in enumerate(names)}
    return Limits(
        names,
        queues,
        tuple(tuple(index[above] for above in chains[name]) for name in names),
        any(queue.device_limit is not None or queue.device_limit_by_type for queue in queues.values()),
        {_room(room): room.queue for room in rooms},
        index,
        {job: index[name] for job, name in apart.items()},
    )


def _set_apart(
    round_: Round,
    rooms: Sequence[PromisedRoom],
    queues: dict[str, Queue],
    chains: dict[str, tuple[str, ...]],
) -> dict[str, str]:
    """Add limits for ``rooms`` and twins for their members; whose twin each member is in, by name."""
    for room in rooms:
        name = _room(room)
        by_type = {} if room.kind is None else {room.kind: room.limit}
        queues[name] = Queue(name, None, room.limit if room.kind is None else None, by_type)
        chains[name] = (name,)
    found: dict[str, str] = {}
    for job in round_.jobs if rooms else ():
        mine = [_room(room) for room in rooms if job.name in room.members]
        if mine and job.queue is not None:
            own = _TWIN + job.queue if HEADROOM in queues and job.interactive is None else job.queue
            twin = "".join([_MEMBERS, *mine, _MEMBERS, own])
            queues.setdefault(twin, Queue(twin))
            chains[twin] = (twin, *chains[own], *mine)
            found[job.name] = twin
    return found


def _room(room: PromisedRoom) -> str:
    """What the limit is called that keeps it."""
    return f"{_ROOM}{room.queue}/{room.kind or ''}"


def _for_others(round_: Round, kept: Mapping[str, Sequence[TaskPlacement]], nodes: Nodes) -> dict[str, int]:
    """Devices by type that jobs that are not interactive may hold together.

    What may be filled on nodes where tasks may start, and what they hold on others, which they only lose.
    """
    headroom = {name: count for name, count in round_.policy.headroom.items() if count}
    found = dict.fromkeys(sorted(headroom), 0)
    for node, is_open in zip(nodes.nodes, nodes.open.tolist(), strict=True):
        if is_open and node.accelerator_type in found:
            found[node.accelerator_type] += node.usable_device_count
    milli = dict.fromkeys(found, 0)
    for job in round_.jobs:
        if job.interactive is not None or job.name not in kept:
            continue
        groups = {group.name: group for group in job.component.task_groups}
        for place in kept[job.name]:
            n = nodes.index[place.node]
            kind = nodes.nodes[n].accelerator_type
            if kind in milli and not nodes.open[n]:
                milli[kind] += place.tasks * groups[place.group].device_milli
    return {
        kind: max(0, count - headroom[kind] - (-milli[kind] // WHOLE_DEVICE)) for kind, count in found.items()
    }
