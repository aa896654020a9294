"""What a request may not say, and what it may although the world it tells of is broken."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gangplan.domain.cluster import Resources
from gangplan.errors import InvalidInputError, UnsupportedFieldError
from gangplan.service.files import load_message
from gangplan.service.wire import limits, read_plan, read_result, read_round_request, write_round
from gangplan.service.wire.read_round import DEFAULT_HORIZON_SECONDS
from gangplan.v1 import cluster_pb2, plan_pb2
from gangplan.v1.round_pb2 import PlanRoundRequest, PlanRoundResponse

DATA = Path(__file__).parent / "data"
NAN, INF = float("nan"), float("inf")
Edit = Callable[[PlanRoundRequest], object]


def valid() -> PlanRoundRequest:
    return load_message(DATA / "everything.json", PlanRoundRequest)


def refusals(request: PlanRoundRequest) -> dict[str, str]:
    with pytest.raises(InvalidInputError) as raised:
        read_round_request(request)
    return {violation.field: violation.description for violation in raised.value.violations}


def put(path: str, value: object) -> Edit:
    """Sets the scalar at a path like ``jobs[0].weight``."""

    def edit(request: PlanRoundRequest) -> None:
        holder: Any = request
        *way, last = path.replace("]", "").replace("[", ".").split(".")
        for step in way:
            holder = holder[int(step)] if step.isdigit() else getattr(holder, step)
        if last.isdigit():
            holder[int(last)] = value
        else:
            setattr(holder, last, value)

    return edit


def repeat(path: str) -> Edit:
    """Adds a copy of the first element of a list."""

    def edit(request: PlanRoundRequest) -> None:
        holder: Any = request
        for step in path.split("."):
            holder = getattr(holder, step)
        holder.add().CopyFrom(holder[0])

    return edit


def clear(path: str) -> Edit:
    def edit(request: PlanRoundRequest) -> None:
        holder: Any = request
        *way, last = path.replace("]", "").replace("[", ".").split(".")
        for step in way:
            holder = holder[int(step)] if step.isdigit() else getattr(holder, step)
        holder.ClearField(last)

    return edit


def both(*edits: Edit) -> Edit:
    return lambda request: [edit(request) for edit in edits]


GROUP = "jobs[0].components[0].task_groups[0]"
HELD = "jobs[0].running.placements"

NUMBERS = [
    (put("jobs[0].weight", NAN), "jobs[0].weight", "must be from 1e-09 to 1e+09, and is nan"),
    (put("jobs[0].weight", INF), "jobs[0].weight", "must be from 1e-09 to 1e+09, and is inf"),
    (put("jobs[0].weight", 0.0), "jobs[0].weight", "and is 0"),
    (put("jobs[0].weight", -1.0), "jobs[0].weight", "and is -1"),
    (put("jobs[0].work.done", -0.5), "jobs[0].work.done", "and is -0.5"),
    (put("jobs[0].work.done", NAN), "jobs[0].work.done", "and is nan"),
    (put("jobs[0].work.left_known", -INF), "jobs[0].work.left_known", "and is -inf"),
    (put("jobs[0].fair_share.progress", -1.0), "jobs[0].fair_share.progress", "and is -1"),
    (put("jobs[0].priority", -(2**31)), "jobs[0].priority", "and is -2,147,483,648"),
    (put("accelerators[1].relative_speed", 0.0), "accelerators[1].relative_speed", "and is 0"),
    (put("accelerators[1].relative_speed", NAN), "accelerators[1].relative_speed", "and is nan"),
    (put("cluster.nodes[0].device_count", -8), "cluster.nodes[0].device_count", "must be from 0 to 1,024"),
    (put("cluster.nodes[0].device_count", 2**30), "cluster.nodes[0].device_count", "must be from 0 to 1,024"),
    (put("cluster.nodes[0].resources.cpu_milli", -1), "cluster.nodes[0].resources.cpu_milli", "and is -1"),
    (
        put("cluster.nodes[0].resources.memory_bytes", 2**63 - 1),
        "cluster.nodes[0].resources.memory_bytes",
        "and is 9,223,372,036,854,775,807",
    ),
    (
        put("cluster.nodes[0].used_by_others.resources.cpu_milli", -1),
        "cluster.nodes[0].used_by_others.resources.cpu_milli",
        "and is -1",
    ),
    (
        put(f"{GROUP}.resources_per_task.memory_bytes", -1),
        f"{GROUP}.resources_per_task.memory_bytes",
        "and is -1",
    ),
    (put(f"{GROUP}.devices_per_task", -1), f"{GROUP}.devices_per_task", "and is -1"),
    (put(f"{GROUP}.count", 0), f"{GROUP}.count", "must be from 1 to 65,536, and is 0"),
    (put(f"{GROUP}.count", 2**31 - 1), f"{GROUP}.count", "must be from 1 to 65,536"),
    (put("queues[0].device_limit", -1), "queues[0].device_limit", "and is -1"),
    (
        lambda r: r.queues[1].device_limit_by_type.update({"H100-80GB": -2}),
        'queues[1].device_limit_by_type["H100-80GB"]',
        "and is -2",
    ),
    (put("profiles[0].throughputs[0]", -1.0), "profiles[0].throughputs[0]", "and is -1"),
    (put("profiles[0].throughputs[0]", NAN), "profiles[0].throughputs[0]", "and is nan"),
    (put("profiles[0].counts[0]", 0), "profiles[0].counts[0]", "must be from 1 to 65,536"),
    (
        put("policy.terms.throughput.size_exponent", NAN),
        "policy.terms.throughput.size_exponent",
        "and is nan",
    ),
    (
        put("policy.terms.fairness.power", 2.5),
        "policy.terms.fairness.power",
        "must be from 0 to 2, and is 2.5",
    ),
    (put("policy.terms.deadline.weight", -1.0), "policy.terms.deadline.weight", "and is -1"),
    (put("policy.terms.tracking.makespan_weight", -1.0), "policy.terms.tracking.makespan_weight", "is -1"),
    (put("policy.terms.deadline.urgency", 2.5), "policy.terms.deadline.urgency", "and is 2.5"),
    (put("policy.terms.locality.weight", INF), "policy.terms.locality.weight", "and is inf"),
    (put("policy.terms.switching.weight", -0.1), "policy.terms.switching.weight", "and is -0.1"),
    (
        lambda r: r.policy.terms.priority.weight_by_priority.update({3: 0.0}),
        "policy.terms.priority.weight_by_priority[3]",
        "and is 0",
    ),
    (put("policy.churn_limits.disruption_limit", -1), "policy.churn_limits.disruption_limit", "and is -1"),
    (put("policy.churn_limits.hysteresis", 1.5), "policy.churn_limits.hysteresis", "and is 1.5"),
    (put("policy.reference_host.cpu_milli", 0), "policy.reference_host.cpu_milli", "must be above 0"),
    (put("parameters.seed", -1), "parameters.seed", "and is -1"),
    (put("parameters.relative_gap", NAN), "parameters.relative_gap", "must be from 0 to 1, and is nan"),
    (put("parameters.relative_gap", 1.5), "parameters.relative_gap", "and is 1.5"),
    (put("parameters.node_limit", -1), "parameters.node_limit", "and is -1"),
    (put("parameters.threads", 0), "parameters.threads", "must be from 1 to 256"),
    (put("parameters.pipeline", 9), "parameters.pipeline", "9 is no known value"),
    (put("parameters.steps.fruitless", -1), "parameters.steps.fruitless", "must be from 0 to 1,000"),
    (put("parameters.steps.branching_share", 1.5), "parameters.steps.branching_share", "and is 1.5"),
    (put("parameters.steps.sift_gap", NAN), "parameters.steps.sift_gap", "and is nan"),
    (put("parameters.steps.enough_gap", -0.1), "parameters.steps.enough_gap", "and is -0.1"),
    (
        lambda r: r.parameters.steps.programmes.add(share=0.0),
        "parameters.steps.programmes[0].share",
        "and is 0",
    ),
    (
        lambda r: r.parameters.steps.programmes.add(options=-1),
        "parameters.steps.programmes[0].options",
        "and is -1",
    ),
    (
        lambda r: [r.parameters.steps.programmes.add() for _ in range(17)],
        "parameters.steps.programmes",
        "at most 16, and there are 17",
    ),
]

TIMES = [
    (clear("now"), "now", "must be set"),
    (put("now.nanos", -1), "now", "is malformed"),
    (put("now.nanos", 10**9), "now", "is malformed"),
    (put("now.seconds", -1), "now", "must be from 1970 to 9999"),
    (put("now.seconds", 2**62), "now", "must be from 1970 to 9999"),
    (clear("round_length"), "round_length", "must be set"),
    (put("round_length.seconds", 0), "round_length", "must be above 0, and is 0 s"),
    (put("round_length.seconds", -300), "round_length", "must be above 0, and is -300 s"),
    (put("round_length.nanos", -5), "round_length", "is malformed"),
    (put("round_length.nanos", 10**9), "round_length", "is malformed"),
    (put("round_length.seconds", 2**40), "round_length", "must be at most 100 years"),
    (put("horizon.seconds", 299), "horizon", "299.5 s is shorter than the round, 300 s"),
    (put("cluster.nodes[0].drain_time.seconds", -1), "cluster.nodes[0].drain_time", "must be from 1970"),
    (put("jobs[0].submit_time.seconds", -1), "jobs[0].submit_time", "must be from 1970"),
    (put("jobs[0].deadline.time.nanos", -1), "jobs[0].deadline.time", "is malformed"),
    (clear("jobs[0].deadline.time"), "jobs[0].deadline.time", "must be set"),
    (put("jobs[0].fair_share.finish_age.seconds", -1), "jobs[0].fair_share.finish_age", "must be at least 0"),
    (
        put("jobs[0].interruption_cost.restart_time.seconds", -90),
        "jobs[0].interruption_cost.restart_time",
        "must be at least 0, and is -90 s",
    ),
    (put("jobs[0].running.started_at.seconds", -1), "jobs[0].running.started_at", "must be from 1970"),
    (
        put("jobs[0].running.checkpoint_age.seconds", -1),
        "jobs[0].running.checkpoint_age",
        "must be at least 0",
    ),
    (
        both(put("parameters.time_budget.seconds", 0), put("parameters.time_budget.nanos", 0)),
        "parameters.time_budget",
        "must be above 0",
    ),
]

NAMES = [
    (
        put("cluster.nodes[1].name", "n0"),
        "cluster.nodes[1].name",
        "'n0' is already the name at cluster.nodes[0].name",
    ),
    (put("jobs[1].name", "train"), "jobs[1].name", "'train' is already the name at jobs[0].name"),
    (put("queues[1].name", "lab"), "queues[1].name", "already the name at queues[0].name"),
    (repeat("accelerators"), "accelerators[2].name", "already the name at accelerators[0].name"),
    (repeat("profiles"), "profiles[1].name", "already the name at profiles[0].name"),
    (repeat("cluster.topology.levels"), "cluster.topology.levels[2].name", "already the name"),
    (repeat("cluster.topology.domains"), "cluster.topology.domains[3].name", "already the name"),
    (
        put("jobs[0].components[0].task_groups[1].name", "trainer"),
        "jobs[0].components[0].task_groups[1].name",
        "already",
    ),
    (put("jobs[1].name", ""), "jobs[1].name", "must not be empty"),
    (put("jobs[1].name", " x"), "jobs[1].name", "must not begin or end with space"),
    (put("jobs[1].name", "a\nb"), "jobs[1].name", "must not contain control characters"),
    (put("jobs[1].name", "x" * 513), "jobs[1].name", "has 513 characters; at most 512 are allowed"),
    (put("cluster.nodes[0].revision", "x" * 513), "cluster.nodes[0].revision", "has 513 characters"),
    (
        lambda r: r.cluster.nodes[0].labels.update({"": "x"}),
        'cluster.nodes[0].labels[""]',
        "must not be empty",
    ),
    (
        lambda r: r.cluster.nodes[0].labels.update({"k": "\0"}),
        'cluster.nodes[0].labels["k"]',
        "control characters",
    ),
    (put("cluster.nodes[0].taints[0].key", ""), "cluster.nodes[0].taints[0].key", "must not be empty"),
    (put("request_id", "x" * 513), "request_id", "has 513 characters"),
    (
        put("cluster.topology.levels[0].name", "cluster"),
        "cluster.topology.levels[0].name",
        "'cluster' is reserved",
    ),
    (put("cluster.topology.levels[0].name", "node"), "cluster.topology.levels[0].name", "'node' is reserved"),
    (
        put("cluster.topology.levels[0].name", "device"),
        "cluster.topology.levels[0].name",
        "'device' is reserved",
    ),
]

REFERENCES = [
    (put("jobs[0].queue", "sales"), "jobs[0].queue", "no queue is named 'sales'"),
    (put("queues[1].parent", "none"), "queues[1].parent", "no queue is named 'none'"),
    (
        put("queues[0].parent", "vision"),
        "queues[0].parent",
        "'lab' is its own ancestor: lab -> vision -> lab",
    ),
    (put("queues[0].parent", "lab"), "queues[0].parent", "'lab' is its own ancestor: lab -> lab"),
    (put(f"{GROUP}.profile", "bert"), f"{GROUP}.profile", "no throughput profile is named 'bert'"),
    (put(f"{GROUP}.accelerator_types[0]", "TPU"), f"{GROUP}.accelerator_types[0]", "type is named 'TPU'"),
    (put(f"{GROUP}.accelerator_types[0]", "A100-40GB"), f"{GROUP}.accelerator_types[1]", "already the name"),
    (
        put("cluster.nodes[0].accelerator_type", "TPU"),
        "cluster.nodes[0].accelerator_type",
        "type is named 'TPU'",
    ),
    (
        put("cluster.nodes[0].accelerator_type", ""),
        "cluster.nodes[0].accelerator_type",
        "must be set on a node with",
    ),
    (put("cluster.nodes[0].domain", "r9"), "cluster.nodes[0].domain", "no domain is named 'r9'"),
    (
        lambda r: r.queues[0].device_limit_by_type.update({"TPU": 1}),
        'queues[0].device_limit_by_type["TPU"]',
        "type is named 'TPU'",
    ),
    (
        put("profiles[0].accelerator_types[0]", "TPU"),
        "profiles[0].accelerator_types[0]",
        "type is named 'TPU'",
    ),
    (put("profiles[0].scopes[0]", "planet"), "profiles[0].scopes[0]", "no level is named 'planet'"),
    (
        put("jobs[0].components[0].locality.required_level", "row"),
        "jobs[0].components[0].locality.required_level",
        "no level",
    ),
    (
        put("jobs[0].components[0].locality.preferred_level", "row"),
        "jobs[0].components[0].locality.preferred_level",
        "no",
    ),
    (put(f"{HELD}[0].group", "ghost"), f"{HELD}[0].group", "the job has no task group 'ghost'"),
]

TOPOLOGY = [
    (
        put("cluster.topology.domains[1].level", "row"),
        "cluster.topology.domains[1].level",
        "no declared level",
    ),
    (
        put("cluster.topology.domains[1].level", "node"),
        "cluster.topology.domains[1].level",
        "no declared level",
    ),
    (
        put("cluster.topology.domains[1].parent", "s9"),
        "cluster.topology.domains[1].parent",
        "no domain is named 's9'",
    ),
    (
        put("cluster.topology.domains[1].parent", "r1"),
        "cluster.topology.domains[1].parent",
        "does not lie outside",
    ),
    (
        put("cluster.topology.domains[0].parent", "r1"),
        "cluster.topology.domains[0].parent",
        "does not lie outside",
    ),
    (
        put("cluster.topology.domains[0].parent", "r0"),
        "cluster.topology.domains[0].parent",
        "'s0' is its own ancestor: s0 -> r0 -> s0",
    ),
    (
        put("cluster.topology.domains[0].parent", "s0"),
        "cluster.topology.domains[0].parent",
        "its own ancestor",
    ),
    (
        lambda r: [r.cluster.topology.levels.add(name=f"l{i}") for i in range(20)],
        "cluster.topology.levels",
        "has 22 levels; at most 16",
    ),
]

DEVICES = [
    (
        lambda r: r.cluster.nodes[0].unhealthy_devices.append(8),
        "cluster.nodes[0].unhealthy_devices[1]",
        "from 0 to 7",
    ),
    (
        lambda r: r.cluster.nodes[0].unhealthy_devices.append(-1),
        "cluster.nodes[0].unhealthy_devices[1]",
        "-1 is no",
    ),
    (
        lambda r: r.cluster.nodes[0].unhealthy_devices.append(7),
        "cluster.nodes[0].unhealthy_devices[1]",
        "listed twice",
    ),
    (
        lambda r: r.cluster.nodes[1].unhealthy_devices.append(1),
        "cluster.nodes[1].unhealthy_devices",
        "the node is COUNT_ONLY: give unhealthy_device_count",
    ),
    (
        lambda r: r.cluster.nodes[1].used_by_others.devices.append(1),
        "cluster.nodes[1].used_by_others.devices",
        "the node is COUNT_ONLY: give device_count",
    ),
    (
        put("cluster.nodes[0].unhealthy_device_count", 2),
        "cluster.nodes[0].unhealthy_device_count",
        "is 2, but",
    ),
    (
        put("cluster.nodes[1].unhealthy_device_count", 9),
        "cluster.nodes[1].unhealthy_device_count",
        "from 0 to 8",
    ),
    (
        put("cluster.nodes[1].used_by_others.device_count", 9),
        "cluster.nodes[1].used_by_others.device_count",
        "0 to 8",
    ),
    (
        lambda r: r.cluster.nodes[2].used_by_others.devices.append(0),
        "cluster.nodes[2].used_by_others.devices[0]",
        "none",
    ),
    (put(f"{HELD}[1].devices[0]", 8), f"{HELD}[1].devices[0]", "8 is no device index: they go from 0 to 7"),
    (put(f"{HELD}[1].devices[0]", -1), f"{HELD}[1].devices[0]", "-1 is no device index"),
    (put(f"{HELD}[1].devices[0]", 1), f"{HELD}[1].devices[1]", "device 1 is listed twice"),
    (
        lambda r: r.jobs[0].running.placements[2].devices.extend([0, 1]),
        f"{HELD}[2].devices",
        "node 'n1' is COUNT_ONLY",
    ),
    (
        lambda r: r.jobs[1].running.placements.add(group="worker", node="n0", tasks=1, devices=[5]),
        "jobs[1].running.placements[0].devices",
        f"device 5 of node 'n0' is also held at {HELD}[1]",
    ),
    (put(f"{HELD}[0].tasks", 0), f"{HELD}[0].tasks", "must be from 1 to 65,536, and is 0"),
    (put(f"{HELD}[0].node", ""), f"{HELD}[0].node", "must not be empty"),
    (
        lambda r: r.jobs[0].running.placements.add().CopyFrom(r.jobs[0].running.placements[0]),
        f"{HELD}[3]",
        "tasks of 'leader' on 'n2' are listed twice",
    ),
    (clear("jobs[0].running.placements"), f"{HELD}", "at least one placement"),
]

GANGS = [
    (clear("jobs[0].components"), "jobs[0].components", "at least one component"),
    (
        clear("jobs[0].components[0].task_groups"),
        "jobs[0].components[0].task_groups",
        "at least one task group",
    ),
    (
        both(
            put(f"{GROUP}.devices_per_task", 0), clear(f"{GROUP}.resources_per_task"), clear(f"{GROUP}.split")
        ),
        GROUP,
        "its tasks ask for nothing",
    ),
    (put(f"{GROUP}.devices_per_task", 0), f"{GROUP}.split", "WHOLE_NODES is for tasks with devices"),
    (clear(f"{GROUP}.count"), f"{GROUP}.count", "must be set beside allowed_counts"),
    (put(f"{GROUP}.count", 5), f"{GROUP}.count", "5 is not among allowed_counts"),
    (put(f"{GROUP}.allowed_counts[0]", 0), f"{GROUP}.allowed_counts[0]", "must be from 1"),
    (put(f"{GROUP}.allowed_counts[0]", 6), f"{GROUP}.allowed_counts[2]", "6 is listed twice"),
    (
        put(f"{GROUP}.count_range.maximum", 4),
        f"{GROUP}.count_range",
        "must not be set together with allowed_counts",
    ),
    (
        both(
            clear(f"{GROUP}.allowed_counts"),
            put(f"{GROUP}.count_range.minimum", 6),
            put(f"{GROUP}.count_range.maximum", 2),
        ),
        f"{GROUP}.count_range.minimum",
        "6 is above the maximum, 2",
    ),
    (
        both(
            clear(f"{GROUP}.allowed_counts"),
            put(f"{GROUP}.count_range.minimum", 1),
            put(f"{GROUP}.count_range.maximum", 60_000),
        ),
        f"{GROUP}.count_range",
        "holds 60,000 numbers; at most 1,024",
    ),
    (
        both(
            clear(f"{GROUP}.allowed_counts"),
            put(f"{GROUP}.count_range.minimum", 1),
            put(f"{GROUP}.count_range.maximum", 8),
            put(f"{GROUP}.count_range.step", 0),
        ),
        f"{GROUP}.count_range.step",
        "must be from 1",
    ),
    (
        lambda r: r.jobs[0].components[0].task_groups[0].allowed_counts.extend(range(7, 2000)),
        f"{GROUP}.allowed_counts",
        "at most 1,024",
    ),
    (
        put("jobs[0].components[0].replicas", 0),
        "jobs[0].components[0].replicas",
        "must be at least 1, and is 0",
    ),
]

LISTS = [
    (clear("cluster"), "cluster.nodes", "the cluster has no node"),
    (clear("cluster.nodes"), "cluster.nodes", "the cluster has no node"),
    (lambda r: r.profiles[0].counts.append(1), "profiles[0].counts", "has 4 entries beside 3 throughputs"),
    (clear("profiles[0].scopes"), "profiles[0].scopes", "has 0 entries beside 3 throughputs"),
    (
        both(
            put("profiles[0].accelerator_types[1]", "A100-40GB"),
            put("profiles[0].scopes[1]", "rack"),
            put("profiles[0].counts[1]", 2),
        ),
        "profiles[0].throughputs[1]",
        "(A100-40GB, 2, rack) is there twice",
    ),
    (lambda r: r.cluster.node_classes.add(), "cluster.node_classes[0].names", "at least one member"),
    (lambda r: r.job_classes.add(), "job_classes[0].template.components", "at least one component"),
    (
        lambda r: r.cluster.node_classes.add(names=["n0"]),
        "cluster.node_classes[0].names[0]",
        "'n0' is already the name at cluster.nodes[0].name",
    ),
    (
        lambda r: r.cluster.node_classes.add(names=["x", "y"], revisions=["1"]),
        "cluster.node_classes[0].revisions",
        "has 1 entries beside 2 names",
    ),
    (
        lambda r: r.cluster.node_classes.add(names=["x"], template=cluster_pb2.Node(name="x")),
        "cluster.node_classes[0].template.name",
        "must be empty",
    ),
    (
        lambda r: r.job_classes.add(names=["x"], template=r.jobs[0]),
        "job_classes[0].template.running",
        "members of a class wait",
    ),
]

ALL = [*NUMBERS, *TIMES, *NAMES, *REFERENCES, *TOPOLOGY, *DEVICES, *GANGS, *LISTS]


@pytest.mark.parametrize(
    ("edit", "path", "words"), ALL, ids=[f"{i} {path} {words}" for i, (_, path, words) in enumerate(ALL)]
)
def test_it_is_refused_where_it_is(edit: Edit, path: str, words: str) -> None:
    request = valid()
    edit(request)
    said = refusals(request)
    assert path in said
    assert words in said[path]


def test_all_violations_come_at_once() -> None:
    """One edit of each family, and each is told of."""
    request = valid()
    for edit in (
        put("jobs[0].weight", NAN),
        put("jobs[1].name", ""),
        clear("now"),
        put("queues[0].parent", "vision"),
        put("cluster.topology.domains[1].level", "row"),
        put("cluster.nodes[0].device_count", -1),
        put("jobs[0].interruption_cost.state_size_bytes", 5),
        put("policy.terms.fairness.power", 9.0),
        put("parameters.threads", 0),
    ):
        edit(request)
    with pytest.raises(InvalidInputError) as raised:
        read_round_request(request)
    assert not isinstance(raised.value, UnsupportedFieldError)
    assert {violation.field for violation in raised.value.violations} >= {
        "jobs[0].weight",
        "jobs[1].name",
        "now",
        "queues[0].parent",
        "queues[1].parent",
        "cluster.topology.domains[1].level",
        "cluster.nodes[0].device_count",
        "jobs[0].interruption_cost.state_size_bytes",
        "policy.terms.fairness.power",
        "parameters.threads",
    }
    assert "jobs[0].weight: must be from" in str(raised.value)


TOLERATED = [
    ("a job runs on a node that is not there", put(f"{HELD}[1].node", "gone")),
    ("a job runs with a wrong number of devices", clear(f"{HELD}[1].devices")),
    ("a job runs with a count that is not allowed", put(f"{HELD}[1].tasks", 5)),
    ("a job runs without one of its groups", lambda r: r.jobs[0].running.placements.__delitem__(0)),
    ("a job holds a device that is out of order", put(f"{HELD}[1].devices[0]", 7)),
    ("a job holds a device that others use", put(f"{HELD}[1].devices[0]", 6)),
    ("a deadline is in the past", put("jobs[0].deadline.time.seconds", 5)),
    ("a job is submitted in the future", put("jobs[0].submit_time.seconds", 2**32)),
    ("a job started in the future", put("jobs[0].running.started_at.seconds", 2**32)),
    ("a task is larger than any node", put(f"{GROUP}.devices_per_task", 64)),
    ("a task asks for more memory than any node has", put(f"{GROUP}.resources_per_task.memory_bytes", 2**46)),
    ("others use more than the node has", put("cluster.nodes[0].used_by_others.resources.cpu_milli", 10**9)),
    ("the drain time has passed", put("cluster.nodes[0].drain_time.seconds", 5)),
    ("there is no job", clear("jobs")),
    ("a quota is below its use", put("queues[0].device_limit", 0)),
    ("a class of priority has no weight", put("jobs[0].priority", 77)),
    ("a profile has no cell", lambda r: r.profiles.add(name="empty")),
    ("the round is as long as the horizon", both(put("horizon.seconds", 300), put("horizon.nanos", 0))),
]


@pytest.mark.parametrize("edit", [edit for _, edit in TOLERATED], ids=[name for name, _ in TOLERATED])
def test_a_broken_world_is_no_broken_request(edit: Edit) -> None:
    request = valid()
    edit(request)
    round_, parameters = read_round_request(request)
    assert read_round_request(write_round(round_, parameters)) == (round_, parameters)
    assert round_ != read_round_request(valid())[0]


def test_unset_zero_and_unlimited_differ() -> None:
    request = valid()
    round_, _ = read_round_request(request)
    assert [queue.device_limit for queue in round_.queues] == [64, 0]
    assert round_.policy.disruption_limit == 0
    for path in ("queues[1].device_limit", "policy.churn_limits.disruption_limit", "parameters.node_limit"):
        clear(path)(request)
    round_, parameters = read_round_request(request)
    assert round_.queues[1].device_limit is None
    assert round_.policy.disruption_limit is None
    assert parameters.node_limit is None
    request.parameters.node_limit = 0
    assert read_round_request(request)[1].node_limit == 0
    request.policy.terms.fairness.power = 0.0
    assert read_round_request(request)[0].policy.fairness_power == 0.0
    clear("policy.terms.fairness.power")(request)
    assert read_round_request(request)[0].policy.fairness_power == 1.0


def test_a_minimal_request_has_the_documented_defaults() -> None:
    request = PlanRoundRequest()
    request.now.seconds = 100
    request.round_length.seconds = 60
    request.cluster.nodes.add(name="n")
    request.jobs.add(name="j").components.add().task_groups.add().resources_per_task.cpu_milli = 1
    round_, parameters = read_round_request(request)
    assert round_.horizon_seconds == DEFAULT_HORIZON_SECONDS
    assert (parameters.time_budget_seconds, parameters.pipeline, parameters.solver) == (5.0, "auto", "auto")
    (job,) = round_.jobs
    assert (job.weight, job.submit_time, job.work_left, job.deadline, job.running) == (
        1.0,
        None,
        None,
        None,
        None,
    )
    (tasks,) = job.component.task_groups
    assert (tasks.name, tasks.count, tasks.allowed_counts, tasks.devices_per_task) == ("worker", 1, (1,), 0)
    assert round_.cluster.nodes[0].resources == Resources()


def test_the_largest_numbers_fit_64_bits() -> None:
    assert limits.MEMORY_BYTES * limits.TASKS < 2**63
    assert limits.CPU_MILLI * limits.TASKS < 2**63


@pytest.mark.parametrize(
    ("plan", "path"),
    [
        (plan_pb2.Plan(actions=[plan_pb2.Action(action_id="a", job="j")]), "actions[0].kind"),
        (plan_pb2.Plan(actions=[plan_pb2.Action(action_id="a", kind="ACTION_KIND_KEEP")]), "actions[0].job"),
        (plan_pb2.Plan(actions=[plan_pb2.Action(kind="ACTION_KIND_KEEP", job="j")]), "actions[0].action_id"),
        (
            plan_pb2.Plan(
                actions=[plan_pb2.Action(action_id="a", kind="ACTION_KIND_KEEP", job="j", throughput=NAN)]
            ),
            "actions[0].throughput",
        ),
    ],
)
def test_what_is_no_plan_is_refused(plan: plan_pb2.Plan, path: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        read_plan(plan)
    assert {violation.field for violation in raised.value.violations} == {path}


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(InvalidInputError) as raised:
        read_result(PlanRoundResponse())
    assert {violation.field for violation in raised.value.violations} == {
        "plan",
        "quality",
        "termination",
        "termination.reason",
        "termination.limit",
        "pipeline",
    }
    with pytest.raises(InvalidInputError, match="plan: must be set"):
        read_plan(PlanRoundResponse())


def test_long_cycles_and_chains_take_no_long_time() -> None:
    """50,000 queues in one ring and as many in one chain: linear, and each violation short."""
    request = valid()
    count = 50_000
    for i in range(count):
        request.queues.add(name=f"ring-{i}", parent=f"ring-{(i + 1) % count}")
        request.queues.add(name=f"chain-{i}", parent=f"chain-{i + 1}" if i + 1 < count else "ring-0")
        request.cluster.topology.domains.add(name=f"d{i}", level="rack", parent=f"d{(i + 1) % count}")
    started = time.process_time()
    said = refusals(request)
    assert time.process_time() - started < 20
    assert len(said) == 2 * count
    assert max(map(len, said.values())) < 200
    assert said["queues[2].parent"] == (
        "'ring-0' is its own ancestor: ring-0 -> ring-1 -> ring-2 -> ring-3 -> ring-4 -> ... -> ring-0"
    )
