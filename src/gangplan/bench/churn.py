"""Churn: many rounds of a noisy cluster, and how many jobs are disrupted for nothing (decision 14).

A bare loop. Every round, each throughput of each profile is what it was at first times a factor drawn anew,
uniform within ``noise`` of 1 on either side. The plan is applied, the clock goes on by one round, and nothing
else changes: nobody arrives or ends, no work gets done, and what a job would lose by a stop stays what it was
(nothing, for one that was just started, moved or resized), which makes disruptions as cheap as they can be.

A voluntary action (EVICT, MIGRATE or RESIZE by choice) has a *lasting gain* when the plan pays there without
the noise too: when the plan is judged at the noise-free throughputs, the take-back leaves the action in it.
That is, the bundle to which it belongs earns more, within the shortest horizon of its members, than every
cost counted once (decisions 13, 14), over keep and fill or over what would be left without it. So a job that
is moved to and fro has a lasting gain at most one way. It is judged with the hysteresis, as when the plan was
made; ``within_hysteresis`` of those without lasting gain have one when nothing is doubted, as without noise
nothing need be.

``per_1000`` is the number of voluntary actions without lasting gain for every 1,000 running jobs a round,
summed over the rounds; ``options`` may set ``rounds``, ``noise``, and ``most_per_1000`` above which the row
is told as a problem.
"""

from __future__ import annotations

import dataclasses
import random
import time
from typing import TYPE_CHECKING

from gangplan.bench import machine
from gangplan.bench.runs import Row, Run, Status
from gangplan.domain.plan import Action, Plan
from gangplan.engine.bundles import is_chosen

if TYPE_CHECKING:
    from gangplan.domain.round import Round

ROUNDS = 50
NOISE = 0.05


def measure(run: Run) -> Row:
    """The row of a loop; ``by_round`` has [running jobs, voluntary actions, those without lasting gain]."""
    from gangplan.bench.rounds import load, parameters
    from gangplan.engine.budget import Budget
    from gangplan.engine.runner import Cancellation
    from gangplan.model.verifier.verify import verify
    from gangplan.service.planner import EnginePlanner
    from gangplan.testing.apply import apply

    round_ = load(run).round
    rng = random.Random(run.seed)
    noise = float(run.options.get("noise", NOISE))
    planner = EnginePlanner(workers=1)
    by_round: list[tuple[int, int, int]] = []
    within = 0
    seconds: list[float] = []
    kinds: dict[str, int] = {}
    warm_start, invalid = b"", 0
    try:
        planner.warm()
        calibration = [machine.calibrate()]
        for _ in range(int(run.options.get("rounds", ROUNDS))):
            seen = noisy(round_, noise, rng)
            how = dataclasses.replace(parameters(run), warm_start=warm_start)
            began = time.perf_counter()
            result = planner.plan(seen, how, Budget(run.time_limit_s), Cancellation())
            seconds.append(time.perf_counter() - began)
            warm_start = result.warm_start
            invalid += not verify(seen, result.plan).valid
            chosen = voluntary(result.plan)
            idle = without_lasting_gain(round_, result.plan)
            within += len(idle) - len(without_lasting_gain(undoubted(round_), result.plan)) if idle else 0
            by_round.append((sum(job.running is not None for job in round_.jobs), len(chosen), len(idle)))
            for action in idle:
                kinds[action.kind.value] = kinds.get(action.kind.value, 0) + 1
            round_ = apply(round_, result.plan)
            round_ = dataclasses.replace(round_, now=round_.now + round_.round_seconds)
        calibration.append(machine.calibrate())
    finally:
        planner.close()
    running, actions, wasted = (sum(column) for column in zip(*by_round, strict=True))
    return {
        "status": (Status.WRONG if invalid else Status.FEASIBLE).value,
        "rounds": len(by_round),
        "noise": noise,
        "running_job_rounds": running,
        "voluntary": actions,
        "without_lasting_gain": wasted,
        "within_hysteresis": within,
        "without_lasting_gain_by_kind": kinds,
        "per_1000": 1e3 * wasted / max(1, running),
        "most_per_1000": run.options.get("most_per_1000"),
        "by_round": by_round,
        "plan_s": seconds,
        "calibration_s": calibration,
    }


def noisy(round_: Round, noise: float, rng: random.Random) -> Round:
    """The round with each throughput of each profile times its own factor in 1 - noise to 1 + noise."""
    profiles = tuple(
        dataclasses.replace(
            profile,
            throughput={
                cell: value * rng.uniform(1.0 - noise, 1.0 + noise)
                for cell, value in profile.throughput.items()
            },
        )
        for profile in round_.profiles
    )
    return dataclasses.replace(round_, profiles=profiles)


def undoubted(round_: Round) -> Round:
    """The round with no doubt in its throughputs."""
    return dataclasses.replace(round_, policy=dataclasses.replace(round_.policy, hysteresis=0.0))


def voluntary(plan: Plan) -> list[Action]:
    """Who is disrupted by choice."""
    return [action for action in plan.actions if is_chosen(action)]


def without_lasting_gain(round_: Round, plan: Plan) -> list[Action]:
    """The voluntary actions of a plan that do not pay at the throughputs of ``round_``.

    Raises:
        ValueError: the plan cannot be had in this round.
    """
    if not voluntary(plan):
        return []
    from gangplan.engine.budget import Budget
    from gangplan.engine.judge import Judge
    from gangplan.engine.take_back import take_back
    from gangplan.model.instance.instance import build_instance
    from gangplan.model.packing.adopt import adopt
    from gangplan.model.packing.fill import keep_and_fill
    from gangplan.model.verifier.facts import round_facts

    instance = build_instance(round_)
    judge = Judge(instance, round_facts(round_), Budget())
    floor = judge.consider("keep_and_fill", keep_and_fill(instance))
    same = judge.consider("same", adopt(instance, plan).assignment)
    if floor is None or same is None:
        raise ValueError("; ".join(map(str, judge.rejected)))
    left = {action.job for action in voluntary(take_back(judge, same, floor).candidate.plan)}
    return [action for action in voluntary(plan) if action.job not in left]
