"""Actions that were planned and of which nobody has said yet what became of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from gangplan.domain.plan import ActionKind
from gangplan.service.sessions.content import Content, Kind


class Outcome(Enum):
    """What became of an action."""

    BOUND = "BOUND"
    """The job has its new places."""
    EVICTED = "EVICTED"
    """The job is stopped and holds nothing."""
    REFUSED = "REFUSED"
    EXPIRED = "EXPIRED"


STARTS = frozenset({ActionKind.PLACE, ActionKind.MIGRATE, ActionKind.RESIZE})
_STOPS_AND_STARTS = frozenset({ActionKind.MIGRATE, ActionKind.RESIZE})
_CAME_TO_NOTHING = frozenset({Outcome.REFUSED, Outcome.EXPIRED})


@dataclass(frozen=True, slots=True)
class InFlight:
    """An action in flight.

    Attributes:
        plan_id: of its plan.
        action_id: in its plan.
        kind: what is done.
        job: whose it is.
        action: the whole action, encoded.
        nodes: where the job is to run.
        depends_on: ids in the session of the actions whose stop it waits for.
        since: the caller's time when it was planned, seconds.
        void_after: the caller's time after which it counts as expired, seconds.
        stopped: the stop of a MIGRATE or RESIZE has happened, its start has not.
    """

    plan_id: str
    action_id: str
    kind: ActionKind
    job: str
    action: bytes
    nodes: tuple[str, ...]
    depends_on: tuple[str, ...]
    since: float
    void_after: float
    stopped: bool = False

    @property
    def name(self) -> str:
        """Id in the session."""
        return f"{self.plan_id}/{self.action_id}"


def fits(kind: ActionKind, outcome: Outcome) -> bool:
    """Whether an action of ``kind`` can have that outcome."""
    if outcome is Outcome.BOUND:
        return kind in STARTS
    if outcome is Outcome.EVICTED:
        return kind is not ActionKind.PLACE
    return True


def settle(entries: Sequence[InFlight], outcomes: Mapping[str, Outcome]) -> tuple[InFlight, ...]:
    """What is in flight after ``outcomes``, by id in the session.

    A job's actions are one history, in order: what came before one that happened has happened, and what came
    after one that did not is void. Histories of different jobs have nothing to do with each other.
    """
    job_of = {entry.name: entry.job for entry in entries}
    told = {job_of[name] for name in outcomes if name in job_of}
    histories: dict[str, list[InFlight]] = {job: [] for job in told}
    for entry in entries:
        if entry.job in told:
            histories[entry.job].append(entry)
    for name, outcome in outcomes.items():
        if name in job_of:
            history = histories[job_of[name]]
            position = next((place for place, entry in enumerate(history) if entry.name == name), None)
            if position is not None:
                histories[job_of[name]] = list(_settled(history, position, outcome))
    left = {entry.name: entry for history in histories.values() for entry in history}
    settled = (left.get(entry.name) if entry.job in told else entry for entry in entries)
    return tuple([entry for entry in settled if entry is not None])


def _settled(history: Sequence[InFlight], position: int, outcome: Outcome) -> Iterable[InFlight]:
    """The history of one job after an outcome of its entry at ``position``."""
    this = history[position]
    for place, entry in enumerate(history):
        if outcome in _CAME_TO_NOTHING:
            if place < position and entry.kind is not this.kind:
                yield entry
        elif outcome is Outcome.EVICTED:
            # The stop is one, whichever of the later plans asked for it, too.
            if place >= position and entry.kind in _STOPS_AND_STARTS:
                yield replace(entry, stopped=True)
        elif place > position:
            yield entry


def pending(entries: Iterable[InFlight]) -> frozenset[str]:
    """Ids in the session of those whose stop has not happened yet."""
    return frozenset(entry.name for entry in entries if not entry.stopped)


def waits(entry: InFlight, still: Collection[str], settled: Mapping[str, Outcome]) -> bool:
    """Whether a stop that ``entry`` depends on has not happened yet, or came to nothing.

    Args:
        entry: an action in flight.
        still: of all that are in flight, what :func:`pending` says.
        settled: outcomes of the others.
    """
    return any(name in still or settled.get(name) in _CAME_TO_NOTHING for name in entry.depends_on)


def overtaken(entries: Iterable[InFlight], before: Content, after: Content) -> frozenset[str]:
    """Ids in their plan of those whose job or node is other in ``after``, and of those that wait for them."""
    entries = tuple(entries)

    def touched(kind: Kind, name: str) -> bool:
        return before.items.get((kind, name)) != after.items.get((kind, name))

    late = {
        entry.name: entry.action_id
        for entry in entries
        if touched(Kind.JOB, entry.job) or any(touched(Kind.NODE, node) for node in entry.nodes)
    }
    for entry in entries:
        if any(name in late for name in entry.depends_on):
            late[entry.name] = entry.action_id
    return frozenset(late.values())
