"""Hypothesis strategies that draw whole rounds, and plans for them.

:func:`rounds` draws valid rounds: every name is known, every number is legal, what runs is where it says.
Broken *states* are drawn on purpose (a job on a node that is gone, a device that failed under a job, a quota
cut below its use), since a valid round may have them. :func:`plans` draws plans without any regard for the
rules; mutations of good plans are in :mod:`gangplan.testing.mutations`.

Needs hypothesis: ``pip install gangplan[testing]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from gangplan.domain.cluster import (
    AcceleratorType,
    Cluster,
    DeviceReporting,
    Node,
    NodeHealth,
    OtherUse,
    Resources,
    Taint,
    TaintEffect,
    Toleration,
)
from gangplan.domain.job import (
    OPEN,
    WHOLE_DEVICE,
    Capabilities,
    Component,
    DeadlineKind,
    DeviceShare,
    Gate,
    Interactive,
    Job,
    Running,
    TaskGroup,
    TaskPlacement,
    TaskSplit,
    ThroughputProfile,
)
from gangplan.domain.outlook import FreeBlocks, JobOutlook, Outlook, Reservation
from gangplan.domain.plan import Action, ActionKind, Claim, ForcedReason, Plan, Precondition
from gangplan.domain.policy import FairnessForm, Policy
from gangplan.domain.quantiles import Quantiles
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.domain.topology import Domain, Topology

try:
    from hypothesis import assume
    from hypothesis import strategies as st
except ImportError as missing:
    raise ImportError(
        "gangplan.testing.strategies needs hypothesis: pip install 'gangplan[testing]'"
    ) from missing

Size = Literal["tiny", "small", "medium"]
T = TypeVar("T")
NOW = 1_000_000.0
"""``now`` of every drawn round."""
GIB = 2**30


@dataclass(frozen=True, slots=True)
class _Bounds:
    """How large rounds of one size are: (least, most)."""

    nodes: tuple[int, int]
    jobs: tuple[int, int]
    devices: tuple[int, ...]
    counts: tuple[int, ...]
    domains: int


_BOUNDS: Mapping[str, _Bounds] = {
    "tiny": _Bounds((2, 3), (3, 4), (2, 4, 1, 3, 2, 8), (1, 2, 1, 3, 2, 3, 4, 5, 6, 7, 8), 2),
    "small": _Bounds((2, 8), (2, 12), (1, 2, 4, 4, 6, 8), (1, 1, 2, 2, 3, 4, 5, 6, 7, 8), 3),
    "medium": _Bounds((8, 24), (10, 40), (2, 4, 8, 8), (1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 12, 16), 4),
}
_LEVELS = (
    ("rack",),
    (),
    ("island",),
    ("rack", "island"),
    ("spine", "rack", "island"),
    ("spine", "rack"),
    ("spine",),
)


class _Draw:
    """``draw`` with a few turns of phrase."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw

    def chance(self, percent: int) -> bool:
        """True in ``percent`` of 100 draws; shrinks to False."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def one(self, values: Sequence[T]) -> T:
        """One of ``values``; shrinks to the first."""
        return self.draw(st.sampled_from(values))

    def number(self, bounds: tuple[int, int]) -> int:
        """An integer within ``bounds``."""
        return self.draw(st.integers(*bounds))


def rounds(size: Size = "small") -> st.SearchStrategy[Round]:
    """Valid rounds.

    Args:
        size: ``tiny`` is small enough for :func:`gangplan.testing.enumerate.best_plan`: two or three nodes
            and three or four jobs; ``small`` has up to eight nodes and a dozen jobs, ``medium`` up to 24 and
            40.
    """
    return _rounds(_BOUNDS[size])


@st.composite
def _rounds(draw: st.DrawFn, bounds: _Bounds) -> Round:
    d = _Draw(draw)
    types = _accelerators(d)
    topology = _topology(d, bounds)
    nodes = _nodes(d, bounds, types, topology)
    mood = d.one(("limited", "crowded", "limited", "limited"))
    queues = _queues(d, mood)
    profiles = _profiles(d, bounds, types, topology)
    policy = _policy(d)
    round_seconds = d.one((300.0, 60.0, 1200.0))
    world = _World(mood, types, topology, queues, profiles, interactive=d.chance(30))
    jobs = _jobs(d, bounds, world, nodes)
    return Round(
        now=NOW,
        round_seconds=round_seconds,
        horizon_seconds=round_seconds * d.one((12, 4, 12, 1)),
        cluster=Cluster(topology, tuple(nodes)),
        accelerators=types,
        queues=_limited(d, mood, queues, jobs, types),
        jobs=tuple(jobs),
        profiles=profiles,
        policy=replace(policy, headroom=_headroom(d, types, nodes)) if world.interactive else policy,
        outlook=_outlook(d, jobs, round_seconds) if d.chance(30) else None,
        claims=_claims(d, world, jobs),
    )


@st.composite
def guaranteed(draw: st.DrawFn, size: Size = "small") -> Round:
    """Valid rounds as of :func:`rounds`, in which some queues are guaranteed devices."""
    round_, d = draw(rounds(size)), _Draw(draw)
    queues = [replace(queue, device_guarantee=d.one((2, 4, 1, 8, None))) for queue in round_.queues]
    assume(any(queue.device_guarantee for queue in queues))
    return replace(round_, queues=tuple(queues))


@st.composite
def promising(draw: st.DrawFn, size: Size = "small") -> Round:
    """Valid rounds as of :func:`rounds`, with promises, wishes, and policies that make promises for age."""
    round_ = draw(rounds(size))
    d = _Draw(draw)
    policy = replace(
        round_.policy,
        promise_after_seconds=d.one((60.0, None, 0.0)),
        longest_run_seconds=d.one((None, None, 3_000.0)),
    )
    made = _reservations(d, round_.cluster.nodes, round_.jobs, round_.round_seconds)
    return replace(round_, policy=policy, reservations=made)


@st.composite
def leaving(draw: st.DrawFn, size: Size = "small") -> Round:
    """Valid rounds as of :func:`rounds`, in which whole nodes that are left free are worth something.

    Single ones and blocks of several, of the shapes that are there and of one that is not.
    """
    round_ = draw(rounds(size))
    d = _Draw(draw)
    shapes = {
        (node.accelerator_type, node.device_count)
        for node in round_.cluster.nodes
        if node.accelerator_type is not None and node.device_count
    }
    found = []
    for kind, devices in (*sorted(shapes), ("gone", 8)):
        for nodes in (1, d.one((2, 2, 3))):
            if d.chance(70):
                level = d.one((None, *round_.cluster.topology.levels)) if nodes > 1 else None
                worth = nodes * devices * d.one((0.5, 0.25, 1.0, 4.0, 0.0))
                found.append(FreeBlocks(kind, devices, nodes, level, d.one((1, 2, 3, 0)), worth))
    outlook = round_.outlook or Outlook(NOW - round_.round_seconds, round_.round_seconds)
    return replace(
        round_,
        policy=replace(round_.policy, residual_weight=d.one((1.0, 0.5, 3.0))),
        outlook=replace(outlook, free_blocks=tuple(found)),
    )


def _outlook(d: _Draw, jobs: Sequence[Job], round_seconds: float) -> Outlook:
    """Targets for most jobs, some of them owed more, and for one that is gone."""
    entries = [
        JobOutlook(
            job.name,
            d.one((1.0, 0.0, 0.5, 1.5)),
            d.one((0.0, 0.0, 0.25)),
            job.work_done,
            worth=d.one((1.0, 0.125, 4.0)),
        )
        for job in jobs
        if d.chance(80)
    ]
    return Outlook(NOW - round_seconds, round_seconds, (*entries, JobOutlook("gone", 1.0)))


def _accelerators(d: _Draw) -> tuple[AcceleratorType, ...]:
    """One to three types; the last may be catalogued only, and absent from the cluster."""
    speeds = (1.0, 0.5, 0.25)
    count = d.one((1, 2, 2, 3))
    prices = (3_000_000, 400_000, 0) if d.chance(60) else (None, None, None)
    return tuple(AcceleratorType(f"T{i}", speeds[i], prices[i]) for i in range(count))


def _topology(d: _Draw, bounds: _Bounds) -> Topology:
    """Up to three levels; parents of any outer level (levels are skipped), so fan-out and depth are
    unequal.
    """
    levels = d.one(_LEVELS)
    domains: list[Domain] = []
    for level in levels:
        outer = list(domains)
        for i in range(d.number((1, bounds.domains))):
            parent = d.one(outer[::-1]).name if outer and d.chance(85) else None
            domains.append(Domain(f"{level}-{i}", level, parent))
    return Topology(levels, tuple(domains))


def _nodes(d: _Draw, bounds: _Bounds, types: Sequence[AcceleratorType], topology: Topology) -> list[Node]:
    shapes = [
        _shape(d, bounds, types[: max(1, len(types) - d.one((0, 1)))], first=i == 0)
        for i in range(d.one((1, 2, 2, 3)))
    ]
    innermost = [domain.name for domain in topology.domains][::-1]
    nodes: list[Node] = []
    for i in range(d.number(bounds.nodes)):
        near = (nodes[-1].domain,) if nodes and d.chance(55) else tuple(innermost)
        nodes.append(_node(d, f"n{i}", d.one(shapes), near))
    return nodes


def _shape(d: _Draw, bounds: _Bounds, types: Sequence[AcceleratorType], *, first: bool) -> Node:
    """What alike nodes share."""
    if not first and d.chance(20):
        return Node("", resources=Resources(d.one((8, 16, 4)) * 1000, 64 * GIB))
    devices = d.one(bounds.devices)
    cpu = devices * d.one((8, 8, 4, 2))
    memory = devices * d.one((64, 64, 16)) * GIB
    reporting = DeviceReporting.COUNT_ONLY if d.chance(20) else DeviceReporting.EXACT
    return Node(
        "",
        accelerator_type=d.one(types).name,
        device_count=devices,
        resources=Resources(cpu * 1000, memory),
        device_reporting=reporting,
    )


def _node(d: _Draw, name: str, shape: Node, domains: Sequence[str | None]) -> Node:
    """One node: a shape, a place, and now and then something out of the ordinary."""
    fields: dict[str, Any] = {"name": name, "revision": f"r{d.number((0, 9))}"}
    if domains and d.chance(90):
        fields["domain"] = d.one(domains)
    if d.chance(40):
        fields["labels"] = {"pool": d.one(("a", "b"))}
    if d.chance(12):
        fields["taints"] = (
            Taint("team", "x", TaintEffect.NO_EXECUTE if d.chance(25) else TaintEffect.NO_SCHEDULE),
        )
    fields["cordoned"] = d.chance(6)
    if d.chance(3):
        fields["health"] = NodeHealth.UNHEALTHY
    if d.chance(8):
        fields["drain_time"] = NOW + d.one((600.0, 60.0, 3_600.0, -60.0, 0.0))
    exact = shape.device_reporting is DeviceReporting.EXACT
    unhealthy = used = 0
    if shape.device_count and d.chance(12):
        unhealthy = d.number((1, max(1, shape.device_count // 2)))
    if shape.device_count > unhealthy and d.chance(12):
        used = d.number((1, max(1, (shape.device_count - unhealthy) // 2)))
    order = draw_order(d, shape.device_count) if exact and unhealthy + used else ()
    fields["unhealthy_device_count"] = unhealthy
    if exact:
        fields["unhealthy_devices"] = frozenset(order[:unhealthy])
    if used or d.chance(10):
        host = Resources(d.one((1, 2, 4)) * 1000, d.one((4, 8)) * GIB)
        fields["used_by_others"] = OtherUse(frozenset(order[unhealthy : unhealthy + used]), used, host)
    return replace(shape, **fields)


def draw_order(d: _Draw, count: int) -> tuple[int, ...]:
    """The numbers below ``count`` in any order."""
    return tuple(d.draw(st.permutations(range(count))))


def _queues(d: _Draw, mood: str) -> tuple[Queue, ...]:
    """Up to three queues, as a tree; limits come when the demand is known."""
    queues: list[Queue] = []
    for i in range(d.one((1, 1, 2, 3) if mood == "limited" else (0, 1, 2))):
        parent = d.one(queues).name if queues and d.chance(60) else None
        received = d.one((None, 0.0, 5_000.0, 40_000.0))
        queues.append(Queue(f"q{i}", parent, weight=d.one((1.0, 3.0, 0.5)), service_received=received))
    return tuple(queues)


def _limited(
    d: _Draw, mood: str, queues: Sequence[Queue], jobs: Sequence[Job], types: Sequence[AcceleratorType]
) -> tuple[Queue, ...]:
    """The queues with limits: between what their subtree holds and what it asks for, 0, absent, or wide."""
    demand: dict[str | None, int] = {}
    held: dict[str | None, int] = {}
    parents = {queue.name: queue.parent for queue in queues}
    for job in jobs:
        per_task = {group.name: group.device_milli for group in job.component.task_groups}
        asked = sum(group.count * group.device_milli for group in job.component.task_groups)
        now = sum(p.tasks * per_task[p.group] for p in job.running.placements) if job.running else 0
        name = job.queue
        while name is not None:
            demand[name] = demand.get(name, 0) + asked
            held[name] = held.get(name, 0) + now
            name = parents[name]
    limited: list[Queue] = []
    for queue in queues:
        low, high = (-(-each.get(queue.name, 0) // WHOLE_DEVICE) for each in (held, demand))
        limit: int | None = None
        if mood == "limited":
            limit = d.one(
                (low, low, min(low + 1, high), max(low, high // 2), max(low, high - 1), low // 2, 0)
            )
        elif d.chance(40):
            limit = d.one((high, high + 2, max(low, high // 2), 0))
        by_type = {d.one(types).name: d.one((1, 2, 0, 3))} if d.chance(20) else {}
        limited.append(replace(queue, device_limit=limit, device_limit_by_type=by_type))
    return tuple(limited)


def _profiles(
    d: _Draw, bounds: _Bounds, types: Sequence[AcceleratorType], topology: Topology
) -> tuple[ThroughputProfile, ...]:
    """Profiles whose throughput is monotone in nothing, with cells missing and cells of 0."""
    profiles: list[ThroughputProfile] = []
    for i in range(d.one((0, 1, 2))):
        cells: dict[tuple[str, int, str], float] = {}
        ratio = {scope: d.one((1.0, 0.8, 0.4, 1.3)) for scope in topology.scopes}
        absent = d.one(topology.scopes) if d.chance(40) else None
        for type_ in types:
            if d.chance(10):
                continue
            for count in sorted(set(bounds.counts)):
                scaling = d.one((1.0, 0.9, 0.7)) if count > 1 else 1.0
                for scope in topology.scopes:
                    if scope == absent:
                        continue
                    x = 8.0 * type_.relative_speed * count * scaling * (ratio[scope] if count > 1 else 1.0)
                    cells[type_.name, count, scope] = 0.0 if scope == "cluster" and ratio[scope] == 0.4 else x
        profiles.append(ThroughputProfile(f"p{i}", cells))
    return tuple(profiles)


def _policy(d: _Draw) -> Policy:
    return Policy(
        size_exponent=d.one((1.0, 1.0, 0.5)),
        fairness_power=d.one((1.0, 0.0, 2.0, 0.5)),
        fairness_forms=_forms(d),
        queue_fairness_power=d.one((1.0, 0.0, 2.0)),
        fairness_quantile=d.one((0.5, 0.05, 0.8)),
        service_quantiles=d.one((None, Quantiles((0.2, 0.5, 0.9), (300.0, 2_000.0, 80_000.0)))),
        priority_weights={1: 2.0, 2: 4.0} if d.chance(80) else {},
        deadline_weight=d.one((0.5, 0.0, 2.0)),
        deadline_urgency=d.one((0.0, 1.0, 0.5)),
        deadline_quantile=d.one((0.8, 0.5)),
        locality_weight=d.one((0.1, 0.0, 0.3)),
        switching_weight=d.one((1.0, 0.0)),
        cost_weight=d.one((0.0, 0.0, 0.0, 1e-7, 4e-7)),
        tracking_weight=d.one((1.0, 0.0, 2.0)),
        fragmentation_weight=d.one((0.0, 0.0, 0.5, 5.0)),
        interactive_weight=d.one((1.0, 0.0, 3.0)),
        disruption_limit=d.one((None, None, None, None, None, None, None, 0, 1, 2)),
        minimum_run_seconds=d.one((0.0, 0.0, 0.0, 0.0, 0.0, 300.0)),
        disruption_limit_per_job_hour=d.one((None, None, None, None, None, 1)),
        hysteresis=d.one((0.05, 0.05, 0.0)),
        reference_host=Resources(8_000, 64 * GIB),
    )


def _headroom(d: _Draw, types: Sequence[AcceleratorType], nodes: Sequence[Node]) -> Mapping[str, int]:
    """None, or some of what there is of a type: one device, most of them, or more than there are."""
    kind = d.one(types).name
    there = sum(node.usable_device_count for node in nodes if node.accelerator_type == kind)
    return d.one(({}, {kind: 1}, {kind: max(1, there - 1)}, {kind: there // 2}, {kind: there + 1}))


def _forms(d: _Draw) -> Mapping[FairnessForm, float]:
    """The plain form half the time, else another one or a mixture, with or without a rest."""
    if d.chance(50):
        return {FairnessForm.WEIGHTS: 1.0}
    forms = list(FairnessForm)
    if d.chance(60):
        return {d.one(forms[::-1]): d.one((1.0, 0.5))}
    return {d.one(forms): 0.25, d.one(forms): 0.5}


@dataclass(slots=True)
class _Room:
    """What is free on a node while running jobs are drawn."""

    node: Node
    devices: list[int]
    count: int
    cpu_milli: int
    memory_bytes: int
    opened: dict[int, int] = field(default_factory=dict)
    """Thousandths that are left of devices of which parts are taken."""


@dataclass(slots=True)
class _World:
    """What jobs refer to."""

    mood: str
    types: Sequence[AcceleratorType]
    topology: Topology
    queues: Sequence[Queue]
    profiles: Sequence[ThroughputProfile]
    counts: Sequence[int] = ()
    most: int = 0
    rooms: list[_Room] = field(default_factory=list)
    parts: bool = False
    interactive: bool = False


def _jobs(d: _Draw, bounds: _Bounds, world: _World, nodes: Sequence[Node]) -> list[Job]:
    """Running jobs first, as far as there is room, then waiting ones, some of them alike, some alike a
    running one.

    In a *crowded* round light jobs fill the nodes and heavier ones wait; in a *limited* one the queues, not
    the nodes, have no room.
    """
    world.most = max((node.usable_device_count for node in nodes), default=0)
    total = sum(node.usable_device_count for node in nodes)
    world.counts = [count for count in bounds.counts if count <= max(1, total)]
    for node in nodes:
        usable = node.usable_resources
        world.rooms.append(
            _Room(
                node,
                sorted(node.usable_devices),
                node.usable_device_count,
                usable.cpu_milli,
                usable.memory_bytes,
            )
        )
    world.parts = d.chance(30)
    count = d.number(bounds.jobs)
    crowded = world.mood == "crowded"
    running = max(1, count - 1 - count // 4) if crowded else d.number((max(1, count // 3), count // 2))
    jobs: list[Job] = []
    for i in range(count):
        name = f"j{i}"
        if i < running:
            if d.chance(78):
                job, first = _filler(d, name, world)
            else:
                job, first = _job(d, name, world, urgent=False), None
            job = replace(job, running=_running(d, job, world, first))
            if i == 0 and job.gate.after_jobs:
                job = replace(job, gate=replace(job.gate, after_jobs=()))
        elif d.chance(75) and any(other.running for other in jobs):
            job = _rival(d, name, [other for other in jobs if other.running])
        elif jobs and d.chance(25):
            job = replace(d.one(jobs[::-1]), name=name, running=None)
        else:
            job = _job(d, name, world, urgent=True)
        jobs.append(job)
    return jobs


def _filler(d: _Draw, name: str, world: _World) -> tuple[Job, _Room | None]:
    """A light job that takes most of what is free on a node, so that others have something to gain; and that
    node.
    """
    job = _job(d, name, world, urgent=False)
    rooms = [room for room in world.rooms if room.count and room.node.health is NodeHealth.HEALTHY]
    room = d.one(sorted(rooms, key=lambda room: -room.count)) if rooms else None
    group = _group(d, "worker", world, devices=1 if room else 0, most=1)
    most = max(1, _fits(room, group)) if room else 1
    few = (max(1, most // 2), 1, most)
    count = d.one(few if world.mood == "limited" else (most, most, max(1, most - 1)))
    allowed = (
        tuple(sorted({count, max(1, count // 2), *((most,) if d.chance(50) else ())}))
        if d.chance(35)
        else (count,)
    )
    filling = replace(group, count=count, allowed_counts=allowed, split=TaskSplit.FREE, accelerator_types=())
    light = replace(
        job,
        component=replace(job.component, task_groups=(filling,)),
        weight=d.one((0.5, 1.0)),
        priority=0,
        restart_seconds=d.one((0.0, 10.0)),
        capabilities=replace(job.capabilities, pausable=not d.chance(4)),
    )
    return light, room


def _rival(d: _Draw, name: str, running: Sequence[Job]) -> Job:
    """A waiting job like a running one, but worth more."""
    like = d.one(running[::-1])
    return replace(
        like, name=name, running=None, priority=2, weight=d.one((2.0, 4.0)), work_done=0.0, fair_progress=0.0
    )


def _job(d: _Draw, name: str, world: _World, *, urgent: bool) -> Job:
    """A job's own data; ``urgent`` ones (those that wait) more often weigh more than what runs."""
    scopes = world.topology.scopes
    priority = d.one((2, 2, 1, 0)) if urgent else d.one((0, 0, 0, 1, 2))
    work_left = d.one((600.0, 5_000.0, 100_000.0, None, 0.0, None))
    deadline, kind, decay = None, DeadlineKind.TARGET, 0.0
    if d.chance(30):
        deadline = NOW + d.one((1_200.0, 3_600.0, 86_400.0, -60.0))
        kind = d.one((DeadlineKind.TARGET, DeadlineKind.STRICT, DeadlineKind.SOFT))
        decay = d.one((600.0, 7_200.0, 86_400.0)) if kind is DeadlineKind.SOFT else 0.0
    submitted = d.chance(80)
    return Job(
        name=name,
        component=Component(
            _groups(d, world),
            required_level=d.one(scopes[1:]) if d.chance(20) else None,
            preferred_level=d.one(scopes[1:]) if d.chance(30) else None,
        ),
        queue=d.one(world.queues).name if world.queues and d.chance(75) else None,
        weight=d.one((1.0, 1.0, 2.0, 0.5)),
        priority=priority,
        submit_time=NOW - d.one((3_600.0, 0.0, 60.0, 86_400.0)) if submitted else None,
        work_done=d.one((0.0, 1_000.0)),
        work_left=work_left,
        fair_progress=d.one((0.0, 500.0, 2_000.0)),
        fair_finish_age=1_800.0 if d.chance(5) else None,
        deadline=deadline,
        deadline_kind=kind,
        deadline_decay_seconds=decay,
        restart_seconds=d.one((0.0, 10.0, 120.0)),
        checkpoint_seconds=d.one((60.0, 600.0)) if d.chance(10) else 0.0,
        capabilities=Capabilities(
            pausable=not d.chance(8), movable=not d.chance(20), resizable=not d.chance(15)
        ),
        gate=_gate(d) if d.chance(10) else OPEN,
        disrupted_at=(NOW - d.one((600.0, 3_600.0)),) if d.chance(6) else (),
        revision=f"v{d.number((0, 3))}",
        service_received_device_seconds=d.one((0.0, 2_000.0, 50_000.0)) if d.chance(50) else None,
        left_quantiles=_predicted(d) if work_left is None and d.chance(50) else None,
        user=d.one(("", "ada", "ben")),
        interactive=_interactive(d) if world.interactive and d.chance(30) else None,
    )


def _interactive(d: _Draw) -> Interactive:
    """Objectives that are met, missed by less than themselves, or long ago."""
    return Interactive(
        d.one((600.0, 60.0, 3_000.0)), d.one((600.0, None)), d.one((None, None, NOW - 60.0, NOW - 600.0))
    )


def _predicted(d: _Draw) -> Quantiles:
    """Work left in the words of a predictor: one quantile, ties, or a long tail."""
    return d.one(
        (
            Quantiles((0.1, 0.5, 0.9), (600.0, 5_000.0, 100_000.0)),
            Quantiles((0.5,), (5_000.0,)),
            Quantiles((0.25, 0.75), (0.0, 0.0)),
            Quantiles((0.6, 0.7, 0.95), (600.0, 600.0, 5_000.0)),
        )
    )


def _gate(d: _Draw) -> Gate:
    """What keeps a job from being started: its owner, a time, the first job; or nothing any more."""
    return Gate(
        held=d.chance(35),
        not_before=NOW + d.one((600.0, 0.0, -600.0)) if d.chance(35) else None,
        after_jobs=(d.one(("j0", "done")),) if d.chance(35) else (),
        held_seconds=d.one((0.0, 1_800.0)),
    )


def _groups(d: _Draw, world: _World) -> tuple[TaskGroup, ...]:
    """Mostly one group with devices; CPU-only jobs, gangs of a CPU-only leader and workers or of two kinds,
    and, in some rounds, tasks that take a part of a device.
    """
    shape = d.one(("gpu", "gpu", "gpu", "led", "gpu", "two", "gpu", "cpu"))
    if world.parts and world.most and d.chance(45):
        part = DeviceShare(d.one((500, 250, 300, 400, 600, 700, 50)))
        whole = _group(d, "worker", world, devices=1, most=1)
        return (replace(whole, count=1, allowed_counts=(1,), split=TaskSplit.FREE, device_share=part),)
    if shape == "cpu" or not world.most:
        return (_group(d, "host", world, devices=0, most=4),)
    if shape == "led":
        return (_group(d, "leader", world, devices=0, most=1), _group(d, "worker", world, devices=1, most=4))
    if shape == "two":
        return (_group(d, "actor", world, devices=1, most=2), _group(d, "learner", world, devices=1, most=2))
    per_task = d.one((1, 1, 1, 1, 2)) if world.most >= 2 else 1
    return (_group(d, "worker", world, devices=per_task, most=16),)


def _group(d: _Draw, name: str, world: _World, *, devices: int, most: int) -> TaskGroup:
    counts = [count for count in world.counts if count * max(1, devices) <= max(most, 1)] or [1]
    wide = [count for count in counts if count * devices > world.most]
    count = d.one(wide) if wide and d.chance(40) else d.one(counts)
    allowed = {count}
    if most > 2 and d.chance(45):
        allowed |= {d.one(counts), max(1, count // 2), count}
    types: tuple[str, ...] = ()
    if devices and d.chance(25):
        types = tuple(sorted({d.one(world.types).name, d.one(world.types).name}))
    cpu = d.one((1, 2, 4, 0)) * max(1, devices)
    memory = d.one((0, 8, 32)) * max(1, devices)
    if not devices:
        cpu = max(1, cpu)
    return TaskGroup(
        name=name,
        count=count,
        allowed_counts=tuple(sorted(allowed)),
        devices_per_task=devices,
        resources_per_task=Resources(cpu * 1000, memory * GIB),
        accelerator_types=types,
        profile=d.one(world.profiles).name if devices and world.profiles and d.chance(50) else None,
        split=TaskSplit.WHOLE_NODES if devices and count > 1 and d.chance(20) else TaskSplit.FREE,
        node_selector={"pool": d.one(("a", "b"))} if d.chance(6) else {},
        tolerations=(Toleration("team"),) if d.chance(40) else (),
    )


def _running(d: _Draw, job: Job, world: _World, first: _Room | None) -> Running | None:
    """Where the job runs: tasks on nodes with room, mostly as it may; None when there is no room.

    Now and then it is on a node that is gone, on a failed device, or with a task too few.
    """
    placements: list[TaskPlacement] = []
    rooms = [world.rooms[i] for i in draw_order(d, len(world.rooms))]
    rooms.sort(key=lambda room: room is not first)
    taken: list[tuple[_Room, int, list[int], TaskGroup, int]] = []
    spread = first is None and d.chance(50)
    for group in job.component.task_groups:
        left = d.one(group.allowed_counts)
        type_: str | None = None
        for room in rooms:
            node = room.node
            if group.devices_per_task and (
                node.accelerator_type is None
                or (type_ or node.accelerator_type) != node.accelerator_type
                or (group.accelerator_types and node.accelerator_type not in group.accelerator_types)
            ):
                continue
            if group.device_share is not None:
                device = _part(room, group, group.device_share.compute_milli)
                if device is None:
                    continue
                placements.append(TaskPlacement(group.name, node.name, 1, (device,), (group.device_share,)))
                left = 0
                break
            tasks = min(left, _fits(room, group))
            if spread and left > 1:
                tasks = min(tasks, (left + 1) // 2)
            if tasks == 0:
                continue
            type_ = node.accelerator_type
            count = tasks * group.devices_per_task
            devices, room.devices = room.devices[:count], room.devices[count:]
            room.count -= count
            room.cpu_milli -= tasks * group.resources_per_task.cpu_milli
            room.memory_bytes -= tasks * group.resources_per_task.memory_bytes
            taken.append((room, count, devices, group, tasks))
            placements.append(TaskPlacement(group.name, node.name, tasks, tuple(sorted(devices))))
            left -= tasks
            if left == 0:
                break
        if left:
            for room, count, devices, held, tasks in taken:
                room.devices = sorted([*room.devices, *devices])
                room.count += count
                room.cpu_milli += tasks * held.resources_per_task.cpu_milli
                room.memory_bytes += tasks * held.resources_per_task.memory_bytes
            return None
    mishap = d.one(("none",) * 24 + ("gone", "device", "short"))
    if mishap == "gone":
        placements[-1] = replace(placements[-1], node="gone-0")
    elif mishap == "device" and placements[-1].devices:
        broken = next((room.node for room in rooms if room.node.name == placements[-1].node), None)
        if broken is not None and broken.unhealthy_devices:
            devices_ = (*placements[-1].devices[1:], min(broken.unhealthy_devices))
            placements[-1] = replace(placements[-1], devices=tuple(sorted(devices_)))
    elif mishap == "short" and len(placements) > 1:
        placements.pop()
    return Running(
        tuple(placements),
        started_at=d.one((NOW - 60.0, NOW - 600.0, NOW, None)),
        checkpoint_age_seconds=d.one((0.0, 0.0, 0.0, 30.0, 300.0, None)),
        next_safe_point=NOW + d.one((30.0, -30.0)) if d.chance(6) else None,
        minimum_run_until=NOW + d.one((600.0, 0.0)) if d.chance(6) else None,
        stopping=d.chance(4),
    )


def _claims(d: _Draw, world: _World, jobs: Sequence[Job]) -> tuple[Claim, ...]:
    """Now and then claims of waiting jobs: mostly on free devices of one node, mostly in time."""
    claims: list[Claim] = []
    for job in jobs:
        if job.running is not None or not world.rooms or not d.chance(8):
            continue
        room = d.one(sorted(world.rooms, key=lambda room: -room.count))
        devices = room.devices if not d.chance(10) else sorted(range(room.node.device_count))
        placements = []
        for group in job.component.task_groups:
            tasks = d.one(group.allowed_counts)
            mine, devices = (
                devices[: tasks * group.devices_per_task],
                devices[tasks * group.devices_per_task :],
            )
            placements.append(TaskPlacement(group.name, room.node.name, tasks, tuple(mine)))
        claims.append(Claim(job.name, tuple(placements), NOW + d.one((600.0, 60.0, 0.0)), ("evict/gone",)))
    return tuple(claims)


def _reservations(
    d: _Draw, nodes: Sequence[Node], jobs: Sequence[Job], round_seconds: float
) -> tuple[Reservation, ...]:
    """Promises to waiting jobs, on nodes that others mostly hold now; some are wishes only."""
    found: list[Reservation] = []
    for job in jobs:
        if not d.chance(40 if job.running is None else 5):
            continue
        latest = NOW + round_seconds * d.one((4.0, 1.0, 12.0, 0.5, -1.0))
        expires = latest + d.one((3600.0, 0.0))
        places = () if d.chance(15) else _promised_place(d, nodes, job)
        found.append(Reservation(job.name, None, latest, expires, placements=places))
    return tuple(found)


def _promised_place(d: _Draw, nodes: Sequence[Node], job: Job) -> tuple[TaskPlacement, ...]:
    """A place for all tasks of a job, node after node from one on, whoever holds it now."""
    first = d.number((0, len(nodes) - 1))
    order = [*nodes[first:], *nodes[:first]]
    free = {node.name: sorted(node.usable_devices) for node in order}
    counts = {node.name: node.usable_device_count for node in order}
    found: list[TaskPlacement] = []
    for group in job.component.task_groups:
        left = d.one(group.allowed_counts)
        for node in order:
            each = group.devices_per_task
            if each and group.accelerator_types and node.accelerator_type not in group.accelerator_types:
                continue
            tasks = min(left, counts[node.name] // each) if each else left
            if tasks:
                exact = node.device_reporting is DeviceReporting.EXACT
                mine = free[node.name][: tasks * each] if exact else []
                free[node.name] = free[node.name][len(mine) :]
                counts[node.name] -= tasks * each
                found.append(TaskPlacement(group.name, node.name, tasks, tuple(mine)))
                left -= tasks
    return tuple(found)


def _part(room: _Room, group: TaskGroup, milli: int) -> int | None:
    """Take a part of a device where there is room; which one."""
    need = group.resources_per_task
    if room.node.device_reporting is not DeviceReporting.EXACT:
        return None
    if need.cpu_milli > room.cpu_milli or need.memory_bytes > room.memory_bytes:
        return None
    device = next((opened for opened, left in sorted(room.opened.items()) if left >= milli), None)
    if device is None:
        if not room.devices:
            return None
        device = room.devices.pop(0)
        room.count -= 1
        room.opened[device] = WHOLE_DEVICE
    room.opened[device] -= milli
    room.cpu_milli -= need.cpu_milli
    room.memory_bytes -= need.memory_bytes
    return device


def _fits(room: _Room, group: TaskGroup) -> int:
    """Tasks of a group that a node has room for."""
    amounts = [
        (room.count, group.devices_per_task),
        (room.cpu_milli, group.resources_per_task.cpu_milli),
        (room.memory_bytes, group.resources_per_task.memory_bytes),
    ]
    return min((left // each for left, each in amounts if each), default=0)


@st.composite
def plans(draw: st.DrawFn, round_: Round) -> Plan:
    """Any plan for ``round_``, sensible or not: unknown names, duplicates, wrong counts and indices, odd
    numbers.
    """
    jobs = [*(job.name for job in round_.jobs), "nobody", ""]
    nodes = [*(node.name for node in round_.cluster.nodes), "nowhere", ""]
    groups = [*(group.name for job in round_.jobs for group in job.component.task_groups), "nothing"]
    ids = st.sampled_from(["a", "b", "c", "d", "e", ""])
    numbers = st.one_of(st.integers(-3, 9), st.sampled_from([-(2**63), 2**63, 10**30]))
    placements = st.builds(
        TaskPlacement,
        group=st.sampled_from(groups),
        node=st.sampled_from(nodes),
        tasks=numbers,
        devices=st.lists(numbers, max_size=6).map(tuple),
        shares=st.lists(st.builds(DeviceShare, numbers), max_size=2).map(tuple),
    )
    present = [job.running.placements for job in round_.jobs if job.running]
    names = st.sampled_from(jobs)
    actions = st.builds(
        Action,
        id=ids,
        kind=st.sampled_from(ActionKind),
        job=names,
        placements=st.one_of(
            st.lists(placements, max_size=4).map(tuple), *(st.just(held) for held in present)
        ),
        scope=st.sampled_from([*round_.cluster.topology.scopes, "", "galaxy"]),
        throughput=st.floats(),
        depends_on=st.lists(ids, max_size=3).map(tuple),
        beneficiaries=st.lists(names, max_size=3).map(tuple),
        forced=st.one_of(st.none(), st.sampled_from(ForcedReason)),
        cost_by_term=st.dictionaries(
            st.sampled_from(["throughput", "switching", "luck"]), st.floats(), max_size=2
        ),
        preconditions=st.lists(
            st.builds(Precondition, st.sampled_from(["job", "node", "queue"]), names, st.just("r0")),
            max_size=2,
        ).map(tuple),
    )
    return Plan(tuple(draw(st.lists(actions, max_size=8))))
