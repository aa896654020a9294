"""Why a job waits: every verdict word for word, and sound (P18)."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from gangplan.domain.cluster import NodeHealth, OtherUse
from gangplan.domain.job import Capabilities, Job
from gangplan.domain.plan import Claim, RoundResult, Verdict, VerdictKind
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.errors import TooManyPlansError
from gangplan.model.verifier.forced import forced_reasons
from gangplan.testing.builders import at, group, job, node, round_of, topology
from gangplan.testing.enumerate import best_plan
from gangplan.testing.strategies import rounds

H = "H100"
RACKS = topology("rack", r1="rack", r2="rack")
IN_RACKS = [node("a", H, 4, domain="r1"), node("b", H, 4, domain="r2")]
HELD = job(
    "held",
    gpus=3,
    running=at("a", range(3)),
    checkpoint_age=0.0,
    capabilities=Capabilities(pausable=False, movable=False, resizable=False),
)


def planned(round_: Round, **parameters: object) -> RoundResult:
    return plan_round(round_, PlanParameters(time_budget_seconds=600.0, solver="highs", **parameters))


def reason(round_: Round, **parameters: object) -> Verdict:
    """The verdict on job j."""
    return next(verdict for verdict in planned(round_, **parameters).verdicts if verdict.job == "j")


CASES: dict[str, tuple[Round, tuple[str, str, str, str, str, int | None]]] = {
    "task larger than any node": (
        round_of([node("a", H, 4)], [job("j", group(gpus=8))]),
        (
            "NEVER_FITS",
            "TASK_LARGER_THAN_ANY_NODE",
            "needs 8 devices on one node; the largest has 4",
            "devices",
            "node",
            4,
        ),
    ),
    "task with more CPU than any node": (
        round_of([node("a", H, 4, cpu=2)], [job("j", cpu=4)]),
        (
            "NEVER_FITS",
            "TASK_LARGER_THAN_ANY_NODE",
            "needs 4,000 milli-CPU on one node; the largest has 2,000",
            "cpu",
            "node",
            2_000,
        ),
    ),
    "gang larger than the cluster": (
        round_of([node("a", H, 4), node("b", H, 4)], [job("j", gpus=9)]),
        (
            "NEVER_FITS",
            "GANG_TOO_LARGE",
            "8 of 9 tasks fit in the cluster even when all is empty; short of 1 device",
            "devices",
            "cluster",
            1,
        ),
    ),
    "gang larger than a rack": (
        round_of(IN_RACKS, [job("j", gpus=6, required="rack")], topology=RACKS),
        (
            "NEVER_FITS",
            "GANG_TOO_LARGE",
            "4 of 6 tasks fit in one rack even when all is empty; short of 2 devices",
            "devices",
            "rack",
            2,
        ),
    ),
    "no such accelerator": (
        round_of([node("a", H, 4)], [job("j", types=["V100"])], types={H: 1.0, "V100": 0.5}),
        ("NEVER_FITS", "NO_SUCH_ACCELERATOR", "needs V100; the cluster has none", "devices", "", None),
    ),
    "no node admits it": (
        round_of([node("a", H, 4)], [job("j", node_selector={"zone": "x"})]),
        ("NEVER_FITS", "NO_NODE_ADMITS", "no node passes its selector, taints and type", "", "", None),
    ),
    "no throughput": (
        round_of([node("a", H, 2)], [job("j", profile="p")], profiles={"p": {(H, 2, "cluster"): 2.0}}),
        (
            "NEVER_FITS",
            "NO_THROUGHPUT",
            "its profile has no throughput for any accelerator type here",
            "",
            "",
            None,
        ),
    ),
    "beside work that may not be moved": (
        round_of([node("a", H, 4)], [HELD, job("j", gpus=2)]),
        (
            "NO_FIT_NOW",
            "CAPACITY_HELD",
            "1 of 2 tasks fit in the cluster beside work that may not be moved; short of 1 device",
            "devices",
            "cluster",
            1,
        ),
    ),
    "all nodes cordoned": (
        round_of([node("a", H, 4, cordoned=True)], [job("j", gpus=2)]),
        (
            "NO_FIT_NOW",
            "NODES_CLOSED",
            "all nodes with accelerators are cordoned, draining or unhealthy",
            "devices",
            "",
            None,
        ),
    ),
    "queue limit": (
        round_of([node("a", H, 4)], [job("j", gpus=2, queue="q")], queues=(Queue("q", None, 1),)),
        (
            "HELD_BY_POLICY",
            "QUEUE_LIMIT",
            "queue q is short of 1 device under its limit",
            "devices",
            "",
            1,
        ),
    ),
    "others are worth more": (
        round_of([node("a", H, 2)], [job("j", gpus=2), job("k", gpus=2, weight=3.0)]),
        (
            "NOT_CHOSEN",
            "WORTH_LESS",
            "0 of 2 tasks fit in the cluster beside jobs that are worth more; short of 2 devices",
            "devices",
            "cluster",
            2,
        ),
    ),
    "evicted for another": (
        round_of(
            [node("a", H, 1)],
            [job("j", running=at("a", [0]), checkpoint_age=0.0), job("k", weight=30.0)],
        ),
        ("NOT_CHOSEN", "EVICTED", "gives its place to jobs that are worth more", "", "", None),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_verdicts_word_for_word(name):
    round_, expected = CASES[name]
    found = reason(round_)
    said = (found.kind.value, found.code, found.message, found.resource, found.level, found.shortfall)
    assert said == expected


def test_a_search_that_is_stopped_says_so():
    """4 + 4 devices take two tasks of 3 and no 2; without a solver nobody knows whether 8 were possible."""
    tasks = [job(name, group(gpus=size)) for name, size in (("k", 3), ("l", 3), ("j", 2))]
    round_ = round_of([node("a", H, 4), node("b", H, 4)], tasks)
    found = reason(round_, pipeline="greedy")
    assert found.kind is VerdictKind.NOT_FOUND_IN_BUDGET
    assert (found.code, found.message) == (
        "SEARCH_STOPPED",
        "no node has room for it beside the plan; short of 1 device",
    )
    assert reason(round_).kind is VerdictKind.NOT_CHOSEN


def test_what_is_short_is_what_helps():
    """One more device in the rack, and the gang fits; one less than is short, and it does not."""
    short = reason(CASES["gang larger than a rack"][0]).shortfall
    assert short == 2
    for extra, fits in ((short, True), (short - 1, False)):
        more = [*IN_RACKS, node("c", H, extra, domain="r1")]
        result = planned(round_of(more, [job("j", gpus=6, required="rack")], topology=RACKS))
        assert bool(result.plan.actions) is fits


# Soundness on drawn rounds

sound = settings(
    max_examples=60,
    suppress_health_check=list(HealthCheck),
    phases=[p for p in Phase if p is not Phase.explain],
)


def alone(round_: Round, name: str, others: tuple[Job, ...] = ()) -> Round:
    """The job and ``others``, without quotas, on terms under which to run is always worth something."""
    mine = next(j for j in round_.jobs if j.name == name)
    policy = Policy(fairness_power=0.0, locality_weight=0.0, deadline_weight=0.0)
    jobs = (*others, replace(mine, running=None, queue=None))
    return replace(round_, jobs=jobs, queues=(), policy=policy)


def repaired(round_: Round) -> Round:
    """Every node empty of others' work, open and in order."""
    nodes = tuple(
        replace(
            n,
            health=NodeHealth.HEALTHY,
            cordoned=False,
            drain_time=None,
            unhealthy_devices=frozenset(),
            unhealthy_device_count=0,
            used_by_others=OtherUse(),
        )
        for n in round_.cluster.nodes
    )
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes))


def starts(round_: Round, name: str, most: int) -> bool | None:
    """Whether the raw enumerator finds a place for the job; None when there are more plans than ``most``."""
    try:
        best = best_plan(round_, max_plans=most)
    except TooManyPlansError:
        return None
    return any(action.job == name and action.placements for action in best.plan.actions)


def check_soundness(seen: Counter[str], round_: Round, most: int = 1_000) -> None:
    result = planned(round_)
    # Who starts on the devices kept for it leaves no room there for others, as who may not be moved.
    claimed = {claim.job for claim in round_.claims} & {a.job for a in result.plan.actions if a.placements}
    for verdict in result.verdicts:
        seen[verdict.kind.value] += 1
        if verdict.kind is VerdictKind.NEVER_FITS:
            assert starts(repaired(alone(round_, verdict.job)), verdict.job, most) in (False, None), verdict
        elif verdict.kind is VerdictKind.NO_FIT_NOW:
            held = tuple(
                replace(j, queue=None)
                for j in round_.jobs
                if j.name != verdict.job
                and (
                    j.name in claimed
                    or (
                        j.running is not None
                        and j.name not in forced_reasons(round_)
                        and not j.capabilities.pausable
                        and not j.capabilities.movable
                    )
                )
            )
            assert starts(alone(round_, verdict.job, held), verdict.job, most) in (False, None), verdict
        elif verdict.code == "QUEUE_LIMIT":
            assert over_some_limit(round_, verdict.job), verdict


def over_some_limit(round_: Round, name: str) -> bool:
    """Whether the job's smallest form is more than some queue above it has left after the plan."""
    jobs = {j.name: j for j in round_.jobs}
    queues = {q.name: q for q in round_.queues}
    type_of = {n.name: n.accelerator_type for n in round_.cluster.nodes}
    held: Counter[tuple[str, str | None]] = Counter()
    for action in planned(round_).plan.actions:
        per_task = {g.name: g.devices_per_task for g in jobs[action.job].component.task_groups}
        for p in action.placements:
            queue = jobs[action.job].queue
            while queue is not None:
                held[queue, None] += p.tasks * per_task[p.group]
                held[queue, type_of[p.node]] += p.tasks * per_task[p.group]
                queue = queues[queue].parent
    smallest = sum(min(g.allowed_counts) * g.devices_per_task for g in jobs[name].component.task_groups)
    queue = jobs[name].queue
    while queue is not None:
        q = queues[queue]
        if q.device_limit is not None and held[queue, None] + smallest > q.device_limit:
            return True
        # By type it may be any type that the job can use: some limit by type must be short.
        if any(held[queue, t] + smallest > limit for t, limit in q.device_limit_by_type.items()):
            return True
        queue = q.parent
    return False


def test_who_waits_beside_what_is_claimed_has_no_place():
    """The claim of another takes the node's whole memory; nobody else knows how much that is."""
    round_ = round_of(
        [node("a", H, 2, memory=32)],
        [job("j", memory=8), job("claimant", memory=32)],
        claims=(Claim("claimant", (at("a", [1]),), expires_at=600.0),),
    )
    seen: Counter[str] = Counter()
    check_soundness(seen, round_)
    assert seen["NO_FIT_NOW"] == 1


def test_what_is_said_to_fit_never_or_not_now_has_no_place():
    seen: Counter[str] = Counter()

    @sound
    @given(rounds("tiny"))
    def check(round_: Round) -> None:
        check_soundness(seen, round_)

    check()
    print(dict(seen))


@pytest.mark.deep
@pytest.mark.timeout(3_000)
def test_what_is_said_to_fit_never_or_not_now_has_no_place_at_length():
    seen: Counter[str] = Counter()

    @settings(sound, max_examples=3_000)
    @given(rounds("tiny"))
    def check(round_: Round) -> None:
        check_soundness(seen, round_, 20_000)

    check()
    print(dict(seen))
    assert all(
        seen[kind.value]
        for kind in (VerdictKind.NEVER_FITS, VerdictKind.NO_FIT_NOW, VerdictKind.HELD_BY_POLICY)
    )
