"""What is asked about one job, or about all jobs' shares, beside the round itself."""

from __future__ import annotations

from google.protobuf.message import Message

from gangplan.domain.plan import Plan
from gangplan.engine.recommend import DEFAULT_LIMIT, MOST
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.planned import refuse_planned
from gangplan.service.wire.read_answer import read_actions
from gangplan.v1 import placement_service_pb2, round_pb2


def read_explain_job_request(request: placement_service_pb2.ExplainJobRequest) -> tuple[str, Plan | None]:
    """The job's name and the plan that is explained; None: one has to be made.

    Raises:
        InvalidInputError: the request breaks the contract outside its round.
    """
    fields = _asked(request, request.round)
    job = fields.name(request.job, "", "job")
    plan = read_actions(request.plan, "plan.", fields) if request.HasField("plan") else None
    fields.raise_violations()
    return job, plan


def read_recommend_placements_request(
    request: placement_service_pb2.RecommendPlacementsRequest,
) -> tuple[str, int]:
    """The job's name and how many places to name.

    Raises:
        InvalidInputError: the request breaks the contract outside its round.
    """
    fields = _asked(request, request.round)
    job = fields.name(request.job, "", "job")
    limit = DEFAULT_LIMIT
    if request.HasField("limit"):
        limit = fields.integer(request.limit, "", "limit", 1, MOST)
    fields.raise_violations()
    return job, limit


def read_compute_fair_shares_request(request: placement_service_pb2.ComputeFairSharesRequest) -> None:
    """Check that there is a round.

    Raises:
        InvalidInputError: the request breaks the contract outside its round.
    """
    _asked(request, request.round).raise_violations()


def _asked(request: Message, round_: round_pb2.PlanRoundRequest) -> Fields:
    fields = Fields()
    refuse_planned(request, "", fields)
    if not request.HasField("round"):
        fields.refuse("round", "must be set")
    elif round_.validate_only:
        fields.refuse("round.validate_only", "this call does not only check")
    return fields
