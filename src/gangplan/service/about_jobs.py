"""Calls about one job of a round, or all jobs' shares: they plan nothing that anybody carries out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gangplan.domain.plan import TerminationReason
from gangplan.engine.budget import Budget
from gangplan.service.call import LEAST_RESERVE_SECONDS
from gangplan.service.parsed import parsed
from gangplan.service.wire.read_about_job import (
    read_compute_fair_shares_request,
    read_explain_job_request,
    read_recommend_placements_request,
)
from gangplan.service.wire.within import within
from gangplan.service.wire.write_about_job import write_explained, write_fair_shares, write_recommended
from gangplan.v1 import placement_service_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

    from gangplan.domain.round import Round
    from gangplan.engine.parameters import PlanParameters
    from gangplan.service.call import Call
    from gangplan.service.placement import Planner
    from gangplan.v1 import round_pb2

_PLANNING = 0.5
"""Part of the time in which a plan is made where none is given."""


class AboutJobs:
    """ExplainJob, RecommendPlacements and ComputeFairShares. May be called from several threads at once.

    Args:
        planner: plans a round whose plan is to be explained.
        read: a round and how to plan it, on a session or not.
        end: ``time.monotonic()`` when a call with a time budget must be answered.
    """

    def __init__(
        self,
        planner: Planner,
        read: Callable[[round_pb2.PlanRoundRequest], tuple[Round, PlanParameters]],
        end: Callable[[Call, float], float],
    ) -> None:
        self._planner, self._read, self._end = planner, read, end

    def parse_explain(self, request: bytes) -> placement_service_pb2.ExplainJobRequest:
        """Decode an ExplainJobRequest.

        Raises:
            InvalidInputError: the bytes are no such message.
        """
        return parsed(placement_service_pb2.ExplainJobRequest, request)

    def explain_job(
        self, request: placement_service_pb2.ExplainJobRequest, call: Call
    ) -> placement_service_pb2.ExplainJobResponse:
        """Why a job waits and what would let it start, or why it runs where it runs.

        Raises:
            InvalidInputError: the request breaks the contract, or the plan a rule, or there is no such job.
            SessionError: the round is on a session that is not there, or another than the caller believes.
        """
        from gangplan.engine.explain_job import explain_job
        from gangplan.engine.recommend import known_job

        job, plan = read_explain_job_request(request)
        with within("round."):
            round_, parameters = self._read(request.round)
        known_job(round_, job)
        end = self._end(call, parameters.time_budget_seconds) - LEAST_RESERVE_SECONDS
        finished = False
        if plan is None:
            half = Budget(deadline=call.started + _PLANNING * (end - call.started))
            with within("round."):
                result = self._planner.plan(round_, parameters, half, call.cancellation)
            plan, finished = result.plan, result.reason is TerminationReason.OPTIMAL
            round_ = replace(round_, outlook=result.outlook)
        found = explain_job(round_, plan, job, budget=Budget(deadline=end), finished=finished)
        return write_explained(job, found)

    def parse_recommend(self, request: bytes) -> placement_service_pb2.RecommendPlacementsRequest:
        """Decode a RecommendPlacementsRequest.

        Raises:
            InvalidInputError: the bytes are no such message.
        """
        return parsed(placement_service_pb2.RecommendPlacementsRequest, request)

    def recommend_placements(
        self, request: placement_service_pb2.RecommendPlacementsRequest, call: Call
    ) -> placement_service_pb2.RecommendPlacementsResponse:
        """Rank the places for a job, within the round's time budget.

        Raises:
            InvalidInputError: the request breaks the contract, or there is no such job.
            SessionError: the round is on a session that is not there, or another than the caller believes.
        """
        from gangplan.engine.recommend import recommend

        job, limit = read_recommend_placements_request(request)
        with within("round."):
            round_, parameters = self._read(request.round)
        budget = Budget(deadline=self._end(call, parameters.time_budget_seconds) - LEAST_RESERVE_SECONDS)
        found = recommend(round_, job, budget=budget, limit=limit, evictions=not request.without_evictions)
        return write_recommended(job, found)

    def parse_shares(self, request: bytes) -> placement_service_pb2.ComputeFairSharesRequest:
        """Decode a ComputeFairSharesRequest.

        Raises:
            InvalidInputError: the bytes are no such message.
        """
        return parsed(placement_service_pb2.ComputeFairSharesRequest, request)

    def compute_fair_shares(
        self, request: placement_service_pb2.ComputeFairSharesRequest, call: Call
    ) -> placement_service_pb2.ComputeFairSharesResponse:
        """What every job and queue of a round is owed.

        Raises:
            InvalidInputError: the request breaks the contract.
            SessionError: the round is on a session that is not there, or another than the caller believes.
        """
        from gangplan.model.verifier.shares import fair_shares

        del call  # nothing here runs long
        read_compute_fair_shares_request(request)
        with within("round."):
            round_, _ = self._read(request.round)
        return write_fair_shares(fair_shares(round_))
