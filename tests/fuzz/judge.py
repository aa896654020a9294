"""What every answer to a fuzzed request must be: within reason, never INTERNAL, about fields that exist."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from tests.fuzz.places import exists
from tests.service.conftest import keep_everything

from gangplan.domain.plan import RoundResult, Stage
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.runner import Cancellation
from gangplan.errors import GangplanError
from gangplan.service.call import Call
from gangplan.service.options import ServerOptions
from gangplan.service.parsed import parsed
from gangplan.service.placement import Placement
from gangplan.service.sessions.registry import Sessions
from gangplan.service.sessions.store import MemoryStore
from gangplan.service.status import status_of
from gangplan.v1 import admission_pb2, placement_service_pb2, round_pb2, session_service_pb2

_HARDLY_ANY = 0.06
"""Seconds of a call that is not to search: of what the service keeps for the way back, little is left."""
MOST_SECONDS = 20.0
"""A call that takes longer hangs."""
REFUSALS = frozenset({"INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "ABORTED", "NOT_FOUND"})


class GreedyPlanner:
    """The real engine in this thread, prices and greedy and the verifier; while ``quick``, only keeps."""

    def __init__(self) -> None:
        self.quick = False

    def plan(
        self,
        round_: Round,
        parameters: PlanParameters,
        budget: Budget,
        cancellation: Cancellation,
        on_stage: Callable[[Stage], None] | None = None,
        on_better: Callable[[RoundResult], None] | None = None,
    ) -> RoundResult:
        """See :class:`gangplan.service.placement.Planner`."""
        if self.quick:
            return keep_everything(round_, parameters)
        how = replace(parameters, pipeline="greedy")
        return plan_round(
            round_, how, budget=budget, cancellation=cancellation, on_stage=on_stage, on_better=on_better
        )

    def warm(self) -> None:
        """Nothing to get ready."""

    def close(self) -> None:
        """Nothing to end."""


@dataclass(slots=True)
class Findings:
    """How many of each status, and what must not be."""

    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def note(self, kind: type[Message], status: status_pb2.Status | None, seconds: float, what: str) -> None:
        """Judge one answer; ``status`` is None where there is an answer."""
        code = "OK" if status is None else code_pb2.Code.Name(status.code)
        self.statuses[code] += 1
        if status is not None:
            if code not in REFUSALS:
                self.wrong.append(f"{what}: {code} {status.message}")
            for path in fields_of(status):
                # The request as a whole may be at fault: bytes that are none, a field that nobody knows.
                if path and not exists(path, kind.DESCRIPTOR):
                    self.wrong.append(f"{what}: {path!r} is no field of {kind.DESCRIPTOR.name}")
        if seconds > MOST_SECONDS:
            self.wrong.append(f"{what}: took {seconds:.1f} s")


def fields_of(status: status_pb2.Status) -> list[str]:
    """The fields that a status names."""
    bad = error_details_pb2.BadRequest()
    return [
        violation.field
        for detail in status.details
        if detail.Unpack(bad)
        for violation in bad.field_violations
    ]


class Service:
    """All methods of the service in this process, by the name of their request.

    Args:
        patience: seconds that a call may take, unless its planner is quick.
    """

    def __init__(self, patience: float = 1.0) -> None:
        self._patience = patience
        options = ServerOptions()
        sessions = Sessions(MemoryStore(), most=10)
        self.planner = GreedyPlanner()
        self.placement = Placement(self.planner, options, sessions=sessions)
        self.calls = self.placement.session_calls

    def ask(self, kind: type[Message], encoded: bytes) -> Message:
        """Answer one encoded request.

        Raises:
            GangplanError: as the service would refuse.
        """
        placement = self.placement
        patience = _HARDLY_ANY if self.planner.quick else self._patience
        call = Call(deadline=time.monotonic() + patience)
        if kind is round_pb2.PlanRoundRequest:
            return placement.plan_round(placement.parse_round(encoded), call)
        if kind is placement_service_pb2.StreamRoundRequest:
            message = placement.parse_stream(encoded)
            return placement.stream_round(message.round, call, lambda write: [write()])
        if kind is placement_service_pb2.ValidatePlanRequest:
            return placement.validate_plan(placement.parse_validation(encoded), call)
        if kind is placement_service_pb2.WhatIfRequest:
            return placement.what_if(placement.parse_what_if(encoded), call)
        if kind is admission_pb2.CheckAdmissionRequest:
            return placement.check_admission(placement.parse_admission(encoded), call)
        if kind is placement_service_pb2.ExplainJobRequest:
            return placement.about_jobs.explain_job(placement.about_jobs.parse_explain(encoded), call)
        if kind is placement_service_pb2.RecommendPlacementsRequest:
            asked = placement.about_jobs.parse_recommend(encoded)
            return placement.about_jobs.recommend_placements(asked, call)
        if kind is placement_service_pb2.ComputeFairSharesRequest:
            return placement.about_jobs.compute_fair_shares(placement.about_jobs.parse_shares(encoded), call)
        if kind is session_service_pb2.OpenSessionRequest:
            answer = self.calls.open_session([encoded], "")
            self.calls.sessions.close_session(answer.session.session_id)
            return answer
        methods: dict[type[Message], Callable[[Any], Message]] = {
            session_service_pb2.ApplyDeltaRequest: self.calls.apply_delta,
            session_service_pb2.ReportOutcomesRequest: self.calls.report_outcomes,
            session_service_pb2.GetSessionRequest: self.calls.get_session,
        }
        return methods[kind](parsed(kind, encoded))

    def judged(self, kind: type[Message], encoded: bytes, findings: Findings, what: str) -> Message | None:
        """Answer a request and judge what comes; the answer, or None where it is refused."""
        began = time.monotonic()
        status, answer = None, None
        try:
            answer = self.ask(kind, encoded)
        except GangplanError as error:
            status = status_of(error)
        except Exception as error:  # noqa: BLE001 (that is what is looked for)
            status = status_of(error)
            status.message += f" ({type(error).__name__}: {error})"
        findings.note(kind, status, time.monotonic() - began, what)
        return answer
