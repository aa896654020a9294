"""One formulation of one round as one row, judged by our verifier."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from gangplan.bench.formulations.rival import Answer
from gangplan.bench.runs import Row, Status
from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.model.verifier.facts import RoundFacts, round_facts
from gangplan.model.verifier.verify import verify

OPTIMAL_GAP = 1e-6
"""Relative gap up to which a plan counts as optimal (decision 23)."""


def row_of(round_: Round, formulation: str, answer: Answer) -> Row:
    """What a formulation achieved: verified values, its programme's own figures, times and counters.

    ``objective`` is the verifier's value of the plan at the end, ``objective_before_refill`` that of the plan
    before the refill, ``programme_objective`` what the programme promised before binding. ``bound`` is its
    programme's; only where ``bound_holds`` is it one on all plans. ``status`` is judged by the row's own
    bound; :func:`compare` judges anew by the best bound of all rows of the instance.
    """
    facts = round_facts(round_)
    judged = _judge(round_, answer.plan, facts)
    before = _judge(round_, answer.before_refill, facts)
    bound = answer.bound if math.isfinite(answer.bound) else None
    return {
        "formulation": formulation,
        **judged,
        "status": _status(judged, bound if answer.bound_holds else None).value,
        "objective_before_refill": before["objective"],
        "programme_objective": answer.objective,
        "bound": bound,
        "bound_holds": answer.bound_holds and bound is not None,
        "columns": answer.size.columns,
        "rows": answer.size.rows,
        "nonzeros": answer.size.nonzeros,
        "build_s": answer.build_seconds,
        "solve_s": answer.solve_seconds,
        "bind_s": answer.bind_seconds,
        "wall_s": answer.build_seconds + answer.solve_seconds + answer.bind_seconds,
        "unbound_gangs": answer.unbound.gangs,
        "unbound_devices": answer.unbound.devices,
        "solver_nodes": answer.nodes,
        "solver_iterations": answer.iterations,
        "solver_version": answer.solver,
        "limited": answer.limited,
        "detail": answer.detail,
        **answer.more,
    }


def compare(rows: Iterable[Row]) -> list[Row]:
    """Rows of one instance with the best bound known of it, their gaps against it, and a status by it."""
    rows = list(rows)
    known = [float(row["bound"]) for row in rows if row.get("bound_holds")]
    best = min(known, default=None)
    return [{**row, **_against(row, best)} for row in rows]


def _against(row: Row, best: float | None) -> Row:
    value = row.get("objective")
    if best is None or value is None:
        return {"best_bound": best, "gap": None}
    gap = (best - value) / abs(best) if best else 0.0
    return {"best_bound": best, "gap": gap, "status": _status(row, best).value}


def _status(row: Row, bound: float | None) -> Status:
    if row["violation"]:
        return Status.WRONG
    if row["objective"] is None:
        return Status.NO_SOLUTION
    value = float(row["objective"])
    if bound is None:
        return Status.FEASIBLE
    slack = OPTIMAL_GAP * max(1.0, abs(bound))
    if value > bound + slack:
        return Status.WRONG
    return Status.OPTIMAL if bound - value <= slack else Status.FEASIBLE


def _judge(round_: Round, plan: Plan | None, facts: RoundFacts) -> dict[str, Any]:
    """The verifier's word on a plan; no objective where it breaks a rule."""
    if plan is None:
        return {"objective": None, "violation": "", "actions": {}, "devices_allocated": 0}
    verification = verify(round_, plan, facts)
    kinds: dict[str, int] = {}
    for action in plan.actions:
        kinds[action.kind.value] = kinds.get(action.kind.value, 0) + 1
    first = verification.violations[0] if verification.violations else None
    return {
        "objective": verification.objective if verification.valid else None,
        "violation": f"{first.rule}: {first.message}" if first else "",
        "actions": kinds,
        "devices_allocated": sum(outcome.devices for outcome in verification.outcomes.values()),
    }
