"""Rounds on a session: what it holds and what is in flight make the round, and its plan is in flight."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from gangplan.domain.plan import ActionKind, RoundResult
from gangplan.errors import InvalidInputError, ResyncRequiredError
from gangplan.service.session_calls import SessionCalls, carried_of, expect, same_id_other_content
from gangplan.service.session_overlay import under_way
from gangplan.service.sessions.content import request_digest
from gangplan.service.sessions.in_flight import InFlight
from gangplan.service.sessions.record import Record
from gangplan.service.sessions.registry import Step
from gangplan.service.sessions.store import Answer
from gangplan.service.wire.difference import Said, difference
from gangplan.service.wire.read_session_round import read_session_round
from gangplan.service.wire.write_outlook import write_reservation
from gangplan.v1 import plan_pb2, round_pb2

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.engine.parameters import PlanParameters
    from gangplan.engine.runner import Cancellation

_VOID_AFTER_ROUNDS = 2
_LAST_IN_MEMORY = 16
_CHANGE_NOTHING = (plan_pb2.ACTION_KIND_KEEP, plan_pb2.ACTION_KIND_RESERVE)


class PlannedRound(NamedTuple):
    """A round that is planned, and not written yet.

    Attributes:
        result: what was found.
        write: writes the answer, of all of it or of what is left of it.
    """

    result: RoundResult
    write: Callable[[RoundResult], round_pb2.PlanRoundResponse]

    def whole(self) -> round_pb2.PlanRoundResponse:
        """The answer of all of it."""
        return self.write(self.result)


Planned = Callable[["Round", "PlanParameters"], PlannedRound]
"""Plans a round."""


@dataclass(frozen=True, slots=True)
class SessionRound:
    """A round on a session, read.

    Attributes:
        record: the session as the round sees it.
        round: its content with what is in flight.
        parameters: how to plan.
        told: its content alone.
    """

    record: Record
    round: Round
    parameters: PlanParameters
    told: Round


class SessionRounds:
    """Answers rounds on sessions. May be called from several threads at once.

    Args:
        calls: of the service's sessions.
    """

    def __init__(self, calls: SessionCalls) -> None:
        self._calls = calls
        self._lock = threading.Lock()
        self._last: OrderedDict[tuple[str, str], Said] = OrderedDict()

    def read(self, request: round_pb2.PlanRoundRequest) -> SessionRound:
        """The round that a request on a session asks for.

        Raises:
            InvalidInputError: the request breaks the contract.
            SessionError: the session is not there, or another than the caller believes.
        """
        session = request.session
        record = self._calls.sessions.get(session.session_id)
        expect(record, session.revision if session.HasField("revision") else None, session.digest)
        told, parameters = self._calls.round_of(record)
        round_, parameters = read_session_round(request, told, parameters, record.carried)
        remembered = self._calls.remembered(record.session_id)
        return SessionRound(
            record,
            under_way(round_, record, remembered.overlay),
            replace(parameters, kept=remembered.kept),
            told,
        )

    def plan(
        self,
        request: round_pb2.PlanRoundRequest,
        caller: str,
        planned: Planned,
        cancellation: Cancellation | None = None,
    ) -> round_pb2.PlanRoundResponse:
        """Answer a round on a session.

        Args:
            request: the request.
            caller: who asks.
            planned: plans it.
            cancellation: of the call; once given, nobody gets the plan, and nothing of it is in flight.

        Raises:
            InvalidInputError: the request breaks the contract, or its id came with another content.
            SessionError: the session is not there, or another than the caller believes.
        """
        session_id = request.session.session_id
        digest = request_digest([request.SerializeToString(deterministic=True)])
        sessions = self._calls.sessions
        sessions.get(session_id)
        kept = sessions.kept_answer(session_id, caller, request.request_id)
        if kept is not None:
            return self._again(kept, digest)
        seen = self.read(request)
        result, write = planned(seen.round, seen.parameters)
        answer = self._short(request, result, write)
        answer.session.session_id = session_id
        answer.session.revision = seen.record.revision
        answer.session.digest = seen.record.content.digest
        if request.session.advisory or (cancellation is not None and cancellation.cancelled):
            return answer

        def event(record: Record) -> Step[round_pb2.PlanRoundResponse]:
            again = sessions.kept_answer(session_id, caller, request.request_id)
            if again is not None:
                return Step(record, self._again(again, digest))
            if record.plans != seen.record.plans:
                raise _overtaken(record)
            plan_id = f"p{record.plans + 1}"
            answer.session.plan_id = plan_id
            after, late = record.with_plan(
                _in_flight(answer, plan_id, seen.round),
                replace(carried_of(answer), promises=self._promises(seen, answer)),
                seen.record.content,
                seen.round.now,
            )
            del answer.session.overtaken[:]
            answer.session.overtaken.extend(sorted(late))
            to_keep = None
            if request.request_id:
                to_keep = Answer(caller, request.request_id, digest, answer.SerializeToString())
            return Step(after, answer, kept=to_keep)

        given = sessions.change(session_id, event)
        self._remember(session_id, answer.session.plan_id, Said.by(result))
        return given

    def _promises(self, seen: SessionRound, answer: round_pb2.PlanRoundResponse) -> tuple[bytes, ...]:
        """Promises after a round, old and new: until the caller says that their job runs, or is gone.

        A start that is only planned does not end a promise; it may be refused.
        """
        made = carried_of(answer).promises
        old = [
            each for each in seen.round.reservations if each.placements and each.expires_at > seen.round.now
        ]
        if not old:
            return made
        waiting = {job.name for job in seen.told.jobs if job.running is None}
        kept = []
        for promise in old:
            if promise.job in waiting:
                message = plan_pb2.Reservation()
                write_reservation(promise, message)
                kept.append(message.SerializeToString(deterministic=True))
        return (*kept, *made)

    def _again(self, kept: Answer, digest: bytes) -> round_pb2.PlanRoundResponse:
        if kept.request != digest:
            raise InvalidInputError([same_id_other_content("request_id", kept.request_id)])
        return round_pb2.PlanRoundResponse.FromString(kept.answer)

    def _short(
        self,
        request: round_pb2.PlanRoundRequest,
        result: RoundResult,
        write: Callable[[RoundResult], round_pb2.PlanRoundResponse],
    ) -> round_pb2.PlanRoundResponse:
        """The answer, as a difference where that is asked for and the plan before is at hand.

        A difference has all that is other than it was: whatever is in flight, claimed or promised anew.
        """
        session = request.session
        with self._lock:
            last = self._last.get((session.session_id, session.difference_from))
        if last is None:
            return write(result)
        short = write(difference(last, result))
        short.session.difference_from = session.difference_from
        return short

    def forget_expired(self) -> None:
        """Forget sessions that were not used in time, and what was made of them.

        Raises:
            SessionStoreError: the store cannot be written now.
        """
        try:
            self._calls.forget_expired()
        finally:
            holds = self._calls.sessions.holds
            with self._lock:
                for key in [key for key in self._last if not holds(key[0])]:
                    del self._last[key]

    def _remember(self, session_id: str, plan_id: str, said: Said) -> None:
        """The last plan of a session, for differences; of the sessions used last."""
        with self._lock:
            for key in [key for key in self._last if key[0] == session_id]:
                del self._last[key]
            self._last[session_id, plan_id] = said
            while len(self._last) > _LAST_IN_MEMORY:
                self._last.popitem(last=False)


def _overtaken(record: Record) -> Exception:
    return ResyncRequiredError(
        f"another plan was made for session {record.session_id} meanwhile; plan again on what is there now"
    )


def _in_flight(answer: round_pb2.PlanRoundResponse, plan_id: str, round_: Round) -> tuple[InFlight, ...]:
    """The actions of an answer that change anything."""
    changing = [action for action in answer.plan.actions if action.kind not in _CHANGE_NOTHING]
    starts = [action.not_before.ToNanoseconds() / 1e9 for action in changing if action.HasField("not_before")]
    void_after = max([round_.now, *starts]) + _VOID_AFTER_ROUNDS * round_.round_seconds
    return tuple(
        InFlight(
            plan_id=plan_id,
            action_id=action.action_id,
            kind=ActionKind(plan_pb2.ActionKind.Name(action.kind).removeprefix("ACTION_KIND_")),
            job=action.job,
            action=_bare(action),
            nodes=tuple(sorted({place.node for place in action.placements})),
            depends_on=tuple(f"{plan_id}/{other}" for other in action.depends_on),
            since=round_.now,
            void_after=void_after,
        )
        for action in changing
    )


def _bare(action: plan_pb2.Action) -> bytes:
    """What has to be known of an action in flight."""
    bare = plan_pb2.Action(kind=action.kind, job=action.job, forced_reason=action.forced_reason)
    bare.placements.MergeFrom(action.placements)
    return bare.SerializeToString(deterministic=True)
