"""Seeded histories: small ones that an exact programme can solve, and those of benchmark size.

**Small**: two to four nodes of two types, 5 to 15 jobs of up to 8 devices with gangs among them, a third with
a deadline, rounds of five minutes, all over within a few dozen rounds.

**Interactive**: a small one, and six jobs of one device at which somebody sits, submitted at any moment of
the first twelve rounds, that work for one to four rounds and should start within one.

**Large**: the cluster and the jobs of :mod:`~gangplan.planning.generate` (types, sizes, elasticity, profiles,
priorities, tenants, restart costs), empty at first; jobs arrive at random over so many rounds, as many as
make the wanted load. Their time at the reference throughput is log-normal around an hour with a spread of 1,
between two rounds and two hundred. A fifth has a deadline, 1.5 to 5 times that time after submission.

The load is the work that arrives over what the cluster could do, in devices of the reference type: size times
time of each job, over the sum of all devices at the speed of their types. Jobs that ask for many devices
cannot use the last ones, so at 1.0 the queue grows.

Users come back with jobs like those they had: each job's user is drawn by how long it takes among all, give
or take a fifth of them, so that history tells something of durations, and not all.

Same arguments, same history, as long as numpy keeps its random streams.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import Component, Interactive, Job, TaskGroup
from gangplan.domain.policy import Policy
from gangplan.domain.round import Round
from gangplan.domain.topology import Domain, Topology
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.generate import SIZES, TYPES, generate
from gangplan.planning.generate.as_round import NOW
from gangplan.planning.generate.past import ROUND_SECONDS
from gangplan.planning.generate.site import SPEEDS
from gangplan.planning.rounds.history import Arrival, Failure, History

SMALL = "small"
INTERACTIVE = "interactive"
ARRIVAL_ROUNDS = 300
LOAD = 1.0
_SMALL_ROUNDS = 4
"""Over which the jobs of a small history arrive."""
_MEDIAN_SECONDS, _SPREAD = 3600.0, 1.0
_LENGTHS = NormalDist(math.log(_MEDIAN_SECONDS), _SPREAD)
_DEVICE_ROUNDS = 80
"""About what a job takes on average; where it is less, more jobs are drawn."""
_LEAST_ROUNDS, _MOST_ROUNDS = 2, 200
_DEADLINE_CHANCE = 0.2
_CHECKPOINT_SECONDS = 600.0
_SHELLS, _SHELL_ROUNDS = 6, 12
"""Interactive jobs of a history, and rounds over which they are submitted."""
_SMALL_USERS, _LARGE_USERS = 4, 12
_USER_SPREAD = 0.2
"""How far from a user's usual place among all durations its jobs are, standard deviation in parts of all."""


def small(seed: int) -> History:
    """A small history, one that an exact programme can solve (see above for what is in it).

    Args:
        seed: not negative; the same seed, the same history.
    """
    rng, whose = np.random.default_rng([seed, 11]), np.random.default_rng([seed, 13])
    length = ROUND_SECONDS
    racks = int(rng.integers(1, 3))
    nodes = tuple(
        Node(
            f"node-{index}",
            domain=f"rack-{index % racks}",
            accelerator_type="fast" if index % 2 == 0 else "slow",
            device_count=int(rng.choice([2, 4, 4])),
        )
        for index in range(int(rng.integers(2, 5)))
    )
    slow = float(np.round(rng.uniform(0.3, 0.8), 2))
    largest = max(
        sum(node.device_count for node in nodes if node.accelerator_type == kind) for kind in ("fast", "slow")
    )
    arrivals = []
    for index in range(int(rng.integers(5, 16))):
        count = min(int(rng.choice([1, 1, 2, 2, 3, 4, 4, 8])), largest)
        elastic = count > 1 and rng.random() < 0.3
        rounds = float(np.round(rng.uniform(0.5, 6.0), 2))
        submit = NOW + float(np.floor(rng.uniform(0, _SMALL_ROUNDS) * length))
        deadline = submit + float(np.round(rng.uniform(1.5, 6.0) * rounds + 1) * length)
        group = TaskGroup(count=count, allowed_counts=(count // 2, count) if elastic else (count,))
        job = Job(
            name=f"job-{index:02}",
            component=Component(task_groups=(group,)),
            priority=int(rng.integers(0, 2)),
            submit_time=submit,
            deadline=deadline if rng.random() < 0.33 else None,
            restart_seconds=float(rng.choice([0.0, 15.0, 60.0])),
            user=_user((rounds - 0.5) / 5.5, _SMALL_USERS, whose),
        )
        checkpoint = float(rng.choice([0.0, 60.0, 150.0]))
        arrivals.append(Arrival(job, count * rounds * length, checkpoint))
    template = Round(
        now=NOW,
        round_seconds=length,
        horizon_seconds=6 * length,
        cluster=Cluster(
            Topology(("rack",), tuple(Domain(f"rack-{index}", "rack") for index in range(racks))), nodes
        ),
        accelerators=(AcceleratorType("fast", 1.0), AcceleratorType("slow", slow)),
        policy=Policy(priority_weights={0: 1.0, 1: 2.0}),
    )
    return History(template, tuple(arrivals), name=f"{SMALL}/seed{seed}", seed=seed)


def interactive(seed: int) -> History:
    """A small history with interactive jobs beside.

    Args:
        seed: not negative.
    """
    history, rng = small(seed), np.random.default_rng([seed, 15])
    arrivals = list(history.arrivals)
    for index in range(_SHELLS):
        submit = NOW + float(np.round(rng.uniform(0, _SHELL_ROUNDS) * ROUND_SECONDS, 1))
        work = float(np.round(rng.uniform(1.0, 4.0) * ROUND_SECONDS, 1))
        job = Job(
            name=f"shell-{index}",
            component=Component(task_groups=(TaskGroup(count=1),)),
            submit_time=submit,
            interactive=Interactive(ROUND_SECONDS),
        )
        arrivals.append(Arrival(job, work, 0.0))
    return replace(history, arrivals=tuple(arrivals), name=f"{INTERACTIVE}/seed{seed}")


def large(
    size: str, *, load: float = LOAD, rounds: int = ARRIVAL_ROUNDS, seed: int = 0, failures: int = 0
) -> History:
    """A history on a benchmark cluster.

    Args:
        size: a name of :data:`~gangplan.planning.generate.SIZES`.
        load: work that arrives over what the cluster can do; positive.
        rounds: over which jobs arrive; positive.
        seed: not negative.
        failures: nodes that fail for an hour each, at random times.

    Raises:
        InvalidInputError: an argument is out of its range.
    """
    violations = []
    if size not in SIZES:
        violations.append(FieldViolation("size", f"{size!r} is not one of {', '.join(SIZES)}"))
    if not load > 0:
        violations.append(FieldViolation("load", f"{load} is not above 0"))
    if rounds < 1:
        violations.append(FieldViolation("rounds", f"{rounds} is not above 0"))
    if violations:
        raise InvalidInputError(violations)
    known = SIZES[size]
    jobs = max(20, round(1.5 * load * rounds * known.devices / _DEVICE_ROUNDS))
    while True:
        drawn = generate(replace(known, jobs=jobs), occupancy=0.0, seed=seed)
        rng, whose = np.random.default_rng([seed, 12]), np.random.default_rng([seed, 14])
        arrivals = _arrivals(drawn, load, rounds * ROUND_SECONDS, rng, whose)
        if arrivals is not None:
            break
        jobs *= 2
    names = {arrival.job.name for arrival in arrivals}
    template = replace(
        drawn, jobs=(), profiles=tuple(profile for profile in drawn.profiles if profile.name in names)
    )
    name = f"{size}/{rounds}/{round(100 * load)}/seed{seed}"
    down = _failures(drawn.cluster.nodes, failures, rounds * ROUND_SECONDS, rng)
    return History(template, tuple(arrivals), down, name=name, seed=seed)


def _arrivals(
    drawn: Round, load: float, span: float, rng: np.random.Generator, whose: np.random.Generator
) -> list[Arrival] | None:
    """As many of the round's jobs as make the load, at random times within ``span``; None: not enough."""
    speeds = dict(zip(TYPES, SPEEDS.tolist(), strict=True))
    power = sum(node.device_count * speeds[str(node.accelerator_type)] for node in drawn.cluster.nodes)
    cells = {profile.name: profile.throughput for profile in drawn.profiles}
    asked = load * power * span
    found: list[Arrival] = []
    for job in drawn.jobs:
        if asked <= 0:
            break
        count = job.component.task_groups[0].count
        seconds = float(np.exp(rng.normal(np.log(_MEDIAN_SECONDS), _SPREAD)))
        seconds = min(max(seconds, _LEAST_ROUNDS * ROUND_SECONDS), _MOST_ROUNDS * ROUND_SECONDS)
        submit, slack, with_deadline = rng.uniform(0, span), rng.uniform(1.5, 5.0), rng.random()
        rates = [x for (_, tasks, _), x in cells[job.name].items() if tasks == count]
        if not rates:
            continue  # nothing in this cluster runs it as it asks
        asked -= count * seconds
        arrives = NOW + float(np.round(submit, 3))
        submitted = replace(
            job,
            submit_time=arrives,
            work_done=0.0,
            work_left=None,
            fair_progress=0.0,
            fair_finish_age=None,
            deadline=arrives + slack * seconds if with_deadline < _DEADLINE_CHANCE else None,
            user=_user(_LENGTHS.cdf(math.log(seconds)), _LARGE_USERS, whose),
        )
        found.append(Arrival(submitted, seconds * max(rates), _CHECKPOINT_SECONDS))
    return found if asked <= 0 else None


def _user(place: float, users: int, rng: np.random.Generator) -> str:
    """Who submits a job that takes longer than a part ``place`` of all."""
    return f"user-{min(users - 1, max(0, int(users * (place + rng.normal(0.0, _USER_SPREAD)))))}"


def _failures(
    nodes: tuple[Node, ...], count: int, span: float, rng: np.random.Generator
) -> tuple[Failure, ...]:
    found = []
    for _ in range(count):
        begins = NOW + float(np.round(rng.uniform(0, span), 3))
        found.append(Failure(nodes[int(rng.integers(len(nodes)))].name, begins, begins + 3600.0))
    return tuple(found)


def named(name: str) -> History:
    """The history named ``small/seedN``, ``interactive/seedN`` or ``SIZE/ROUNDS/LOAD/seedN`` (percent).

    Raises:
        InvalidInputError: the name has another form.
    """
    match = re.fullmatch(r"(small|interactive)/seed(\d{1,9})", name)
    if match:
        return (small if match[1] == SMALL else interactive)(int(match[2]))
    match = re.fullmatch(r"([A-Z]+)/(\d{1,5})/(\d{1,4})/seed(\d{1,9})", name)
    if match is None:
        raise InvalidInputError(
            [
                FieldViolation(
                    "history",
                    f"{name!r} is none of small/seedN, interactive/seedN and SIZE/ROUNDS/LOAD/seedN, "
                    "e.g. S/300/100/seed0",
                )
            ]
        )
    return large(match[1], load=int(match[3]) / 100, rounds=int(match[2]), seed=int(match[4]))
