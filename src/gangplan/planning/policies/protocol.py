"""What a policy offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.engine.parameters import Pipeline
from gangplan.engine.runner import Runner


@dataclass(frozen=True, slots=True)
class How:
    """How policies that plan with the engine do it; others pass over it.

    Attributes:
        pipeline: which steps are taken (decision 36). ``greedy`` reads no clock without a time budget.
        time_budget_seconds: of each round; None: none, and every step that asks no solver is taken in full,
            so that a run repeats exactly.
        seed: of everything random.
        runner: where solvers run; None: in this thread.
    """

    pipeline: Pipeline = "greedy"
    time_budget_seconds: float | None = None
    seed: int = 0
    runner: Runner | None = None


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
