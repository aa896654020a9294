"""A caller with a session, and what it has been told: nothing that was acknowledged may be lost."""

from __future__ import annotations

import random
from typing import Any, Protocol

from gangplan.domain.round import Round
from gangplan.service.wire import write_round
from gangplan.service.wire.session_content import content_of, write_delta
from gangplan.v1 import round_pb2, session_pb2, session_service_pb2


class Failed(Exception):  # noqa: N818
    """A call failed, and nobody knows whether it has had its effect."""


class Talk(Protocol):
    """The calls of a service, however they travel; each raises :class:`Failed` for a fault."""

    def open(self, request: session_service_pb2.OpenSessionRequest) -> session_pb2.SessionState:
        """OpenSession."""
        ...

    def delta(self, request: session_service_pb2.ApplyDeltaRequest) -> session_pb2.SessionState:
        """ApplyDelta."""
        ...

    def get(self, session_id: str) -> session_pb2.SessionState:
        """GetSession."""
        ...

    def plan(self, request: round_pb2.PlanRoundRequest) -> round_pb2.PlanRoundResponse:
        """PlanRound."""
        ...


class Caller:
    """Changes its session at random, and holds every answer against what it knows.

    Args:
        talk: to the service.
        round_: what its session begins with.
        rng: draws what it does.
    """

    def __init__(self, talk: Talk, round_: Round, rng: random.Random) -> None:
        self.talk = talk
        self._rng = rng
        self._known = write_round(round_)
        self.state = talk.open(session_service_pb2.OpenSessionRequest(snapshot=self._known))
        self._agree(self.state, self.state.revision, self._known)
        self._delta: tuple[session_service_pb2.ApplyDeltaRequest, Any] | None = None
        self._planned: tuple[round_pb2.PlanRoundRequest, bytes] | None = None
        self._numbers = 0

    def step(self) -> None:
        """One delta, or one round.

        Raises:
            Failed: as the service does; :meth:`recover` before the next step.
        """
        if self._rng.random() < 0.25:
            self.plan()
        else:
            self.change()

    def change(self) -> None:
        """Send a delta."""
        self._numbers += 1
        after = round_pb2.PlanRoundRequest()
        after.CopyFrom(self._known)
        what = self._rng.randrange(3)
        if what == 0 and len(after.jobs) > 3:
            del after.jobs[self._rng.randrange(1, len(after.jobs))]
        elif what == 1:
            more = after.jobs.add()
            more.CopyFrom(after.jobs[0])
            more.name = f"new-{self._numbers}"
            more.ClearField("running")
        else:
            after.jobs[self._rng.randrange(len(after.jobs))].weight = 1.0 + self._numbers
        change = content_of(self._known).change_to(content_of(after))
        delta = write_delta(change, self.state.session_id, self.state.revision, self.state.digest)
        self._delta = delta, after
        self._applied(self.talk.delta(delta))

    def plan(self) -> None:
        """Ask for a round, and once more: it has one answer."""
        self._numbers += 1
        request = round_pb2.PlanRoundRequest(now=self._known.now, request_id=f"r{self._numbers}")
        request.session.session_id = self.state.session_id
        request.session.revision = self.state.revision
        answer = self.talk.plan(request)
        assert answer.verified
        assert (answer.session.revision, answer.session.digest) == (self.state.revision, self.state.digest)
        self._planned = request, answer.SerializeToString(deterministic=True)

    def recover(self) -> None:
        """After a fault: what was acknowledged is there, and what was under way is there or not.

        Raises:
            Failed: the fault lasts.
        """
        found = self.talk.get(self.state.session_id)
        if self._delta is not None:
            delta, after = self._delta
            if found.revision == self.state.revision + 1:
                self._agree(found, found.revision, after)
            else:
                self._agree(found, self.state.revision, self._known)
            self._applied(self.talk.delta(delta))  # sent again, it has one effect
        else:
            self._agree(found, self.state.revision, self._known)
        if self._planned is not None:
            request, before = self._planned
            assert self.talk.plan(request).SerializeToString(deterministic=True) == before

    def _applied(self, state: session_pb2.SessionState) -> None:
        assert self._delta is not None
        _, after = self._delta
        self._agree(state, self.state.revision + 1, after)
        self.state, self._known, self._delta = state, after, None
        self._planned = None  # what a round was answered is kept for some time only

    def _agree(self, state: session_pb2.SessionState, revision: int, known: Any) -> None:
        assert state.revision == revision
        assert state.digest == content_of(known).digest
