"""When solvers are not asked, fail, lie, are late or are called off, the engine answers anyway."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from gangplan.domain.plan import ActionKind, RoundResult, TerminationLimit, TerminationReason
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.runner import Cancellation, InProcessRunner
from gangplan.errors import WorkerError
from gangplan.model.program import FloatArray, Program, Solution, SolveParameters
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, group, job, node, round_of
from gangplan.testing.faulty_backends import EXTRA, LIARS
from gangplan.testing.strategies import rounds
from gangplan_solvers import catalog

H = "H100"
AVAILABLE = [line.name for line in catalog.describe() if line.availability.available]
PACKING = round_of(
    [node("a", H, 4), node("b", H, 4)],
    [job("big", group(gpus=3)), job("too", group(gpus=3)), job("pair", group(gpus=2))],
)
"""Worth 6; device prices alone say 8, so that only a solver can prove it."""


class Acted:
    """A runner in which some backends act as others, or as a function, do."""

    def __init__(self, acts: Mapping[str, str | Callable[[Budget], Solution]]) -> None:
        self.asked: list[str] = []
        self._acts = acts
        self._inner = InProcessRunner(EXTRA)

    def solve(
        self,
        backend: str,
        program: Program,
        parameters: SolveParameters,
        start: FloatArray | None,
        budget: Budget,
        cancellation: Cancellation | None = None,
    ) -> Solution:
        self.asked.append(backend)
        act = self._acts.get(backend, backend)
        if callable(act):
            return act(budget)
        return self._inner.solve(act, program, parameters, start, budget, cancellation)

    def close(self) -> None:
        self._inner.close()


def dies(budget: Budget) -> Solution:
    raise WorkerError("the solver process died (signal 11)")


def is_late(budget: Budget) -> Solution:
    time.sleep(budget.remaining)
    raise WorkerError("no answer within the budget")


def everybody(act: str | Callable[[Budget], Solution]) -> dict[str, str | Callable[[Budget], Solution]]:
    return dict.fromkeys(catalog.names(), act)


each_fault = pytest.mark.parametrize("fault", [*LIARS, "raise", "wrong-type", pytest.param(dies, id="dies")])


def plan(runner: object, *, solver: str = "auto", seconds: float = 60.0, **fields: object) -> RoundResult:
    parameters = PlanParameters(time_budget_seconds=seconds, solver=solver)
    result = plan_round(PACKING, parameters, runner=runner, **fields)
    assert verify(PACKING, result.plan).violations == ()
    assert result.quality.objective == 6.0
    assert result.quality.bound >= 6.0
    return result


def test_with_a_solver_it_is_proved():
    result = plan(InProcessRunner())
    assert (result.reason, result.limit) == (TerminationReason.OPTIMAL, TerminationLimit.NONE)
    assert result.pipeline == "full"
    assert result.solver
    assert result.detail == ""


def test_the_greedy_pipeline_asks_no_solver():
    runner = Acted(everybody(dies))
    result = plan_round(PACKING, PlanParameters(pipeline="greedy"), runner=runner)
    assert runner.asked == []
    assert verify(PACKING, result.plan).violations == ()
    assert (result.pipeline, result.solver, result.detail) == ("greedy", "", "")
    assert (result.reason, result.limit) == (TerminationReason.FEASIBLE, TerminationLimit.NONE)
    assert "columns" not in result.statistics


@each_fault
def test_a_solver_asked_for_by_name_that_fails_costs_the_proof_and_nothing_else(fault):
    runner = Acted({"highs": fault})
    result = plan(runner, solver="highs")
    assert runner.asked == ["highs"]
    assert (result.reason, result.limit) == (TerminationReason.FEASIBLE, TerminationLimit.FAILURE)
    assert "highs" in result.detail
    assert result.quality.bound == pytest.approx(8.0, abs=1e-6), "what prices prove"


@each_fault
def test_when_the_choice_is_ours_another_is_asked(fault):
    first = Acted({})
    plan(first)
    runner = Acted({first.asked[0]: fault})
    result = plan(runner)
    assert runner.asked[0] == first.asked[0]
    assert len(runner.asked) == 2
    assert result.reason is TerminationReason.OPTIMAL
    assert first.asked[0] in result.detail


def test_when_all_fail_each_is_named():
    runner = Acted(everybody(dies))
    result = plan(runner)
    assert set(runner.asked) == set(AVAILABLE)
    assert (result.reason, result.limit) == (TerminationReason.FEASIBLE, TerminationLimit.FAILURE)
    for name in runner.asked:
        assert f"{name}: the solver process died (signal 11)" in result.detail


def test_an_honest_solver_that_proves_nothing_leaves_the_plan_feasible():
    result = plan(Acted({"highs": "honest"}), solver="highs")
    assert result.reason is TerminationReason.FEASIBLE


def test_a_solver_that_is_late_ends_the_search_in_time():
    began = time.monotonic()
    result = plan(Acted(everybody(is_late)), seconds=1.0)
    assert time.monotonic() - began < 20.0
    assert (result.reason, result.limit) == (TerminationReason.FEASIBLE, TerminationLimit.TIME)


def test_a_call_cancelled_before_it_began_still_gets_a_plan():
    cancellation = Cancellation()
    cancellation.cancel()
    result = plan(InProcessRunner(), cancellation=cancellation)
    assert (result.reason, result.limit) == (TerminationReason.FEASIBLE, TerminationLimit.CANCELLED)
    assert "cancelled" in result.detail


def test_a_call_cancelled_on_its_first_plan_gets_the_best_so_far():
    cancellation = Cancellation()
    result = plan(InProcessRunner(), cancellation=cancellation, on_stage=lambda _: cancellation.cancel())
    assert result.limit is TerminationLimit.CANCELLED
    assert {stage.name for stage in result.stages} == {"greedy", "keep_and_fill"}


def test_every_stage_is_told_at_once_and_in_order():
    heard = []
    result = plan(InProcessRunner(), on_stage=heard.append)
    assert tuple(heard) == result.stages
    assert [stage.name for stage in heard][:3] == ["greedy", "keep_and_fill", "exact"]
    assert [stage.seconds for stage in heard] == sorted(stage.seconds for stage in heard)


@settings(
    max_examples=25,
    suppress_health_check=list(HealthCheck),
    phases=[p for p in Phase if p is not Phase.explain],
)
@given(rounds("medium"))
def test_with_a_millisecond_there_is_a_verified_plan_no_worse_than_keep_and_fill(round_):
    result = plan_round(round_, PlanParameters(time_budget_seconds=0.001))
    assert verify(round_, result.plan).violations == ()
    assert result.limit is TerminationLimit.TIME
    assert result.detail.split("; ")[0] == "the budget left no time for a solver"
    assert result.quality.objective >= result.quality.keep_and_fill - 1e-9
    assert result.quality.objective <= result.quality.bound + 1e-9


# Take-back (decisions 13 and 14)


def exchange(work_left: float | None) -> RoundResult:
    """Decision 13: a victim on 8 devices whose restart takes a round; another of weight 1.5, 8 units/s."""
    victim = job(
        "victim",
        gpus=8,
        restart_seconds=300.0,
        running=at("n", range(8)),
        checkpoint_age=0.0,
        started=-7200.0,
    )
    other = job("other", gpus=8, weight=1.5, work_left=work_left)
    round_ = round_of([node("n", H, 8)], [victim, other], round_seconds=300.0, horizon_seconds=3600.0)
    result = plan_round(round_, PlanParameters(time_budget_seconds=60.0))
    assert verify(round_, result.plan).violations == ()
    return result


def test_an_exchange_that_only_spread_costs_favour_is_taken_back():
    """Weights 0.8 and 1.2. Two rounds of work: 2 * (9.6 - 6.4) = 6.4 < 8, the restart of a round."""
    result = exchange(4_800.0)
    assert [(a.job, a.kind) for a in result.plan.actions] == [("victim", ActionKind.KEEP)]
    assert result.quality.objective == pytest.approx(6.4)
    spread = {stage.name: stage.objective for stage in result.stages}["exact"]
    assert spread == pytest.approx(9.6 - 8 * 300 / 3600)
    assert "took back 1 disruption" in result.detail
    assert result.statistics["taken_back_bundles"] == 1
    assert result.reason is TerminationReason.FEASIBLE
    assert result.quality.bound == pytest.approx(spread, abs=1e-5)


@pytest.mark.parametrize("work_left", [9_600.0, None])
def test_an_exchange_that_is_worth_it_stays(work_left):
    """Four rounds of work earn 4 * (9.6 - 6.4 - 0.05 * (9.6 + 6.4)) = 9.6 > 8; with unknown work the horizon
    of twelve rounds counts.
    """
    result = exchange(work_left)
    kinds = {a.job: a.kind for a in result.plan.actions}
    assert kinds == {"victim": ActionKind.EVICT, "other": ActionKind.PLACE}
    evicted = next(a for a in result.plan.actions if a.kind is ActionKind.EVICT)
    assert evicted.beneficiaries == ("other",)
    assert result.reason is TerminationReason.OPTIMAL


def test_an_exchange_that_is_worth_exactly_its_cost_is_taken_back():
    """8 000 units are ten thirds of a round: 10/3 * (3.2 - 0.05 * 16) = 8. Ties go to fewer actions."""
    assert [a.kind for a in exchange(8_000.0).plan.actions] == [ActionKind.KEEP]
