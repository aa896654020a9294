"""How each job of a history can run, and what that takes of which resource."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from gangplan.domain.cluster import Node, NodeHealth
from gangplan.domain.job import TaskGroup, TaskSplit
from gangplan.domain.round import Round
from gangplan.domain.topology import NODE
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.model.verifier.facts import RoundFacts, round_facts
from gangplan.planning.rounds.history import Arrival, History

Resource = tuple[str, str]
"""``(node or type, "devices" | "cpu" | "memory")``."""


class Grain(Enum):
    """How finely capacity is told apart."""

    NODE = "node"
    """Every node: exact."""
    TYPE = "type"
    """Every accelerator type: smaller, and no tighter; tasks are thought to be packed."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a job.

    Attributes:
        tasks: by node name, sorted; by type name with :attr:`Grain.TYPE`.
        use: what it takes.
        throughput: work units per second.
    """

    tasks: tuple[tuple[str, int], ...]
    use: tuple[tuple[Resource, int], ...]
    throughput: float


@dataclass(frozen=True, slots=True)
class WindowJob:
    """One job of the window.

    Attributes:
        name: its name.
        arrives: the first round in which it can run.
        work: left, work units.
        weight: base weight.
        waits_seconds: from its submission to the start of its first round.
        fair_seconds: rho's denominator: its time alone with the share by weight that it would have if all
            jobs of the history contended all the time.
        due_seconds: from the window's start to its deadline; None: none.
        restart_seconds: of every start.
        ways: how it can run; at least one.
    """

    name: str
    arrives: int
    work: float
    weight: float
    waits_seconds: float
    fair_seconds: float
    due_seconds: float | None
    restart_seconds: float
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A history as the programme takes it.

    Attributes:
        rounds: how many are planned.
        round_seconds: length of each.
        jobs: sorted by name.
        capacity: by resource.
        grain: how finely capacity is told apart.
    """

    rounds: int
    round_seconds: float
    jobs: tuple[WindowJob, ...]
    capacity: dict[Resource, int]
    grain: Grain


def window_of(history: History, rounds: int, grain: Grain = Grain.NODE) -> Window:
    """The window of a history's first ``rounds`` rounds.

    Args:
        history: nothing runs at its beginning, no node fails, and each job is one group of whole devices
            without selector or gate.
        rounds: in which its jobs should all be able to end.
        grain: how finely capacity is told apart.

    Raises:
        InvalidInputError: the history is none of these, or a job can run nowhere.
    """
    violations = list(_refused(history))
    if violations:
        raise InvalidInputError(violations)
    template = history.template
    length = template.round_seconds
    everybody = replace(template, jobs=tuple(arrival.job for arrival in history.arrivals))
    facts = round_facts(everybody)
    nodes = [node for node in template.cluster.nodes if _open(node)]
    jobs = []
    for arrival in sorted(history.arrivals, key=lambda one: one.job.name):
        job = arrival.job
        submitted = (job.submit_time or 0.0) - template.now
        arrives = max(0, math.ceil(submitted / length - 1e-9))
        if arrives >= rounds:
            raise InvalidInputError(
                [FieldViolation(f"arrivals[{job.name}]", f"comes in round {arrives}, of {rounds}")]
            )
        ways = tuple(_ways(arrival, nodes, facts, grain))
        if not ways:
            raise InvalidInputError([FieldViolation(f"arrivals[{job.name}]", "can run nowhere")])
        isolated = facts.jobs[job.name].isolated
        jobs.append(
            WindowJob(
                name=job.name,
                arrives=arrives,
                work=arrival.work - job.work_done,
                weight=facts.jobs[job.name].base,
                waits_seconds=arrives * length - submitted,
                fair_seconds=arrival.work / isolated if isolated > 0 else math.inf,
                due_seconds=None if job.deadline is None else job.deadline - template.now,
                restart_seconds=job.restart_seconds,
                ways=ways,
            )
        )
    return Window(rounds, length, tuple(jobs), _capacity(nodes, grain), grain)


def _refused(history: History) -> Iterator[FieldViolation]:
    if history.failures:
        yield FieldViolation("failures", "a window knows of no failures")
    for arrival in history.arrivals:
        job, groups = arrival.job, arrival.job.component.task_groups
        plain = len(groups) == 1 and groups[0].devices_per_task and groups[0].device_share is None
        if not plain or groups[0].node_selector:
            yield FieldViolation(
                f"arrivals[{job.name}]", "is not one group of whole devices without selector"
            )
        if job.running is not None:
            yield FieldViolation(f"arrivals[{job.name}]", "runs already when the window begins")
        if job.gate.held or job.gate.after_jobs or job.gate.not_before is not None:
            yield FieldViolation(f"arrivals[{job.name}]", "has a gate, of which a window knows nothing")


def _open(node: Node) -> bool:
    usable = node.health is NodeHealth.HEALTHY and not node.cordoned and not node.taints
    return usable and node.usable_device_count > 0


def _capacity(nodes: Sequence[Node], grain: Grain) -> dict[Resource, int]:
    found: dict[Resource, int] = {}
    for node in nodes:
        whose = node.name if grain is Grain.NODE else str(node.accelerator_type)
        usable = node.usable_resources
        amounts = {
            "devices": node.usable_device_count,
            "cpu": usable.cpu_milli,
            "memory": usable.memory_bytes,
        }
        for what, amount in amounts.items():
            found[whose, what] = found.get((whose, what), 0) + amount
    return found


def _ways(arrival: Arrival, nodes: Sequence[Node], facts: RoundFacts, grain: Grain) -> Iterator[Way]:
    component = arrival.job.component
    group = component.task_groups[0]
    levels = facts.round.cluster.topology.scopes
    for kind in facts.throughput.types(group):
        mine = [node for node in nodes if node.accelerator_type == kind]
        for count in group.allowed_counts:
            spreads = _spreads(group, count, mine) if grain is Grain.NODE else [((kind, count),)]
            for tasks in spreads:
                scope = facts.scope([name for name, _ in tasks]) if grain is Grain.NODE else NODE
                required = component.required_level
                if required is not None and levels.index(scope) < levels.index(required):
                    continue
                x = facts.throughput.of_gang(component, {group.name: count}, {group.name: kind}, scope)[1]
                if x > 0 and mine:
                    yield Way(tasks, tuple(_use(group, tasks)), x)


def _use(group: TaskGroup, tasks: Sequence[tuple[str, int]]) -> Iterator[tuple[Resource, int]]:
    each = group.resources_per_task
    amounts = {"devices": group.devices_per_task, "cpu": each.cpu_milli, "memory": each.memory_bytes}
    for whose, number in tasks:
        for what, amount in amounts.items():
            if amount:
                yield (whose, what), amount * number


def _spreads(group: TaskGroup, count: int, nodes: Sequence[Node]) -> list[tuple[tuple[str, int], ...]]:
    """All ways to spread ``count`` tasks over the nodes, each within what the empty node holds."""
    found: list[tuple[tuple[str, int], ...]] = []

    def spread(at: int, left: int, so_far: tuple[tuple[str, int], ...]) -> None:
        if not left:
            found.append(so_far)
        elif at < len(nodes):
            for number in range(min(left, _most(group, nodes[at])), 0, -1):
                spread(at + 1, left - number, (*so_far, (nodes[at].name, number)))
            spread(at + 1, left, so_far)

    spread(0, count, ())
    built = {node.name: node.device_count for node in nodes}
    if group.split is TaskSplit.WHOLE_NODES:
        found = [
            tasks
            for tasks in found
            if len(tasks) == 1
            or (
                len({built[name] for name, _ in tasks}) == 1
                and all(number * group.devices_per_task == built[name] for name, number in tasks)
            )
        ]
    return [tuple(sorted(tasks)) for tasks in found]


def _most(group: TaskGroup, node: Node) -> int:
    usable, each = node.usable_resources, group.resources_per_task
    most = node.usable_device_count // group.devices_per_task
    if each.cpu_milli:
        most = min(most, usable.cpu_milli // each.cpu_milli)
    if each.memory_bytes:
        most = min(most, usable.memory_bytes // each.memory_bytes)
    return most


def round_of(template: Round, finished: float) -> int:
    """The round in which a time lies, an end on its edge counted to the round before."""
    return max(0, math.ceil((finished - template.now) / template.round_seconds - 1e-9) - 1)
