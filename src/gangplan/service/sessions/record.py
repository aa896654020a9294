"""All that is kept of one session, as an immutable value; every event gives the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeVar

from gangplan.service.sessions.content import Change, Content
from gangplan.service.sessions.in_flight import InFlight, Outcome, overtaken, settle

MOST_APPLIED = 64
"""Deltas that are known again when they come twice."""
MOST_SETTLED = 1024
"""Outcomes that are known again when they are reported twice; all of the last report are, and those that
actions in flight wait for."""

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Applied:
    """A delta that was applied.

    Attributes:
        request: digest of the request.
        revision: that it led to.
        digest: of the content that it led to.
    """

    request: bytes
    revision: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class Carried:
    """What the next round takes from the last, where the caller brings none.

    Attributes:
        warm_start: of the last answer.
        outlook: of the last answer, encoded; empty: none.
        claims: of the last plan, each encoded.
        promises: made in any round and not yet kept or void, each encoded; those that the caller brings go
            beside them.
    """

    warm_start: bytes = b""
    outlook: bytes = b""
    claims: tuple[bytes, ...] = ()
    promises: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A session.

    Attributes:
        session_id: random, and hard to guess.
        caller: who opened it.
        content: what the caller has told.
        revision: of the content; 1 for the snapshot.
        time_to_live: seconds.
        plans: number of plans so far, advice left out.
        in_flight: actions that are not settled; the last one of a job counts.
        settled: outcome of settled actions, by id in the session, the latest last.
        applied: deltas by the revision that they were made for, the latest last.
        carried: for the next round.
        serial: grows by 1 with every change of anything; what the store compares.
        snapshot: caller's request id of the snapshot; empty: none.
        snapshot_digest: of the request that opened it.
    """

    session_id: str
    caller: str
    content: Content
    revision: int = 1
    time_to_live: float = 3600.0
    plans: int = 0
    in_flight: tuple[InFlight, ...] = ()
    settled: Mapping[str, Outcome] = field(default_factory=dict)
    applied: Mapping[int, Applied] = field(default_factory=dict)
    carried: Carried = field(default_factory=Carried)
    serial: int = 1
    snapshot: str = ""
    snapshot_digest: bytes = b""

    def with_change(self, change: Change, request: bytes, *, moved: frozenset[str]) -> Record:
        """After a delta.

        Args:
            change: what it changes.
            request: digest of the request, to know it again.
            moved: names of the jobs of whom the caller has said anew where they run, or that they are gone:
                what was planned for them is overtaken.
        """
        content = self.content.changed(change)
        revision = self.revision + 1
        applied = dict(self.applied)
        applied[self.revision] = Applied(request, revision, content.digest)
        return replace(
            self,
            content=content,
            revision=revision,
            applied=MappingProxyType(_latest(applied, MOST_APPLIED)),
            in_flight=tuple(entry for entry in self.in_flight if entry.job not in moved),
            serial=self.serial + 1,
        )

    def with_outcomes(self, change: Change, outcomes: Mapping[str, Outcome]) -> Record:
        """After a report.

        Args:
            change: what the outcomes mean for the content; empty: nothing, and the revision stays.
            outcomes: by id in the session, of actions in flight.
        """
        in_flight = settle(self.in_flight, outcomes)
        waited_for = {name for entry in in_flight for name in entry.depends_on}
        settled = {**self.settled, **outcomes}
        latest = _latest(settled, max(MOST_SETTLED, len(outcomes)))  # the whole report may come twice
        return replace(
            self,
            content=self.content.changed(change) if change else self.content,
            revision=self.revision + 1 if change else self.revision,
            in_flight=in_flight,
            settled=MappingProxyType(
                {name: outcome for name, outcome in settled.items() if name in latest or name in waited_for}
            ),
            serial=self.serial + 1,
        )

    def with_plan(
        self, actions: tuple[InFlight, ...], carried: Carried, planned_for: Content, now: float
    ) -> tuple[Record, frozenset[str]]:
        """After a round, and the ids in the plan of the actions that were overtaken meanwhile.

        Args:
            actions: of the plan, KEEP left out.
            carried: for the next round.
            planned_for: the content that the round saw.
            now: of the round; what is void by then is forgotten.
        """
        late = overtaken(actions, planned_for, self.content)
        record = replace(
            self,
            plans=self.plans + 1,
            in_flight=(
                *(entry for entry in self.in_flight if now <= entry.void_after),
                *(entry for entry in actions if entry.action_id not in late),
            ),
            carried=carried,
            serial=self.serial + 1,
        )
        return record, late


def _latest(values: Mapping[_K, _V], most: int) -> dict[_K, _V]:
    return dict(list(values.items())[-most:])
