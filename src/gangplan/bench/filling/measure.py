"""A filled cluster as one row."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from gangplan.bench.filling.arrivals import Integers, Trace, arrivals, every_nth, read_trace
from gangplan.bench.filling.ceiling import ceiling
from gangplan.bench.filling.in_rounds import fill_in_rounds
from gangplan.bench.filling.ledger import Filled, allocated
from gangplan.bench.filling.peers import POLICIES, fill
from gangplan.bench.runs import Row, Run, Status
from gangplan.domain.presets import PRESETS
from gangplan.engine.parameters import Pipeline, PlanParameters
from gangplan.errors import FieldViolation, InvalidInputError

CEILING = "upper-bound"
PLANNER = "gangplan"
DEMAND = 1.3


def measure(run: Run) -> Row:
    """The row of a run: ``who`` is a policy of one pod at a time, ``gangplan-N`` in rounds of N pods, or
    ``upper-bound``. ``options`` may set ``demand``, what pods ask for in all over what there is,
    ``every``, to take every n-th node only, and ``preset``, gangplan's policy. The row's
    ``allocated_percent`` is of all device thousandths when the last pod has come,
    ``allocated_percent_at_capacity`` when as much was asked for as there is.

    Raises:
        InvalidInputError: there is no such policy, or the trace cannot be read.
    """
    if run.who not in (*POLICIES, CEILING) and not _pods_per_round(run.who):
        said = f"no policy {run.who!r}; there are: {', '.join((*POLICIES, 'gangplan-N', CEILING))}"
        raise InvalidInputError([FieldViolation("who", said)])
    if run.options.get("preset") not in (None, *PRESETS):
        there = f"there are: {', '.join(PRESETS)}"
        raise InvalidInputError([FieldViolation("options.preset", f"no preset; {there}")])
    trace = read_trace(Path(run.source), pods=run.instance.split("/")[1])
    trace = every_nth(trace, int(run.options.get("every", 1)))
    order = arrivals(trace, run.seed, float(run.options.get("demand", DEMAND)))
    began = time.perf_counter(), time.process_time()
    found = _ceiling(trace, order) if run.who == CEILING else _filled(trace, order, run)
    return {
        "policy": PLANNER if _pods_per_round(run.who) else run.who,
        **found,
        "pods": len(order),
        "devices": trace.nodes.milli // 1000,
        "wall_s": time.perf_counter() - began[0],
        "cpu_s": time.process_time() - began[1],
    }


def _ceiling(trace: Trace, order: Integers) -> Row:
    return {
        "status": Status.FEASIBLE.value,
        "pods_per_round": len(order),
        "mode": "offline",
        "allocated_percent": 100.0 * ceiling(trace, order) / trace.nodes.milli,
    }


def _filled(trace: Trace, order: Integers, run: Run) -> Row:
    row, filled = _placed(trace, order, run)
    try:
        taken = allocated(trace, order, filled)
    except ValueError as error:
        return row | {"status": Status.WRONG.value, "error": str(error)}
    asked = np.cumsum(trace.classes.demand[order])
    at_capacity = int(np.searchsorted(asked, trace.nodes.milli, side="right")) - 1
    return row | {
        "status": Status.FEASIBLE.value,
        "allocated_percent": 100.0 * int(taken[-1]) / trace.nodes.milli,
        "allocated_percent_at_capacity": 100.0 * int(taken[at_capacity]) / trace.nodes.milli,
        "pods_placed": int((filled.node >= 0).sum()),
    }


def _pods_per_round(who: str) -> int:
    """N of ``gangplan-N``; 0 for any other."""
    planner, _, number = who.partition("-")
    return int(number) if planner == PLANNER and number.isdecimal() else 0


def _placed(trace: Trace, order: Integers, run: Run) -> tuple[Row, Filled]:
    """What the row says of how pods were placed, and where they went."""
    pods = _pods_per_round(run.who)
    if not pods:
        return {"pods_per_round": 1, "mode": "online"}, fill(trace, order, run.who, run.seed)
    mode: Pipeline = "greedy" if run.pipeline == "greedy" else "full"
    how = PlanParameters(pipeline=mode, solver=run.solver, time_budget_seconds=run.time_limit_s)
    preset = run.options.get("preset")
    filled = fill_in_rounds(trace, order, pods, how, preset)
    return {"pods_per_round": pods, "mode": mode, "preset": preset}, filled
