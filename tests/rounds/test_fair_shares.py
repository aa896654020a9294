"""Long lives under every form of fairness: shares converge to those of the closed form.

A bare loop over rounds: jobs work at the throughput that their plan says, stops are free, and the caller
carries what it has to carry. Endless jobs share devices by turns; a line of short ones is taken from in turn.
Figures are printed (``pytest -rP`` shows them); ``benchmarks/results/2026-11-30-fairness.md`` has them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from gangplan.domain.job import Job, Running
from gangplan.domain.policy import FairnessForm, Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.runner import InProcessRunner
from gangplan.testing.builders import job, node, round_of

D = 300.0
ENDLESS = 1e12
LOG, LOSS, WEIGHTS = FairnessForm.LOG, FairnessForm.NEGATIVE_POWER, FairnessForm.WEIGHTS
TIME, EFFECTIVE = FairnessForm.DEVICE_TIME, FairnessForm.EFFECTIVE_THROUGHPUT


def policy(form: FairnessForm, power: float = 1.0) -> Policy:
    """Nothing but fairness: stops are free, and no gain is too small."""
    return Policy(fairness_power=power, fairness_forms={form: 1.0}, switching_weight=0.0, hysteresis=0.0)


def next_round(round_: Round) -> Round:
    """The round after: plan, let everybody work for D, carry what the caller carries."""
    how = PlanParameters(time_budget_seconds=60.0, solver="highs")
    plan = plan_round(round_, how, runner=InProcessRunner()).plan
    action = {one.job: one for one in plan.actions if one.placements}
    per_task = {
        (one.name, group.name): group.devices_per_task
        for one in round_.jobs
        for group in one.component.task_groups
    }

    def after(one: Job) -> Job:
        if one.name not in action:
            return dataclasses.replace(one, running=None)
        mine = action[one.name]
        devices = sum(place.tasks * per_task[one.name, place.group] for place in mine.placements)
        worked = mine.throughput * D
        return dataclasses.replace(
            one,
            running=Running(mine.placements, round_.now, 0.0),
            work_done=one.work_done + worked,
            work_left=None if one.work_left is None else max(0.0, one.work_left - worked),
            service_received_device_seconds=(one.service_received_device_seconds or 0.0) + devices * D,
        )

    return dataclasses.replace(round_, now=round_.now + D, jobs=tuple(after(one) for one in round_.jobs))


def lived(round_: Round, rounds: int) -> Round:
    for _ in range(rounds):
        round_ = next_round(round_)
    return round_


def shares(round_: Round) -> list[float]:
    """Parts of all work that each job has done."""
    done = [one.work_done for one in round_.jobs]
    return [each / sum(done) for each in done]


def told(what: str, got: Iterable[float], expected: Iterable[float]) -> None:
    """Print figures beside those expected."""
    words = [", ".join(f"{value:.4f}" for value in values) for values in (got, expected)]
    print(f"{what}: {words[0]} (expected {words[1]})")


def crowd(weights: Sequence[float], form: FairnessForm, devices: int = 1, **fields: object) -> Round:
    """Endless jobs of one device each, of such weights, submitted now."""
    jobs = [
        job(
            f"j{i}",
            weight=weight,
            submit_time=0.0,
            **{"service_received_device_seconds": 0.0, "work_left": ENDLESS, **fields},
        )
        for i, weight in enumerate(weights)
    ]
    return round_of(
        [node("n", "H100", devices)],
        jobs,
        now=0.0,
        round_seconds=D,
        horizon_seconds=D,
        policy=policy(form),
    )


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        # The largest sum of weight times log of what was done: as the weights.
        pytest.param(LOG, (1 / 6, 2 / 6, 3 / 6), id="log"),
        # Owed over received is the same for all: as what is owed, so as the weights.
        pytest.param(TIME, (1 / 6, 2 / 6, 3 / 6), id="device time"),
        pytest.param(EFFECTIVE, (1 / 6, 2 / 6, 3 / 6), id="effective throughput"),
        # An endless job's rho is x_iso over its own rate, and x_iso goes with the weight already (decision
        # 11); the weight then multiplies rho: as the squares.
        pytest.param(WEIGHTS, (1 / 14, 4 / 14, 9 / 14), id="weights"),
        pytest.param(LOSS, (1 / 14, 4 / 14, 9 / 14), id="negative power"),
    ],
)
def test_endless_jobs_of_weights_1_2_3_take_turns_on_one_device(form, expected):
    got = shares(lived(crowd((1.0, 2.0, 3.0), form), 84))
    told(f"weights 1, 2, 3 under {form.value}", got, expected)
    assert got == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("form", list(FairnessForm))
def test_alike_endless_jobs_share_alike(form):
    """Five on two devices: 2/5 of the time each."""
    got = shares(lived(crowd((1.0,) * 5, form, devices=2), 40))
    told(f"five alike on two devices under {form.value}", got, [0.2] * 5)
    assert got == pytest.approx([0.2] * 5, abs=0.015)


def test_who_does_not_tell_its_work_left_is_judged_by_its_device_time():
    """Decision 15, under plain weights: three alike jobs of unknown length take turns."""
    assert shares(lived(crowd((1.0,) * 3, WEIGHTS, work_left=None), 30)) == pytest.approx(
        [1 / 3] * 3, abs=0.02
    )


# Queues


def lines(weights: Sequence[float], devices: int, gangs: Sequence[int]) -> Round:
    """Queues of such weights, each with a line of jobs of three rounds and of so many devices."""
    queues = [Queue(f"q{i}", weight=weight, service_received=0.0) for i, weight in enumerate(weights)]
    return round_of(
        [node("n", "H100", devices)],
        [fresh(i, gang, k, 0.0) for i, gang in enumerate(gangs) for k in range(devices)],
        now=0.0,
        round_seconds=D,
        horizon_seconds=4 * D,
        queues=queues,
        policy=Policy(fairness_power=0.0),
    )


def fresh(queue: int, gang: int, number: int, now: float) -> Job:
    return job(f"q{queue}-{number}", gpus=gang, queue=f"q{queue}", work_left=3 * D * gang, submit_time=now)


def lived_by_queue(round_: Round, rounds: int, half_life: float) -> dict[str, float]:
    """Parts of all device time that the queues have got in the latter half of the rounds.

    A job that is done makes way for a new one of its queue; services decay by half in ``half_life`` seconds.
    """
    got = {queue.name: 0.0 for queue in round_.queues}
    number = 1_000
    for turn in range(rounds):
        round_ = next_round(round_)
        held = dict.fromkeys(got, 0.0)
        jobs = []
        for one in round_.jobs:
            gang = one.component.task_groups[0].count
            if one.running is not None:
                held[str(one.queue)] += gang * D
            if one.work_left == 0.0:
                number += 1
                one = fresh(int(str(one.queue)[1:]), gang, number, round_.now)  # noqa: PLW2901
            jobs.append(one)
        queues = tuple(
            dataclasses.replace(
                queue,
                service_received=(queue.service_received or 0.0) * 0.5 ** (D / half_life) + held[queue.name],
            )
            for queue in round_.queues
        )
        round_ = dataclasses.replace(round_, jobs=tuple(jobs), queues=queues)
        if turn >= rounds // 2:
            got = {name: got[name] + held[name] for name in got}
    return {name: each / sum(got.values()) for name, each in got.items()}


def test_queues_of_weights_1_and_3_get_a_quarter_and_three():
    got = lived_by_queue(lines((1.0, 3.0), 8, (1, 1)), 80, half_life=40 * D)
    told("queues of weights 1 and 3", got.values(), (0.25, 0.75))
    assert got == pytest.approx({"q0": 0.25, "q1": 0.75}, abs=0.03)


def test_gangs_of_different_sizes_do_not_change_what_queues_get():
    got = lived_by_queue(lines((1.0, 1.0), 8, (1, 4)), 60, half_life=40 * D)
    told("alike queues, one of gangs of 4", got.values(), (0.5, 0.5))
    assert got == pytest.approx({"q0": 0.5, "q1": 0.5}, abs=0.05)


# Two types of accelerators


def mix(power: float) -> Round:
    """Two jobs that are four times as fast on A as on B, two that are twice as fast; one A, two B."""
    cells = {
        "p": {("A", 1, "node"): 4.0, ("B", 1, "node"): 1.0},
        "q": {("A", 1, "node"): 2.0, ("B", 1, "node"): 1.0},
    }
    jobs = [
        job(f"{kind}{i}", profile=kind, submit_time=0.0, work_left=ENDLESS) for kind in "pq" for i in (0, 1)
    ]
    return round_of(
        [node("a", "A", 1), node("b", "B", 2)],
        jobs,
        types={"A": 1.0, "B": 0.5},
        profiles=cells,
        now=0.0,
        round_seconds=D,
        horizon_seconds=D,
        policy=policy(EFFECTIVE, power),
    )


def alpha_fair(alpha: float) -> tuple[float, float]:
    """Work over that of an equal share, of each p and each q job, at the alpha-fair allocation of that mix.

    With a of A's time and b of the two B's for the p jobs together: a p job does (4 a + b) / 2, a q job
    (2 (1 - a) + 2 - b) / 2. Nobody runs on two devices at a time: a + b <= 2 and 3 - a - b <= 2. An equal
    share is a quarter of A and a half of a B: 4/4 + 1/2 = 1.5 and 2/4 + 1/2 = 1. The weight of a ratio is its
    equal share over the best type's rate: 1.5/4 and 1/2.
    """
    a, b = np.meshgrid(np.linspace(0, 1, 401), np.linspace(0, 2, 801))
    p, q = (4 * a + b) / 2 / 1.5, (4 - 2 * a - b) / 2
    with np.errstate(divide="ignore"):
        bent = [np.log(x) if alpha == 1 else x ** (1 - alpha) / (1 - alpha) for x in (p, q)]
    total = np.where((a + b <= 2) & (a + b >= 1), 1.5 / 4 * bent[0] + 0.5 * bent[1], -np.inf)
    best = np.unravel_index(total.argmax(), total.shape)
    return float(p[best]), float(q[best])


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_on_two_types_the_effective_throughputs_are_alpha_fair(power):
    round_ = lived(mix(power), 60)
    rates = {one.name: one.work_done / round_.now for one in round_.jobs}
    p, q = alpha_fair(power)
    ours = (rates["p0"] + rates["p1"]) / 2 / 1.5, (rates["q0"] + rates["q1"]) / 2
    told(f"two types, work over that of an equal share, power {power:g}", ours, (p, q))
    assert ours == pytest.approx((p, q), rel=0.03)
    assert min(p, q) >= 1.0, "better for both than an equal share of every type"
