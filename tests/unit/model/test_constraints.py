"""Every rule of every family: a plan that keeps it, and one that breaks it."""

import pytest

from gangplan.domain.cluster import NodeHealth, Toleration
from gangplan.domain.job import Capabilities, TaskSplit
from gangplan.domain.plan import ActionKind, ForcedReason, Precondition
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.model.constraints import constraints
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import act, at, group, job, node, plan_of, round_of, taint, topology

EVICT, KEEP, PLACE = ActionKind.EVICT, ActionKind.KEEP, ActionKind.PLACE
MIGRATE, RESIZE = ActionKind.MIGRATE, ActionKind.RESIZE


def rules(round_, *actions):
    """Names of the broken rules."""
    return {violation.rule for violation in verify(round_, plan_of(*actions)).violations}


def place(name, *placements, scope="node", throughput=1.0, **fields):
    return act(PLACE, name, *placements, scope=scope, throughput=throughput, **fields)


def keep(name, *placements, scope="node", throughput=1.0, **fields):
    return act(KEEP, name, *placements, scope=scope, throughput=throughput, **fields)


def test_families_are_found_and_their_rules_are_theirs():
    assert [family.NAME for family in constraints()] == [
        "capacity",
        "claim",
        "disruption",
        "eligibility",
        "gang",
        "gate",
        "guarantee",
        "headroom",
        "justification",
        "order",
        "promise",
        "quota",
        "structure",
        "tier",
        "topology",
    ]
    for family in constraints():
        assert len(set(family.RULES)) == len(family.RULES)
        assert all(rule.startswith(f"{family.NAME}.") for rule in family.RULES)


# Structure

ONE = round_of([node("a", "H", 2)], [job("j", revision="v1"), job("r", running=at("a", [0]))])
STAY = keep("r", at("a", [0]))


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        pytest.param([STAY], set(), id="the waiting job may wait"),
        pytest.param([STAY, place("j", at("a", [1]))], set(), id="or start"),
        pytest.param([], {"structure.missing-action"}, id="the running one needs an action"),
        pytest.param([STAY, STAY], {"structure.action-id", "structure.repeated-job"}, id="only one"),
        pytest.param([STAY, place("x", at("a", [1]))], {"structure.unknown-job"}, id="unknown job"),
        pytest.param([STAY, act(ActionKind.RESERVE, "j")], {"promise.malformed"}, id="a promise of nothing"),
        pytest.param([act(ActionKind.RESERVE, "r")], {"structure.kind"}, id="no promise to who runs"),
        pytest.param([STAY, act(EVICT, "j")], {"structure.kind"}, id="a waiting job cannot stop"),
        pytest.param([place("r", at("a", [0]))], {"structure.kind"}, id="a running job cannot start"),
        pytest.param([STAY, place("j", at("b", [1]))], {"structure.unknown-node"}, id="unknown node"),
        pytest.param(
            [STAY, place("j", at("a", [1]), preconditions=(Precondition("job", "j", "v1"),))],
            set(),
            id="fresh",
        ),
        pytest.param(
            [STAY, place("j", at("a", [1]), preconditions=(Precondition("job", "j", "v0"),))],
            {"structure.precondition"},
            id="stale",
        ),
        pytest.param([STAY, place("j", at("a", [1]), throughput=2.0)], {"structure.throughput"}, id="boast"),
        pytest.param(
            [STAY, place("j", at("a", [1]), scope="cluster")], {"structure.scope"}, id="wrong scope"
        ),
        pytest.param(
            [STAY, place("j", at("a", [1]), cost_by_term={"throughput": 1.0})], set(), id="worth what it says"
        ),
        pytest.param(
            [STAY, place("j", at("a", [1]), cost_by_term={"throughput": 2.0})],
            {"structure.worth"},
            id="not worth it",
        ),
        pytest.param(
            [keep("r", at("a", [0]), forced=ForcedReason.NODE_GONE)], {"structure.forced"}, id="not forced"
        ),
    ],
)
def test_structure(actions, expected):
    broken = rules(ONE, *actions)
    assert expected <= broken
    assert expected or not broken


def test_keep_is_exactly_what_it_held():
    assert rules(ONE, keep("r", at("a", [1]))) >= {"structure.kind"}
    assert rules(ONE, act(MIGRATE, "r", at("a", [1]), scope="node", throughput=1.0, good_of=["r"])) == set()


def test_the_order_of_placements_does_not_matter():
    spread = job("j", gpus=2, running=[at("a", [0]), at("b", [0])])
    round_ = round_of([node("a", "H", 1), node("b", "H", 1)], [spread])
    assert rules(round_, keep("j", at("b", [0]), at("a", [0]), scope="cluster", throughput=2.0)) == set()


ELASTIC = round_of(
    [node("a", "H", 2), node("b", "H", 2), node("c", "H", 4, count_only=True)],
    [job("j", group(count=2, counts=[1, 2, 3]), running=at("a", [0, 1]))],
)


@pytest.mark.parametrize(
    ("kind", "placements", "scope", "ok"),
    [
        pytest.param(RESIZE, [at("a", [0])], "node", True, id="shrinks in place"),
        pytest.param(RESIZE, [at("a", [0, 1]), at("b", [0])], "cluster", True, id="grows onto another node"),
        pytest.param(MIGRATE, [at("a", [0])], "node", False, id="a nested change is a RESIZE"),
        pytest.param(RESIZE, [at("b", [0])], "node", False, id="another node is a MIGRATE"),
        pytest.param(MIGRATE, [at("b", [0])], "node", True, id="and may change the count"),
        pytest.param(RESIZE, [at("a", [0]), at("b", [0, 1])], "cluster", False, id="part moved, part grown"),
        pytest.param(MIGRATE, [at("a", [0]), at("b", [0, 1])], "cluster", True, id="is a MIGRATE"),
        pytest.param(MIGRATE, [at("c", tasks=3)], "node", True, id="to a node that only counts"),
    ],
)
def test_resize_is_nested_and_migrate_anything_else(kind, placements, scope, ok):
    count = sum(placement.tasks for placement in placements)
    action = act(kind, "j", *placements, scope=scope, throughput=float(count), good_of=["j"])
    assert rules(ELASTIC, action) == (set() if ok else {"structure.kind"})


def test_a_forced_job_is_evicted_or_placed_anew_by_a_forced_move():
    round_ = round_of([node("a", "H", 3, unhealthy=[0])], [job("j", gpus=2, running=at("a", [0, 1]))])
    why = ForcedReason.DEVICE_UNHEALTHY
    assert rules(round_, act(EVICT, "j", forced=why)) == set()
    anew = act(MIGRATE, "j", at("a", [1, 2]), scope="node", throughput=2.0, forced=why)
    assert rules(round_, anew) == set()
    assert "structure.forced" in rules(round_, act(EVICT, "j", forced=ForcedReason.NODE_GONE))
    assert "structure.forced" in rules(round_, act(EVICT, "j"))
    assert "structure.kind" in rules(round_, keep("j", at("a", [0, 1]), throughput=2.0, forced=why))
    assert "structure.kind" in rules(
        round_, act(RESIZE, "j", at("a", [1, 2]), scope="node", throughput=2.0, forced=why)
    )


# Gangs


def test_a_gang_starts_whole():
    gang = job("j", group("leader", gpus=0, cpu=1), group("worker", 2, counts=[2, 4]))
    round_ = round_of([node("a", "H", 8)], [gang])
    leader = at("a", group="leader")
    assert rules(round_, place("j", leader, at("a", [0, 1]), throughput=2.0)) == set()
    assert "gang.incomplete" in rules(round_, place("j", leader, throughput=0.0))
    assert "gang.incomplete" in rules(round_, place("j", at("a", [0, 1]), throughput=2.0))
    assert "gang.count" in rules(round_, place("j", leader, at("a", [0, 1, 2]), throughput=3.0))
    assert rules(round_, place("j", leader, at("a", range(4)), throughput=4.0)) == set()


def test_a_group_runs_on_one_type_and_two_groups_may_differ():
    nodes = [node("a", "H", 1), node("b", "V", 1)]
    one = round_of(nodes, [job("j", gpus=2)])
    assert "gang.mixed-types" in rules(
        one, place("j", at("a", [0]), at("b", [0]), scope="cluster", throughput=2.0)
    )
    two = round_of(nodes, [job("j", group("x"), group("y"))])
    assert rules(two, place("j", at("a", [0], group="x"), at("b", [0], group="y"), scope="cluster")) == set()


# Capacity


@pytest.mark.parametrize(
    ("nodes", "placements", "expected"),
    [
        pytest.param([node("a", "H", 2)], [at("a", [0, 1])], None, id="fits"),
        pytest.param([node("a", "H", 3)], [at("a", [0, 2])], None, id="any indices"),
        pytest.param(
            [node("a", "H", 2)], [at("a", [0], tasks=2)], "capacity.device-indices", id="one index short"
        ),
        pytest.param([node("a", "H", 2)], [at("a", tasks=2)], "capacity.device-indices", id="no indices"),
        pytest.param([node("a", "H", 2)], [at("a", [1, 2])], "capacity.device-unusable", id="no such device"),
        pytest.param([node("a", "H", 2)], [at("a", [-1, 0])], "capacity.device-unusable", id="negative"),
        pytest.param(
            [node("a", "H", 3, unhealthy=[2])], [at("a", [1, 2])], "capacity.device-unusable", id="broken"
        ),
        pytest.param(
            [node("a", "H", 3, others=[2])], [at("a", [1, 2])], "capacity.device-unusable", id="others'"
        ),
        pytest.param([node("a", "H", 2, count_only=True)], [at("a", tasks=2)], None, id="only counted"),
        pytest.param(
            [node("a", "H", 2, count_only=True)],
            [at("a", [0, 1])],
            "capacity.device-indices",
            id="indices unasked for",
        ),
        pytest.param(
            [node("a", "H", 3, count_only=True, unhealthy=1, others=1)],
            [at("a", tasks=2)],
            "capacity.device-count",
            id="too few are left",
        ),
        pytest.param(
            [node("a", "H", 2, cpu=7)], [at("a", [0, 1])], "capacity.cpu", id="8 CPUs do not fit in 7"
        ),
        pytest.param(
            [node("a", "H", 2, memory=15)], [at("a", [0, 1])], "capacity.memory", id="nor 16 GiB in 15"
        ),
    ],
)
def test_capacity(nodes, placements, expected):
    round_ = round_of(nodes, [job("j", gpus=2, cpu=4, memory=8)])
    broken = rules(round_, place("j", *placements, throughput=2.0))
    assert broken == ({expected} if expected else set())


def test_nobody_shares_a_device():
    round_ = round_of([node("a", "H", 2)], [job("j"), job("k"), job("r", running=at("a", [0]))])
    stay = keep("r", at("a", [0]))
    assert rules(round_, stay, place("j", at("a", [0]))) == {"capacity.device-shared"}
    assert rules(round_, stay, place("j", at("a", [1])), place("k", at("a", [1]))) == {
        "capacity.device-shared"
    }
    assert rules(round_, stay, place("j", at("a", [1]))) == set()


def test_two_groups_of_one_job_do_not_share_a_device_either():
    round_ = round_of([node("a", "H", 2)], [job("j", group("x"), group("y"))])
    x, y = at("a", [0], group="x"), at("a", [0], group="y")
    assert rules(round_, place("j", x, y)) == {"capacity.device-shared"}


def test_broken_limits_are_tolerated_but_may_not_get_worse():
    """Two jobs of 6 CPUs on a node cut to 8: both may stay; swapping one for another of 6 is no worse, one of
    7 is."""
    jobs = [job(name, group(gpus=0, cpu=6), running=at("a")) for name in ("r", "s")]
    round_ = round_of(
        [node("a", cpu=8)], [*jobs, job("six", group(gpus=0, cpu=6)), job("seven", group(gpus=0, cpu=7))]
    )
    r = keep("r", at("a"))
    assert rules(round_, r, keep("s", at("a"))) == set()
    swap = act(EVICT, "s", good_of=["six"])
    assert rules(round_, r, swap, place("six", at("a"), after=["evict:s"])) == set()
    swap = act(EVICT, "s", good_of=["seven"])
    assert rules(round_, r, swap, place("seven", at("a"), after=["evict:s"])) == {"capacity.cpu"}


def test_two_running_jobs_on_one_device_may_stay():
    jobs = [job(name, running=at("a", [0])) for name in ("r", "s")]
    round_ = round_of([node("a", "H", 1)], jobs)
    assert rules(round_, keep("r", at("a", [0])), keep("s", at("a", [0]))) == set()


# Eligibility


@pytest.mark.parametrize(
    ("where", "needs", "expected"),
    [
        pytest.param({}, {}, None, id="plain"),
        pytest.param({"health": NodeHealth.UNHEALTHY}, {}, "node-unhealthy", id="unhealthy"),
        pytest.param({"cordoned": True}, {}, "node-cordoned", id="cordoned"),
        pytest.param({"drain_time": 10.0}, {}, "node-drained", id="drained by now"),
        pytest.param({"drain_time": 10.5}, {}, None, id="drained later"),
        pytest.param({}, {"node_selector": {"zone": "x"}}, "node-selector", id="label missing"),
        pytest.param(
            {"labels": {"zone": "y"}}, {"node_selector": {"zone": "x"}}, "node-selector", id="label differs"
        ),
        pytest.param({"labels": {"zone": "x"}}, {"node_selector": {"zone": "x"}}, None, id="label matches"),
        pytest.param({"taints": (taint("t"),)}, {}, "taint", id="taint"),
        pytest.param({"taints": (taint("t", execute=True),)}, {}, "taint", id="strong taint"),
        pytest.param({"taints": (taint("t"),)}, {"tolerations": (Toleration("t"),)}, None, id="tolerated"),
        pytest.param(
            {"taints": (taint("t"), taint("u"))},
            {"tolerations": (Toleration("t"),)},
            "taint",
            id="one of two",
        ),
        pytest.param({}, {"types": ["V"]}, "accelerator-type", id="type not allowed"),
        pytest.param({}, {"profile": "p"}, "no-throughput", id="no cell"),
    ],
)
def test_eligibility(where, needs, expected):
    round_ = round_of(
        [node("a", "H", 1, **where)],
        [job("j", **needs)],
        types={"H": 1.0, "V": 1.0},
        profiles={"p": {}},
        now=10.0,
    )
    broken = {violation.rule for violation in verify(round_, plan_of(place("j", at("a", [0])))).violations}
    broken.discard("structure.throughput")  # where there is none, none can be claimed
    if expected == "accelerator-type":
        assert f"eligibility.{expected}" in broken
    else:
        assert broken == ({f"eligibility.{expected}"} if expected else set())


def test_what_runs_where_it_now_may_not_stays_but_is_not_resized_there():
    elastic = job("j", group(count=2, counts=[1, 2, 3]), running=at("a", [0, 1]))
    round_ = round_of([node("a", "H", 4, cordoned=True)], [elastic])
    assert rules(round_, keep("j", at("a", [0, 1]), throughput=2.0)) == set()
    shrink = act(RESIZE, "j", at("a", [0]), scope="node", throughput=1.0, good_of=["j"])
    assert rules(round_, shrink) == {"eligibility.node-cordoned"}
    grow = act(RESIZE, "j", at("a", [0, 1, 2]), scope="node", throughput=3.0, good_of=["j"])
    assert rules(round_, grow) == {"eligibility.node-cordoned"}


def test_a_task_without_devices_runs_on_any_node():
    round_ = round_of(
        [node("a", "H", 1)], [job("j", group(gpus=0, cpu=1, types=["V"]))], types={"H": 1.0, "V": 1.0}
    )
    assert rules(round_, place("j", at("a"))) == set()


# Topology

TREE = topology("spine", "rack", s="spine", r="rack<s", q="rack<s", lone="rack")
HOSTS = [
    node("r1", "H", 2, domain="r"),
    node("r2", "H", 2, domain="r"),
    node("q1", "H", 2, domain="q"),
    node("l1", "H", 2, domain="lone"),
    node("l2", "H", 2, domain="lone"),
    node("s1", "H", 2, domain="s"),
    node("nowhere", "H", 2),
]


@pytest.mark.parametrize(
    ("names", "scope", "within"),
    [
        (["r1"], "node", ["node", "rack", "spine", "cluster"]),
        (["r1", "r2"], "rack", ["rack", "spine", "cluster"]),
        (["r1", "q1"], "spine", ["spine", "cluster"]),
        (["r1", "s1"], "spine", ["spine", "cluster"]),
        (["l1", "l2"], "rack", ["rack", "spine", "cluster"]),
        (["r1", "l1"], "cluster", ["cluster"]),
        (["r1", "nowhere"], "cluster", ["cluster"]),
        (["nowhere"], "node", ["node", "rack", "spine", "cluster"]),
    ],
)
def test_scope_and_required_level(names, scope, within):
    """A rack that hangs directly under the root is at or below every level, though in no spine (property
    P9)."""
    placements = [at(name, [0]) for name in names]
    for level in ("node", "rack", "spine", "cluster"):
        round_ = round_of(HOSTS, [job("j", gpus=len(names), required=level)], topology=TREE)
        broken = rules(round_, place("j", *placements, scope=scope, throughput=float(len(names))))
        assert broken == (set() if level in within else {"topology.required-level"})


def test_tasks_that_already_run_count_for_a_required_level():
    grows = job("j", group(count=2, counts=[1, 2]), running=at("r1", [0]), required="rack")
    round_ = round_of(HOSTS, [grows], topology=TREE)
    inside = act(RESIZE, "j", at("r1", [0]), at("r2", [0]), scope="rack", throughput=2.0, good_of=["j"])
    outside = act(RESIZE, "j", at("r1", [0]), at("q1", [0]), scope="spine", throughput=2.0, good_of=["j"])
    assert rules(round_, inside) == set()
    assert rules(round_, outside) == {"topology.required-level"}


def test_what_spreads_too_wide_already_may_stay_but_not_restart_so():
    wide = job("j", group(count=3, counts=[2, 3]), running=[at("r1", [0, 1]), at("l1", [0])], required="node")
    round_ = round_of(HOSTS, [wide], topology=TREE)
    stay = keep("j", at("r1", [0, 1]), at("l1", [0]), scope="cluster", throughput=3.0)
    assert rules(round_, stay) == set()
    shrink = act(RESIZE, "j", at("r1", [0]), at("l1", [0]), scope="cluster", throughput=2.0, good_of=["j"])
    assert rules(round_, shrink) == {"topology.required-level"}


@pytest.mark.parametrize(
    ("nodes", "placements", "ok"),
    [
        pytest.param([node("a", "H", 4)], [at("a", [0, 1, 2])], True, id="part of one node"),
        pytest.param(
            [node("a", "H", 2), node("b", "H", 1)], [at("a", [0, 1]), at("b", [0])], False, id="unequal"
        ),
        pytest.param(
            [node("a", "H", 2), node("b", "H", 2)], [at("a", [0, 1]), at("b", [0])], False, id="part of b"
        ),
        pytest.param(
            [node(n, "H", 1) for n in "abc"], [at(n, [0]) for n in "abc"], True, id="three whole nodes"
        ),
    ],
)
def test_whole_nodes(nodes, placements, ok):
    round_ = round_of(nodes, [job("j", gpus=3, split=TaskSplit.WHOLE_NODES)])
    scope = "node" if len(placements) == 1 else "cluster"
    broken = rules(round_, place("j", *placements, scope=scope, throughput=3.0))
    assert broken == (set() if ok else {"topology.whole-nodes"})


# Quota


@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        pytest.param([Queue("q")], set(), id="unlimited"),
        pytest.param([Queue("q", device_limit=2)], set(), id="just enough"),
        pytest.param([Queue("q", device_limit=1)], {"quota.device-limit"}, id="too small"),
        pytest.param([Queue("q", device_limit=0)], {"quota.device-limit"}, id="0 is none at all"),
        pytest.param(
            [Queue("p", device_limit=1), Queue("q", "p")], {"quota.device-limit"}, id="the parent's limit"
        ),
        pytest.param(
            [Queue("q", device_limit_by_type={"H": 1})], {"quota.device-limit-by-type"}, id="by type"
        ),
        pytest.param([Queue("q", device_limit_by_type={"V": 0})], set(), id="another type's"),
        pytest.param([Queue("other", device_limit=0), Queue("q")], set(), id="another queue's"),
    ],
)
def test_quota(queues, expected):
    round_ = round_of([node("a", "H", 2)], [job("j", gpus=2, queue="q")], queues=tuple(queues))
    assert rules(round_, place("j", at("a", [0, 1]), throughput=2.0)) == expected


def test_a_quota_cut_below_its_use_evicts_nobody_but_lets_nobody_in():
    jobs = [job("r", gpus=2, queue="q", running=at("a", [0, 1])), job("j", queue="q")]
    round_ = round_of([node("a", "H", 4)], jobs, queues=(Queue("q", device_limit=1),))
    stay = keep("r", at("a", [0, 1]), throughput=2.0)
    assert rules(round_, stay) == set()
    assert rules(round_, stay, place("j", at("a", [2]))) == {"quota.device-limit"}


def test_what_a_forced_job_held_is_not_tolerated_use():
    jobs = [job("r", gpus=2, queue="q", running=at("gone", [0, 1])), job("j", queue="q")]
    round_ = round_of([node("a", "H", 4)], jobs, queues=(Queue("q", device_limit=0),))
    out = act(EVICT, "r", forced=ForcedReason.NODE_GONE)
    assert rules(round_, out, place("j", at("a", [2]))) == {"quota.device-limit"}


def test_a_job_without_devices_needs_no_quota():
    round_ = round_of(
        [node("a")], [job("j", group(gpus=0, cpu=1), queue="q")], queues=(Queue("q", device_limit=0),)
    )
    assert rules(round_, place("j", at("a"))) == set()


# Disruption and justification


def disruption_round(limit=None, **can):
    jobs = [job("r", running=at("a", [0]), capabilities=Capabilities(**can)), job("j")]
    return round_of([node("a", "H", 1), node("b", "H", 1)], jobs, policy=Policy(disruption_limit=limit))


OUT = [act(EVICT, "r", good_of=["j"]), place("j", at("a", [0]), after=["evict:r"])]
MOVE = [
    act(MIGRATE, "r", at("b", [0]), scope="node", throughput=1.0, good_of=["j"]),
    place("j", at("a", [0]), after=["migrate:r"]),
]


def test_disruption():
    assert rules(disruption_round(), *OUT) == set()
    assert rules(disruption_round(1), *OUT) == set()
    assert rules(disruption_round(0), *OUT) == {"disruption.limit"}
    assert rules(disruption_round(pausable=False), *OUT) == {"disruption.not-pausable"}
    assert rules(disruption_round(pausable=False, resizable=False), *MOVE) == set()
    assert rules(disruption_round(movable=False), *MOVE) == {"disruption.not-movable"}
    assert rules(disruption_round(0), *MOVE) == {"disruption.limit"}


def test_what_is_not_resizable_keeps_its_counts_even_when_it_moves():
    elastic = job(
        "r", group(count=1, counts=[1, 2]), running=at("a", [0]), capabilities=Capabilities(resizable=False)
    )
    round_ = round_of([node("a", "H", 2), node("b", "H", 2)], [elastic])
    grow = act(RESIZE, "r", at("a", [0, 1]), scope="node", throughput=2.0, good_of=["r"])
    assert rules(round_, grow) == {"disruption.not-resizable"}
    grow = act(MIGRATE, "r", at("b", [0, 1]), scope="node", throughput=2.0, good_of=["r"])
    assert rules(round_, grow) == {"disruption.not-resizable"}
    assert (
        rules(round_, act(MIGRATE, "r", at("b", [0]), scope="node", throughput=1.0, good_of=["r"])) == set()
    )


def test_forced_actions_cost_no_budget_and_ask_no_leave():
    rigid = Capabilities(pausable=False, movable=False, resizable=False)
    stuck = job("r", group(count=1, counts=[1, 2]), running=at("gone", [0]), capabilities=rigid)
    round_ = round_of([node("a", "H", 2)], [stuck], policy=Policy(disruption_limit=0))
    why = ForcedReason.NODE_GONE
    assert rules(round_, act(EVICT, "r", forced=why)) == set()
    assert (
        rules(round_, act(MIGRATE, "r", at("a", [0, 1]), scope="node", throughput=2.0, forced=why)) == set()
    )


def test_justification():
    start = OUT[1]
    round_ = disruption_round()
    assert rules(round_, act(EVICT, "r"), start) == {"justification.none"}
    assert rules(round_, act(EVICT, "r", good_of=["r"]), start) == {"justification.no-gain"}
    assert rules(round_, act(EVICT, "r", good_of=["j", "x"]), start) == {"justification.no-gain"}
    assert rules(round_, act(EVICT, "r", good_of=["j"])) == {"justification.no-gain"}
    own = act(MIGRATE, "r", at("b", [0]), scope="node", throughput=1.0, good_of=["r"])
    assert rules(round_, own) == set()
    assert rules(round_, keep("r", at("a", [0]), good_of=["j"])) == {"justification.needless"}


def test_who_shrinks_gains_nothing():
    jobs = [job("r", running=at("a", [2])), job("e", group(count=2, counts=[1, 2]), running=at("a", [0, 1]))]
    round_ = round_of([node("a", "H", 4)], jobs)
    out = act(EVICT, "r", good_of=["e"])
    shrink = act(RESIZE, "e", at("a", [0]), scope="node", throughput=1.0, good_of=["e"])
    assert rules(round_, out, shrink) == {"justification.no-gain"}


# Order


def test_a_start_waits_for_the_device_it_takes():
    out, start = OUT
    round_ = disruption_round()
    assert rules(round_, out, place("j", at("a", [0]))) == {"order.device"}
    assert rules(round_, out, place("j", at("b", [0]))) == set()
    assert rules(round_, out, place("j", at("a", [0]), after=["nothing"])) == {
        "order.unknown-dependency",
        "order.device",
    }
    assert "order.not-a-stop" in rules(round_, out, place("j", at("a", [0]), after=["evict:r", "place:j"]))
    assert "order.not-a-stop" in rules(round_, act(EVICT, "r", good_of=["j"], after=["place:j"]), start)


def test_a_swap_has_no_cycle():
    """r and s change places: each start waits for the other's stop, and stops wait for nothing (decision
    18)."""
    jobs = [job("r", running=at("a", [0])), job("s", running=at("b", [0]))]
    round_ = round_of([node("a", "H", 1), node("b", "H", 1)], jobs)

    def move(name, to, other):
        return act(
            MIGRATE,
            name,
            at(to, [0]),
            scope="node",
            throughput=1.0,
            after=[f"migrate:{other}"],
            good_of=[name],
        )

    assert rules(round_, move("r", "b", "s"), move("s", "a", "r")) == set()


@pytest.mark.parametrize(
    ("after", "ok"),
    [
        pytest.param({"x": ["evict:r"], "y": ["evict:s"]}, True, id="one stop each"),
        pytest.param(
            {"x": ["evict:r", "evict:s"], "y": ["evict:r", "evict:s"]}, True, id="both wait for both"
        ),
        pytest.param({"x": ["evict:r"], "y": ["evict:r"]}, False, id="both wait for the same stop"),
        pytest.param({"x": ["evict:r"], "y": []}, False, id="one waits for nothing"),
        pytest.param({"x": [], "y": ["evict:r", "evict:s"]}, False, id="the other waits for both"),
    ],
)
@pytest.mark.parametrize("dimension", ["cpu", "memory", "device-count"])
def test_every_reachable_step_keeps_within_amounts(after, ok, dimension):
    """Two stops give back 4 each of 8; two starts take 4 each."""
    if dimension == "device-count":
        nodes = [node("a", "H", 8, count_only=True)]
        jobs = [job(name, gpus=4) for name in "xy"]
        jobs += [job(name, gpus=4, running=at("a", tasks=4)) for name in "rs"]
        tasks, speed = 4, 4.0
    else:
        nodes = [node("a", cpu=8, memory=8)]
        need = {"cpu": 4} if dimension == "cpu" else {"cpu": 1, "memory": 4}
        jobs = [job(name, group(gpus=0, **need)) for name in "xy"]
        jobs += [job(name, group(gpus=0, **need), running=at("a")) for name in "rs"]
        tasks, speed = 1, 1.0
    actions = [act(EVICT, name, good_of=["x", "y"]) for name in "rs"]
    actions += [place(name, at("a", tasks=tasks), after=after[name], throughput=speed) for name in "xy"]
    assert rules(round_of(nodes, jobs), *actions) == (set() if ok else {f"order.{dimension}"})


def test_what_a_forced_job_still_holds_must_be_given_up_first():
    jobs = [job("r", gpus=2, running=at("a", tasks=2), started=1.0), job("j", gpus=2)]
    round_ = round_of(
        [node("a", "H", 3, count_only=True, unhealthy=1, taints=(taint("t", execute=True),))], jobs
    )
    tolerant = round_of(round_.cluster.nodes, [jobs[0], job("j", gpus=2, tolerations=(Toleration("t"),))])
    out = act(EVICT, "r", forced=ForcedReason.NODE_TAINTED)
    assert rules(tolerant, out, place("j", at("a", tasks=2), throughput=2.0)) == {"order.device-count"}
    assert rules(tolerant, out, place("j", at("a", tasks=2), throughput=2.0, after=["evict:r"])) == set()
