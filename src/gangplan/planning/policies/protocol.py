"""What a policy offers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import Pipeline, PlanParameters
from gangplan.engine.practice import compile_loops
from gangplan.engine.round import plan_round
from gangplan.engine.runner import Runner


@dataclass(frozen=True, slots=True)
class How:
    """How policies that plan with the engine do it; others pass over it.

    By default no clock is read, so that a run repeats exactly: no time budget, and branch and bound of a
    round ends after so many nodes. Without a solver (``greedy``) a round takes half the time, but where a
    queue's limit has to be freed first, jobs may wait for as long as it is held.

    Attributes:
        pipeline: which steps are taken (decision 36).
        time_budget_seconds: of each round; None: none.
        node_limit: most branch-and-bound nodes of a round; None: no limit.
        seed: of everything random.
        runner: where solvers run; None: in this thread.
        replan_seconds: where a round kept everybody and started nobody, and nothing happens, the next plan is
            made so much later at the earliest; 0: in every round. See :meth:`steady_until`.
    """

    pipeline: Pipeline = "full"
    time_budget_seconds: float | None = None
    node_limit: int | None = 500
    seed: int = 0
    runner: Runner | None = None
    replan_seconds: float = 0.0

    def steady_until(self, round_: Round) -> float:
        """Until when gangplan's own policies keep all as it is after a round that changed nothing.

        Nothing exact can be said but for a moment: the next plan may differ without any event, since ratios
        of fairness and the slack of deadlines move with the clock, a stop gets cheaper by each checkpoint,
        and the horizon over which it must pay gets shorter with the work left. So whoever plays long
        histories declares how late such a change may be seen, and says so beside the figures. Who comes or
        ends, and a node that fails or comes back, is seen at once all the same.
        """
        return round_.now + self.replan_seconds

    def parameters(self, before: RoundResult | None, *, look_ahead_share: float = 0.0) -> PlanParameters:
        """What the engine is asked for.

        Args:
            before: the answer to the round before, whose prices it begins with; None: a cold start.
            look_ahead_share: share of the budget for a new outlook; 0: none is made.
        """
        asked = PlanParameters(
            pipeline=self.pipeline,
            seed=self.seed,
            node_limit=self.node_limit,
            look_ahead_share=look_ahead_share,
            warm_start=b"" if before is None else before.warm_start,
        )
        if self.time_budget_seconds is None:
            return asked
        return replace(asked, time_budget_seconds=self.time_budget_seconds)

    def plan(
        self, round_: Round, before: RoundResult | None, *, look_ahead_share: float = 0.0
    ) -> RoundResult:
        """The engine's answer, asked for by :meth:`parameters`; loops are compiled before its clock runs."""
        compile_loops()
        return plan_round(
            round_,
            self.parameters(before, look_ahead_share=look_ahead_share),
            runner=self.runner,
            budget=Budget(self.time_budget_seconds),
        )


class RoundPolicy(Protocol):
    """Decides one round after another."""

    @property
    def name(self) -> str:
        """What tables call it."""
        ...

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult | Plan:
        """A plan for the round, bare or with all that the engine answers.

        A policy holds no memory of its own: what it wants to remember is in its answer.

        Args:
            round_: what is there now.
            before: its own answer to the round before; None at first, and after a bare plan.
        """
        ...


@runtime_checkable
class Steady(Protocol):
    """A policy that knows for how long it would change nothing."""

    def steady_until(self, round_: Round) -> float:
        """Until when it would keep all as it is, seconds since the epoch.

        Asked after a round in which it kept everybody and started nobody; in the meantime nobody comes or
        ends, no node fails or comes back, and no gate opens. ``round_.now`` where it cannot tell.

        Args:
            round_: what was there.
        """
        ...
