"""The pipeline: :func:`gangplan.engine.round.plan_round`, beside which the others stand.

Told the round and nothing else; the limit on time is for the whole round, not for one call of a solver. Its
solver runs in this process, like everybody's.
"""

from __future__ import annotations

from gangplan.bench.formulations.rival import Answer, Limits, Size, Unbound
from gangplan.domain.plan import TerminationLimit
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.instance.instance import Instance

_NO_LIMIT_SECONDS = 3600.0


def run_pipeline(instance: Instance, solver: str, limits: Limits) -> Answer:
    """Plan the round as the product does."""
    parameters = PlanParameters(
        time_budget_seconds=limits.time_limit_seconds or _NO_LIMIT_SECONDS,
        pipeline="full",
        solver=solver,
        seed=limits.seed,
        relative_gap=limits.relative_gap,
        node_limit=limits.node_limit,
        threads=limits.threads,
    )
    result = plan_round(instance.round, parameters)
    found, seconds = result.statistics, result.seconds_by_phase
    solving = seconds.get("solve", 0.0) + seconds.get("relax", 0.0)
    building = seconds.get("formulate", 0.0)
    rest = seconds["total"] - solving - building - seconds.get("instance", 0.0) - seconds.get("facts", 0.0)
    return Answer(
        result.plan,
        size=Size(*(int(found.get(name, 0)) for name in ("columns", "rows", "nonzeros"))),
        build_seconds=building,
        solve_seconds=solving,
        bind_seconds=rest,
        objective=result.quality.objective,
        bound=result.quality.bound,
        bound_holds=True,
        unbound=Unbound(int(found.get("unbound_gangs", 0))),
        nodes=int(found.get("solver_nodes", 0)),
        iterations=int(found.get("solver_iterations", 0)),
        solver=result.solver,
        limited=result.limit is not TerminationLimit.NONE,
        detail=result.detail,
    )
