"""The look-ahead step: a fluid plan within its share of the budget, and the outlook to follow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.relaxation import solve_relaxation
from gangplan.engine.runner import Cancellation, Runner
from gangplan.model.instance.instance import build_instance
from gangplan.model.lookahead.buckets import build_buckets
from gangplan.model.lookahead.crowd import build_crowd, job_numbers
from gangplan.model.lookahead.fluid import Fluid, build_fluid, free_over_time, horizon_of
from gangplan.model.lookahead.outlook import make_outlook
from gangplan.model.program import SolveStatus

_LEAST_SECONDS = 0.002
"""Time below which a solver is not even asked."""
_OPTIONS = ((1.2, 1_200), (0.5, 600), (0.0, 250))
"""With at least so many seconds, so many options of all classes together. On two cores 1,200 took 0.5 s of
processor time at M and 0.8 s at XL, 600 a third of that."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """What the step made of the round.

    Attributes:
        round: the round with the outlook that it follows; without one where it was late.
        made: whether the outlook is new.
        remark: why there is none; empty when all went well or nobody asked.
        work: counters of work done.
    """

    round: Round
    made: bool = False
    remark: str = ""
    work: Mapping[str, int] = field(default_factory=dict)


def look_ahead(
    round_: Round,
    parameters: PlanParameters,
    runner: Runner,
    budget: Budget,
    cancellation: Cancellation | None = None,
) -> Ahead:
    """Make a new outlook, from the one that the round carries, within ``parameters.look_ahead_share``.

    With a share of 0 the round stays as it is and follows the outlook that it carries. When the share is not
    enough, or no solver can be used, the round has no outlook: it is planned on its own, and the answer says
    so.
    """
    share = parameters.look_ahead_share
    if share <= 0.0:
        return Ahead(round_)
    within = budget.less((1.0 - share) * budget.remaining) if budget.limited else budget
    alone = replace(round_, outlook=None)
    with budget.phase("look_ahead"):
        fluid = _fluid(alone, next(most for least, most in _OPTIONS if within.remaining >= least))
        work = {"look_ahead_columns": fluid.program.columns, "look_ahead_rows": fluid.program.rows}
        if not fluid.program.columns:
            return Ahead(
                replace(round_, outlook=make_outlook(fluid, np.zeros(0), round_.outlook)), True, "", work
            )
        if within.remaining <= _LEAST_SECONDS:
            return Ahead(alone, False, "no outlook: its share of the budget was too short", work)
        solution = solve_relaxation(fluid.program, runner, within, cancellation, seed=parameters.seed)
        if isinstance(solution, str):
            return Ahead(alone, False, f"no outlook: {solution}", work)
        work["look_ahead_iterations"] = solution.iterations
        if solution.status is not SolveStatus.OPTIMAL or solution.values is None:
            return Ahead(alone, False, f"no outlook: the solver ended {solution.status.value}", work)
        outlook = make_outlook(fluid, solution.values, round_.outlook)
    return Ahead(replace(round_, outlook=outlook), True, "", work)


def _fluid(round_: Round, most: int) -> Fluid:
    """The fluid plan's programme for all jobs of a round, in classes of at most so many options."""
    instance = build_instance(round_)
    numbers = job_numbers(instance)
    crowd = build_crowd(instance, numbers, np.flatnonzero(numbers.planned).tolist(), most)
    buckets = build_buckets(round_.round_seconds, horizon_of(instance, numbers, crowd))
    free = free_over_time(instance, numbers, buckets.edges[:-1])
    return build_fluid(instance, numbers, crowd, buckets, free)
