"""How to plan a round, whatever the round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gangplan.domain.plan import Plan
from gangplan.engine.steps import UNCHANGED, Steps
from gangplan.kept import KeptRound

Pipeline = Literal["auto", "full", "greedy"]


@dataclass(frozen=True, slots=True)
class PlanParameters:
    """What a caller asks of the planner beside the round itself.

    Attributes:
        request_id: the caller's id of the request; the same id and content get the same answer. Empty: no id.
        time_budget_seconds: time from the arrival of the request to the answer; above 0 (decision 37).
        pipeline: which steps are taken (decision 36): ``greedy`` asks no solver, ``full`` takes all steps,
            ``auto`` chooses.
        solver: name of the backend; ``auto`` chooses.
        seed: seed of everything random.
        relative_gap: the solver may stop at this relative gap.
        node_limit: most branch-and-bound nodes; None is unlimited, 0 is no branching.
        threads: threads of the solver; 1 repeats exactly.
        proposers: names of installed proposers to ask as well (``engine/proposers.py``).
        steps: what to do otherwise than the table of steps says (``engine/steps.py``).
        warm_start: what the answer to the round before had (decision 33); empty: a cold start.
        look_ahead_share: share of the time that is left when the round is read which a new outlook may take
            (decision 31); 0: none is made, and an outlook that the round carries is followed as it is.
        previous_plan: an earlier plan, tried as a proposal; None: there is none.
        kept: what the last round on a session left to this one, so that only what is new is made; the answer
            is the same without. None: nothing.
    """

    request_id: str = ""
    time_budget_seconds: float = 5.0
    pipeline: Pipeline = "auto"
    solver: str = "auto"
    seed: int = 0
    relative_gap: float = 1e-7
    node_limit: int | None = None
    threads: int = 1
    proposers: tuple[str, ...] = ()
    steps: Steps = UNCHANGED
    warm_start: bytes = b""
    look_ahead_share: float = 0.0
    previous_plan: Plan | None = None
    kept: KeptRound | None = field(default=None, compare=False, repr=False)
