"""How much work each phase of a round takes: counters of one size, for exponents between two.

A round is planned twice in this process, without any limit of time, so that both do the same: once as it is,
for seconds and for the engine's own counters, and once with the lines of every phase counted (``lines``), the
compiled loops that place jobs on nodes run as Python. The walk of the prices runs in a thread and would take
hours as Python; its work is the lines of one evaluation times how many there were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gangplan.bench import machine
from gangplan.bench.interpreted import interpreted
from gangplan.bench.lines import CountedBudget, Lines
from gangplan.bench.permute import permute_round
from gangplan.bench.runs import Row, Run, Status
from gangplan.domain.plan import RoundResult, TerminationLimit

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.engine.parameters import PlanParameters

Work = dict[str, dict[str, float]]
"""By phase and counter."""

SIZE, OUTCOME = "size", "outcome"
"""What is no phase: how large a round is, and what became of it."""
_SIZES = frozenset({"jobs", "nodes", "classes", "pools", "options", "columns", "rows", "nonzeros"})
_OUTCOMES = frozenset(
    {
        "unbound_gangs",
        "taken_back_bundles",
        "taken_back_actions",
        "loose_resizes",
        "exact_steps",
        "looks",
        "reverts",
    }
)
TIMES = {"bundles": "looks", "revert": "reverts", "take_back": "taken_back_bundles"}
"""Phases that are gone through as often as there is something that does not pay, by the counter of how often:
luck more than size, so that their lines are those of one time; without one there are none."""
LUCK = frozenset({*TIMES, "settle", "held"})
"""Phases that a round may do without at any size; the last two plan it again where much was taken back."""
_LAST = frozenset({"solver_nodes", "solver_iterations", "solver_seconds"})
"""Of the last programme alone, whichever that was; every programme has counters of its own."""
_COUNTERS = ("columns", "rows", "nonzeros", "iterations", "nodes", "evaluations")
_PRACTICE = "S/steady/50/seed0"


def measure(run: Run) -> Row:
    """The row of a run: ``work`` by phase and counter, ``seconds_by_phase`` beside it."""
    from gangplan.bench.rounds import load, parameters
    from gangplan.engine.budget import Budget
    from gangplan.engine.practice import compile_loops
    from gangplan.engine.round import plan_round
    from gangplan.planning.generate import generate_named

    compile_loops()
    how = parameters(run)
    count_lines(generate_named(_PRACTICE), how)  # what is done once in a process is not this round's work
    round_ = permute_round(load(run).round, run.seed)
    plain = plan_round(round_, how, budget=Budget())
    lines, counted = count_lines(round_, how)
    work = work_of(plain.statistics)
    evaluations = {phase: counters.get("evaluations", 0.0) for phase, counters in work.items()}
    market, each = evaluation_lines(round_)
    for phase, number in lines.items():
        times = plain.statistics.get(TIMES[phase], 0.0) if phase in TIMES else 1.0
        counters = work.setdefault(phase, {})
        if times:
            counters["lines"] = float(number) / times
    work.setdefault("prices", {})["lines"] = work.get("prices", {}).get("lines", 0.0) + float(market)
    for phase, times in evaluations.items():
        if times:
            work[phase]["lines"] = work[phase].get("lines", 0.0) + times * each
    stopped = plain.limit not in {TerminationLimit.NONE, TerminationLimit.NODE}
    same = plain.plan == counted.plan and work_of(counted.statistics) == work_of(plain.statistics)
    problem = "a limit or a failure stopped it" if stopped else "" if same else "the two runs differ"
    return {
        "status": (Status.ERROR if problem else Status.FEASIBLE).value,
        "error": f"{problem}: {plain.detail}" if problem else None,
        "work": work,
        "statistics": dict(plain.statistics),
        "seconds_by_phase": dict(plain.seconds_by_phase),
        "limit": plain.limit.value,
        "detail": plain.detail,
        "calibration_s": [machine.calibrate()],
    }


def work_of(statistics: Mapping[str, float]) -> Work:
    """The engine's counters by phase: ``relax_iterations`` is the counter ``iterations`` of ``relax``."""
    found: Work = {}
    for name, value in statistics.items():
        phase, _, counter = name.rpartition("_")
        if name in _LAST:
            continue
        if name in _SIZES:
            phase, counter = SIZE, name
        elif name in _OUTCOMES:
            phase, counter = OUTCOME, name
        elif counter not in _COUNTERS:
            phase, counter = {"branches": "branch", "candidates": "verify"}.get(name, name), name
        found.setdefault(phase, {})[counter] = float(value)
    return found


def count_lines(round_: Round, how: PlanParameters) -> tuple[dict[str, int], RoundResult]:
    """Lines by phase from the bytes of the request to those of the answer, and the plan."""
    from gangplan.engine.round import plan_round
    from gangplan.service.wire import read_round_request, write_result, write_round
    from gangplan.v1 import round_pb2

    data = write_round(round_, how, compact=True).SerializeToString()
    lines = Lines()
    with interpreted("gangplan.model.packing"):
        with lines.counting("read"):
            sent, _ = read_round_request(round_pb2.PlanRoundRequest.FromString(data))
        with lines.counting():
            result = plan_round(sent, how, budget=CountedBudget(lines))
        with lines.counting("write"):
            write_result(result, request_id="", version="").SerializeToString()
    return lines.by_phase, result


def evaluation_lines(round_: Round) -> tuple[int, int]:
    """Lines that it takes to set prices up, and those of one evaluation.

    It is set up once before, uncounted: the first time, compiled loops look up their arguments' types.
    """
    from gangplan.model.instance.instance import build_instance
    from gangplan.model.prices.lagrangian import PriceSearch

    instance = build_instance(round_)
    setting_up, evaluating = Lines(), Lines()
    PriceSearch.of(instance)
    with setting_up.counting("prices"):
        search = PriceSearch.of(instance)
    guess = search.first_guess()
    with interpreted("gangplan.model.prices"), evaluating.counting("prices"):
        search.value(guess, search.rent)
    return setting_up.by_phase["prices"], evaluating.by_phase["prices"]
