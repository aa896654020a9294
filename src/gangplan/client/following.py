"""A session as its caller sees it: what to ask so that the service knows a round, whatever it knew before.

Nothing here waits or sends: each method is a generator that yields what is to be asked and is sent the
answer, or thrown the error. Both clients' sessions are driven by it.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from gangplan.client.asked import AFTER_BUDGET_SECONDS, SESSIONS, Asked, send_round
from gangplan.errors import ServiceError
from gangplan.service.sessions.content import Content, Item, Key, Kind
from gangplan.service.wire import read_result, write_round
from gangplan.service.wire.difference import expand
from gangplan.service.wire.session_content import content_of, write_delta
from gangplan.v1 import plan_pb2, round_pb2, session_pb2, session_service_pb2

if TYPE_CHECKING:
    from gangplan.domain.plan import RoundResult
    from gangplan.domain.round import Round
    from gangplan.engine.parameters import PlanParameters

_TRIES = 3
"""Times that a round is asked for when the session turns out to be another than believed."""
_CHUNK_BYTES = 2 * 2**20
_SECONDS = 30.0

_A = TypeVar("_A")
Asking = Generator[Asked[Any], Any, _A]
"""Yields calls, gets their answers, and returns what comes of it."""


class Following:
    """What is known of a session on the caller's side.

    Attributes:
        state: of the session, as the service last told it; None: there is none yet, or not any more.
        resyncs: how often a session had to be opened anew.
    """

    def __init__(self) -> None:
        self.state: session_pb2.SessionState | None = None
        self.resyncs = 0
        self._content = Content.of({})
        self._last: round_pb2.PlanRoundResponse | None = None
        self._promises: list[plan_pb2.Reservation] = []

    @property
    def plan_id(self) -> str:
        """Id of the last plan; empty: there is none, or it was advice."""
        return "" if self._last is None else self._last.session.plan_id

    def plan_round(
        self, round_: Round, parameters: PlanParameters, *, advisory: bool, timeout: float | None
    ) -> Asking[RoundResult]:
        """Let the service know what has changed, and ask for a plan.

        Raises:
            ServiceError: a call failed, or the service lost the session again on every try.
        """
        snapshot = write_round(round_, parameters)
        wanted = content_of(snapshot)
        request_id = parameters.request_id or uuid.uuid4().hex
        for attempt in range(_TRIES):
            try:
                yield from self._catch_up(snapshot, wanted)
                answer = yield from self._ask(
                    snapshot, parameters, request_id, advisory=advisory, timeout=timeout
                )
            except ServiceError as error:
                if error.service_reason != "RESYNC_REQUIRED" or attempt == _TRIES - 1:
                    raise
                self.resyncs += self.state is not None
                if error.code == "NOT_FOUND":
                    self._forget()
                else:
                    with contextlib.suppress(ServiceError):  # it ends by itself, unless used
                        yield from self.close()
                continue
            whole = self._whole(answer, {job.name for job in round_.jobs})
            if not advisory:
                self._last = whole
                self._promises = self._still_promised(round_, whole)
            return read_result(whole)
        raise AssertionError("the last try returns or raises")

    def report_outcomes(self, outcomes: Mapping[str, str], *, now: float) -> Asking[None]:
        """Say what became of actions of the last plan, by their ids.

        The next round brings what the service makes of it, and what the caller's own round says wins.
        """
        if self.state is None or not self.plan_id:
            raise ValueError("there is no plan whose actions could be reported")
        request = session_service_pb2.ReportOutcomesRequest(
            session_id=self.state.session_id,
            plan_id=self.plan_id,
            outcome_by_action={
                action: session_service_pb2.ActionOutcome.Value(f"ACTION_OUTCOME_{outcome}")
                for action, outcome in outcomes.items()
            },
        )
        request.now.FromNanoseconds(round(now * 1e9))
        answer = yield _of_sessions("ReportOutcomes", request, session_service_pb2.ReportOutcomesResponse)
        before = self.state.revision
        self.state = answer.session
        if self.state.revision != before:
            self._content = self._content_after(outcomes)

    def close(self) -> Asking[None]:
        """End the session; one that is gone already has ended."""
        if self.state is None:
            return
        request = session_service_pb2.CloseSessionRequest(session_id=self.state.session_id)
        self._forget()
        try:
            yield _of_sessions("CloseSession", request, session_service_pb2.CloseSessionResponse)
        except ServiceError as error:
            if error.code not in ("NOT_FOUND", "UNAVAILABLE"):
                raise

    def _catch_up(self, snapshot: round_pb2.PlanRoundRequest, wanted: Content) -> Asking[None]:
        """Open a session, or send what has changed."""
        if self.state is None:
            chunks = chunks_of(_parts(snapshot, self._promises))
            answer = yield _of_sessions("OpenSession", chunks, session_service_pb2.OpenSessionResponse)
        else:
            change = self._content.change_to(wanted)
            if not change:
                return
            delta = write_delta(change, self.state.session_id, self.state.revision, self.state.digest)
            answer = yield _of_sessions("ApplyDelta", delta, session_service_pb2.ApplyDeltaResponse)
        self.state, self._content = answer.session, wanted
        if answer.session.digest != wanted.digest:
            raise ServiceError(
                "the session has another content than what was sent",
                "ABORTED",
                service_reason="RESYNC_REQUIRED",
            )

    def _ask(
        self,
        snapshot: round_pb2.PlanRoundRequest,
        parameters: PlanParameters,
        request_id: str,
        *,
        advisory: bool,
        timeout: float | None,
    ) -> Asking[round_pb2.PlanRoundResponse]:
        assert self.state is not None
        request = round_pb2.PlanRoundRequest(
            request_id=request_id,
            now=snapshot.now,
            warm_start=snapshot.warm_start,
            claims=snapshot.claims,
            reservations=snapshot.reservations,
            session=session_pb2.SessionRound(
                session_id=self.state.session_id,
                digest=self.state.digest,
                advisory=advisory,
                difference_from=self.plan_id,
            ),
        )
        if snapshot.HasField("outlook"):
            request.outlook.CopyFrom(snapshot.outlook)
        if snapshot.HasField("previous_plan"):
            request.previous_plan.CopyFrom(snapshot.previous_plan)
        if timeout is None:
            timeout = parameters.time_budget_seconds + AFTER_BUDGET_SECONDS
        answer: round_pb2.PlanRoundResponse = yield send_round(request, timeout)
        return answer

    def _whole(self, answer: round_pb2.PlanRoundResponse, jobs: set[str]) -> round_pb2.PlanRoundResponse:
        if not answer.session.difference_from or self._last is None:
            return answer
        return expand(self._last, answer, jobs)

    def _still_promised(
        self, round_: Round, whole: round_pb2.PlanRoundResponse
    ) -> list[plan_pb2.Reservation]:
        """Promises of this session and those before: a session that is opened anew has to know them."""
        waiting = {job.name for job in round_.jobs if job.running is None}
        made = [action.reservation for action in whole.plan.actions if action.HasField("reservation")]
        return [
            promise
            for promise in (*self._promises, *made)
            if promise.job in waiting and promise.expires_at.ToNanoseconds() / 1e9 > round_.now
        ]

    def _content_after(self, outcomes: Mapping[str, str]) -> Content:
        """A content in which every reported job is one that has to be told anew: it equals no wanted one."""
        actions = {} if self._last is None else {each.action_id: each.job for each in self._last.plan.actions}
        items: dict[Key, Item] = dict(self._content.items)
        for action in outcomes:
            key = (Kind.JOB, actions.get(action, ""))
            if key in items:
                items[key] = Item(b"", "told by the service")
        return Content.of(items)

    def _forget(self) -> None:
        self.state, self._last = None, None
        self._content = Content.of({})


def _of_sessions(method: str, request: Any, answer: type[Any]) -> Asked[Any]:
    return Asked(method, request, answer, _SECONDS, lambda given: given, service=SESSIONS, safe=True)


def chunks_of(
    parts: Iterable[round_pb2.PlanRoundRequest],
) -> list[session_service_pb2.OpenSessionRequest]:
    """A snapshot in ``parts`` as OpenSession takes it: each chunk says whether another follows."""
    chunks = [session_service_pb2.OpenSessionRequest(snapshot=part, more=True) for part in parts]
    chunks[-1].more = False
    return chunks


def _parts(
    snapshot: round_pb2.PlanRoundRequest, promises: Iterable[plan_pb2.Reservation] = ()
) -> Iterable[round_pb2.PlanRoundRequest]:
    """A snapshot in parts of about two mebibytes, for services that take no larger messages.

    With ``promises`` besides its own, and an id of its own, so that it opens one session however often it is
    sent.
    """
    rest = round_pb2.PlanRoundRequest()
    rest.CopyFrom(snapshot)
    for name in ("previous_plan", "jobs"):
        rest.ClearField(name)
    rest.request_id = uuid.uuid4().hex
    rest.reservations.extend(promises)
    rest.cluster.ClearField("nodes")
    chunk, size = rest, rest.ByteSize()
    for node in snapshot.cluster.nodes:
        if size > _CHUNK_BYTES:
            yield chunk
            chunk, size = round_pb2.PlanRoundRequest(), 0
        chunk.cluster.nodes.append(node)
        size += node.ByteSize()
    for job in snapshot.jobs:
        if size > _CHUNK_BYTES:
            yield chunk
            chunk, size = round_pb2.PlanRoundRequest(), 0
        chunk.jobs.append(job)
        size += job.ByteSize()
    yield chunk
