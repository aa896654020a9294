"""What both clients ask and how they read the answers: no channel, no waiting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gangplan.client.answers import PlanViolation, ServiceCapabilities, SolverDescription, Validation
from gangplan.engine.parameters import Pipeline, PlanParameters
from gangplan.engine.steps import Steps
from gangplan.service.wire import read_result, write_plan, write_round
from gangplan.v1 import admission_pb2, placement_service_pb2, planning_service_pb2, round_pb2

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from gangplan.domain.plan import Plan, RoundResult
    from gangplan.domain.round import Round
    from gangplan.errors import ServiceError

DEFAULTS = PlanParameters()
AFTER_BUDGET_SECONDS = 10.0
"""How long an answer is waited for once its time budget is over; a sound service is never late."""
PLACEMENT, SESSIONS, PLANNING = "PlacementService", "SessionService", "PlanningService"

_A = TypeVar("_A")


@dataclass(frozen=True, slots=True)
class Asked(Generic[_A]):
    """One call.

    Attributes:
        method: its name.
        request: the message; several where the method takes a stream.
        answer: class of the answer.
        timeout: seconds after which nobody listens any more; None: no limit.
        read: makes a value of the answer.
        service: that has the method.
        safe: asked twice it has one effect, so that it may be asked again when the service says when.
    """

    method: str
    request: Message | Sequence[Message]
    answer: type[Any]
    timeout: float | None
    read: Callable[[Any], _A]
    service: str = PLACEMENT
    safe: bool = False

    @property
    def path(self) -> str:
        """Full path of the method on the wire."""
        return f"/gangplan.v1.{self.service}/{self.method}"

    @property
    def streams(self) -> tuple[bool, bool]:
        """Whether requests and answers are streamed."""
        return self.method == "OpenSession", self.method in {"StreamRound", "Simulate", "Sweep"}

    def seconds_to_wait(self, error: ServiceError, left: float | None) -> float | None:
        """Seconds after which to ask again (decision 37); None: not at all.

        Args:
            error: how it failed.
            left: seconds until nobody listens any more; None: no limit.
        """
        wait = error.retry_after_seconds
        if not self.safe or error.code != "RESOURCE_EXHAUSTED" or wait is None:
            return None
        return wait if left is None or wait < left else None


def parameters_of(
    *,
    time_budget: float = DEFAULTS.time_budget_seconds,
    pipeline: Pipeline = DEFAULTS.pipeline,
    solver: str = DEFAULTS.solver,
    seed: int = DEFAULTS.seed,
    relative_gap: float = DEFAULTS.relative_gap,
    node_limit: int | None = DEFAULTS.node_limit,
    threads: int = DEFAULTS.threads,
    proposers: Sequence[str] = DEFAULTS.proposers,
    steps: Steps = DEFAULTS.steps,
    warm_start: bytes = DEFAULTS.warm_start,
    look_ahead_share: float = DEFAULTS.look_ahead_share,
    previous_plan: Plan | None = DEFAULTS.previous_plan,
    request_id: str = "",
) -> PlanParameters:
    """What the clients' ``plan_round`` takes, as parameters.

    Raises:
        TypeError: a name that is none of them.
    """
    return PlanParameters(
        request_id=request_id,
        time_budget_seconds=time_budget,
        pipeline=pipeline,
        solver=solver,
        seed=seed,
        relative_gap=relative_gap,
        node_limit=node_limit,
        threads=threads,
        proposers=tuple(proposers),
        steps=steps,
        warm_start=warm_start,
        look_ahead_share=look_ahead_share,
        previous_plan=previous_plan,
    )


def plan_round(round_: Round, parameters: PlanParameters, timeout: float | None) -> Asked[RoundResult]:
    """PlanRound."""
    asked = send_round(write_round(round_, parameters, compact=True), timeout)
    return Asked(asked.method, asked.request, asked.answer, asked.timeout, read_result, safe=asked.safe)


def send_round(
    request: round_pb2.PlanRoundRequest, timeout: float | None
) -> Asked[round_pb2.PlanRoundResponse]:
    """PlanRound on the contract's own messages."""
    return Asked(
        "PlanRound",
        request,
        round_pb2.PlanRoundResponse,
        _timeout(request, timeout),
        _as_it_is,
        safe=bool(request.request_id),
    )


def stream_round(round_: Round, parameters: PlanParameters, timeout: float | None) -> Asked[RoundResult]:
    """StreamRound; the answer is each one of the stream."""
    asked = send_stream(write_round(round_, parameters, compact=True), timeout)
    return Asked(
        asked.method, asked.request, asked.answer, asked.timeout, lambda answer: read_result(answer.answer)
    )


def send_stream(
    request: round_pb2.PlanRoundRequest, timeout: float | None
) -> Asked[placement_service_pb2.StreamRoundResponse]:
    """StreamRound on the contract's own messages."""
    return Asked(
        "StreamRound",
        placement_service_pb2.StreamRoundRequest(round=request),
        placement_service_pb2.StreamRoundResponse,
        _timeout(request, timeout),
        _as_it_is,
    )


def validate_plan(round_: Round, plan: Plan, timeout: float | None) -> Asked[Validation]:
    """ValidatePlan."""
    request = placement_service_pb2.ValidatePlanRequest(
        round=write_round(round_, DEFAULTS, compact=True), plan=write_plan(plan)
    )
    return Asked(
        "ValidatePlan", request, placement_service_pb2.ValidatePlanResponse, timeout, _validation, safe=True
    )


def check_admission(
    round_: Round, job: str, timeout: float | None
) -> Asked[admission_pb2.CheckAdmissionResponse]:
    """CheckAdmission."""
    request = admission_pb2.CheckAdmissionRequest(round=write_round(round_, DEFAULTS, compact=True), job=job)
    return Asked(
        "CheckAdmission", request, admission_pb2.CheckAdmissionResponse, timeout, _as_it_is, safe=True
    )


def what_if(
    round_: Round,
    edits: Sequence[placement_service_pb2.RoundEdit],
    parameters: PlanParameters,
    timeout: float | None,
) -> Asked[placement_service_pb2.WhatIfResponse]:
    """WhatIf."""
    written = write_round(round_, parameters, compact=True)
    request = placement_service_pb2.WhatIfRequest(round=written, edits=edits)
    answer = placement_service_pb2.WhatIfResponse
    return Asked("WhatIf", request, answer, _timeout(written, timeout), _as_it_is, safe=True)


def explain_job(
    round_: Round, job: str, plan: Plan | None, parameters: PlanParameters, timeout: float | None
) -> Asked[placement_service_pb2.ExplainJobResponse]:
    """ExplainJob."""
    written = write_round(round_, parameters, compact=True)
    request = placement_service_pb2.ExplainJobRequest(round=written, job=job)
    if plan is not None:
        request.plan.CopyFrom(write_plan(plan))
    answer = placement_service_pb2.ExplainJobResponse
    return Asked("ExplainJob", request, answer, _timeout(written, timeout), _as_it_is, safe=True)


def recommend_placements(
    round_: Round,
    job: str,
    limit: int | None,
    without_evictions: bool,  # noqa: FBT001
    parameters: PlanParameters,
    timeout: float | None,
) -> Asked[placement_service_pb2.RecommendPlacementsResponse]:
    """RecommendPlacements."""
    written = write_round(round_, parameters, compact=True)
    request = placement_service_pb2.RecommendPlacementsRequest(
        round=written, job=job, limit=limit, without_evictions=without_evictions
    )
    answer = placement_service_pb2.RecommendPlacementsResponse
    return Asked("RecommendPlacements", request, answer, _timeout(written, timeout), _as_it_is, safe=True)


def compute_fair_shares(
    round_: Round, timeout: float | None
) -> Asked[placement_service_pb2.ComputeFairSharesResponse]:
    """ComputeFairShares."""
    request = placement_service_pb2.ComputeFairSharesRequest(
        round=write_round(round_, DEFAULTS, compact=True)
    )
    answer = placement_service_pb2.ComputeFairSharesResponse
    return Asked("ComputeFairShares", request, answer, timeout, _as_it_is, safe=True)


def simulate(
    request: planning_service_pb2.SimulateRequest, timeout: float | None
) -> Asked[planning_service_pb2.SimulateResponse]:
    """Simulate."""
    answer = planning_service_pb2.SimulateResponse
    return Asked("Simulate", request, answer, timeout, _as_it_is, service=PLANNING)


def sweep(
    request: planning_service_pb2.SweepRequest, timeout: float | None
) -> Asked[planning_service_pb2.SweepResponse]:
    """Sweep."""
    return Asked("Sweep", request, planning_service_pb2.SweepResponse, timeout, _as_it_is, service=PLANNING)


def simulate_request(
    round_: Round, parameters: PlanParameters, policy: str, *, with_jobs: bool
) -> planning_service_pb2.SimulateRequest:
    """A simulation that begins with a round; no time budget is said, so that it repeats exactly."""
    start = write_round(round_, parameters, compact=True)
    start.parameters.ClearField("time_budget")
    return planning_service_pb2.SimulateRequest(start=start, policy=policy, with_jobs=with_jobs)


def list_solvers(timeout: float | None) -> Asked[tuple[SolverDescription, ...]]:
    """ListSolvers."""
    request = placement_service_pb2.ListSolversRequest()
    return Asked("ListSolvers", request, placement_service_pb2.ListSolversResponse, timeout, _solvers)


def get_capabilities(timeout: float | None) -> Asked[ServiceCapabilities]:
    """GetCapabilities."""
    request = placement_service_pb2.GetCapabilitiesRequest()
    answer = placement_service_pb2.GetCapabilitiesResponse
    return Asked("GetCapabilities", request, answer, timeout, _capabilities)


def _timeout(request: round_pb2.PlanRoundRequest, timeout: float | None) -> float:
    if timeout is not None:
        return timeout
    budget = DEFAULTS.time_budget_seconds
    if request.parameters.HasField("time_budget"):
        budget = request.parameters.time_budget.ToNanoseconds() / 1e9
    return budget + AFTER_BUDGET_SECONDS


def _as_it_is(answer: Any) -> Any:
    return answer


def _validation(answer: placement_service_pb2.ValidatePlanResponse) -> Validation:
    return Validation(
        valid=answer.valid,
        violations=tuple(PlanViolation(v.rule, v.subject, v.message) for v in answer.violations),
        objective=answer.objective if answer.HasField("objective") else None,
        objective_by_term={part.term: part.contribution for part in answer.terms},
    )


def _solvers(answer: placement_service_pb2.ListSolversResponse) -> tuple[SolverDescription, ...]:
    return tuple(
        SolverDescription(
            name=solver.name,
            available=solver.available,
            version=solver.version,
            reason=solver.reason,
            features=tuple(
                placement_service_pb2.SolverFeature.Name(feature).removeprefix("SOLVER_FEATURE_")
                for feature in solver.features
            ),
        )
        for solver in answer.solvers
    )


def _capabilities(answer: placement_service_pb2.GetCapabilitiesResponse) -> ServiceCapabilities:
    longest = answer.maximum_time_budget
    return ServiceCapabilities(
        version=answer.version,
        methods=tuple(answer.methods),
        planned=tuple(answer.planned),
        maximum_request_bytes=answer.maximum_request_bytes,
        maximum_time_budget_seconds=(
            longest.ToNanoseconds() / 1e9 if answer.HasField("maximum_time_budget") else None
        ),
        maximum_concurrent_calls=answer.maximum_concurrent_calls,
        proposers=tuple(answer.proposers),
        presets={preset.name: preset.purpose for preset in answer.presets},
    )
