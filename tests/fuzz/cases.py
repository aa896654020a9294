"""The fuzzed requests: case N of a seed is the same bytes on every machine."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf.message import Message
from tests.fuzz import bytes_level, fields_level
from tests.fuzz.judge import Service
from tests.service.conftest import round_of
from tests.service.test_wire_every_field import full_request

from gangplan.planning.scenario import expand, load
from gangplan.service.wire import write_round
from gangplan.v1 import (
    admission_pb2,
    job_pb2,
    placement_service_pb2,
    plan_pb2,
    round_pb2,
    session_service_pb2,
)

_SCENARIOS = Path(__file__).parents[2] / "scenarios"
_WORKED = ("gang", "quota", "topology-rack", "taints", "elastic", "promised-node", "node-gone")


@dataclass(frozen=True, slots=True)
class Case:
    """One request.

    Attributes:
        kind: its type.
        encoded: its bytes.
        name: how to find it again.
    """

    kind: type[Message]
    encoded: bytes
    name: str


@cache
def rounds() -> tuple[round_pb2.PlanRoundRequest, ...]:
    """Valid rounds, one with everything in it."""
    worked = [write_round(expand(load(_SCENARIOS / f"{name}.yaml"))) for name in _WORKED]
    return full_request(), write_round(round_of(jobs=4)), *worked


class Requests:
    """Valid requests of every kind, for one service with a session open in it.

    Args:
        service: that will be asked.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._valid: Mapping[type[Message], tuple[Any, ...]] = {}
        self._renew()

    def case(self, seed: int, number: int) -> Case:
        """Case ``number`` of ``seed``."""
        rng = random.Random(f"{seed}/{number}")
        kinds = (round_pb2.PlanRoundRequest, *self._valid)  # rounds twice as often
        kind = kinds[rng.randrange(len(kinds))]
        self._renew_where_used(kind)
        valid = rng.choice(self._valid[kind])
        level = "bytes" if rng.random() < 0.4 else "fields"
        if level == "bytes":
            encoded = bytes_level.mutated(valid.SerializeToString(), rng)
        else:
            message = kind()
            message.CopyFrom(valid)
            fields_level.mutated(message, rng)
            encoded = message.SerializeToString()
        return Case(kind, encoded, f"case {number} of seed {seed}, {level} of a {kind.__name__}")

    def _renew_where_used(self, kind: type[Message]) -> None:
        """A new session where the last case of a session changed it."""
        if kind in (session_service_pb2.ApplyDeltaRequest, session_service_pb2.ReportOutcomesRequest):
            sessions = self._service.calls.sessions
            if sessions.get(self._session).serial != self._serial:
                sessions.close_session(self._session)
                self._renew()

    def _renew(self) -> None:
        opening = session_service_pb2.OpenSessionRequest(snapshot=rounds()[1])
        calls, self._service.planner.quick = self._service.calls, False
        state = calls.open_session([opening.SerializeToString()], "").session
        on_session = round_pb2.PlanRoundRequest(now=rounds()[1].now)
        on_session.session.session_id = state.session_id
        planned = self._service.ask(round_pb2.PlanRoundRequest, on_session.SerializeToString())
        assert isinstance(planned, round_pb2.PlanRoundResponse)
        self._session = state.session_id
        self._serial = calls.sessions.get(state.session_id).serial
        delta = session_service_pb2.ApplyDeltaRequest(
            session_id=state.session_id,
            base_revision=state.revision,
            upsert_jobs=[rounds()[1].jobs[1]] if rounds()[1].jobs else [],
            upsert_nodes=[rounds()[1].cluster.nodes[0]] if rounds()[1].cluster.nodes else [],
            remove_jobs=["job-2"],
        )
        if delta.upsert_jobs:
            delta.upsert_jobs[0].weight = 3.0
        report = session_service_pb2.ReportOutcomesRequest(
            session_id=state.session_id, plan_id=planned.session.plan_id, now=rounds()[1].now
        )
        for action in planned.plan.actions:
            if action.kind == plan_pb2.ACTION_KIND_PLACE:
                report.outcome_by_action[action.action_id] = session_service_pb2.ACTION_OUTCOME_BOUND
        advisory = round_pb2.PlanRoundRequest()
        advisory.CopyFrom(on_session)
        advisory.session.advisory = True
        what_if = placement_service_pb2.WhatIfRequest(round=rounds()[1])
        what_if.edits.add(remove_node="node-1")
        what_if.edits.add(remove_job="job-1")
        admission = admission_pb2.CheckAdmissionRequest(round=rounds()[1], job=rounds()[1].jobs[-1].name)
        admission.round.jobs[-1].work.left_known = 1_000.0
        admission.round.jobs[-1].deadline.time.FromSeconds(admission.round.now.seconds + 3_600)
        admission.round.jobs[-1].deadline.kind = job_pb2.DEADLINE_KIND_STRICT
        asked = {"round": rounds()[1], "job": rounds()[1].jobs[0].name}
        explained = placement_service_pb2.ExplainJobRequest(**asked)
        of_plan = placement_service_pb2.ExplainJobRequest(plan=planned.plan, **asked)
        recommended = placement_service_pb2.RecommendPlacementsRequest(limit=5, **asked)
        on_session_too = placement_service_pb2.RecommendPlacementsRequest(round=advisory, job=asked["job"])
        self._valid = {
            round_pb2.PlanRoundRequest: (*rounds(), advisory),
            placement_service_pb2.StreamRoundRequest: tuple(
                placement_service_pb2.StreamRoundRequest(round=each) for each in rounds()[:4]
            ),
            placement_service_pb2.ValidatePlanRequest: (
                placement_service_pb2.ValidatePlanRequest(round=rounds()[1], plan=planned.plan),
            ),
            placement_service_pb2.WhatIfRequest: (what_if,),
            admission_pb2.CheckAdmissionRequest: (admission,),
            placement_service_pb2.ExplainJobRequest: (explained, of_plan),
            placement_service_pb2.RecommendPlacementsRequest: (recommended, on_session_too),
            placement_service_pb2.ComputeFairSharesRequest: tuple(
                placement_service_pb2.ComputeFairSharesRequest(round=each)
                for each in (*rounds()[:4], advisory)
            ),
            session_service_pb2.OpenSessionRequest: tuple(
                session_service_pb2.OpenSessionRequest(snapshot=each) for each in rounds()[1:4]
            ),
            session_service_pb2.ApplyDeltaRequest: (delta,),
            session_service_pb2.ReportOutcomesRequest: (report,),
            session_service_pb2.GetSessionRequest: (
                session_service_pb2.GetSessionRequest(session_id=state.session_id),
            ),
        }
