"""From a scenario to the round that the engine takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

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
from gangplan.domain.outlook import Reservation
from gangplan.domain.policy import FairnessForm, Policy, Tier
from gangplan.domain.presets import PRESETS
from gangplan.domain.quantiles import Quantiles
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.domain.topology import Domain, Topology
from gangplan.errors import FieldViolation, ScenarioError
from gangplan.planning.scenario import checks
from gangplan.planning.scenario.schema import Scenario
from gangplan.planning.scenario.schema.cluster import NodeGroup, TaintPart, TolerationPart
from gangplan.planning.scenario.schema.jobs import Group, JobClass, Where
from gangplan.planning.scenario.schema.policy import PolicyPart
from gangplan.planning.scenario.schema.source import GeneratedSource, OpenbSource


def expand(scenario: Scenario, *, at: int = 0, folder: Path | None = None) -> Round:
    """The round at the scenario's ``at``-th moment.

    Args:
        scenario: read or made.
        at: index into ``scenario.at``. A later round differs by its clock and by what has arrived; what runs
            is as written, since only a simulation knows what became of it.
        folder: what a source's paths are relative to; None: the working directory.

    Raises:
        ScenarioError: the parts contradict each other, a source cannot be read, or there is no such moment.
    """
    problems = checks.check(scenario)
    if problems:
        raise ScenarioError([FieldViolation(show_path(path), message) for path, message in problems])
    if not 0 <= at < len(scenario.at):
        raise ScenarioError(
            [FieldViolation("at", f"there is no round {at}: the scenario has {len(scenario.at)}, from 0 on")]
        )
    if isinstance(scenario.source, GeneratedSource):
        from gangplan.planning.generate import generate

        source = scenario.source
        return generate(
            source.size,
            start=source.start,
            occupancy=source.occupancy,
            seed=source.seed,
            host_limits=source.host_limits,
        )
    scenario = resolve(scenario, folder=folder)
    start = scenario.settings.now
    now = start + scenario.at[at]
    domains = list(checks.domain_instances(scenario))
    nodes = list(expand_nodes(scenario.nodes, [name for _, name, _, _ in domains], start))
    return Round(
        now=now,
        round_seconds=scenario.settings.round,
        horizon_seconds=scenario.settings.horizon,
        cluster=Cluster(
            topology=Topology(
                levels=tuple(scenario.topology.levels),
                domains=tuple(Domain(name, level, parent) for _, name, level, parent in domains),
            ),
            nodes=tuple(nodes),
        ),
        accelerators=tuple(
            AcceleratorType(
                name, entry.speed, None if entry.price is None else round(entry.price * 1_000_000)
            )
            for name, entry in scenario.accelerators.items()
        ),
        queues=tuple(
            Queue(
                queue.name,
                queue.parent,
                queue.limit,
                dict(queue.limits),
                queue.weight,
                queue.received,
                queue.guarantee,
            )
            for queue in scenario.queues
        ),
        jobs=tuple(job for group in scenario.jobs for job in _jobs(group, start, now)),
        profiles=tuple(
            ThroughputProfile(
                name,
                {
                    (kind, count, scope): throughput
                    for kind, by_scope in by_type.items()
                    for scope, by_count in by_scope.items()
                    for count, throughput in by_count.items()
                },
            )
            for name, by_type in scenario.profiles.items()
        ),
        policy=policy_of(scenario.policy),
        reservations=tuple(_promised(scenario, start)),
    )


def _promised(scenario: Scenario, start: float) -> Iterable[Reservation]:
    """What was promised to jobs."""
    for group in scenario.jobs:
        part = group.promised
        if part is not None:
            (name,) = group.numbered_names()
            until = part.by + scenario.settings.horizon if part.until is None else part.until
            yield Reservation(
                job=name,
                domain=part.domain,
                latest_start=start + part.by,
                expires_at=start + until,
                placements=() if part.where is None else placements(part.where, group.roles),
            )


def policy_of(part: PolicyPart, start: Policy | None = None) -> Policy:
    """What is written, over the preset, over ``start`` (the defaults)."""
    start = start or Policy()
    if part.preset is not None:
        start = PRESETS[part.preset].over(start)
    written = {name: getattr(part, name) for name in part.written}
    for name in ("minimum_run", "promise_after", "longest_run"):
        if name in written:
            written[f"{name}_seconds"] = written.pop(name)
    if "priority_weights" in written:
        written["priority_weights"] = dict(part.priority_weights)
    if "fairness_forms" in written:
        written["fairness_forms"] = {FairnessForm(form): share for form, share in part.fairness_forms.items()}
    if "tiers" in written:
        written["tiers"] = tuple(
            Tier(tuple(sorted(set(tier.priorities))), tier.tolerance) for tier in part.tiers
        )
    if "headroom" in written:
        written["headroom"] = dict(sorted(part.headroom.items()))
    if part.service_quantiles is not None:
        written["service_quantiles"] = _quantiles(part.service_quantiles)
    if "reference_host" in written:
        written["reference_host"] = Resources(part.reference_host.cpu, part.reference_host.memory)
    return replace(start, **written)


def _quantiles(part: Mapping[float, float]) -> Quantiles:
    return Quantiles(tuple(part), tuple(part.values()))


def resolve(scenario: Scenario, *, folder: Path | None = None) -> Scenario:
    """The same scenario with what its trace brings written out: no ``source`` is left.

    Generated sources stay: they bring a whole round.

    Raises:
        ScenarioError: the trace cannot be read, or contradicts the rest of the scenario.
    """
    source = scenario.source
    if not isinstance(source, OpenbSource):
        return scenario
    from gangplan.adapters.traces.openb import Fractional, import_openb

    base = folder or Path.cwd()
    imported = import_openb(
        None if source.nodes is None else base / source.nodes,
        None if source.pods is None else base / source.pods,
        fractional=Fractional(source.fractional),
    ).scenario
    merged = scenario.model_copy(
        update={
            "source": None,
            "accelerators": {**imported.accelerators, **scenario.accelerators},
            "nodes": [*imported.nodes, *scenario.nodes],
            "jobs": [*imported.jobs, *scenario.jobs],
        }
    )
    problems = checks.check(merged)
    if problems:
        raise ScenarioError([FieldViolation(show_path(path), message) for path, message in problems])
    return merged


def show_path(path: Iterable[str | int]) -> str:
    """``jobs[3].running.where.n1`` for ``("jobs", 3, "running", "where", "n1")``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def expand_nodes(groups: Sequence[NodeGroup], domains: Sequence[str], start: float) -> Iterable[Node]:
    """Every node of the groups, group by group, domain by domain."""
    for group in groups:
        places = checks.node_domains(group, domains)
        names = list(group.numbered_names(len(places)))
        each = len(names) // len(places) if places else 0
        listed = group.unhealthy_gpus if isinstance(group.unhealthy_gpus, list) else []
        others = group.others.gpus if isinstance(group.others.gpus, list) else []
        template = Node(
            name="",
            accelerator_type=group.type,
            device_count=group.gpus,
            resources=Resources(group.cpu, group.memory),
            device_reporting=DeviceReporting(group.reporting),
            unhealthy_devices=frozenset(listed),
            unhealthy_device_count=len(listed) or _number(group.unhealthy_gpus),
            labels=dict(group.labels),
            taints=tuple(_taint(taint) for taint in group.taints),
            cordoned=group.cordoned,
            health=NodeHealth(group.health),
            drain_time=None if group.drain is None else start + group.drain,
            used_by_others=OtherUse(
                frozenset(others),
                len(others) or _number(group.others.gpus),
                Resources(group.others.cpu, group.others.memory),
            ),
            revision=group.revision,
        )
        for index, name in enumerate(names):
            yield replace(template, name=name, domain=places[index // each])


def _number(devices: int | list[int]) -> int:
    return devices if isinstance(devices, int) else 0


def _taint(taint: TaintPart) -> Taint:
    return Taint(taint.key, taint.value, TaintEffect(taint.effect))


def _toleration(toleration: TolerationPart) -> Toleration:
    effect = None if toleration.effect is None else TaintEffect(toleration.effect)
    return Toleration(toleration.key, toleration.value, effect)


def _task_group(group: Group) -> TaskGroup:
    return TaskGroup(
        name=group.name,
        count=group.tasks,
        allowed_counts=tuple(sorted(group.counts)) if group.counts is not None else (group.tasks,),
        devices_per_task=group.gpus,
        device_share=_share(group),
        resources_per_task=Resources(group.cpu, group.memory),
        accelerator_types=tuple(group.types),
        profile=group.profile,
        split=TaskSplit(group.split),
        node_selector=dict(group.selector),
        tolerations=tuple(_toleration(toleration) for toleration in group.tolerations),
    )


def _share(group: Group) -> DeviceShare | None:
    """The part of its device that a task takes; None: all of it."""
    return DeviceShare(group.gpu_milli) if group.gpu_milli not in (None, WHOLE_DEVICE) else None


def placements(where: Where, roles: Sequence[Group]) -> tuple[TaskPlacement, ...]:
    """The places as the domain has them, in the order of the groups and of their nodes' names."""
    by_name = {role.name: role for role in roles}
    order = {role.name: index for index, role in enumerate(roles)}
    found = []
    for _, role, node, devices in checks.split_where(where, list(by_name)):
        if isinstance(devices, int):
            found.append(TaskPlacement(role, node, devices))
        else:
            tasks = len(devices) // by_name[role].gpus
            share = _share(by_name[role])
            parts = () if share is None else (share,) * len(devices)
            found.append(TaskPlacement(role, node, tasks, tuple(sorted(devices)), parts))
    return tuple(sorted(found, key=lambda placement: (order[placement.group], placement.node)))


def _from(start: float, offset: float | None) -> float | None:
    return None if offset is None else start + offset


def _jobs(group: JobClass, start: float, now: float) -> Iterable[Job]:
    """The members of a class that have arrived by ``now``."""
    component = Component(
        task_groups=tuple(_task_group(role) for role in group.roles),
        required_level=group.required,
        preferred_level=group.preferred,
    )
    running = None
    if group.running is not None:
        running = Running(
            placements=placements(group.running.where, group.roles),
            started_at=None if group.running.since is None else start - group.running.since,
            checkpoint_age_seconds=group.running.checkpoint,
            next_safe_point=_from(start, group.running.safe_point),
            minimum_run_until=_from(start, group.running.minimum_run),
            stopping=group.running.stopping,
        )
    interactive = None
    if group.interactive is not None:
        since = None if group.interactive.idle is None else start - group.interactive.idle
        interactive = Interactive(group.interactive.start_within, group.interactive.idle_limit, since)
    gate = Gate(group.held, _from(start, group.not_before), tuple(sorted(set(group.after))), group.held_time)
    capabilities = Capabilities(pausable=group.pausable, movable=group.movable, resizable=group.resizable)
    for number, name in enumerate(group.numbered_names()):
        arrives = group.arrives + number * group.every
        if start + arrives > now:
            return
        submitted = None if group.age is None else start - group.age
        if arrives:
            submitted = start + arrives
        yield Job(
            name=name,
            component=component,
            queue=group.queue,
            weight=group.weight,
            priority=group.priority,
            submit_time=submitted,
            work_done=group.done,
            work_left=group.work,
            fair_progress=group.fair_progress,
            fair_finish_age=group.fair_finish_age,
            deadline=_from(start, group.deadline),
            deadline_kind=DeadlineKind(group.deadline_kind),
            deadline_decay_seconds=group.decay,
            restart_seconds=group.restart,
            checkpoint_seconds=group.notice,
            capabilities=capabilities,
            running=running,
            gate=gate,
            revision=group.revision,
            service_received_device_seconds=group.received,
            left_quantiles=None if group.work_quantiles is None else _quantiles(group.work_quantiles),
            user=group.user,
            interactive=interactive,
        )
