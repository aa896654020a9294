"""Planning as the properties of the engine need it: in this process, with time enough for anything."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

from gangplan.domain.plan import ActionKind, Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.runner import InProcessRunner
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment
from gangplan_solvers import catalog

BACKENDS = [line.name for line in catalog.describe() if line.availability.available]
DEFAULTS = [name for name in BACKENDS if name in ("cpsat", "highs")]
"""Those that are chosen where the caller does not choose."""
BUDGET = 600.0
"""Seconds: enough that no answer here depends on how busy the machine is."""
RELATIVE = 1e-6
PHASES = tuple(phase for phase in Phase if phase is not Phase.explain)
"""To explain a failure line by line takes longer than all the rest."""

drawn = settings(suppress_health_check=list(HealthCheck), phases=PHASES)
"""For every property that plans what it draws."""

in_depth = pytest.fixture(
    scope="module",
    autouse=True,
    params=["quick", pytest.param("deep", marks=[pytest.mark.deep, pytest.mark.timeout(3_000)])],
)
"""Makes of a module's ``depth()`` a fixture, by which `make test-deep` takes all its tests again, with many
more examples."""


def planned(round_: Round, solver: str = "highs", **parameters: object) -> RoundResult:
    """The answer to ``round_``."""
    how = PlanParameters(time_budget_seconds=BUDGET, solver=solver, **parameters)
    return plan_round(round_, how, runner=InProcessRunner())


def slack(value: float) -> float:
    """What rounding may do to ``value``."""
    return RELATIVE * max(1.0, abs(value))


def reached(result: RoundResult) -> float:
    """Value of the best verified plan on the way; what is taken back afterwards may be worth less."""
    return max(stage.objective for stage in result.stages if stage.objective is not None)


def closed(result: RoundResult) -> bool:
    """Whether :func:`reached` is the optimum."""
    return result.quality.bound - reached(result) <= slack(result.quality.bound)


def as_decided(instance: Instance, assignment: Assignment, plan: Plan) -> bool:
    """Whether nobody happens to lie closer together than decided, or on the very place that it has."""
    action = {a.job: a for a in plan.actions}
    return all(
        action[instance.jobs[j].name].kind is not ActionKind.KEEP
        and action[instance.jobs[j].name].scope
        == instance.speeds.scopes[instance.option_at(placed.option).scope]
        for j, placed in assignment.placed.items()
    )
