"""Histories played round by round under one policy: a row each, or one for a batch of small ones.

``S/300/100/seed0`` is the history of that name (:mod:`gangplan.planning.histories`); ``small/50/seed3`` are
the fifty small ones with seeds 150 to 199, each played on its own: the row's figures are the means over them,
its counts their sums, its worst rho the worst of all, and ``each`` has what pairs with other policies.

``who`` is the policy, or the exact window programme (:mod:`gangplan.planning.window`), which knows all and is
followed in the same loop: ``window-completion`` and ``window-rho``, each within the time limit. ``options``
may set ``told`` (``exact``, ``noisy``, ``predicted``, ``unknown``: decision 15; every row says it),
``noise``, ``rounds`` after which it ends, ``yardstick`` for figures in the programme's own measures,
``preset`` in place of the histories' policy, ``steps`` of gangplan's own policies (``full`` or ``greedy``),
and ``clock``: give each of their rounds the time limit, which makes rows that do not repeat exactly. What a
predictor has learned in one history of a batch it knows in the next; ``prediction`` says how wrong it was.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from gangplan.bench import machine
from gangplan.bench.runs import Row, Run, Status
from gangplan.errors import BrokenPlanError
from gangplan.planning import histories, policies
from gangplan.planning.metrics import Metrics
from gangplan.planning.metrics import measure as measured
from gangplan.planning.policies import RoundPolicy
from gangplan.planning.predict.errors import Foreseen, errors_of
from gangplan.planning.rounds.foreseen import foreseen
from gangplan.planning.rounds.history import History
from gangplan.planning.rounds.loop import Settings, play
from gangplan.planning.rounds.told import Telling, Told
from gangplan.planning.window import Follow, Goal, Judged, Schedule, judge, plan_window, window_of

MOST_ROUNDS = 2000
_WINDOWS = {"window-completion": Goal.COMPLETION, "window-rho": Goal.WORST_RHO}
_MEANS = (
    *("completion_mean", "completion_p99", "makespan", "queueing_mean", "waiting_mean"),
    *(
        "largest_queueing_mean",
        "largest_queueing_worst",
        "allocated",
        "busy",
        "useful",
        "lost_gpu_hours",
        "jain",
    ),
)
_SUMS = ("jobs", "unfinished", "rounds", "evictions", "moves", "resizes", "forced")
_RATIOS = ("rho", "rho_gavel", "rho_shockwave", "rho_shockwave_themis", "rho_sia")


def telling_of(run: Run) -> Telling:
    """What a run's policy is told: its options ``told`` and ``noise``."""
    return Telling(
        Told(run.options.get("told", Told.EXACT.value)),
        noise=float(run.options.get("noise", 0.3)),
        seed=run.seed,
    )


def measure(run: Run) -> Row:
    """The row of a run.

    Raises:
        InvalidInputError: there is no such history or policy.
    """
    telling = telling_of(run)
    settings = Settings(telling, int(run.options.get("rounds", MOST_ROUNDS)))
    how = policies.How(
        pipeline="greedy" if run.options.get("steps") == "greedy" else "full",
        time_budget_seconds=run.time_limit_s if run.options.get("clock") else None,
    )
    calibration = [machine.calibrate()]
    found: list[Metrics] = []
    judged: list[Judged] = []
    schedules: list[Schedule] = []
    predictions: list[Foreseen] = []
    began, spent = time.perf_counter(), time.process_time()
    try:
        for given in played_for(run.instance):
            history = given.under(run.options.get("preset"), "options.preset")
            if run.who in _WINDOWS:
                schedules.append(_best(history, _WINDOWS[run.who], run))
                policy: RoundPolicy = Follow(schedules[-1], history.template.now, run.who)
            else:
                policy = policies.make(run.who, how)
            played = play(history, policy, settings)
            settings = replace(settings, predictor=played.state.predictor)
            predictions += foreseen(played)
            found.append(measured(played))
            if run.options.get("yardstick"):
                judged.append(judge(window_of(history, played.state.totals.rounds), played))
    except BrokenPlanError as error:
        return {"status": Status.WRONG.value, "error": str(error)}
    spent, wall = time.process_time() - spent, time.perf_counter() - began
    calibration.append(machine.calibrate())
    return {
        "status": Status.FEASIBLE.value,
        "told": telling.told.value,
        "preset": run.options.get("preset"),
        "noise": telling.noise if telling.told is Told.NOISY else 0.0,
        "histories": len(found),
        "prediction": None if (wrong := errors_of(predictions)) is None else asdict(wrong),
        **summary(found),
        **_beside(judged, schedules),
        "each": [_brief(metrics) for metrics in found] if len(found) > 1 else None,
        "cpu_s": spent,
        "wall_s": wall,
        "cpu_per_round_s": spent / max(1, sum(metrics.rounds for metrics in found)),
        "calibration_s": calibration,
    }


def _best(history: History, goal: Goal, run: Run) -> Schedule:
    """The best schedule within the time limit, begun with the better of two policies."""
    starts = [play(history, policies.make(name)) for name in ("shortest-remaining", "myopic")]
    rounds = max(start.state.totals.rounds for start in starts)
    window = window_of(history, rounds)
    start = min(starts, key=lambda one: _by_goal(judge(window, one), goal))
    return plan_window(window, goal, time_limit_seconds=run.time_limit_s, start=start)


def _by_goal(judged: Judged, goal: Goal) -> float:
    return judged.weighted_rounds if goal is Goal.COMPLETION else judged.worst_rho


def _beside(judged: Sequence[Judged], schedules: Sequence[Schedule]) -> dict[str, Any]:
    """Means in the programme's measures, and what is proved."""
    if not judged:
        return {}
    row: dict[str, Any] = {
        "weighted_rounds": statistics.fmean(one.weighted_rounds for one in judged),
        "static_rho_worst": statistics.fmean(one.worst_rho for one in judged),
    }
    if schedules:
        row["window_value"] = statistics.fmean(one.value for one in schedules)
        row["window_bound"] = statistics.fmean(one.bound for one in schedules)
        row["window_proved"] = sum(one.proved for one in schedules)
    return row


def played_for(instance: str) -> list[History]:
    """The histories of an instance's name.

    Raises:
        InvalidInputError: there is no such history.
    """
    match = re.fullmatch(r"small/(\d{1,4})/seed(\d{1,6})", instance)
    if match is None:
        return [histories.named(instance)]
    count, first = int(match[1]), int(match[1]) * int(match[2])
    return [histories.small(seed) for seed in range(first, first + count)]


def summary(found: Sequence[Metrics]) -> dict[str, Any]:
    """Means of means, sums of counts, and the worst of the worst."""
    row: dict[str, Any] = {name: _mean([getattr(one, name) for one in found]) for name in _MEANS}
    row |= {name: sum(getattr(one, name) for one in found) for name in _SUMS}
    for name in _RATIOS:
        ratios = [ratio for one in found if (ratio := getattr(one, name)) is not None]
        row[f"{name}_mean"] = _mean([ratio.mean for ratio in ratios])
        row[f"{name}_worst_mean"] = _mean([ratio.worst for ratio in ratios])
        row[f"{name}_worst"] = max((ratio.worst for ratio in ratios), default=None)
        row[f"{name}_share_unfair"] = _mean([ratio.share_unfair for ratio in ratios])
    kinds = sorted({kind for one in found for kind in one.deadlines})
    row["deadlines"] = {
        kind: {
            "jobs": sum(one.deadlines[kind].jobs for one in found if kind in one.deadlines),
            "met": sum(one.deadlines[kind].met for one in found if kind in one.deadlines),
        }
        for kind in kinds
    }
    return row


def _brief(metrics: Metrics) -> list[float | None]:
    """Worst and mean rho, mean completion time, mean wait of the largest gangs, deadlines met, moves."""
    rho = metrics.rho
    met = sum(kind.met for kind in metrics.deadlines.values())
    worst, mean = (None, None) if rho is None else (rho.worst, rho.mean)
    return [worst, mean, metrics.completion_mean, metrics.largest_queueing_mean, met, metrics.moves]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
