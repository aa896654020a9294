"""One run of ours in this process: plan the round as the service does, judge the plan anew, print a row.

    python measure.py RUN          # RUN: the fields of cases.Run as JSON

The service's planner with one warm solver process is what is measured, from the round at hand to the answer;
no wire. Everything else (calibration, verification, the permuted input) comes before or after.
"""

from __future__ import annotations

import dataclasses
import json
import math
import random
import sys
import time
from typing import Any, TypeVar

import cases
import machine

from gangplan.domain.plan import RoundResult, TerminationLimit
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.runner import Cancellation
from gangplan.model.verifier.verify import verify
from gangplan.service.planner import EnginePlanner

PACKAGES = ("gangplan", "numpy", "highspy", "ortools")
OPTIMAL_GAP = 1e-6
_AGREEMENT = 1e-9
_Item = TypeVar("_Item")


def measure(run: cases.Run) -> dict[str, Any]:
    """The row of a run."""
    case = cases.load(run)
    planner = EnginePlanner(workers=1)
    try:
        planner.warm()
        calibration = [machine.calibrate()]
        load = [machine.load_average()]
        began = time.perf_counter()
        result = _plan(planner, case.round, run)
        wall = time.perf_counter() - began
        peaks = machine.peak_bytes()
        calibration.append(machine.calibrate())
        load.append(machine.load_average())
        same = _same_when_permuted(planner, case.round, run, result)
    finally:
        planner.close()
    return {
        **dataclasses.asdict(run),
        "pipeline": result.pipeline,
        "solver_version": result.solver,
        **_size(case.round, result),
        **_times(result, wall),
        **_worth(result, case.unit),
        **_judged(case.round, result),
        "permuted_same": same,
        "peak_rss_bytes": max(peaks.values()),
        "sum_rss_bytes": sum(peaks.values()),
        "calibration_s": calibration,
        "load": load,
        **dict(case.remarks),
    }


def _plan(planner: EnginePlanner, round_: Round, run: cases.Run) -> RoundResult:
    parameters = PlanParameters(time_budget_seconds=run.time_limit_s, pipeline="full", solver=run.solver)
    return planner.plan(round_, parameters, Budget(run.time_limit_s), Cancellation())


def _size(round_: Round, result: RoundResult) -> dict[str, float]:
    found = result.statistics
    return {
        "jobs": len(round_.jobs),
        "running": sum(job.running is not None for job in round_.jobs),
        "nodes": len(round_.cluster.nodes),
        "devices": sum(node.device_count for node in round_.cluster.nodes),
        "classes": found["classes"],
        "columns": found.get("columns", 0),
        "rows": found.get("rows", 0),
        "nonzeros": found.get("nonzeros", 0),
        "solver_nodes": found.get("solver_nodes", 0),
        "unbound_gangs": found.get("unbound_gangs", 0),
        "taken_back": found["taken_back_actions"],
    }


def _times(result: RoundResult, wall: float) -> dict[str, Any]:
    """Seconds. ``first_s`` is the fast path's plan (decision 45), ``exact_s`` the solver's last, verified;
    ``solve_s`` is all that was spent in solvers (a second programme eases what could not be bound).
    """
    at = {stage.name: stage.seconds for stage in reversed(result.stages)}
    before = [stage for stage in result.stages if stage.name != "take_back"]
    phases = dict(result.seconds_by_phase)
    return {
        "keep_and_fill_s": at["keep_and_fill"],
        "first_s": at["greedy"],
        "exact_s": before[-1].seconds if "exact" in at else None,
        "build_s": phases["instance"] + phases.get("formulate", 0.0),
        "solve_s": phases.get("solve"),
        "wall_s": wall,
        "seconds_by_phase": phases,
    }


def _worth(result: RoundResult, unit: float) -> dict[str, Any]:
    """Objective, bound and gaps; those of the earlier plans against the bound known at the end.

    ``exact_objective`` is the best plan's before the take-back, which judges otherwise than the objective
    (decision 14); ``proved`` says whether that one was proved to be the programme's optimum.
    """
    quality = result.quality
    value = {stage.name: stage.objective for stage in reversed(result.stages)}
    fill, greedy = quality.keep_and_fill, value["greedy"]
    judged = [s.objective for s in result.stages if s.objective is not None and s.name != "take_back"]
    best = max(judged)

    def gap(objective: float) -> float:
        return (quality.bound - objective) / abs(quality.bound) if quality.bound else 0.0

    return {
        "objective": quality.objective,
        "bound": quality.bound,
        "gap": quality.relative_gap,
        "gap_of_gain": quality.gap_of_gain,
        "keep_and_fill_gap": gap(fill),
        "greedy_gap": None if greedy is None else gap(greedy),
        "first_gap": gap(fill if greedy is None else max(fill, greedy)),
        "exact_objective": best,
        "proved": quality.bound - best <= OPTIMAL_GAP * abs(best),
        "reason": result.reason.value,
        "limit": result.limit.value,
        "detail": result.detail,
        "objective_in_their_unit": best * unit,
    }


def _judged(round_: Round, result: RoundResult) -> dict[str, Any]:
    """The plan judged once more, from the round and the plan alone, and the devices that it allocates."""
    verification = verify(round_, result.plan)
    agrees = math.isclose(verification.objective, result.quality.objective, rel_tol=_AGREEMENT)
    kinds: dict[str, int] = {}
    for action in result.plan.actions:
        kinds[action.kind.value] = kinds.get(action.kind.value, 0) + 1
    return {
        "verified": result.verified and verification.valid and agrees,
        "devices_allocated": sum(outcome.devices for outcome in verification.outcomes.values()),
        "jobs_placed": sum(bool(outcome.counts) for outcome in verification.outcomes.values()),
        "actions": kinds,
    }


def _same_when_permuted(
    planner: EnginePlanner, round_: Round, run: cases.Run, result: RoundResult
) -> bool | None:
    """Whether every list in another order gives the same plan; None where a limit makes that luck."""
    if result.limit is not TerminationLimit.NONE:
        return None
    other = _plan(planner, permute(round_, run.seed), run)
    return other.plan == result.plan if other.limit is TerminationLimit.NONE else None


def permute(round_: Round, seed: int) -> Round:
    """The same round with its lists in another order."""
    rng = random.Random(seed)

    def mixed(items: tuple[_Item, ...]) -> tuple[_Item, ...]:
        return tuple(rng.sample(items, len(items)))

    topology = round_.cluster.topology
    return dataclasses.replace(
        round_,
        cluster=dataclasses.replace(
            round_.cluster,
            nodes=mixed(round_.cluster.nodes),
            topology=dataclasses.replace(topology, domains=mixed(topology.domains)),
        ),
        accelerators=mixed(round_.accelerators),
        queues=mixed(round_.queues),
        jobs=mixed(round_.jobs),
        profiles=mixed(round_.profiles),
    )


def main() -> None:
    """Measure the run that the first argument describes."""
    row = measure(cases.Run(**json.loads(sys.argv[1])))
    row |= {"versions": machine.versions(*PACKAGES), "machine": machine.describe()}
    print(json.dumps(row))


if __name__ == "__main__":
    main()
