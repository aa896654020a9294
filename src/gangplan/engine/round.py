"""One round, top to bottom: a round in, a verified plan out."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gangplan.domain.plan import RoundResult, Stage
from gangplan.domain.round import Round
from gangplan.engine.answer import answer, tell_better
from gangplan.engine.ask import Asking
from gangplan.engine.branch import branch
from gangplan.engine.budget import Budget
from gangplan.engine.exact import solve_exactly
from gangplan.engine.formulated import Formulated
from gangplan.engine.hold import Holding, plan_around
from gangplan.engine.judge import Judge
from gangplan.engine.look_ahead import look_ahead
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.plans_at_prices import plan_at_prices, plan_first
from gangplan.engine.practice import compile_loops
from gangplan.engine.price_thread import search_prices
from gangplan.engine.propose import consider_proposals
from gangplan.engine.proposers import ask
from gangplan.engine.registry import refuse_unknown
from gangplan.engine.runner import Cancellation, InProcessRunner, Runner
from gangplan.engine.settle import settle
from gangplan.engine.stages import decide_tiers
from gangplan.engine.steps import Ladder, ladder
from gangplan.engine.torn import deciding_torn
from gangplan.engine.warm_start import read_warm_start, write_warm_start
from gangplan.errors import NoVerifiedPlanError
from gangplan.garbage import collector_held_off
from gangplan.model.instance.free_blocks import with_free_blocks
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.fill import keep_and_fill, keep_only
from gangplan.model.verifier.facts import round_facts


@collector_held_off()
def plan_round(
    round_: Round,
    parameters: PlanParameters | None = None,
    *,
    runner: Runner | None = None,
    budget: Budget | None = None,
    cancellation: Cancellation | None = None,
    on_stage: Callable[[Stage], None] | None = None,
    on_better: Callable[[RoundResult], None] | None = None,
) -> RoundResult:
    """Plan one round; Python's collector of cycles waits until it is planned.

    Args:
        round_: a valid round, as ``service.wire`` or ``planning.scenario`` make it.
        parameters: how; by default the full pipeline within five seconds.
        runner: where solvers run; by default in this thread, which a solver may overrun or crash.
        budget: time already running, e.g. since the request came in; by default ``time_budget_seconds``
            from now.
        cancellation: to stop earlier, from another thread; the best plan so far is returned.
        on_stage: called with every candidate plan's stage as soon as it is verified.
        on_better: called with every plan that is better than all before it, verified and as a whole result;
            the first one keeps everything and fills what is free. Under tiers only plans of the last stage
            are told. What is returned may be worth a little less than the last one, where something was taken
            back that has no proved gain.

    Returns:
        The best verified plan found, with its bound, gaps, and a verdict for every job without a placement.

    Raises:
        InvalidInputError: ``parameters.warm_start`` is none.
        UnknownProposerError: ``parameters.proposers`` names one that is not installed.
        UnknownSolverError: ``parameters.solver`` names no usable backend.
        NoVerifiedPlanError: not even keeping everything passes the verifier, which is a bug.
    """
    parameters = parameters or PlanParameters()
    refuse_unknown(parameters.solver)  # also where no time is left to ask one
    if budget is None:
        compile_loops()  # once in a process, and before the clock runs
        budget = Budget(parameters.time_budget_seconds)
    warm, kept = read_warm_start(parameters.warm_start), parameters.kept
    asked = ask(round_, parameters.proposers, budget, cancellation)
    runner = runner or InProcessRunner()
    ahead = look_ahead(round_, parameters, runner, budget, cancellation)
    with budget.phase("instance"):
        instance = with_free_blocks(build_instance(ahead.round, None if kept is None else kept.model))
    how = ladder(len(instance.option), parameters.steps)
    with search_prices(instance, warm, budget, how.early, how.stretch) as searching:
        with budget.phase("facts"):
            facts = round_facts(ahead.round, None if kept is None else kept.verifier)
        judge = Judge(
            instance, facts, budget, on_stage, cancellation, kept=None if kept is None else kept.model
        )
        judge.note(ahead.remark, ahead.work)

        @cache
        def fill() -> Assignment:
            with budget.phase("fill"):
                return keep_and_fill(instance)

        first = plan_first(judge, searching, how.early, fill) if on_better is None else None
        floor = judge.consider("keep_and_fill", fill()) or judge.consider("keep", keep_only(instance))
        if floor is None:
            raise NoVerifiedPlanError("; ".join(map(str, judge.rejected)))
        judge.prefer(floor)
        if on_better is not None:  # the same plans, but who follows is told first what keeps and fills
            first = plan_first(judge, searching, how.early, fill)
        with budget.phase("prices"):
            search = searching.result(lambda: judge.hurried)
            prices = search.prices()
    judge.lower(prices.bound)
    judge.count("prices_evaluations", search.evaluations)
    asking = Asking(judge, parameters, runner, cancellation)
    staged = decide_tiers(judge, asking, floor)
    judge, floor = staged.judge, staged.floor
    if on_better is not None:
        tell_better(judge, parameters, floor, on_better)
    holding = Holding(judge, floor, _in_time(how, budget, parameters).held_share)
    plan_around(holding, search, plan_at_prices(holding, prices, first), name="greedy_held")
    prices = consider_proposals(judge, search, prices, asked, parameters.previous_plan)
    holding.look(judge.best or floor)
    formulated = Formulated(judge)
    if parameters.pipeline != "greedy":
        before = _in_time(how, budget, parameters)
        beside = before.torn if judge.gap > how.enough else None
        with deciding_torn(asking, formulated, prices, beside, holding) as torn:
            judge.work["branches"] = branch(judge, search, before, holding, follows=torn.begun)
    exact = solve_exactly(judge, asking, formulated, prices, how, holding)
    with budget.phase("take_back"):
        best = judge.best or floor
        settled = settle(judge, search, best, floor, holding.best, holding.taken_back.get(best))
    return answer(judge, parameters, staged, exact, settled, write_warm_start(search))


def _in_time(how: Ladder, budget: Budget, parameters: PlanParameters) -> Ladder:
    """The steps that there is time for by now."""
    return how.hastened(budget, parameters.steps) if parameters.pipeline == "auto" else how
