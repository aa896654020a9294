"""Reason, verdicts and gaps of one answer agree with each other."""

from __future__ import annotations

from gangplan.domain.plan import TerminationLimit, TerminationReason, VerdictKind
from gangplan.engine.answer import answer
from gangplan.engine.budget import Budget
from gangplan.engine.exact import Exact
from gangplan.engine.judge import Judge
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.stages import Staged
from gangplan.engine.take_back import TakenBack
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.verifier.facts import round_facts
from gangplan.testing.builders import job, node, round_of


def test_beside_a_plan_proved_best_nothing_is_undecided() -> None:
    """No solver was asked, and the bound closes the gap: who waits is not chosen, rather than not found."""
    round_ = round_of([node("a", "H100", 1)], [job("i"), job("j")])
    instance = build_instance(round_)
    judge = Judge(instance, round_facts(round_), Budget())
    floor = judge.consider("keep_and_fill", keep_and_fill(instance))
    assert floor is not None
    for bound, reason, kind in (
        (floor.value, TerminationReason.OPTIMAL, VerdictKind.NOT_CHOSEN),
        (floor.value + 1.0, TerminationReason.FEASIBLE, VerdictKind.NOT_FOUND_IN_BUDGET),
    ):
        judge.bound = bound
        exact = Exact(None, TerminationLimit.NONE, "", None)
        staged, settled = Staged(judge, floor), TakenBack(floor, 0, 0)
        result = answer(judge, PlanParameters(pipeline="greedy"), staged, exact, settled)
        assert result.reason is reason
        assert [(verdict.job, verdict.kind) for verdict in result.verdicts] == [("j", kind)]


def test_where_verdicts_would_make_the_answer_late_it_goes_without() -> None:
    """Four fifths of the slowest verification is what they cost at least."""
    round_ = round_of([node("a", "H100", 1)], [job("i"), job("j")])
    instance = build_instance(round_)
    judge = Judge(instance, round_facts(round_), Budget(1_000.0))
    floor = judge.consider("keep_and_fill", keep_and_fill(instance))
    assert floor is not None
    exact = Exact(None, TerminationLimit.NONE, "", None)
    for slowest, kind in ((1_240.0, VerdictKind.NOT_FOUND_IN_BUDGET), (1_260.0, VerdictKind.NOT_ATTEMPTED)):
        judge.slowest_seconds = slowest
        staged, settled = Staged(judge, floor), TakenBack(floor, 0, 0)
        result = answer(judge, PlanParameters(pipeline="greedy"), staged, exact, settled)
        assert [verdict.kind for verdict in result.verdicts] == [kind]
