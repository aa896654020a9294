"""One policy on one published workload, as one row.

The instance is the workload's name (:mod:`gangplan.bench.policies.workloads`) and the seed, ``who`` the
policy. ``options`` may set ``told`` (``exact``, ``noisy``, ``predicted``, ``unknown``: decision 15),
``noise``, ``rounds`` after which it ends, ``drop`` (share of the jobs that the seed leaves out, so that seeds
differ), ``deadlines`` (what a deadline means to all policies, as ``TARGET``: whose deadline is lost runs all
the same, where the trace has it given up), ``steps`` of gangplan's own policies (``full`` or ``greedy``) and
``replan_s``, how late they may see what changes by the clock alone
(:attr:`~gangplan.planning.policies.How.replan_seconds`); their rows say it.
``decision_s`` is process time.
"""

from __future__ import annotations

import random
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gangplan.bench import machine
from gangplan.bench.histories import telling_of
from gangplan.bench.policies.reach import deadlines_in_reach
from gangplan.bench.policies.workloads import workload
from gangplan.bench.runs import Row, Run, Status
from gangplan.domain.job import DeadlineKind
from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.errors import BrokenPlanError
from gangplan.planning import policies
from gangplan.planning.metrics import Metrics
from gangplan.planning.metrics import measure as measured
from gangplan.planning.policies import RoundPolicy, myopic, presets, tracking
from gangplan.planning.policies.protocol import Steady
from gangplan.planning.rounds.history import History
from gangplan.planning.rounds.loop import Settings, play
from gangplan.planning.rounds.told import Told

MOST_ROUNDS = 100_000
OWN = frozenset({myopic.NAME, tracking.NAME, *presets.NAMES})
"""Gangplan's own policies."""


class Timed:
    """A policy, and the process time that its decisions take.

    Attributes:
        seconds, decisions: so far.
    """

    def __init__(self, policy: RoundPolicy) -> None:
        self._policy = policy
        self.seconds, self.decisions = 0.0, 0

    @property
    def name(self) -> str:
        """See :class:`RoundPolicy`."""
        return self._policy.name

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult | Plan:
        """See :meth:`RoundPolicy.decide`."""
        began = time.process_time()
        answer = self._policy.decide(round_, before)
        self.seconds += time.process_time() - began
        self.decisions += 1
        return answer

    def steady_until(self, round_: Round) -> float:
        """See :meth:`Steady.steady_until`; of a policy that does not say, now."""
        return self._policy.steady_until(round_) if isinstance(self._policy, Steady) else round_.now


def measure(run: Run) -> Row:
    """The row of a run.

    Raises:
        InvalidInputError: there is no such workload or policy.
    """
    telling = telling_of(run)
    name, _, _ = run.instance.rpartition("/seed")
    found = workload(name, Path(run.source))
    history = _some(found.history, float(run.options.get("drop", 0.0)), run.seed)
    if "deadlines" in run.options:
        history = with_deadlines(history, DeadlineKind(run.options["deadlines"]))
    how = policies.How(
        pipeline="full" if run.options.get("steps") == "full" else "greedy",
        seed=run.seed,
        replan_seconds=float(run.options.get("replan_s", 0.0)),
    )
    timed = Timed(policies.make(run.who, how))
    calibration = [machine.calibrate()]
    spent = time.process_time()
    try:
        played = play(history, timed, Settings(telling, int(run.options.get("rounds", MOST_ROUNDS))))
    except BrokenPlanError as error:
        return {"status": Status.WRONG.value, "error": str(error), "workload": name, "policy": run.who}
    spent = time.process_time() - spent
    calibration.append(machine.calibrate())
    return {
        "status": Status.FEASIBLE.value,
        "workload": name,
        "policy": run.who,
        "told": f"±{telling.noise:.0%}" if telling.told is Told.NOISY else telling.told.value,
        "replan_s": how.replan_seconds if run.who in OWN else None,
        "left_out": found.left_out,
        "devices": history.devices,
        **figures(measured(played)),
        "deadlines_in_reach": deadlines_in_reach(history),
        "decision_s": timed.seconds / max(1, timed.decisions),
        "decisions": timed.decisions,
        "cpu_s": spent,
        "jobs_per_cpu_s": len(history.arrivals) / spent if spent else None,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "calibration_s": calibration,
    }


def figures(metrics: Metrics) -> dict[str, Any]:
    """What a row says of a played history."""
    rho, gavel, sia = metrics.rho, metrics.rho_gavel, metrics.rho_sia
    shockwave = metrics.rho_shockwave
    return {
        "jobs": metrics.jobs,
        "unfinished": metrics.unfinished,
        "rounds": metrics.rounds,
        "mean_jct_s": metrics.completion_mean,
        "p99_jct_s": metrics.completion_p99,
        "makespan_s": metrics.makespan,
        "mean_queueing_s": metrics.queueing_mean,
        "rho_mean": rho and rho.mean,
        "rho_worst": rho and rho.worst,
        "rho_above_1": rho and rho.share_unfair,
        "rho_gavel_worst": gavel and gavel.worst,
        "rho_gavel_mean": gavel and gavel.mean,
        "rho_sia_worst": sia and sia.worst,
        "rho_shockwave_worst": shockwave and shockwave.worst,
        "rho_shockwave_unfair": shockwave and shockwave.share_unfair,
        "deadlines": sum(kind.jobs for kind in metrics.deadlines.values()),
        "deadlines_met": sum(kind.met for kind in metrics.deadlines.values()),
        "restarts": metrics.evictions + metrics.moves + metrics.resizes + metrics.forced,
        "lost_gpu_hours": metrics.lost_gpu_hours,
        "allocated": metrics.allocated,
        "busy": metrics.busy,
        "useful": metrics.useful,
        "jain": metrics.jain,
        "fragmentation": metrics.fragmentation,
    }


def with_deadlines(history: History, kind: DeadlineKind) -> History:
    """The history with deadlines of that kind, which is not ``SOFT``: nobody knows a decay."""
    arrivals = tuple(
        arrival
        if arrival.job.deadline is None
        else replace(arrival, job=replace(arrival.job, deadline_kind=kind))
        for arrival in history.arrivals
    )
    return replace(history, arrivals=arrivals)


def _some(history: History, drop: float, seed: int) -> History:
    """The history without a share of its jobs, drawn by the seed; all of them for share 0."""
    if drop <= 0.0:
        return history
    kept = [
        arrival
        for arrival in history.arrivals
        if random.Random(f"{seed}/{arrival.job.name}").random() >= drop
    ]
    return replace(history, arrivals=tuple(kept), seed=seed)
