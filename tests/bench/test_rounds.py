"""The status of a round's row is the verifier's word, whatever the answer says of itself."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from gangplan.bench import machine, rounds
from gangplan.bench.runs import Run
from gangplan.domain.plan import Plan, RoundResult, Stage
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.errors import NoVerifiedPlanError, ServiceError

RUN = Run("by-hand", "rounds", "S/steady/50/seed0", solver="highs", pipeline="greedy", time_limit_s=30.0)


@pytest.fixture
def measured(
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[Callable[[RoundResult], RoundResult]], dict[str, Any]]:
    """The row of an answer that was changed on its way."""

    def measure(change: Callable[[RoundResult], RoundResult]) -> dict[str, Any]:
        @contextmanager
        def planning(run: Run) -> Iterator[rounds.Planning]:
            def plan(round_: Round) -> rounds.Answered:
                result = plan_round(round_, PlanParameters(time_budget_seconds=30.0, pipeline="greedy"))
                return rounds.Answered(change(result), 0.5, 0.1, {}, 10**8, 2 * 10**8)

            yield plan

        monkeypatch.setattr(rounds, "_planning", planning)
        monkeypatch.setattr(machine, "calibrate", lambda: 0.05)
        return rounds.measure(RUN)

    return measure


def untouched(result: RoundResult) -> RoundResult:
    return result


def closed(result: RoundResult) -> RoundResult:
    return replace(result, quality=replace(result.quality, bound=result.quality.objective, relative_gap=0.0))


def without_an_action(result: RoundResult) -> RoundResult:
    return replace(result, plan=Plan(result.plan.actions[1:]))


def with_a_better_value(result: RoundResult) -> RoundResult:
    return replace(result, quality=replace(result.quality, objective=result.quality.objective + 0.01))


def with_a_bound_below(result: RoundResult) -> RoundResult:
    return replace(result, quality=replace(result.quality, bound=result.quality.objective - 0.1))


def too_late(_: RoundResult) -> RoundResult:
    raise ServiceError("too late", "DEADLINE_EXCEEDED")


def refused(_: RoundResult) -> RoundResult:
    raise ServiceError("a bug", "INTERNAL")


def nothing(_: RoundResult) -> RoundResult:
    raise NoVerifiedPlanError("not even keeping")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (untouched, "FEASIBLE"),
        (closed, "OPTIMAL"),
        (without_an_action, "WRONG"),
        (with_a_better_value, "WRONG"),
        (with_a_bound_below, "WRONG"),
        (too_late, "TIMEOUT"),
        (refused, "ERROR"),
        (nothing, "NO_SOLUTION"),
    ],
)
def test_each_answer_has_its_status(measured: Any, change: Any, status: str) -> None:
    assert measured(change)["status"] == status


def test_a_service_that_the_system_ended_for_its_memory_is_told(
    measured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = iter((3, 4))
    monkeypatch.setattr(machine, "out_of_memory_kills", lambda: next(counts))
    assert measured(refused)["status"] == "OOM"


def test_stages_are_moved_by_what_lies_outside(measured: Any) -> None:
    """0.1 s lies outside the planner, of which 0.04 s were waiting and reading that stages hold already."""

    def shaped(result: RoundResult) -> RoundResult:
        value = result.quality.objective
        stages = (
            Stage("keep_and_fill", 0.1, result.quality.keep_and_fill, None),
            Stage("greedy", 0.2, value, value * 1.02),
        )
        return replace(result, stages=stages, seconds_by_phase={"wait": 0.01, "read": 0.03, "total": 0.4})

    row = measured(shaped)
    assert row["keep_and_fill_s"] == pytest.approx(0.16)
    assert row["first_s"] == pytest.approx(0.26)
    assert row["curve"][0][0] == pytest.approx(0.16)
    assert row["wall_s"] == row["curve"][-1][0] == 0.5


def test_without_the_fast_path_there_is_no_first_figure(measured: Any) -> None:
    def only_kept(result: RoundResult) -> RoundResult:
        return replace(result, stages=tuple(s for s in result.stages if s.name == "keep_and_fill"))

    row = measured(only_kept)
    assert row["first_s"] is None
    assert row["keep_and_fill_s"] is not None
