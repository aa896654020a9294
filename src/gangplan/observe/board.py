"""What the live page shows: the last round as a cluster map and a queue, and how the rounds before it went.

Only references are kept while rounds are planned; lists and texts are made when somebody looks. What is kept
is bounded: one round with its answer, and a few numbers of each of the last rounds.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gangplan.domain.plan import ActionKind

if TYPE_CHECKING:
    from gangplan.domain.job import TaskPlacement
    from gangplan.domain.plan import RoundResult
    from gangplan.domain.round import Round

MOST_ROUNDS = 240
MOST_NODES = 2_000
MOST_JOBS_OF_A_NODE = 8
MOST_WAITING = 300
LONGEST_NAME = 80
LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class _Last:
    at: float
    round: Round
    result: RoundResult


class Board:
    """Follows the rounds of one server. May be used from several threads at once.

    Args:
        clock: seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last: _Last | None = None
        self._rounds: deque[Mapping[str, Any]] = deque(maxlen=MOST_ROUNDS)
        self._shown: tuple[_Last, dict[str, Any]] | None = None
        self.watched = False
        """Whether there is a page at all; without one nothing is kept."""

    def note(self, round_: Round, result: RoundResult) -> None:
        """A round was planned."""
        if not self.watched:
            return
        last = _Last(self._clock(), round_, result)
        quality = result.quality
        point = {
            "at": round(last.at, 3),
            "seconds": round(result.seconds_by_phase.get("total", 0.0), 6),
            "gap_of_gain": quality.gap_of_gain,
            "relative_gap": quality.relative_gap,
            "jobs": len(round_.jobs),
            "waiting": len(result.verdicts),
            "reason": result.reason.value,
            "limit": result.limit.value,
            "pipeline": result.pipeline,
        }
        with self._lock:
            self._last = last
            self._rounds.append(point)

    def document(self, after: float = 0.0) -> dict[str, Any]:
        """All that is shown, as JSON takes it.

        Args:
            after: seconds since the epoch; if the last round is not later, only its time is told.
        """
        with self._lock:
            last, rounds, shown = self._last, list(self._rounds), self._shown
        if last is None or last.at <= after:
            return {"now": self._clock(), "last": None if last is None else last.at}
        if shown is None or shown[0] is not last:
            shown = last, {"cluster": _cluster(last), "queue": _queue(last)}
            with self._lock:
                self._shown = shown
        return {"now": self._clock(), "last": last.at, "rounds": rounds, **shown[1]}


def _cluster(last: _Last) -> dict[str, Any]:
    """Each node with the jobs that the plan has there, by domain, then name."""
    cluster = last.round.cluster
    there: defaultdict[str, Counter[str]] = defaultdict(Counter)
    sizes = {
        (job.name, group.name): group.devices_per_task
        for job in last.round.jobs
        for group in job.component.task_groups
    }
    for action in last.result.plan.actions:
        if action.kind is not ActionKind.RESERVE:
            for place in action.placements:
                there[place.node][action.job] += _devices(place, sizes.get((action.job, place.group), 0))
    nodes = sorted(cluster.nodes, key=lambda node: (node.domain or "", node.name))
    return {
        "nodes": [
            {
                "name": _cut(node.name),
                "domain": _cut(node.domain or ""),
                "type": _cut(node.accelerator_type or ""),
                "devices": node.device_count,
                "broken": node.device_count - node.usable_device_count,
                "state": _state(node, last.round.now),
                "jobs": [
                    {"job": _cut(job), "devices": devices}
                    for job, devices in there[node.name].most_common(MOST_JOBS_OF_A_NODE)
                ],
                "more_jobs": max(0, len(there[node.name]) - MOST_JOBS_OF_A_NODE),
            }
            for node in nodes[:MOST_NODES]
        ],
        "more_nodes": max(0, len(nodes) - MOST_NODES),
        "devices": sum(node.device_count for node in nodes),
        "devices_used": sum(jobs.total() for jobs in there.values()),
        "actions": _counted(action.kind.value for action in last.result.plan.actions),
    }


def _queue(last: _Last) -> dict[str, Any]:
    """Who waits and why, the longest first."""
    submitted = {job.name: job.submit_time for job in last.round.jobs}
    now = last.round.now

    def waited(job: str) -> float | None:
        since = submitted.get(job)
        return None if since is None else max(0.0, now - since)

    verdicts = sorted(last.result.verdicts, key=lambda each: (-(waited(each.job) or 0.0), each.job))
    return {
        "waiting": [
            {
                "job": _cut(verdict.job),
                "kind": verdict.kind.value,
                "code": _cut(verdict.code),
                "message": _cut(verdict.message, LONGEST_MESSAGE),
                "waited_seconds": waited(verdict.job),
            }
            for verdict in verdicts[:MOST_WAITING]
        ],
        "more": max(0, len(verdicts) - MOST_WAITING),
        "kinds": _counted(verdict.kind.value for verdict in verdicts),
        "detail": _cut(last.result.detail, LONGEST_MESSAGE),
    }


def _devices(place: TaskPlacement, each: int) -> int:
    """How many devices tasks hold, shared ones counted whole."""
    return len(place.devices) or place.tasks * each


def _state(node: Any, now: float) -> str:
    if node.health.value != "HEALTHY":
        return "unhealthy"
    if node.drain_time is not None and node.drain_time <= now:
        return "drained"
    return "cordoned" if node.cordoned else "ready"


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())


def _cut(text: str, longest: int = LONGEST_NAME) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
