"""However backends fail, a round is answered with its best verified plan."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace

import pytest

from gangplan.domain.plan import TerminationLimit, TerminationReason
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.errors import BackendError, UnknownSolverError
from gangplan.model.program import Solution, SolveLimit, SolveStatus
from gangplan.testing.builders import job, node, round_of
from gangplan_solvers import catalog
from gangplan_solvers.backend import Availability, Feature

ROUND = round_of([node("n", "H100", 2)], [job("a"), job("b")])


class FailingRunner:
    """Every backend crashes."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def solve(self, backend, *_):
        self.asked.append(backend)
        raise BackendError("it crashed")

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def others(monkeypatch):
    """Beside our backends one that is not installed, and one whose module is broken."""
    absent = SimpleNamespace(
        name="absent",
        features=frozenset(Feature),
        availability=lambda: Availability(False, reason="it is not installed"),
    )
    monkeypatch.setitem(sys.modules, "absent_backend", SimpleNamespace(BACKEND=absent))
    known = {
        "absent": "absent_backend:BACKEND",
        "broken": "no_such_module:BACKEND",
        "cpsat": "gangplan_solvers.cpsat:BACKEND",
        "highs": "gangplan_solvers.highs:BACKEND",
    }
    monkeypatch.setattr(catalog, "_installed", lambda: known)


def test_when_all_that_can_be_used_fail_the_plan_without_a_solver_is_the_answer():
    runner = FailingRunner()
    result = plan_round(ROUND, PlanParameters(), runner=runner)
    assert sorted(runner.asked) == ["cpsat", "highs"]
    assert result.verified
    assert len(result.plan.actions) == 2
    assert result.limit is TerminationLimit.FAILURE
    assert result.detail == "cpsat: it crashed; highs: it crashed"


def test_who_claims_that_there_is_no_plan_proves_nothing():
    """Whether or not the plan at hand could be given to it as a start."""

    class DenyingRunner(FailingRunner):
        def solve(self, backend, *_):
            self.asked.append(backend)
            return Solution(SolveStatus.INFEASIBLE, SolveLimit.NONE, None, None, -math.inf, 0.0)

    runner = DenyingRunner()
    crowd = [job(f"j{i}", gpus=2) for i in range(4)]
    result = plan_round(round_of([node("n", "H100", 3)], crowd), PlanParameters(), runner=runner)
    assert sorted(runner.asked) == ["cpsat", "highs"]
    assert result.limit is TerminationLimit.FAILURE
    assert result.reason is TerminationReason.FEASIBLE
    assert result.quality.bound > result.quality.objective


def test_a_solver_asked_for_by_name_is_the_only_one_asked():
    runner = FailingRunner()
    result = plan_round(ROUND, PlanParameters(solver="highs"), runner=runner)
    assert runner.asked == ["highs"]
    assert result.limit is TerminationLimit.FAILURE


def test_a_solver_that_is_not_known_is_the_callers_mistake():
    with pytest.raises(UnknownSolverError, match="no solver 'gurobi'"):
        plan_round(ROUND, PlanParameters(solver="gurobi"), runner=FailingRunner())
