"""Mutations: a good plan in, a plan (or a round) out that breaks one named rule.

They show that the verifier catches what it says it catches (decision 39). Each mutation is registered under
the rule that it breaks and yields nothing where it does not apply; other rules may break as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gangplan.domain.cluster import DeviceReporting, Node, NodeHealth, Resources, Taint
from gangplan.domain.job import (
    WHOLE_DEVICE,
    DeviceShare,
    Gate,
    Interactive,
    Job,
    TaskPlacement,
    TaskSplit,
    ThroughputProfile,
)
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import Action, ActionKind, Claim, ForcedReason, Plan, Precondition
from gangplan.domain.policy import Tier
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.domain.topology import NODE


@dataclass(frozen=True, slots=True)
class Mutant:
    """A round and a plan that breaks ``rule``."""

    rule: str
    round_: Round
    plan: Plan


Mutation = Callable[[Round, Plan], Iterator[tuple[Round, Plan]]]
MUTATIONS: dict[str, list[Mutation]] = {}
"""Mutations by the rule that they break."""


def mutants(round_: Round, plan: Plan) -> Iterator[Mutant]:
    """All mutants of a valid ``plan`` for ``round_``."""
    for rule, mutations in MUTATIONS.items():
        for mutation in mutations:
            for mutated, broken in mutation(round_, plan):
                yield Mutant(rule, mutated, broken)


def breaks(rule: str) -> Callable[[Mutation], Mutation]:
    """Register a mutation under the rule that it breaks."""

    def register(mutation: Mutation) -> Mutation:
        MUTATIONS.setdefault(rule, []).append(mutation)
        return mutation

    return register


# Turns of phrase


def _with(plan: Plan, old: Action, **fields: Any) -> Plan:
    """The plan with some fields of one action changed."""
    return Plan(tuple(replace(a, **fields) if a is old else a for a in plan.actions))


def _placements(plan: Plan, old: Action, index: int, **fields: Any) -> Plan:
    """The plan with some fields of one placement of one action changed."""
    changed = [replace(p, **fields) if i == index else p for i, p in enumerate(old.placements)]
    return _with(plan, old, placements=tuple(changed))


def _job(round_: Round, name: str, **fields: Any) -> Round:
    return replace(round_, jobs=tuple(replace(j, **fields) if j.name == name else j for j in round_.jobs))


def _group(round_: Round, job: str, group: str, **fields: Any) -> Round:
    """The round with some fields of one task group changed."""
    component = _jobs(round_)[job].component
    groups = tuple(replace(g, **fields) if g.name == group else g for g in component.task_groups)
    return _job(round_, job, component=replace(component, task_groups=groups))


def _node(round_: Round, name: str, **fields: Any) -> Round:
    nodes = tuple(replace(n, **fields) if n.name == name else n for n in round_.cluster.nodes)
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes))


def _jobs(round_: Round) -> dict[str, Job]:
    return {job.name: job for job in round_.jobs}


def _nodes(round_: Round) -> dict[str, Node]:
    return {node.name: node for node in round_.cluster.nodes}


def _per_task(round_: Round, job: str, group: str) -> int:
    return next(g.devices_per_task for g in _jobs(round_)[job].component.task_groups if g.name == group)


def _milli(round_: Round, job: str, placement: TaskPlacement) -> int:
    """Thousandths that a placement takes of each of its devices; 0 where the job has no such group."""
    groups = {group.name: group for group in _jobs(round_)[job].component.task_groups}
    group = groups.get(placement.group)
    return 0 if group is None or not group.devices_per_task else group.device_milli // group.devices_per_task


def _starts(plan: Plan) -> Iterator[tuple[Action, int, TaskPlacement]]:
    """Every placement of a waiting job that starts."""
    for action in plan.actions:
        if action.kind is ActionKind.PLACE:
            for index, placement in enumerate(action.placements):
                yield action, index, placement


def _disruptions(plan: Plan, *kinds: ActionKind) -> Iterator[Action]:
    wanted = kinds or (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)
    return (action for action in plan.actions if action.forced is None and action.kind in wanted)


# Gates, and jobs that are left alone


@breaks("gate.held")
def _held(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        if action.kind not in (ActionKind.KEEP, ActionKind.EVICT):
            yield _job(round_, action.job, gate=Gate(held=True)), plan


@breaks("gate.not-before")
def _not_yet(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        if action.kind not in (ActionKind.KEEP, ActionKind.EVICT):
            yield _job(round_, action.job, gate=Gate(not_before=round_.now + 1.0)), plan


@breaks("gate.after-jobs")
def _after_another(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        others = [job.name for job in round_.jobs if job.name != action.job]
        if others and action.kind not in (ActionKind.KEEP, ActionKind.EVICT):
            yield _job(round_, action.job, gate=Gate(after_jobs=("done", others[0]))), plan


def _running(round_: Round, job: str, **fields: Any) -> Round:
    """The round with some fields of how a job runs changed."""
    running = _jobs(round_)[job].running
    assert running is not None
    return _job(round_, job, running=replace(running, **fields))


@breaks("gate.idle")
def _idle(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    """Who is started, moved or resized has been idle for as long as its limit."""
    for action in plan.actions:
        if action.kind not in (ActionKind.KEEP, ActionKind.EVICT):
            yield _job(round_, action.job, interactive=Interactive(1.0, 60.0, round_.now - 60.0)), plan


@breaks("headroom.taken")
def _into_the_headroom(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    """All of a type is left for interactive jobs, and one that is not starts there beside all that runs."""
    kinds = {node.name: node.accelerator_type for node in round_.cluster.nodes}
    if any(action.kind not in (ActionKind.KEEP, ActionKind.PLACE) for action in plan.actions):
        return
    for action in plan.actions:
        job = _jobs(round_)[action.job]
        counted = {group.name for group in job.component.task_groups if group.devices_per_task}
        for kind in {kinds.get(place.node) for place in action.placements if place.group in counted}:
            if action.kind is ActionKind.PLACE and job.interactive is None:
                yield replace(round_, policy=replace(round_.policy, headroom={str(kind): 2**20})), plan


@breaks("disruption.safe-point")
def _unsafe(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in _disruptions(plan):
        yield _running(round_, action.job, next_safe_point=round_.now + 1.0), plan


@breaks("disruption.minimum-run-time")
def _too_soon(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in _disruptions(plan):
        yield _running(round_, action.job, minimum_run_until=round_.now + 1.0), plan
        patient = replace(round_, policy=replace(round_.policy, minimum_run_seconds=60.0))
        yield _running(patient, action.job, started_at=round_.now - 59.0), plan


@breaks("disruption.job-hour")
def _once_too_often(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in _disruptions(plan):
        often = replace(round_, policy=replace(round_.policy, disruption_limit_per_job_hour=1))
        yield _job(often, action.job, disrupted_at=(round_.now - 3599.0,)), plan


@breaks("order.too-soon")
def _without_notice(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    stops = {action.id: action for action in _disruptions(plan)}
    for action in plan.actions:
        for key in {*action.depends_on, action.id} & stops.keys():
            if action.kind is not ActionKind.EVICT:
                slow = _job(round_, stops[key].job, checkpoint_seconds=60.0)
                yield slow, _with(plan, action, not_before=None)
                yield slow, _with(plan, action, not_before=round_.now + 59.0)


@breaks("claim.not-taken")
def _claimed_elsewhere(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        if action.kind is ActionKind.PLACE and not any(p.shares for p in action.placements):
            claim = Claim(action.job, action.placements, round_.now + 1.0)
            without = tuple(a for a in plan.actions if a is not action)
            alone = all(a.kind is ActionKind.KEEP for a in without)
            if alone:
                yield replace(round_, claims=(claim,)), replace(plan, actions=without)


@breaks("gate.run-limit")
def _runs_too_long(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    short = replace(round_, policy=replace(round_.policy, longest_run_seconds=1.0))
    for action in plan.actions:
        if action.kind is ActionKind.PLACE:
            rigid = replace(_jobs(round_)[action.job].capabilities, pausable=False)
            yield _job(short, action.job, capabilities=rigid, work_left=None, left_quantiles=None), plan
            yield _job(short, action.job, checkpoint_seconds=2.0), plan


@breaks("promise.delayed")
def _in_the_way_of_a_promise(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    """Another job is promised the place where one starts that will not be gone by then."""
    for action in plan.actions:
        if action.kind is ActionKind.PLACE and not any(p.shares for p in action.placements):
            twin = replace(_jobs(round_)[action.job], name="promised")
            soon = Reservation(
                "promised", None, round_.now - 1.0, round_.now + 9e3, placements=action.placements
            )
            yield replace(round_, jobs=(*round_.jobs, twin), reservations=(soon,)), plan


def _promise(round_: Round, plan: Plan, **fields: Any) -> Iterator[Plan]:
    """The plan with a RESERVE in place of every PLACE, each alone."""
    for action in plan.actions:
        if action.kind is ActionKind.PLACE and not any(p.shares for p in action.placements):
            late = round_.now + 1e9
            promise = Reservation(action.job, None, late, late, placements=action.placements)
            reserve = Action("r", ActionKind.RESERVE, action.job, reservation=replace(promise, **fields))
            yield replace(plan, actions=(*(a for a in plan.actions if a is not action), reserve))


@breaks("promise.malformed")
def _no_promise(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for promising in _promise(round_, plan, job="another"):
        yield round_, promising
    for promising in _promise(round_, plan, placements=()):
        yield round_, promising
    for promising in _promise(round_, plan, expires_at=0.0):
        yield round_, promising
    for action in plan.actions:
        if action.kind is ActionKind.KEEP:
            promise = Reservation(action.job, None, round_.now, round_.now, placements=action.placements)
            yield round_, _with(plan, action, reservation=promise)


@breaks("promise.not-kept")
def _empty_promise(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    """A place that is promised to another already, or is closed."""
    for promising in _promise(round_, plan):
        promise = promising.actions[-1].reservation
        assert promise is not None
        twin = replace(_jobs(round_)[promise.job], name="promised")
        other = replace(promise, job="promised")
        yield replace(round_, jobs=(*round_.jobs, twin), reservations=(other,)), promising
        yield _node(round_, promise.placements[0].node, cordoned=True), promising


@breaks("tier.floor")
def _promises_more(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    total = sum(job.weight for job in round_.jobs)
    tiered = replace(round_.policy, tiers=(Tier(tuple({job.priority for job in round_.jobs})),))
    yield replace(round_, policy=tiered), replace(plan, tier_floors=(total + 1.0,))


# Guarantees


@breaks("guarantee.floor")
def _says_more_is_met(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for job in round_.jobs[:1]:
        queues = (Queue("owed", device_guarantee=1_000_000), *round_.queues)
        floors = {"owed": 1_000_000.0}
        yield (
            _job(replace(round_, queues=queues), job.name, queue="owed"),
            replace(plan, guarantee_floors=floors),
        )


# Structure


@breaks("structure.action-id")
def _same_id(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions[1:]:
        yield round_, _with(plan, action, id=plan.actions[0].id)


@breaks("structure.action-id")
def _no_id(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, _with(plan, action, id="")


@breaks("structure.unknown-job")
def _unknown_job(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, _with(plan, action, job="no such job")


@breaks("structure.repeated-job")
def _twice(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, Plan((*plan.actions, replace(action, id="once more")))


@breaks("structure.missing-action")
def _left_out(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        if action.kind is not ActionKind.PLACE:
            yield round_, Plan(tuple(a for a in plan.actions if a is not action))


@breaks("structure.kind")
def _other_kind(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        for kind in ActionKind:
            if kind not in (action.kind, ActionKind.EVICT):
                yield round_, _with(plan, action, kind=kind)


@breaks("structure.forced")
def _other_reason(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, _with(plan, action, forced=None if action.forced else ForcedReason.NODE_GONE)


@breaks("structure.evict-placements")
def _ghost(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        running = _jobs(round_)[action.job].running
        if action.kind is ActionKind.EVICT and running is not None:
            yield round_, _with(plan, action, placements=running.placements)


@breaks("structure.unknown-node")
def _nowhere(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, _ in _starts(plan):
        yield round_, _placements(plan, action, index, node="no such node")


@breaks("structure.unknown-group")
def _nobody(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, _ in _starts(plan):
        yield round_, _placements(plan, action, index, group="no such group")


@breaks("structure.task-count")
def _no_tasks(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, _ in _starts(plan):
        yield round_, _placements(plan, action, index, tasks=0)
        yield round_, _placements(plan, action, index, tasks=-1)


@breaks("structure.repeated-placement")
def _same_place(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in _starts(plan):
        yield round_, _with(plan, action, placements=(*action.placements, placement))


@breaks("structure.device-order")
def _reversed(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, placement in _starts(plan):
        if len(placement.devices) > 1:
            yield round_, _placements(plan, action, index, devices=placement.devices[::-1])


@breaks("structure.scope")
def _other_scope(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        for scope in round_.cluster.topology.scopes:
            if scope != action.scope:
                yield round_, _with(plan, action, scope=scope)


@breaks("structure.throughput")
def _boast(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, _with(plan, action, throughput=action.throughput * 2 + 1)
        yield round_, _with(plan, action, throughput=float("nan"))


@breaks("structure.worth")
def _priceless(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, _with(plan, action, cost_by_term={"no such term": 1.0})
        yield round_, _with(plan, action, cost_by_term={"switching": 1.0})


@breaks("structure.precondition")
def _stale(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        for read in (Precondition("job", action.job, "no such revision"), Precondition("moon", "x", "")):
            yield round_, _with(plan, action, preconditions=(read,))


# Gangs


@breaks("gang.incomplete")
def _half_a_gang(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        for name in {placement.group for placement in action.placements}:
            rest = tuple(placement for placement in action.placements if placement.group != name)
            if rest:
                yield round_, _with(plan, action, placements=rest)


@breaks("gang.count")
def _odd_count(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, placement in _starts(plan):
        group = next(g for g in _jobs(round_)[action.job].component.task_groups if g.name == placement.group)
        yield round_, _placements(plan, action, index, tasks=group.allowed_counts[-1] + 1)


@breaks("gang.mixed-types")
def _mixed(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    nodes = _nodes(round_)
    for action, _, placement in _starts(plan):
        for node in nodes.values():
            other = node.accelerator_type != nodes[placement.node].accelerator_type
            if other and _per_task(round_, action.job, placement.group):
                astray = TaskPlacement(placement.group, node.name, 1)
                yield round_, _with(plan, action, placements=(*action.placements, astray))


# Capacity


@breaks("capacity.device-indices")
def _one_device_less(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, placement in _starts(plan):
        if placement.devices:
            yield round_, _placements(plan, action, index, devices=placement.devices[1:])
        else:
            yield round_, _placements(plan, action, index, devices=(0,))


@breaks("capacity.device-unusable")
def _no_such_device(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    nodes = _nodes(round_)
    for action, index, placement in _starts(plan):
        node = nodes[placement.node]
        if placement.devices:
            for device in {*range(node.device_count + 1), -1} - node.usable_devices:
                devices = tuple(sorted((*placement.devices[1:], device)))
                yield round_, _placements(plan, action, index, devices=devices)


@breaks("capacity.device-shared")
def _same_device(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, placement in _starts(plan):
        for other in plan.actions:
            for theirs in other.placements:
                pinned = placement.devices and theirs.devices
                both = _milli(round_, action.job, placement) + _milli(round_, other.job, theirs)
                if other is not action and theirs.node == placement.node and pinned and both > WHOLE_DEVICE:
                    devices = tuple(sorted({*placement.devices[1:], theirs.devices[0]}))
                    yield round_, _placements(plan, action, index, devices=devices)


@breaks("capacity.device-share")
def _other_part(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, placement in _starts(plan):
        if placement.devices:
            parts = (DeviceShare(999),) * len(placement.devices)
            yield round_, _placements(plan, action, index, shares=parts)
        if placement.shares:
            yield round_, _placements(plan, action, index, shares=())


@breaks("capacity.device-count")
def _taken_by_others(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    nodes = _nodes(round_)
    for action, _, placement in _starts(plan):
        node = nodes[placement.node]
        counted = node.device_reporting is DeviceReporting.COUNT_ONLY
        if counted and _per_task(round_, action.job, placement.group):
            others = replace(node.used_by_others, device_count=node.device_count)
            yield _node(round_, node.name, used_by_others=others), plan


@breaks("capacity.cpu")
def _much_cpu(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in _starts(plan):
        yield _group(round_, action.job, placement.group, resources_per_task=Resources(10**12, 0)), plan


@breaks("capacity.memory")
def _much_memory(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in _starts(plan):
        yield _group(round_, action.job, placement.group, resources_per_task=Resources(0, 10**18)), plan


# Eligibility


@breaks("eligibility.node-unhealthy")
def _sick_node(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for _, _, placement in _starts(plan):
        yield _node(round_, placement.node, health=NodeHealth.UNHEALTHY), plan


@breaks("eligibility.device-reporting")
def _part_of_what(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    nodes = _nodes(round_)
    for action, _, placement in _starts(plan):
        counted = nodes[placement.node].device_reporting is DeviceReporting.COUNT_ONLY
        if counted and _per_task(round_, action.job, placement.group):
            yield _group(round_, action.job, placement.group, device_share=DeviceShare(500)), plan


@breaks("eligibility.node-cordoned")
def _cordoned_node(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for _, _, placement in _starts(plan):
        yield _node(round_, placement.node, cordoned=True), plan


@breaks("eligibility.node-drained")
def _drained_node(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for _, _, placement in _starts(plan):
        yield _node(round_, placement.node, drain_time=round_.now), plan


@breaks("eligibility.node-selector")
def _choosy_group(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in _starts(plan):
        yield _group(round_, action.job, placement.group, node_selector={"no such label": "x"}), plan


@breaks("eligibility.taint")
def _tainted_node(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in _starts(plan):
        intolerant = _group(round_, action.job, placement.group, tolerations=())
        yield _node(intolerant, placement.node, taints=(Taint("no such taint"),)), plan


@breaks("eligibility.accelerator-type")
def _other_type(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in _starts(plan):
        if _per_task(round_, action.job, placement.group):
            yield _group(round_, action.job, placement.group, accelerator_types=("no such type",)), plan


@breaks("eligibility.no-throughput")
def _no_cell(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    empty = replace(round_, profiles=(*round_.profiles, ThroughputProfile("no cells", {})))
    for action, _, placement in _starts(plan):
        if _per_task(round_, action.job, placement.group):
            yield _group(empty, action.job, placement.group, profile="no cells"), plan


# Topology


@breaks("topology.required-level")
def _too_wide(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, _ in _starts(plan):
        if index == 0 and action.scope != NODE:
            component = replace(_jobs(round_)[action.job].component, required_level=NODE)
            yield _job(round_, action.job, component=component), plan


@breaks("topology.whole-nodes")
def _part_of_a_node(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in _starts(plan):
        spread = sum(other.group == placement.group for other in action.placements) > 1
        if spread and _per_task(round_, action.job, placement.group):
            whole = _group(round_, action.job, placement.group, split=TaskSplit.WHOLE_NODES)
            larger = _nodes(round_)[placement.node].device_count + 1
            yield _node(whole, placement.node, device_count=larger), plan


# Quota


@breaks("quota.device-limit")
def _no_quota(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in _starts(plan):
        if _per_task(round_, action.job, placement.group):
            queues = (Queue("closed", device_limit=0), Queue("inner", "closed"), *round_.queues)
            yield _job(replace(round_, queues=queues), action.job, queue="inner"), plan


@breaks("quota.device-limit-by-type")
def _no_quota_of_type(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in _starts(plan):
        kind = _nodes(round_)[placement.node].accelerator_type
        if kind is not None and _per_task(round_, action.job, placement.group):
            queues = (Queue("closed", device_limit_by_type={kind: 0}), *round_.queues)
            yield _job(replace(round_, queues=queues), action.job, queue="closed"), plan


# Disruption


@breaks("disruption.limit")
def _too_many(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    count = sum(1 for _ in _disruptions(plan))
    if count:
        yield replace(round_, policy=replace(round_.policy, disruption_limit=count - 1)), plan


@breaks("disruption.not-pausable")
def _unpausable(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in _disruptions(plan, ActionKind.EVICT):
        can = replace(_jobs(round_)[action.job].capabilities, pausable=False)
        yield _job(round_, action.job, capabilities=can), plan


@breaks("disruption.not-movable")
def _unmovable(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in _disruptions(plan, ActionKind.MIGRATE):
        can = replace(_jobs(round_)[action.job].capabilities, movable=False)
        yield _job(round_, action.job, capabilities=can), plan


@breaks("disruption.not-resizable")
def _unresizable(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in _disruptions(plan, ActionKind.RESIZE):
        can = replace(_jobs(round_)[action.job].capabilities, resizable=False)
        yield _job(round_, action.job, capabilities=can), plan


# Order


@breaks("order.unknown-dependency")
def _waits_for_nothing(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, _with(plan, action, depends_on=(*action.depends_on, "no such action"))


@breaks("order.not-a-stop")
def _waits_for_a_start(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        for other in plan.actions:
            if other is action or other.kind in (ActionKind.PLACE, ActionKind.KEEP):
                yield round_, _with(plan, action, depends_on=(*action.depends_on, other.id))


def _hasty(plan: Plan) -> Plan:
    """The plan in which nothing waits for anything."""
    return Plan(tuple(replace(action, depends_on=()) for action in plan.actions))


@breaks("order.device")
def _takes_it_too_soon(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    left = {
        (placement.node, device)
        for action in plan.actions
        if action.kind in (ActionKind.EVICT, ActionKind.MIGRATE)
        for placement in getattr(_jobs(round_)[action.job].running, "placements", ())
        for device in placement.devices
    }
    for action, _, placement in _starts(plan):
        if any((placement.node, device) in left for device in placement.devices):
            yield round_, _with(plan, action, depends_on=())


def _tight(round_: Round, plan: Plan, dimension: str) -> Iterator[tuple[str, int]]:
    """Nodes where something stops and something starts, and what they hold of ``dimension`` in the end."""
    jobs, nodes = _jobs(round_), _nodes(round_)

    def use(job: str, placement: TaskPlacement) -> int:
        group = next((g for g in jobs[job].component.task_groups if g.name == placement.group), None)
        if group is None:
            return 0
        each = {
            "cpu": group.resources_per_task.cpu_milli,
            "memory": group.resources_per_task.memory_bytes,
            "device-count": group.devices_per_task,
        }
        return each[dimension] * placement.tasks

    final = dict.fromkeys(nodes, 0)
    starts = {placement.node for action, _, placement in _starts(plan) if use(action.job, placement)}
    stops: set[str] = set()
    for action in plan.actions:
        for placement in action.placements:
            final[placement.node] += use(action.job, placement)
        running = jobs[action.job].running
        if action.kind is ActionKind.EVICT and running is not None:
            stops |= {placement.node for placement in running.placements if use(action.job, placement)}
    yield from ((name, final[name]) for name in sorted(starts & stops & set(nodes)))


@breaks("order.cpu")
def _cpu_too_soon(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for name, final in _tight(round_, plan, "cpu"):
        node = _nodes(round_)[name]
        least = Resources(final + node.used_by_others.resources.cpu_milli, node.resources.memory_bytes)
        yield _node(round_, name, resources=least), _hasty(plan)


@breaks("order.memory")
def _memory_too_soon(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for name, final in _tight(round_, plan, "memory"):
        node = _nodes(round_)[name]
        least = Resources(node.resources.cpu_milli, final + node.used_by_others.resources.memory_bytes)
        yield _node(round_, name, resources=least), _hasty(plan)


@breaks("order.device-count")
def _count_too_soon(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for name, final in _tight(round_, plan, "device-count"):
        node = _nodes(round_)[name]
        if node.device_reporting is DeviceReporting.COUNT_ONLY:
            broken = node.device_count - node.used_by_others.device_count - final
            yield _node(round_, name, unhealthy_device_count=broken), _hasty(plan)


# Justification


@breaks("justification.none")
def _for_nobody(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in _disruptions(plan):
        yield round_, _with(plan, action, beneficiaries=())


@breaks("justification.no-gain")
def _for_the_wrong_one(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    gainers = {
        action.job for action in plan.actions if action.kind not in (ActionKind.KEEP, ActionKind.EVICT)
    }
    for action in _disruptions(plan):
        for name in ("no such job", *(job.name for job in round_.jobs if job.name not in gainers)):
            yield round_, _with(plan, action, beneficiaries=(*action.beneficiaries, name))


@breaks("justification.needless")
def _for_no_reason(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        if action.forced is not None or action.kind in (ActionKind.KEEP, ActionKind.PLACE):
            yield round_, _with(plan, action, beneficiaries=(action.job,))
