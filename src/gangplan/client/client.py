"""The synchronous client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from gangplan.client.answers import PlanViolation, ServiceCapabilities, SolverDescription, Validation
from gangplan.client.transport import GrpcTransport, InProcessTransport, Transport
from gangplan.engine.parameters import Pipeline, PlanParameters
from gangplan.engine.steps import Steps
from gangplan.service.options import DEFAULT_MAX_MESSAGE_BYTES, ServerOptions
from gangplan.service.wire import read_result, write_plan, write_round
from gangplan.v1 import admission_pb2, placement_service_pb2, round_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gangplan.domain.plan import Plan, RoundResult, Stage
    from gangplan.domain.round import Round

_DEFAULTS = PlanParameters()
_AFTER_BUDGET_SECONDS = 10.0
"""How long an answer is waited for once its time budget is over; a sound service is never late."""


class Client:
    """Plans rounds with a service.

    ::

        with Client("127.0.0.1:50051") as client:
            result = client.plan_round(round, time_budget=1.0)

    A call that fails raises :class:`~gangplan.errors.ServiceError` with the status code's name and, for bad
    input, the violations. Only UNAVAILABLE is tried again by itself.

    Args:
        address: ``host:port`` of the service.
        max_message_bytes: largest request and answer.
        transport: how requests get there; None opens a channel to ``address``.
    """

    def __init__(
        self,
        address: str = "127.0.0.1:50051",
        *,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        transport: Transport | None = None,
    ) -> None:
        self._transport = transport or GrpcTransport(address, max_message_bytes=max_message_bytes)

    @classmethod
    def in_process(cls, *, start: bool = True, on_stage: Callable[[Stage], None] | None = None) -> Self:
        """A client without a service: this process plans, with one solver process beside it.

        Args:
            start: start the solver process at once, so that it gets ready meanwhile.
            on_stage: called with every candidate plan's stage, in the thread that plans.

        Raises:
            WorkerError: no process can be started.
        """
        from gangplan.service.placement import Placement
        from gangplan.service.planner import EnginePlanner

        planner = EnginePlanner(workers=1)
        if start:
            planner.start()
        return cls(transport=InProcessTransport(Placement(planner, ServerOptions(slots=1)), on_stage))

    def plan_round(
        self,
        round_: Round,
        /,
        *,
        time_budget: float = _DEFAULTS.time_budget_seconds,
        pipeline: Pipeline = _DEFAULTS.pipeline,
        solver: str = _DEFAULTS.solver,
        seed: int = _DEFAULTS.seed,
        relative_gap: float = _DEFAULTS.relative_gap,
        node_limit: int | None = _DEFAULTS.node_limit,
        threads: int = _DEFAULTS.threads,
        proposers: Sequence[str] = _DEFAULTS.proposers,
        steps: Steps = _DEFAULTS.steps,
        warm_start: bytes = _DEFAULTS.warm_start,
        previous_plan: Plan | None = _DEFAULTS.previous_plan,
        request_id: str = "",
        timeout: float | None = None,
    ) -> RoundResult:
        """The best verified plan for a round within the time budget.

        Args:
            round_: cluster, jobs, policy, now.
            time_budget: seconds until the answer must be there.
            pipeline: ``auto``, ``full``, or ``greedy``, which asks no solver.
            solver: name of a backend, or ``auto``.
            seed: of everything random.
            relative_gap: at which the solver may stop.
            node_limit: most branch-and-bound nodes; None: unlimited.
            threads: of the solver; 1 repeats exactly.
            proposers: names of the service's proposers to ask as well.
            steps: what to do otherwise than the planner does at the round's size.
            warm_start: of the answer to the round before; empty: a cold start.
            previous_plan: an earlier plan, tried as a proposal.
            request_id: comes back in the answer.
            timeout: seconds after which nobody waits any more; None: the time budget and ten seconds.

        Raises:
            ServiceError: the call failed.
        """
        parameters = PlanParameters(
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
            previous_plan=previous_plan,
        )
        return read_result(self.send_round(write_round(round_, parameters, compact=True), timeout=timeout))

    def send_round(
        self, request: round_pb2.PlanRoundRequest, *, timeout: float | None = None
    ) -> round_pb2.PlanRoundResponse:
        """PlanRound on the contract's own messages.

        Args:
            request: the request, as a round file holds it.
            timeout: as in :meth:`plan_round`.

        Raises:
            ServiceError: the call failed.
        """
        if timeout is None:
            budget = _DEFAULTS.time_budget_seconds
            if request.parameters.HasField("time_budget"):
                budget = request.parameters.time_budget.ToNanoseconds() / 1e9
            timeout = budget + _AFTER_BUDGET_SECONDS
        return self._transport.call("PlanRound", request, round_pb2.PlanRoundResponse, timeout)

    def validate_plan(self, round_: Round, plan: Plan, /, *, timeout: float | None = 60.0) -> Validation:
        """What the service's independent verifier says of a plan.

        Raises:
            ServiceError: the call failed; a plan that breaks a rule is an answer.
        """
        request = placement_service_pb2.ValidatePlanRequest(
            round=write_round(round_, _DEFAULTS, compact=True), plan=write_plan(plan)
        )
        answer = self._transport.call(
            "ValidatePlan", request, placement_service_pb2.ValidatePlanResponse, timeout
        )
        return Validation(
            valid=answer.valid,
            violations=tuple(PlanViolation(v.rule, v.subject, v.message) for v in answer.violations),
            objective=answer.objective if answer.HasField("objective") else None,
            objective_by_term={part.term: part.contribution for part in answer.terms},
        )

    def check_admission(
        self, round_: Round, job: str, /, *, timeout: float | None = 60.0
    ) -> admission_pb2.CheckAdmissionResponse:
        """Whether the waiting ``job`` of a round can meet its deadline beside all others that have one.

        Raises:
            ServiceError: the call failed, or there is no such job; no is an answer.
        """
        request = admission_pb2.CheckAdmissionRequest(
            round=write_round(round_, _DEFAULTS, compact=True), job=job
        )
        return self._transport.call("CheckAdmission", request, admission_pb2.CheckAdmissionResponse, timeout)

    def list_solvers(self, *, timeout: float | None = 30.0) -> tuple[SolverDescription, ...]:
        """The service's solver backends, by name.

        Raises:
            ServiceError: the call failed.
        """
        request = placement_service_pb2.ListSolversRequest()
        answer = self._transport.call(
            "ListSolvers", request, placement_service_pb2.ListSolversResponse, timeout
        )
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

    def get_capabilities(self, *, timeout: float | None = 30.0) -> ServiceCapabilities:
        """What the service can do.

        Raises:
            ServiceError: the call failed.
        """
        request = placement_service_pb2.GetCapabilitiesRequest()
        answer = self._transport.call(
            "GetCapabilities", request, placement_service_pb2.GetCapabilitiesResponse, timeout
        )
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

    def close(self) -> None:
        """Let go of the channel, or of the solver worker."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
