"""The synchronous client."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

from gangplan.client import asked as ask
from gangplan.client.asked import DEFAULTS, Asked
from gangplan.client.following import Asking, Following
from gangplan.client.transport import GrpcTransport, InProcessTransport, Transport
from gangplan.engine.parameters import Pipeline
from gangplan.engine.steps import Steps
from gangplan.errors import ServiceError
from gangplan.service.options import DEFAULT_MAX_MESSAGE_BYTES, ServerOptions
from gangplan.v1 import admission_pb2, placement_service_pb2, planning_service_pb2, round_pb2

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gangplan.client.answers import ServiceCapabilities, SolverDescription, Validation
    from gangplan.client.credentials import Credentials
    from gangplan.domain.plan import Plan, RoundResult, Stage
    from gangplan.domain.round import Round

_A = TypeVar("_A")


class Client:
    """Plans rounds with a service.

    ::

        with Client("127.0.0.1:50051") as client:
            result = client.plan_round(round, time_budget=1.0)

    A call that fails raises :class:`~gangplan.errors.ServiceError` with the status code's name and, for bad
    input, the violations. UNAVAILABLE and CANCELLED, what a service that stops says, are tried again, a
    stream's while it has told nothing, and RESOURCE_EXHAUSTED after the time that the service names where
    asking twice is safe: with a ``request_id``, or where nothing is remembered.

    Args:
        address: ``host:port`` of the service.
        max_message_bytes: largest request and answer.
        name: of the caller, by which services share out their slots and remember requests; empty: its host.
        credentials: TLS, certificate and token; None: in the clear, and none.
        transport: how requests get there; None opens a channel to ``address``.

    Raises:
        InvalidInputError: the credentials cannot be read.
    """

    def __init__(
        self,
        address: str = "127.0.0.1:50051",
        *,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        name: str = "",
        credentials: Credentials | None = None,
        transport: Transport | None = None,
    ) -> None:
        self._transport = transport or GrpcTransport(
            address, max_message_bytes=max_message_bytes, name=name, credentials=credentials
        )

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
            look_ahead_share: share of the time for a new outlook; 0: the round's is followed as it is.
            previous_plan: an earlier plan, tried as a proposal.
            request_id: comes back in the answer; the same id with the same content gives the same answer.
            timeout: seconds after which nobody waits any more; None: the time budget and ten seconds.

        Raises:
            ServiceError: the call failed.
        """
        parameters = ask.parameters_of(
            time_budget=time_budget,
            pipeline=pipeline,
            solver=solver,
            seed=seed,
            relative_gap=relative_gap,
            node_limit=node_limit,
            threads=threads,
            proposers=proposers,
            steps=steps,
            warm_start=warm_start,
            look_ahead_share=look_ahead_share,
            previous_plan=previous_plan,
            request_id=request_id,
        )
        return self._call(ask.plan_round(round_, parameters, timeout))

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
        return self._call(ask.send_round(request, timeout))

    def stream_round(
        self, round_: Round, /, *, timeout: float | None = None, **parameters: Any
    ) -> Iterator[RoundResult]:
        """Each better plan as it is found, and last what :meth:`plan_round` gives; stop when one is enough.

        Args:
            round_: cluster, jobs, policy, now.
            timeout: as in :meth:`plan_round`.
            parameters: as in :meth:`plan_round`.

        Raises:
            ServiceError: the call failed.
        """
        asked = ask.stream_round(round_, ask.parameters_of(**parameters), timeout)
        for answer in self._transport.stream(asked):
            yield asked.read(answer)

    def send_stream(
        self, request: round_pb2.PlanRoundRequest, *, timeout: float | None = None
    ) -> Iterator[placement_service_pb2.StreamRoundResponse]:
        """StreamRound on the contract's own messages.

        Args:
            request: the request, as a round file holds it.
            timeout: as in :meth:`plan_round`.

        Raises:
            ServiceError: the call failed.
        """
        yield from self._transport.stream(ask.send_stream(request, timeout))

    def session(self) -> Session:
        """A session, for round after round: only what has changed is sent."""
        return Session(self)

    def validate_plan(self, round_: Round, plan: Plan, /, *, timeout: float | None = 60.0) -> Validation:
        """What the service's independent verifier says of a plan.

        Raises:
            ServiceError: the call failed; a plan that breaks a rule is an answer.
        """
        return self._call(ask.validate_plan(round_, plan, timeout))

    def check_admission(
        self, round_: Round, job: str, /, *, timeout: float | None = 60.0
    ) -> admission_pb2.CheckAdmissionResponse:
        """Whether the waiting ``job`` of a round can meet its deadline beside all others that have one.

        Raises:
            ServiceError: the call failed, or there is no such job; no is an answer.
        """
        return self._call(ask.check_admission(round_, job, timeout))

    def what_if(
        self,
        round_: Round,
        edits: Sequence[placement_service_pb2.RoundEdit],
        /,
        *,
        timeout: float | None = None,
        **parameters: Any,
    ) -> placement_service_pb2.WhatIfResponse:
        """What edits of a round would change; nothing is changed.

        Args:
            round_: cluster, jobs, policy, now.
            edits: in order, as the contract has them, e.g. ``RoundEdit(remove_node="node-3")``.
            timeout: as in :meth:`plan_round`.
            parameters: as in :meth:`plan_round`; each of the two plans gets half of the time budget.

        Raises:
            ServiceError: the call failed.
        """
        return self._call(ask.what_if(round_, edits, ask.parameters_of(**parameters), timeout))

    def explain_job(
        self,
        round_: Round,
        job: str,
        /,
        *,
        plan: Plan | None = None,
        timeout: float | None = None,
        **parameters: Any,
    ) -> placement_service_pb2.ExplainJobResponse:
        """Why a job waits and what would let it start, or why it runs where it runs.

        Args:
            round_: cluster, jobs, policy, now.
            job: its name.
            plan: that is explained; None: the service plans first, in half of the time budget.
            timeout: as in :meth:`plan_round`.
            parameters: as in :meth:`plan_round`.

        Raises:
            ServiceError: the call failed, there is no such job, or the plan breaks a rule.
        """
        return self._call(ask.explain_job(round_, job, plan, ask.parameters_of(**parameters), timeout))

    def recommend_placements(
        self,
        round_: Round,
        job: str,
        /,
        *,
        limit: int | None = None,
        without_evictions: bool = False,
        timeout: float | None = None,
        **parameters: Any,
    ) -> placement_service_pb2.RecommendPlacementsResponse:
        """The best places for a job, all that runs staying as it is but for those that must leave.

        Args:
            round_: cluster, jobs, policy, now.
            job: its name.
            limit: most places to name; None: 10.
            without_evictions: only places that nobody has to leave.
            timeout: as in :meth:`plan_round`.
            parameters: as in :meth:`plan_round`; of these the time budget counts.

        Raises:
            ServiceError: the call failed, or there is no such job.
        """
        asked = ask.parameters_of(**parameters)
        return self._call(ask.recommend_placements(round_, job, limit, without_evictions, asked, timeout))

    def compute_fair_shares(
        self, round_: Round, /, *, timeout: float | None = 60.0
    ) -> placement_service_pb2.ComputeFairSharesResponse:
        """What every job and queue of a round is owed.

        Raises:
            ServiceError: the call failed.
        """
        return self._call(ask.compute_fair_shares(round_, timeout))

    def simulate(
        self,
        round_: Round,
        /,
        *,
        policy: str = "",
        with_jobs: bool = False,
        timeout: float | None = None,
        **parameters: Any,
    ) -> Iterator[planning_service_pb2.SimulateResponse]:
        """Play a policy from a round on: progress as it comes, and last the metrics (``progress`` is 1).

        Who stops reading ends the simulation. Jobs with a ``submit_time`` after the round's ``now`` arrive
        then; each needs its work left.

        Args:
            round_: the first round.
            policy: who decides; a name that ``gangplan simulate --policy list`` knows.
            with_jobs: whether the last answer lists the jobs.
            timeout: seconds after which the call is given up; None: none.
            parameters: ``pipeline`` and ``seed`` as in :meth:`plan_round`.

        Raises:
            ServiceError: the call failed.
        """
        request = ask.simulate_request(round_, ask.parameters_of(**parameters), policy, with_jobs=with_jobs)
        yield from self._transport.stream(ask.simulate(request, timeout))

    def sweep(
        self,
        variants: Sequence[planning_service_pb2.SimulateRequest],
        /,
        *,
        timeout: float | None = None,
    ) -> Iterator[planning_service_pb2.SweepResponse]:
        """Play variants one after the other; as :meth:`simulate`, on the contract's own messages.

        Raises:
            ServiceError: the call failed.
        """
        request = planning_service_pb2.SweepRequest(variants=variants)
        yield from self._transport.stream(ask.sweep(request, timeout))

    def list_solvers(self, *, timeout: float | None = 30.0) -> tuple[SolverDescription, ...]:
        """The service's solver backends, by name.

        Raises:
            ServiceError: the call failed.
        """
        return self._call(ask.list_solvers(timeout))

    def get_capabilities(self, *, timeout: float | None = 30.0) -> ServiceCapabilities:
        """What the service can do.

        Raises:
            ServiceError: the call failed.
        """
        return self._call(ask.get_capabilities(timeout))

    def close(self) -> None:
        """Let go of the channel, or of the solver worker."""
        self._transport.close()

    def _call(self, asked: Asked[_A]) -> _A:
        """Ask, and ask again where that is safe and the service says when."""
        ends = None if asked.timeout is None else time.monotonic() + asked.timeout
        while True:
            left = None if ends is None else ends - time.monotonic()
            try:
                return asked.read(self._transport.call(asked, left))
            except ServiceError as error:
                wait = asked.seconds_to_wait(error, None if ends is None else ends - time.monotonic())
                if wait is None:
                    raise
            time.sleep(wait)

    def _drive(self, asking: Asking[_A]) -> _A:
        """Make the calls that ``asking`` asks for."""
        try:
            asked = next(asking)
            while True:
                try:
                    answer = self._call(asked)
                except ServiceError as error:
                    asked = asking.throw(error)
                else:
                    asked = asking.send(answer)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Session:
    """Round after round with one service; what the service has forgotten, or never got, it is told again.

    ::

        with Client("127.0.0.1:50051") as client, client.session() as session:
            while True:
                result = session.plan_round(round_as_it_is_now(), time_budget=1.0)
                carry_out(result.plan)

    Each round is given as it is now: which jobs there are, which of them run where. What was planned and does
    not run yet counts as under way for two rounds, or until :meth:`report_outcomes` says otherwise.

    Args:
        client: that makes the calls.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.following = Following()

    def plan_round(
        self, round_: Round, /, *, advisory: bool = False, timeout: float | None = None, **parameters: Any
    ) -> RoundResult:
        """The best verified plan for a round within the time budget.

        Args:
            round_: cluster, jobs, policy, now, as they are now; claims and outlook where they are not those
                of the last answer.
            advisory: the plan is not carried out; nothing of it counts as under way.
            timeout: as in :meth:`Client.plan_round`.
            parameters: as in :meth:`Client.plan_round`.

        Raises:
            ServiceError: a call failed.
        """
        asked = ask.parameters_of(**parameters)
        following = self.following.plan_round(round_, asked, advisory=advisory, timeout=timeout)
        return self._client._drive(following)

    def report_outcomes(self, outcomes: Mapping[str, str], /, *, now: float) -> None:
        """Say what became of actions of the last plan.

        Args:
            outcomes: ``BOUND``, ``EVICTED``, ``DONE``, ``REFUSED`` or ``EXPIRED`` by the action's id.
            now: seconds since the epoch.

        Raises:
            ServiceError: the call failed, or there is no such action in flight.
            ValueError: there was no plan, or there is no such outcome.
        """
        self._client._drive(self.following.report_outcomes(outcomes, now=now))

    def close(self) -> None:
        """End the session on the service."""
        self._client._drive(self.following.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
