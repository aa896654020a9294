"""What the calls of SessionService do, without a server around them: messages in, messages out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from gangplan.domain.plan import ActionKind
from gangplan.errors import FieldViolation, InvalidInputError, ResyncRequiredError
from gangplan.kept import KeptRound
from gangplan.service.parsed import parsed
from gangplan.service.session_overlay import Overlay
from gangplan.service.sessions.content import Change, Content, Item, Key, Kind, request_digest
from gangplan.service.sessions.in_flight import InFlight, Outcome, fits
from gangplan.service.sessions.record import Carried, Record
from gangplan.service.sessions.registry import Sessions, Step
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.planned import refuse_planned
from gangplan.service.wire.read_round import read_round_request
from gangplan.service.wire.session_content import (
    changed_job,
    content_of,
    read_change,
    read_content,
    read_delta,
)
from gangplan.service.wire.times import write_seconds
from gangplan.v1 import job_pb2, plan_pb2, round_pb2, session_pb2, session_service_pb2

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from gangplan.domain.round import Round
    from gangplan.engine.parameters import PlanParameters

_READ_IN_MEMORY = 8
_LEAST_TIME_TO_LIVE = 1.0
_OUTCOMES: Mapping[int, Outcome | None] = MappingProxyType(
    {
        session_service_pb2.ACTION_OUTCOME_DONE: None,
        session_service_pb2.ACTION_OUTCOME_BOUND: Outcome.BOUND,
        session_service_pb2.ACTION_OUTCOME_EVICTED: Outcome.EVICTED,
        session_service_pb2.ACTION_OUTCOME_REFUSED: Outcome.REFUSED,
        session_service_pb2.ACTION_OUTCOME_EXPIRED: Outcome.EXPIRED,
    }
)
_NOT_IN_A_SNAPSHOT = ("previous_plan", "session")


class SessionCalls:
    """The calls of SessionService. May be called from several threads at once.

    Args:
        sessions: of the service.
    """

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self._read = _ReadRounds()

    def open_session(self, chunks: Sequence[bytes], caller: str) -> session_service_pb2.OpenSessionResponse:
        """Open a session with the snapshot in ``chunks``.

        Raises:
            InvalidInputError: the snapshot breaks the contract.
            OverloadedError: too many sessions are open.
        """
        snapshot, time_to_live = _joined(chunks, self.sessions.longest_time_to_live)
        digest = request_digest([snapshot.SerializeToString(deterministic=True)])
        record = self.sessions.opened(caller, snapshot.request_id)
        if record is None:  # the first time
            _check(snapshot)
            record = self.sessions.open(
                Record(
                    session_id=self.sessions.new_id(),
                    caller=caller,
                    content=content_of(snapshot),
                    time_to_live=time_to_live,
                    carried=carried_of(snapshot),
                    snapshot=snapshot.request_id,
                    snapshot_digest=digest,
                )
            )
        if record.snapshot_digest != digest:
            raise InvalidInputError([same_id_other_content("snapshot.request_id", snapshot.request_id)])
        return session_service_pb2.OpenSessionResponse(session=self._state(record))

    def apply_delta(
        self, request: session_service_pb2.ApplyDeltaRequest
    ) -> session_service_pb2.ApplyDeltaResponse:
        """Change a session's content.

        Raises:
            InvalidInputError: the delta breaks the contract, or what comes of it does.
            SessionError: the session is not there, or another than the delta was made for.
        """
        _named(request)
        bare = session_service_pb2.ApplyDeltaRequest()
        bare.CopyFrom(request)
        bare.ClearField("validate_only")
        digest = request_digest([bare.SerializeToString(deterministic=True)])

        def event(record: Record) -> Step[session_service_pb2.ApplyDeltaResponse]:
            applied = record.applied.get(request.base_revision)
            if applied is not None and applied.request == digest:
                again = self._state(record)
                again.revision, again.digest = applied.revision, applied.digest
                return Step(record, session_service_pb2.ApplyDeltaResponse(session=again))
            expect(record, request.base_revision, request.base_digest)
            change, moved, round_, parameters = read_delta(request, record.content, self.round_of(record))
            after = record.with_change(change, digest, moved=moved)
            answer = session_service_pb2.ApplyDeltaResponse(session=self._state(after))
            if request.validate_only:
                return Step(record, answer)
            self._read.put(after, round_, parameters)
            return Step(after, answer, change)

        return self.sessions.change(request.session_id, event)

    def report_outcomes(
        self, request: session_service_pb2.ReportOutcomesRequest
    ) -> session_service_pb2.ReportOutcomesResponse:
        """Take note of what became of actions.

        Raises:
            InvalidInputError: there is no such action in flight, or it cannot have that outcome.
            SessionError: the session is not there.
        """
        fields = Fields()
        refuse_planned(request, "", fields)
        fields.name(request.session_id, "", "session_id")
        fields.name(request.plan_id, "", "plan_id")
        if request.HasField("now"):
            fields.instant(request.now, "", "now")
        else:
            fields.refuse("now", "must be set")
        fields.raise_violations()

        def event(record: Record) -> Step[session_service_pb2.ReportOutcomesResponse]:
            change, outcomes, jobs = _outcomes(record, request)
            after = record.with_outcomes(change, outcomes) if outcomes else record
            if change:
                self._read_or_refuse(record, change, after, jobs)
            answer = session_service_pb2.ReportOutcomesResponse(session=self._state(after))
            return Step(after, answer, change)

        return self.sessions.change(request.session_id, event)

    def get_session(
        self, request: session_service_pb2.GetSessionRequest
    ) -> session_service_pb2.GetSessionResponse:
        """What is known of a session.

        Raises:
            UnknownSessionError: there is none of that id, or no longer.
        """
        _named(request)
        record = self.sessions.get(request.session_id)
        return session_service_pb2.GetSessionResponse(session=self._state(record))

    def close_session(
        self, request: session_service_pb2.CloseSessionRequest
    ) -> session_service_pb2.CloseSessionResponse:
        """Forget a session.

        Raises:
            UnknownSessionError: there is none of that id, or no longer.
        """
        _named(request)
        self._read.drop(request.session_id)
        self.sessions.close_session(request.session_id)
        return session_service_pb2.CloseSessionResponse()

    def round_of(self, record: Record) -> tuple[Round, PlanParameters]:
        """The round that a session's content stands for, at the beginning of time; read once."""
        return self._read.get(record) or self._read.put(record, *read_content(record.content))

    def remembered(self, session_id: str) -> Remembered:
        """What a session's last round left to the next; dropped with its round as it was read last."""
        return self._read.remembered(session_id)

    def forget_expired(self) -> None:
        """Forget sessions that were not used in time, and what was made of them.

        Raises:
            SessionStoreError: the store cannot be written now.
        """
        try:
            self.sessions.forget_expired()
        finally:
            self._read.keep(self.sessions.holds)

    def known_parameters(self, session_id: str) -> PlanParameters | None:
        """How a session's rounds are planned, at once; None: it was not used lately."""
        return self._read.parameters(session_id)

    def _read_or_refuse(
        self, record: Record, change: Change, after: Record, actions: Mapping[str, str]
    ) -> None:
        """Read what comes of a report; what is wrong with it is the report's fault."""
        before = self.round_of(record)
        try:
            self._read.put(after, *read_change(change, record.content, before))
        except InvalidInputError as error:
            names = after.content.names(Kind.JOB)
            raise InvalidInputError(
                [_of_report(violation, names, actions) for violation in error.violations]
            ) from error

    def _state(self, record: Record) -> session_pb2.SessionState:
        state = session_pb2.SessionState(
            session_id=record.session_id,
            revision=record.revision,
            digest=record.content.digest,
            in_flight=sorted(entry.name for entry in record.in_flight),
        )
        write_seconds(self.sessions.expires_at(record), state.expires_at)
        return state


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a session's last round left to the next.

    Attributes:
        overlay: what was in flight.
        kept: what the planner made of it.
    """

    overlay: Overlay = field(default_factory=Overlay)
    kept: KeptRound = field(default_factory=KeptRound.empty)


class _ReadRounds:
    """The rounds of the sessions used last, each at its content, and what was made of them."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._remembered: dict[str, Remembered] = {}
        self._rounds: OrderedDict[str, tuple[Content, Round, PlanParameters]] = OrderedDict()

    def get(self, record: Record) -> tuple[Round, PlanParameters] | None:
        with self._lock:
            found = self._rounds.get(record.session_id)
        if found is None or (found[0] is not record.content and found[0] != record.content):
            return None
        return found[1], found[2]

    def parameters(self, session_id: str) -> PlanParameters | None:
        with self._lock:
            found = self._rounds.get(session_id)
        return None if found is None else found[2]

    def put(self, record: Record, round_: Round, parameters: PlanParameters) -> tuple[Round, PlanParameters]:
        with self._lock:
            self._rounds[record.session_id] = record.content, round_, parameters
            self._rounds.move_to_end(record.session_id)
            while len(self._rounds) > _READ_IN_MEMORY:
                gone, _ = self._rounds.popitem(last=False)
                self._remembered.pop(gone, None)
        return round_, parameters

    def remembered(self, session_id: str) -> Remembered:
        """Of a session; nothing of one that was not used lately."""
        with self._lock:
            if session_id not in self._rounds:
                return Remembered()
            return self._remembered.setdefault(session_id, Remembered())

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """Forget all other sessions."""
        with self._lock:
            for session_id in [each for each in self._rounds if not wanted(each)]:
                del self._rounds[session_id]
                self._remembered.pop(session_id, None)

    def drop(self, session_id: str) -> None:
        """Forget a session."""
        with self._lock:
            self._rounds.pop(session_id, None)
            self._remembered.pop(session_id, None)


def expect(record: Record, revision: int | None, digest: bytes) -> None:
    """Hold a caller's belief against a session.

    Raises:
        ResyncRequiredError: the session is at another revision, or has another content.
    """
    where = f"session {record.session_id} is at revision {record.revision}"
    if revision is not None and revision != record.revision:
        raise ResyncRequiredError(f"{where}, and not at {revision}")
    if digest and digest != record.content.digest:
        raise ResyncRequiredError(
            f"{where} with another content: its digest is {record.content.digest.hex()}"
        )


def same_id_other_content(field: str, request_id: str) -> FieldViolation:
    """What is wrong with an id that comes again with another request."""
    return FieldViolation(
        field, f"{request_id!r} came with another content before; give each request its own"
    )


def carried_of(request: round_pb2.PlanRoundRequest | round_pb2.PlanRoundResponse) -> Carried:
    """What a snapshot or an answer carries to the next round; promises only those that it has itself."""
    if isinstance(request, round_pb2.PlanRoundRequest):
        claims, promises = request.claims, list(request.reservations)
    else:
        claims = request.plan.claims
        promises = [
            action.reservation
            for action in request.plan.actions
            if action.kind == plan_pb2.ACTION_KIND_RESERVE
        ]
    return Carried(
        request.warm_start,
        request.outlook.SerializeToString(deterministic=True) if request.HasField("outlook") else b"",
        tuple(claim.SerializeToString(deterministic=True) for claim in claims),
        tuple(promise.SerializeToString(deterministic=True) for promise in promises),
    )


def _check(snapshot: round_pb2.PlanRoundRequest) -> None:
    """Read a snapshot; what is wrong with it has its path in the chunks joined."""
    try:
        read_round_request(snapshot)
    except InvalidInputError as error:
        raise error.placed(lambda field: f"snapshot.{field}") from error


def _joined(chunks: Sequence[bytes], longest: float) -> tuple[round_pb2.PlanRoundRequest, float]:
    """The snapshot in ``chunks``, and how long the session is to live unused.

    Its chunks say whether it is whole: for a while a call that is cut looks like one that has ended.
    """
    fields = Fields()
    snapshot, seconds = round_pb2.PlanRoundRequest(), longest
    given: set[str] = set()
    if not chunks:
        fields.refuse("snapshot", "must be set")
    for number, encoded in enumerate(chunks, start=1):
        chunk = parsed(session_service_pb2.OpenSessionRequest, encoded)
        refuse_planned(chunk, "", fields)
        if chunk.more and number == len(chunks):
            fields.refuse("more", "says that another chunk follows, and none has")
        elif not chunk.more and number < len(chunks):
            fields.refuse("more", f"must be true in every chunk but the last, and is not in number {number}")
        if chunk.HasField("time_to_live"):
            seconds = fields.duration(chunk.time_to_live, "", "time_to_live", positive=True)
            if seconds < _LEAST_TIME_TO_LIVE:
                fields.refuse("time_to_live", f"must be at least {_LEAST_TIME_TO_LIVE:g} s")
        names = [field.name for field, _ in chunk.snapshot.ListFields() if not field.is_repeated]
        names += ["time_to_live"] if chunk.HasField("time_to_live") else []
        for name in names:
            if name in given and name != "cluster":
                path = name if name == "time_to_live" else f"snapshot.{name}"
                fields.refuse(path, "is in more than one chunk")
        given.update(names)
        snapshot.MergeFrom(chunk.snapshot)
    for name in _NOT_IN_A_SNAPSHOT:
        if snapshot.HasField(name):  # type: ignore[arg-type]
            fields.refuse(f"snapshot.{name}", "is no part of a snapshot; leave it unset")
    fields.raise_violations()
    return snapshot, min(seconds, longest)


def _outcomes(
    record: Record, request: session_service_pb2.ReportOutcomesRequest
) -> tuple[Change, dict[str, Outcome], dict[str, str]]:
    """What a report changes, the outcomes that are news by id in the session, and by job its action's id."""
    fields = Fields()
    flying = {entry.name: entry for entry in record.in_flight}
    put: dict[Key, Item] = {}
    outcomes: dict[str, Outcome] = {}
    actions: dict[str, str] = {}
    for action_id in sorted(request.outcome_by_action):
        here = f'outcome_by_action["{action_id}"]'
        name = f"{request.plan_id}/{action_id}"
        said = _OUTCOMES.get(request.outcome_by_action[action_id])
        if request.outcome_by_action[action_id] not in _OUTCOMES:
            fields.refuse(here, "must be an outcome")
            continue
        entry, settled = flying.get(name), record.settled.get(name)
        if settled is not None and (said is settled or (said is None and settled in _DONE)):
            continue  # known already
        if entry is None:
            why = f"it is settled, {settled.value}" if settled is not None else "no such action is in flight"
            fields.refuse(here, why)
            continue
        outcome = said or (Outcome.EVICTED if entry.kind is ActionKind.EVICT else Outcome.BOUND)
        if not fits(entry.kind, outcome):
            fields.refuse(here, f"{outcome.value} is no outcome of {entry.kind.value}")
            continue
        outcomes[name] = outcome
        actions[entry.job] = action_id
        if outcome in _DONE:
            key = (Kind.JOB, entry.job)
            before = put.get(key) or record.content.items[key]
            put[key] = changed_job(before, _Edit(entry, outcome, request.now))
    fields.raise_violations()
    put = {key: item for key, item in put.items() if record.content.items[key] != item}
    return Change(put), outcomes, actions


_DONE = frozenset({Outcome.BOUND, Outcome.EVICTED})


@dataclass(frozen=True, slots=True)
class _Edit:
    """What an action that was done makes of its job."""

    entry: InFlight
    outcome: Outcome
    now: Timestamp

    def __call__(self, job: job_pb2.Job) -> None:
        action = plan_pb2.Action.FromString(self.entry.action)
        chosen = action.forced_reason == plan_pb2.FORCED_REASON_UNSPECIFIED
        if chosen and self.entry.kind is not ActionKind.PLACE and not self.entry.stopped:
            job.disrupted_at.append(self.now)
        job.ClearField("running")
        if self.outcome is Outcome.BOUND:
            job.running.placements.MergeFrom(action.placements)
            job.running.started_at.CopyFrom(self.now)
            job.running.checkpoint_age.SetInParent()


def _of_report(violation: FieldViolation, jobs: Sequence[str], actions: Mapping[str, str]) -> FieldViolation:
    """A violation of the round after a report, at the outcome that it comes from."""
    number, _, rest = violation.field.removeprefix("jobs[").partition("]")
    job = jobs[int(number)] if violation.field.startswith("jobs[") else ""
    field = f'outcome_by_action["{actions[job]}"]' if job in actions else "outcome_by_action"
    return FieldViolation(field, f"then job {job!r}{rest}: {violation.description}")


def _named(request: _HasSession) -> None:
    fields = Fields()
    fields.name(request.session_id, "", "session_id")
    fields.raise_violations()


class _HasSession(Protocol):
    @property
    def session_id(self) -> str: ...
