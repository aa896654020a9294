"""Hand-worked values of rho and of every term; the arithmetic stands beside each number."""

from dataclasses import replace

import pytest

from gangplan.domain.cluster import Resources
from gangplan.domain.job import Running
from gangplan.domain.plan import ActionKind, ForcedReason
from gangplan.domain.policy import Policy
from gangplan.model.terms import terms
from gangplan.model.verifier.facts import job_size, round_facts
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import GIB, act, at, group, job, node, plan_of, round_of, topology

EVICT, KEEP, PLACE = ActionKind.EVICT, ActionKind.KEEP, ActionKind.PLACE
MIGRATE, RESIZE = ActionKind.MIGRATE, ActionKind.RESIZE


def judged(round_, *actions):
    """The verification of a plan that must be valid."""
    verification = verify(round_, plan_of(*actions))
    assert verification.violations == ()
    return verification


def by_term(round_, *actions):
    return judged(round_, *actions).objective_by_term


def test_every_term_is_found_and_named():
    assert [term.NAME for term in terms()] == [
        "cost",
        "deadline",
        "fairness",
        "fragmentation",
        "interactive",
        "locality",
        "priority",
        "residual",
        "switching",
        "throughput",
        "tracking",
    ]
    assert all(term.UNIT for term in terms())


# Throughput


def test_a_job_at_its_reference_is_worth_its_devices():
    """4 devices on the best type: X = 4, X_ref = 4, V = 4 ** 1 * 1."""
    round_ = round_of([node("a", "H100", 8)], [job("j", gpus=4)])
    assert (
        by_term(round_, act(PLACE, "j", at("a", range(4)), scope="node", throughput=4.0))["throughput"] == 4.0
    )


def test_a_slower_type_is_worth_its_share_of_the_reference():
    """Speeds 1 and 0.55 in the catalogue; on the slow one X / X_ref = 0.55, so V = 2 * 0.55."""
    round_ = round_of([node("a", "V100", 4)], [job("j", gpus=2)], types={"H100": 1.0, "V100": 0.55})
    found = by_term(round_, act(PLACE, "j", at("a", [0, 1]), scope="node", throughput=1.1))
    assert found["throughput"] == pytest.approx(1.1)


def test_size_exponent_bends_the_full_value():
    """gamma = 1/2: V = 4 ** 0.5 * 1 = 2."""
    round_ = round_of([node("a", "H100", 8)], [job("j", gpus=4)], policy=Policy(size_exponent=0.5))
    assert (
        by_term(round_, act(PLACE, "j", at("a", range(4)), scope="node", throughput=4.0))["throughput"] == 2.0
    )


def test_the_slowest_group_sets_the_speed_of_a_gang():
    """actor: 1 of 2 tasks (X/X_ref = 1/2); learner: full (1). The gang: 1/2. req = 2 + 2; V = 4 * 1/2.

    In work units: 1/2 of X_ref of the first group, 2, makes 1 per second.
    """
    gang = job("j", group("actor", 2, counts=[1, 2]), group("learner", 2))
    round_ = round_of([node("a", "H100", 8)], [gang])
    actor, learner = at("a", [0], group="actor"), at("a", [1, 2], group="learner")
    assert by_term(round_, act(PLACE, "j", actor, learner, scope="node", throughput=1.0))["throughput"] == 2.0


def test_a_cell_that_is_not_listed_is_that_of_the_next_wider_scope():
    """rack is not listed: cluster's 3 counts there; node's 4 is X_ref. V = 2 * 3/4."""
    cells = {("H100", 2, "cluster"): 3.0, ("H100", 2, "node"): 4.0}
    tree = topology("rack", r="rack")
    nodes = [node("a", "H100", 1, domain="r"), node("b", "H100", 1, domain="r")]
    round_ = round_of(nodes, [job("j", gpus=2, profile="p")], profiles={"p": cells}, topology=tree)
    found = by_term(round_, act(PLACE, "j", at("a", [0]), at("b", [0]), scope="rack", throughput=3.0))
    assert found["throughput"] == 1.5


def test_a_cpu_only_job_is_sized_by_its_dominant_share():
    """2 tasks of 4 CPUs and 64 GiB on hosts of 8 CPUs and 64 GiB: max(8/8, 128/64) = 2 (decision 41)."""
    cpu_only = job("j", group(count=2, gpus=0, cpu=4, memory=64))
    assert job_size(cpu_only, Policy()) == 2.0
    round_ = round_of([node("a")], [cpu_only])
    assert (
        by_term(round_, act(PLACE, "j", at("a", tasks=2), scope="node", throughput=2.0))["throughput"] == 2.0
    )


def test_a_dimension_that_the_reference_host_lacks_counts_nothing():
    cpu_only = job("j", group(gpus=0, cpu=4, memory=64))
    assert job_size(cpu_only, Policy(reference_host=Resources(8_000, 0))) == 0.5


def test_a_leader_without_devices_does_not_count_in_the_size():
    gang = job("j", group("leader", gpus=0, cpu=32), group("worker", 3))
    assert job_size(gang, Policy()) == 3.0


# Fragmentation


def sharing(*parts, weight=5.0, running=()):
    """One node of four devices, and a job for each part, in thousandths."""
    jobs = [job(f"j{i}", group(milli=part)) for i, part in enumerate(parts)]
    for i, device in enumerate(running):
        jobs[i] = replace(jobs[i], running=Running((at("n", [device], milli=parts[i]),)))
    return round_of([node("n", "H100", 4)], jobs, policy=Policy(fragmentation_weight=weight))


def start(name, device, milli, kind=PLACE):
    return act(kind, name, at("n", [device], milli=milli), scope="node", throughput=milli / 1000)


@pytest.mark.parametrize(
    ("parts", "large"),
    [
        ((810, 810, 500), True),  # 2 * .19 is lost, and nobody asks for .19 or less
        ((810, 190), False),  # the rest of the one is what the other asks for
        ((810, 100), True),  # .19 - .1 is lost
        ((810, 650, 650), True),  # .19 + 2 * .35 at .65: both are large
        ((500, 500), False),  # a half leaves a half
    ],
)
def test_a_large_part_costs_the_rest_that_nobody_asks_for(parts, large):
    """Five times the rest of the first job's device."""
    round_ = sharing(*parts)
    found = by_term(round_, start("j0", 0, parts[0]))["fragmentation"]
    assert found == pytest.approx(-5.0 * (1000 - parts[0]) / 1000 if large else 0.0)


def test_the_least_large_part_is_where_most_is_lost():
    """At .81: .19 * 3 = .57. At .65: that, and .35, less .32 * 2 = .28. So .65 is not large."""
    round_ = sharing(810, 810, 810, 650, 320, 320)
    assert by_term(round_, start("j3", 0, 650))["fragmentation"] == 0.0


def test_what_runs_has_its_place_and_costs_nothing():
    """The first runs on device 0 and stays; the second is started beside it, on device 1."""
    round_ = sharing(810, 810, running=[0])
    stays = start("j0", 0, 810, KEEP)
    assert by_term(round_, stays)["fragmentation"] == 0.0
    assert by_term(round_, stays, start("j1", 1, 810))["fragmentation"] == pytest.approx(-0.95)


# Priority and fairness


def test_weights_are_normalised_by_the_median_job():
    """Bases 1 and 3 (weight 1.5 * class weight 2); median 2; b = 0.5 and 1.5. Priority: (0.5 - 1) * 1 + (1.5
    - 1) * 1."""
    jobs = [job("a"), job("b", weight=1.5, priority=7)]
    round_ = round_of([node("n", "H100", 2)], jobs, policy=Policy(priority_weights={7: 2.0}))
    facts = round_facts(round_)
    assert [facts.jobs[name].base_weight for name in ("a", "b")] == [0.5, 1.5]
    assert by_term(round_, act(PLACE, "b", at("n", [0]), scope="node", throughput=1.0))["priority"] == 0.5
    assert by_term(round_, act(PLACE, "a", at("n", [0]), scope="node", throughput=1.0))["priority"] == -0.5


def rho_round(**fields):
    """One job of 2 devices on a cluster of 4, D = 100, now = 1000; alone, its share is all of it: x_iso =
    2."""
    given = {"submit_time": 600.0, "work_done": 200.0, "work_left": 800.0, "fair_progress": 400.0}
    return round_of(
        [node("n", "H100", 4)], [job("j", gpus=2, **{**given, **fields})], now=1000.0, round_seconds=100.0
    )


def test_rho_by_hand():
    """age = 400; x_iso = 2; r = (200 + 2*100) / (400 + 100) = 0.8; f = 100 + 800/0.8 = 1100.

    isolated_left = 200 + 800 - 400 = 600; rho = (400 + 1100) / (400 + 600/2) = 1500/700.
    """
    facts = round_facts(rho_round()).jobs["j"]
    assert facts.isolated == 2.0
    assert facts.rho == pytest.approx(1500 / 700)


def test_a_frozen_fair_finish_age_ends_the_fair_self():
    """A = 300 and nothing is left alone: rho = 1500 / 300."""
    assert round_facts(rho_round(fair_finish_age=300.0)).jobs["j"].rho == pytest.approx(5.0)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"submit_time": None}, id="unknown submit time"),
        pytest.param({"work_left": None}, id="unknown work left"),
        pytest.param({"fair_finish_age": 0.0}, id="denominator 0"),
        pytest.param({"types": ["TPU"]}, id="no isolated throughput"),
    ],
)
def test_rho_is_1_where_it_has_no_meaning(fields):
    assert round_facts(rho_round(**fields)).jobs["j"].rho == 1.0


@pytest.mark.parametrize(
    ("fields", "rho"),
    [
        # (0 + 100 + 1/2) / (0 + 1/2) = 201 -> 8
        pytest.param(
            {"submit_time": 1000.0, "work_done": 0.0, "work_left": 1.0, "fair_progress": 0.0}, 8.0, id="high"
        ),
        # r = (200 + 200)/500 = 0.8, f = 100 + 0/0.8; (400 + 100) / (400 + 20000/2) = 0.048 -> 1/4
        pytest.param({"work_left": 0.0, "fair_progress": -19_800.0}, 0.25, id="low"),
    ],
)
def test_rho_is_clipped(fields, rho):
    assert round_facts(rho_round(**fields)).jobs["j"].rho == rho


def test_a_gang_larger_than_its_share_runs_time_shared():
    """Two jobs of equal weight share 4 devices: 2 each. A gang of 4 alone makes 4 * min(1, 2/4) = 2."""
    round_ = round_of([node("n", "H100", 4)], [job("j", gpus=4), job("k")])
    assert round_facts(round_).jobs["j"].isolated == 2.0


def test_an_elastic_gang_takes_the_best_count_alone():
    """Share 2: count 1 makes 1, count 2 makes 3 (superlinear profile), count 4 makes 4 * 2/4 = 2. Best: 3."""
    cells = {("H100", 1, "node"): 1.0, ("H100", 2, "node"): 3.0, ("H100", 4, "node"): 4.0}
    jobs = [job("j", group(count=4, counts=[1, 2, 4], profile="p")), job("k")]
    assert (
        round_facts(round_of([node("n", "H100", 4)], jobs, profiles={"p": cells})).jobs["j"].isolated == 3.0
    )


def test_devices_that_cannot_be_used_are_nobodys_share():
    """8 devices, one broken, one used by others: C = 6; two alike jobs: 3 each; 6 * 3/6."""
    nodes = [node("n", "H100", 8, unhealthy=[0], others=[1])]
    assert round_facts(round_of(nodes, [job("j", gpus=6), job("k")])).jobs["j"].isolated == 3.0


def test_fairness_is_what_rho_adds_to_the_base_weight():
    """Base 1 each. rho: j 1500/700, k 1 (no submit time). Median of (15/7, 1) = 11/7; w_j = 15/11, w_k =
    7/11.

    b = 1 for both, so fairness is (15/11 - 1) * 2 for j at full speed; share is now half: x_iso(j) = 2 *
    min(1, 2/2) = 2.
    """
    round_ = rho_round()
    round_ = round_of(round_.cluster.nodes, [*round_.jobs, job("k", gpus=2)], now=1000.0, round_seconds=100.0)
    found = by_term(round_, act(PLACE, "j", at("n", [0, 1]), scope="node", throughput=2.0))
    assert found["fairness"] == pytest.approx(2 * (15 / 11 - 1))
    assert found["priority"] == 0.0


def test_fairness_power_0_switches_fairness_off_and_2_squares():
    """p = 2: rho^2 = 225/49 and 1; median 137/49; w_j = 225/137."""
    base = rho_round()
    for power, weight in ((0.0, 1.0), (2.0, 225 / 137)):
        round_ = round_of(
            base.cluster.nodes,
            [*base.jobs, job("k", gpus=2)],
            now=1000.0,
            round_seconds=100.0,
            policy=Policy(fairness_power=power),
        )
        assert round_facts(round_).jobs["j"].weight == pytest.approx(weight)


# Deadline


@pytest.mark.parametrize(
    ("deadline", "met"),
    [
        pytest.param(1200.0, True, id="400 work in 200 s needs exactly 2/s"),
        pytest.param(1199.0, False, id="one second less does not do"),
        pytest.param(1000.0, False, id="no time left"),
        pytest.param(500.0, False, id="in the past"),
        pytest.param(None, False, id="no deadline"),
    ],
)
def test_a_deadline_pays_at_the_rate_it_needs(deadline, met):
    """w = 1, req = 2: raw 2; policy weight 0.5: 1 GPU-equivalent."""
    round_ = round_of(
        [node("n", "H100", 2)], [job("j", gpus=2, work_left=400.0, deadline=deadline)], now=1000.0
    )
    found = by_term(round_, act(PLACE, "j", at("n", [0, 1]), scope="node", throughput=2.0))
    assert found["deadline"] == (1.0 if met else 0.0)


def test_unknown_work_left_earns_no_deadline():
    round_ = round_of([node("n", "H100", 2)], [job("j", gpus=2, deadline=9e9)])
    assert by_term(round_, act(PLACE, "j", at("n", [0, 1]), scope="node", throughput=2.0))["deadline"] == 0.0


def test_waiting_earns_no_deadline_even_with_no_work_left():
    round_ = round_of([node("n", "H100", 2)], [job("j", work_left=0.0, deadline=9e9)])
    assert judged(round_).objective == 0.0


def test_a_move_loses_its_restart_time_to_the_deadline():
    """400 work, 200 s left, 2/s: met where it is; after a restart of 1 s it would need 400/199 > 2."""
    moving = job(
        "j",
        gpus=2,
        running=at("a", [0, 1]),
        checkpoint_age=0.0,
        work_left=400.0,
        deadline=1200.0,
        restart_seconds=1.0,
    )
    round_ = round_of([node("a", "H100", 2), node("b", "H100", 2)], [moving], now=1000.0)
    stay = act(KEEP, "j", at("a", [0, 1]), scope="node", throughput=2.0)
    move = act(MIGRATE, "j", at("b", [0, 1]), scope="node", throughput=2.0, good_of=["j"])
    assert by_term(round_, stay)["deadline"] == 1.0
    assert by_term(round_, move)["deadline"] == 0.0


# Locality


def test_a_spread_wider_than_preferred_costs_and_one_within_does_not():
    """w req = 2; wider than rack: raw -2, weight 0.1: -0.2."""
    tree = topology("spine", "rack", s="spine", r="rack<s", q="rack<s")
    nodes = [
        node("a", "H100", 1, domain="r"),
        node("b", "H100", 1, domain="r"),
        node("c", "H100", 1, domain="q"),
    ]
    round_ = round_of(nodes, [job("j", gpus=2, preferred="rack")], topology=tree)
    near = act(PLACE, "j", at("a", [0]), at("b", [0]), scope="rack", throughput=2.0)
    far = act(PLACE, "j", at("a", [0]), at("c", [0]), scope="spine", throughput=2.0)
    assert by_term(round_, near)["locality"] == 0.0
    assert by_term(round_, far)["locality"] == pytest.approx(-0.2)


# Switching (decision 13)


def switching_round(**fields):
    """j on 2 of 4 devices of a, 60 s since its checkpoint, restart 30 s; D = 100, horizon 1000; k waits."""
    given = {"gpus": 2, "running": at("a", [0, 1]), "checkpoint_age": 60.0, "restart_seconds": 30.0}
    jobs = [job("j", **{**given, **fields}), job("k", gpus=4)]
    return round_of(
        [node("a", "H100", 4), node("b", "H100", 4)],
        jobs,
        now=1000.0,
        round_seconds=100.0,
        horizon_seconds=1000.0,
    )


def evicted(round_):
    return by_term(
        round_,
        act(EVICT, "j", good_of=["k"]),
        act(PLACE, "k", at("a", range(4)), scope="node", throughput=4.0, after=["evict:j"]),
    )["switching"]


def test_an_eviction_costs_lost_work_and_its_later_start():
    """(60 + 30) * 2 / 1000."""
    assert evicted(switching_round()) == pytest.approx(-0.18)


def test_a_move_costs_what_an_eviction_costs():
    """(60 + 30) * 2 / 1000."""
    move = act(MIGRATE, "j", at("b", [0, 1]), scope="node", throughput=2.0, good_of=["j"])
    assert by_term(switching_round(), move)["switching"] == pytest.approx(-0.18)


def test_a_resize_costs_the_same_whatever_it_leads_to():
    """From 2 to 4 devices: (60 + 30) * 2 / 1000."""
    elastic = round_of(
        [node("a", "H100", 4)],
        [
            job(
                "j",
                group(count=2, counts=[2, 4]),
                running=at("a", [0, 1]),
                checkpoint_age=60.0,
                restart_seconds=30.0,
            )
        ],
        now=1000.0,
        round_seconds=100.0,
        horizon_seconds=1000.0,
    )
    grow = act(RESIZE, "j", at("a", range(4)), scope="node", throughput=4.0, good_of=["j"])
    assert by_term(elastic, grow)["switching"] == pytest.approx(-0.18)


def test_keeping_costs_nothing():
    keep = act(KEEP, "j", at("a", [0, 1]), scope="node", throughput=2.0)
    assert by_term(switching_round(), keep)["switching"] == 0.0


@pytest.mark.parametrize(
    ("fields", "cost"),
    [
        pytest.param(
            {"checkpoint_age": None, "started": 800.0}, (200 + 30) * 2 / 1000, id="since it started"
        ),
        pytest.param(
            {"checkpoint_age": None, "submit_time": 500.0}, (500 + 30) * 2 / 1000, id="since submission"
        ),
        pytest.param(
            {"checkpoint_age": None}, (1000 + 30) * 2 / 1000, id="the horizon when nothing is known"
        ),
        pytest.param({"checkpoint_age": None, "started": 1500.0}, 30 * 2 / 1000, id="never below 0"),
        pytest.param({"work_left": 800.0}, (60 + 30) * 2 / 400, id="done in 800 / 2 s: H = 400"),
        pytest.param({"work_left": 10.0}, (60 + 30) * 2 / 100, id="H is at least one round"),
        pytest.param({"work_left": 0.0}, (60 + 30) * 2 / 1000, id="no work left says nothing of H"),
    ],
)
def test_lost_time_and_horizon(fields, cost):
    assert evicted(switching_round(**fields)) == pytest.approx(-cost)


def test_a_forced_eviction_costs_nothing():
    round_ = switching_round(running=at("gone", [0, 1]))
    assert by_term(round_, act(EVICT, "j", forced=ForcedReason.NODE_GONE))["switching"] == 0.0


def test_a_cpu_only_job_holds_its_size():
    """req = 16 CPUs / 8 = 2; evicted: (60 + 30) * 2 / 1000."""
    cpu_only = job("j", group(gpus=0, cpu=16), running=at("a"), checkpoint_age=60.0, restart_seconds=30.0)
    round_ = round_of(
        [node("a", "H100", 4, cpu=16)],
        [cpu_only, job("k", gpus=4, cpu=1)],
        now=1000.0,
        round_seconds=100.0,
        horizon_seconds=1000.0,
    )
    assert evicted(round_) == pytest.approx(-0.18)


def test_the_spread_cost_of_decision_13():
    """A victim on 8 GPUs, a beneficiary of weight 1.5 with two rounds left, a restart of one round each.

    D = 1, the victim's H is long (horizon 100), so its spread cost is (0 + 1) * 8 / 100 = 0.08 a round, while
    the beneficiary is worth 1.5 * 8 against the victim's 8 a round: the objective of one round says evict.
    (Over the bundle's shortest horizon, two rounds, it is 24 - 16 - 16 < 0: taking it back is the take-back's
    business, decision 14.)
    """
    victim = job("victim", gpus=8, running=at("a", range(8)), checkpoint_age=0.0, restart_seconds=1.0)
    rival = job("rival", gpus=8, weight=1.5, work_left=16.0, restart_seconds=1.0)
    round_ = round_of([node("a", "H100", 8)], [victim, rival], round_seconds=1.0, horizon_seconds=100.0)
    stay = judged(round_, act(KEEP, "victim", at("a", range(8)), scope="node", throughput=8.0))
    swap = judged(
        round_,
        act(EVICT, "victim", good_of=["rival"]),
        act(PLACE, "rival", at("a", range(8)), scope="node", throughput=8.0, after=["evict:victim"]),
    )
    # Weights 1 and 1.5 over their median 1.25: 0.8 and 1.2.
    assert stay.objective == pytest.approx(0.8 * 8)
    assert swap.objective == pytest.approx(1.2 * 8 - 0.08)


def test_the_objective_is_the_sum_of_its_terms():
    round_ = switching_round()
    verification = judged(
        round_,
        act(EVICT, "j", good_of=["k"]),
        act(PLACE, "k", at("b", range(4)), scope="node", throughput=4.0),
    )
    assert verification.objective == pytest.approx(sum(verification.objective_by_term.values()))


def test_an_empty_round_has_no_median_and_no_value():
    assert verify(round_of([], []), plan_of()).objective == 0.0


def test_weight_0_has_a_meaning():
    """A median of 0 divides nothing: priority classes of weight 0 are worth nothing."""
    round_ = round_of(
        [node("n", "H100", 1)], [job("j", priority=1)], policy=Policy(priority_weights={1: 0.0})
    )
    assert judged(round_, act(PLACE, "j", at("n", [0]), scope="node", throughput=1.0)).objective == 0.0


def test_bytes_stay_integers():
    assert node("n", memory=3).resources.memory_bytes == 3 * GIB
