"""What the calls do, without a server around them: messages in, messages out, our exceptions on the way."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from gangplan import __version__
from gangplan.engine import proposers
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.errors import InvalidInputError, UnknownProposerError, UnknownSolverError
from gangplan.observe.rounds import note_round
from gangplan.service.about_jobs import AboutJobs
from gangplan.service.afterwards import Afterwards, seconds_after
from gangplan.service.call import LEAST_RESERVE_SECONDS
from gangplan.service.capture.recorder import Planned, Recorder
from gangplan.service.options import ServerOptions
from gangplan.service.parsed import parsed
from gangplan.service.session_calls import SessionCalls
from gangplan.service.session_rounds import PlannedRound, SessionRounds
from gangplan.service.sessions.opened import open_sessions
from gangplan.service.sessions.registry import Sessions
from gangplan.service.sessions.store import MemoryStore
from gangplan.service.wire import (
    planned_names,
    read_check_admission_request,
    read_round_request,
    read_validate_plan_request,
    read_what_if_request,
    write_admission,
    write_notices,
    write_parameters,
    write_policy,
    write_result,
)
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.planned import refuse_planned
from gangplan.service.wire.within import within
from gangplan.v1 import admission_pb2, placement_service_pb2, round_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from gangplan.domain.plan import RoundResult, Stage
    from gangplan.domain.round import Round
    from gangplan.engine.runner import Cancellation
    from gangplan.observe.metrics import Metrics
    from gangplan.service.call import Call

VERSION = f"gangplan {__version__}"
_BUILT = (
    "PlanRound",
    "StreamRound",
    "ValidatePlan",
    "CheckAdmission",
    "ExplainJob",
    "RecommendPlacements",
    "WhatIf",
    "ComputeFairShares",
    "ListSolvers",
    "GetCapabilities",
)
_BUILT_OF_PLANNING = ("Simulate", "Sweep")
_BUILT_OF_SESSIONS = ("OpenSession", "ApplyDelta", "ReportOutcomes", "GetSession", "CloseSession")
_DEFAULTS = PlanParameters()
_MOST_AFTER = 0.5
"""Share of the time that is left for a plan which may be kept back for its answer."""
_CALLERS_FAULT = (InvalidInputError, UnknownProposerError, UnknownSolverError)
_AROUND_A_ROUND = (
    admission_pb2.CheckAdmissionRequest,
    placement_service_pb2.ComputeFairSharesRequest,
    placement_service_pb2.ExplainJobRequest,
    placement_service_pb2.RecommendPlacementsRequest,
    placement_service_pb2.WhatIfRequest,
)
"""Requests whose time budget is that of the round in them."""


class Planner(Protocol):
    """What plans rounds: the engine with its solver workers, or a test's own."""

    def plan(
        self,
        round_: Round,
        parameters: PlanParameters,
        budget: Budget,
        cancellation: Cancellation,
        on_stage: Callable[[Stage], None] | None = None,
        on_better: Callable[[RoundResult], None] | None = None,
    ) -> RoundResult:
        """Plan a round within ``budget``; sooner when ``cancellation`` is given.

        ``on_stage`` is called with every candidate plan's stage as soon as it is verified, ``on_better`` with
        every better plan.
        """
        ...

    def warm(self) -> None:
        """Get everything ready, so that the first round is as quick as any."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


class Placement:
    """The built calls of PlacementService. May be called from several threads at once.

    Args:
        planner: plans the rounds.
        options: of the server; an in-process client has them too.
        metrics: where rounds are counted; None: nowhere.
        sessions: of the service; None: kept in memory only.
        recorder: keeps planned rounds; None: nobody does.
    """

    def __init__(
        self,
        planner: Planner,
        options: ServerOptions,
        metrics: Metrics | None = None,
        sessions: Sessions | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self._planner = planner
        self.session_calls = SessionCalls(sessions or Sessions(MemoryStore()))
        self._session_rounds = SessionRounds(self.session_calls)
        self._afterwards = {on_session: Afterwards() for on_session in (False, True)}
        self._options = options
        self._metrics = metrics
        self._recorder = recorder
        self.about_jobs = AboutJobs(planner, self._read_any, self._end)

    @classmethod
    def with_workers(cls, options: ServerOptions, metrics: Metrics | None = None) -> Placement:
        """With the engine and a solver worker for each slot, not yet warm.

        Raises:
            InvalidInputError: the options do not say which rounds are captured.
            OSError: what sessions or captured rounds are kept in cannot be opened.
        """
        from gangplan.service.planner import EnginePlanner

        recorder = Recorder.of(options, metrics)
        sessions = open_sessions(options)
        planner = EnginePlanner(options.slots, metrics, options.worker_memory_bytes)
        return cls(planner, options, metrics, sessions, recorder)

    def warm(self) -> None:
        """Get everything ready.

        Raises:
            WorkerError: a solver worker does not start.
        """
        with contextlib.suppress(InvalidInputError):
            read_round_request(round_pb2.PlanRoundRequest())  # makes the message types that check requests
        self._planner.warm()

    def forget_expired(self) -> None:
        """Let go of sessions that were not used in time.

        Raises:
            SessionStoreError: what keeps them cannot be written now.
        """
        self._session_rounds.forget_expired()

    def close(self) -> None:
        """End the solver workers, write the rounds to be captured, and let go of the sessions."""
        self._planner.close()
        if self._recorder is not None:
            self._recorder.close()
        self.session_calls.sessions.close()

    def parse_round(self, request: bytes) -> round_pb2.PlanRoundRequest:
        """Decode a PlanRoundRequest.

        Raises:
            InvalidInputError: the bytes are no such message.
        """
        return parsed(round_pb2.PlanRoundRequest, request)

    def parse_validation(self, request: bytes) -> placement_service_pb2.ValidatePlanRequest:
        """Decode a ValidatePlanRequest.

        Raises:
            InvalidInputError: the bytes are no such message.
        """
        return parsed(placement_service_pb2.ValidatePlanRequest, request)

    def seconds_left(self, request: Message, call: Call) -> float:
        """Seconds that the call may still take, never negative."""
        seconds = _DEFAULTS.time_budget_seconds
        round_ = request.round if isinstance(request, _AROUND_A_ROUND) else request
        if isinstance(round_, round_pb2.PlanRoundRequest):
            if round_.parameters.HasField("time_budget"):
                given = round_.parameters.time_budget
                seconds = given.seconds + given.nanos / 1e9
            elif round_.HasField("session") and not round_.HasField("parameters"):
                known = self.session_calls.known_parameters(round_.session.session_id)
                seconds = seconds if known is None else known.time_budget_seconds
        return max(0.0, self._end(call, seconds) - time.monotonic())

    def plan_round(self, request: round_pb2.PlanRoundRequest, call: Call) -> round_pb2.PlanRoundResponse:
        """Read, plan, write; never later than the time budget and the deadline allow.

        Raises:
            InvalidInputError: the request breaks the contract; every violation at once.
            SessionError: the round is on a session that is not there, or another than the caller believes.
            UnknownProposerError: there is no such proposer.
            UnknownSolverError: there is no such solver.
        """
        if request.validate_only:
            return self._check_round(request)
        began = time.monotonic()
        if not request.HasField("session"):
            return self._planned(*read_round_request(request), call, began, request).whole()
        return self._session_rounds.plan(
            request,
            call.caller,
            lambda round_, parameters: self._planned(round_, parameters, call, began, request),
            call.cancellation,
        )

    def parse_stream(self, request: bytes) -> placement_service_pb2.StreamRoundRequest:
        """Decode a StreamRoundRequest.

        Raises:
            InvalidInputError: the bytes are no such message, or what is not in the round breaks the contract.
        """
        message = parsed(placement_service_pb2.StreamRoundRequest, request)
        fields = Fields()
        refuse_planned(message, "", fields)
        if not message.HasField("round"):
            fields.refuse("round", "must be set")
        if message.round.validate_only:
            fields.refuse("round.validate_only", "there is nothing to stream; ask PlanRound")
        if message.resume_after < 0:
            fields.refuse("resume_after", f"must be at least 0, and is {message.resume_after:,}")
        fields.raise_violations()
        return message

    def stream_round(
        self,
        request: round_pb2.PlanRoundRequest,
        call: Call,
        tell: Callable[[Callable[[], Message]], None],
    ) -> round_pb2.PlanRoundResponse:
        """As :meth:`plan_round`; ``tell`` gets each better plan on the way, as a function that writes it."""
        best = float("-inf")

        def better(result: RoundResult) -> None:
            nonlocal best
            if result.quality.objective > best:
                best = result.quality.objective
                tell(lambda: write_result(result, request_id=request.request_id, version=VERSION))

        with within("round."):
            return self.plan_round(request, replace(call, on_better=better))

    def _read_any(self, request: round_pb2.PlanRoundRequest) -> tuple[Round, PlanParameters]:
        """A round and how to plan it, on a session or not."""
        if request.HasField("session"):
            seen = self._session_rounds.read(request)
            return seen.round, seen.parameters
        return read_round_request(request)

    def _check_round(self, request: round_pb2.PlanRoundRequest) -> round_pb2.PlanRoundResponse:
        """Only read; say what is tolerated."""
        from gangplan.model.instance.instance import build_instance
        from gangplan.model.words.notices import notices

        checked = round_pb2.PlanRoundRequest()
        checked.CopyFrom(request)
        checked.ClearField("validate_only")
        if checked.HasField("session"):
            round_ = self._session_rounds.read(checked).round
        else:
            round_, _ = read_round_request(checked)
        return write_notices(notices(build_instance(round_)), request.request_id, VERSION)

    def _planned(
        self,
        round_: Round,
        parameters: PlanParameters,
        call: Call,
        began: float,
        request: round_pb2.PlanRoundRequest | None = None,
    ) -> PlannedRound:
        """Plan a round that was read since ``began``, count and log it, and have it captured with its whole
        answer, which is written once.

        Args:
            round_: the round.
            parameters: how to plan.
            call: for whom.
            began: ``time.monotonic()`` when it began to be read.
            request: that it was read from; None: it is nobody's request, and is not captured.
        """
        result = self._result(round_, parameters, call, began, request)
        if self._metrics is not None:
            note_round(self._metrics, parameters.request_id, round_, result, real=request is not None)
        if self._recorder is None or request is None:
            return PlannedRound(result, lambda said: _write(said, parameters))
        whole = _write(result, parameters)
        self._recorder.answered(self._taken(round_, parameters, call, request), whole)
        return PlannedRound(result, lambda said: whole if said is result else _write(said, parameters))

    def _result(
        self,
        round_: Round,
        parameters: PlanParameters,
        call: Call,
        began: float,
        request: round_pb2.PlanRoundRequest | None = None,
    ) -> RoundResult:
        """Plan a round that was read since ``began``.

        Args:
            round_: the round.
            parameters: how to plan.
            call: for whom.
            began: ``time.monotonic()`` when it began to be read.
            request: whose round it is; None: nobody's, and it is not captured, nor the time of its answer.
        """
        now = time.monotonic()
        read_seconds, before = now - began, now - call.started
        end, jobs = self._end(call, parameters.time_budget_seconds), len(round_.jobs)
        afterwards = self._afterwards[request is not None and request.HasField("session")]
        after = min(afterwards.expected(jobs), _MOST_AFTER * max(0.0, end - now))
        # Writing an answer takes an eighth to a quarter of the time in which its request was read.
        budget = Budget(deadline=end - LEAST_RESERVE_SECONDS - max(read_seconds / 2, after))
        on_stage, on_better = call.on_stage, call.on_better
        try:
            result = self._planner.plan(
                round_,
                parameters,
                budget,
                call.cancellation,
                None if on_stage is None else lambda stage: on_stage(_since_call(stage, before)),
                None if on_better is None else lambda result: on_better(_later(result, before)),
            )
        except _CALLERS_FAULT:
            raise
        except Exception as error:
            if self._recorder is not None and request is not None:
                self._recorder.failed(self._taken(round_, parameters, call, request), error)
            raise
        if request is not None:
            planned, first = time.monotonic(), now + (result.stages[0].seconds if result.stages else 0.0)
            call.when_answered.append(
                lambda at: afterwards.note(jobs, seconds_after(planned, budget.deadline, first, at))
            )
        return replace(
            _later(result, before),
            seconds_by_phase={
                "wait": before - read_seconds,
                "read": read_seconds,
                **result.seconds_by_phase,
            },
        )

    def _taken(
        self, round_: Round, parameters: PlanParameters, call: Call, request: round_pb2.PlanRoundRequest
    ) -> Planned:
        """A round and the time that it took until now."""
        return Planned(
            round_,
            parameters,
            request,
            elapsed=time.monotonic() - call.started,
            allowed=self._end(call, parameters.time_budget_seconds) - call.started,
        )

    def validate_plan(
        self, request: placement_service_pb2.ValidatePlanRequest, call: Call
    ) -> placement_service_pb2.ValidatePlanResponse:
        """Let the independent verifier judge a plan.

        Raises:
            InvalidInputError: the request breaks the contract; a plan that breaks a rule is an answer.
        """
        from gangplan.model.verifier.verify import verify

        del call  # nothing here runs long
        round_, plan = read_validate_plan_request(request)
        found = verify(round_, plan)
        answer = placement_service_pb2.ValidatePlanResponse(valid=found.valid)
        for violation in found.violations:
            answer.violations.add(
                rule=violation.rule,
                subject=violation.action or violation.job or violation.node,
                message=violation.message,
            )
        if found.valid:
            answer.objective = found.objective
            for term, contribution in found.objective_by_term.items():
                answer.terms.add(term=term, contribution=contribution)
        return answer

    def parse_admission(self, request: bytes) -> admission_pb2.CheckAdmissionRequest:
        """Decode a CheckAdmissionRequest.

        Raises:
            InvalidInputError: the bytes are no such message.
        """
        return parsed(admission_pb2.CheckAdmissionRequest, request)

    def check_admission(
        self, request: admission_pb2.CheckAdmissionRequest, call: Call
    ) -> admission_pb2.CheckAdmissionResponse:
        """Whether a waiting job can meet its deadline, within the round's time budget.

        Raises:
            InvalidInputError: the request breaks the contract, or says no such job.
        """
        from gangplan.engine.admit import admit

        round_, parameters, job = read_check_admission_request(request)
        budget = Budget(deadline=self._end(call, parameters.time_budget_seconds) - LEAST_RESERVE_SECONDS)
        return write_admission(admit(round_, job, budget=budget, cancellation=call.cancellation))

    def parse_what_if(self, request: bytes) -> placement_service_pb2.WhatIfRequest:
        """Decode a WhatIfRequest.

        Raises:
            InvalidInputError: the bytes are no such message.
        """
        return parsed(placement_service_pb2.WhatIfRequest, request)

    def what_if(
        self, request: placement_service_pb2.WhatIfRequest, call: Call
    ) -> placement_service_pb2.WhatIfResponse:
        """Plan a round without and with edits, each within half of the time.

        Raises:
            InvalidInputError: the request breaks the contract, or an edit is of what is not there.
            UnknownProposerError: there is no such proposer.
            UnknownSolverError: there is no such solver.
        """
        began = time.monotonic()
        before, after, parameters = read_what_if_request(request)
        whole = self._end(call, parameters.time_budget_seconds) - call.started
        half = replace(parameters, time_budget_seconds=max(whole / 2, LEAST_RESERVE_SECONDS))
        with within("round."):
            without = self._planned(before, half, call, began).whole()
            edited = self._planned(after, parameters, call, time.monotonic()).whole()
        return placement_service_pb2.WhatIfResponse(
            before=without,
            after=edited,
            affected_jobs=affected_jobs(before, without, after, edited),
            objective_difference=edited.quality.objective - without.quality.objective,
        )

    def list_solvers(self, request: bytes) -> placement_service_pb2.ListSolversResponse:
        """The solver backends, those that cannot be used here with the reason.

        Raises:
            InvalidInputError: the bytes are no ListSolversRequest.
        """
        from gangplan_solvers import catalog

        parsed(placement_service_pb2.ListSolversRequest, request)
        answer = placement_service_pb2.ListSolversResponse()
        for solver in catalog.describe():
            entry = answer.solvers.add(
                name=solver.name,
                available=solver.availability.available,
                version=solver.availability.version,
                reason=solver.availability.reason,
            )
            features = (f"SOLVER_FEATURE_{feature.value}" for feature in solver.features)
            entry.features.extend(
                sorted(placement_service_pb2.SolverFeature.Value(name) for name in features)
            )
        return answer

    def get_capabilities(self, request: bytes) -> placement_service_pb2.GetCapabilitiesResponse:
        """What the service can do, its limits and all its defaults.

        Raises:
            InvalidInputError: the bytes are no GetCapabilitiesRequest.
        """
        from gangplan.domain.policy import Policy
        from gangplan.domain.presets import PRESETS

        parsed(placement_service_pb2.GetCapabilitiesRequest, request)
        return placement_service_pb2.GetCapabilitiesResponse(
            version=VERSION,
            default_policy=write_policy(Policy()),
            default_parameters=write_parameters(_DEFAULTS),
            planned=planned_names(),
            methods=[
                *(f"gangplan.v1.PlacementService.{method}" for method in _BUILT),
                *(f"gangplan.v1.SessionService.{method}" for method in _BUILT_OF_SESSIONS),
                *(f"gangplan.v1.PlanningService.{method}" for method in _BUILT_OF_PLANNING),
            ],
            maximum_request_bytes=self._options.max_message_bytes,
            maximum_concurrent_calls=self._options.slots + self._options.queue,
            proposers=proposers.names(),
            presets=[
                placement_service_pb2.PolicyPreset(
                    name=preset.name, purpose=preset.purpose, policy=write_policy(preset.policy)
                )
                for preset in PRESETS.values()
            ],
        )

    def _end(self, call: Call, time_budget: float) -> float:
        return call.end(time_budget, margin=self._options.deadline_margin_seconds)


def affected_jobs(
    before: Round, without: round_pb2.PlanRoundResponse, after: Round, edited: round_pb2.PlanRoundResponse
) -> list[str]:
    """Jobs of both rounds that run in only one of the plans, or elsewhere."""
    common = {job.name for job in before.jobs} & {job.name for job in after.jobs}
    places = [
        {
            action.job: [place.SerializeToString(deterministic=True) for place in action.placements]
            for action in each.plan.actions
        }
        for each in (without, edited)
    ]
    return sorted(job for job in common if places[0].get(job, []) != places[1].get(job, []))


def _write(result: RoundResult, parameters: PlanParameters) -> round_pb2.PlanRoundResponse:
    """The answer to a round, of a result or of what is left of it."""
    return write_result(result, request_id=parameters.request_id, version=VERSION)


def _since_call(stage: Stage, seconds: float) -> Stage:
    """Its time counted from when the call came in, ``seconds`` before the budget began."""
    return replace(stage, seconds=stage.seconds + seconds)


def _later(result: RoundResult, seconds: float) -> RoundResult:
    """The same for all stages of a result."""
    return replace(result, stages=tuple(_since_call(stage, seconds) for stage in result.stages))
