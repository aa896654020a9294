"""A round before any plan: its cluster as it is, and its jobs by class."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from gangplan.cli.render.cluster_map import cluster_map, drawn_nodes
from gangplan.cli.render.figures import cores, count, counted, gibibytes
from gangplan.cli.render.labels import label_jobs
from gangplan.cli.render.occupancy import occupancy, placements_before
from gangplan.domain.job import WHOLE_DEVICE, Job
from gangplan.domain.round import Round

CLASSES = 25
"""Classes of jobs shown, those of most jobs first."""
_NAMES = 2


def situation(round_: Round, *, title: str = "") -> RenderableType:
    """The map of the cluster and a table of the jobs.

    Args:
        round_: the round.
        title: what it is called.
    """
    nodes = occupancy(round_, placements_before(round_))
    labels = label_jobs((name for here in drawn_nodes(nodes) for name in here.jobs), frozenset())
    running = sum(1 for job in round_.jobs if job.running is not None)
    devices = sum(len(here.devices) for here in nodes)
    summary = f"{counted(len(nodes), 'node')} with {counted(devices, 'device')}; "
    summary += f"{counted(len(round_.jobs), 'job')}: {count(running)} running, "
    summary += f"{count(len(round_.jobs) - running)} waiting"
    parts: list[RenderableType] = [Text(title, style="bold")] if title else []
    parts += [Text(summary), Text(), _rule("cluster"), cluster_map(round_.cluster.topology, nodes, labels)]
    if round_.jobs:
        parts += [Text(), _rule("jobs"), _jobs(round_.jobs)]
    return Group(*parts)


def _rule(title: str) -> Rule:
    return Rule(Text(title, style="bold"), align="left", style="dim", characters="-")


def _jobs(jobs: tuple[Job, ...]) -> RenderableType:
    classes: dict[tuple[str, str, str, str, str], list[Job]] = {}
    for job in jobs:
        state = "running" if job.running else "waiting"
        key = (state, _shape(job), _types(job), _where(job), job.queue or "")
        classes.setdefault(key, []).append(job)
    with_queue = any(job.queue for job in jobs)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("jobs", justify="right")
    for heading in ("now", "each", "on", "within", *(["queue"] if with_queue else []), "which"):
        table.add_column(heading, overflow="fold")
    ordered = sorted(classes.items(), key=lambda item: -len(item[1]))
    for key, members in ordered[:CLASSES]:
        names = ", ".join(job.name for job in members[:_NAMES]) + (", ..." if len(members) > _NAMES else "")
        table.add_row(count(len(members)), *(key if with_queue else key[:-1]), names)
    rest = ordered[CLASSES:]
    if not rest:
        return table
    left = sum(len(members) for _, members in rest)
    more = f"and {counted(len(rest), 'more class', 'more classes')}: {counted(left, 'job')}"
    return Group(table, Text(more, style="dim"))


def _shape(job: Job) -> str:
    parts = []
    for group in job.component.task_groups:
        counts = group.allowed_counts
        tasks = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]}..{counts[-1]}"
        asks = [counted(group.device_milli / WHOLE_DEVICE, "device")] if group.devices_per_task else []
        if group.resources_per_task.cpu_milli:
            asks.append(f"{cores(group.resources_per_task.cpu_milli)} CPU")
        if group.resources_per_task.memory_bytes:
            asks.append(f"{gibibytes(group.resources_per_task.memory_bytes)} GiB")
        parts.append(f"{tasks} x ({', '.join(asks)})")
    return " + ".join(parts)


def _types(job: Job) -> str:
    groups = [group for group in job.component.task_groups if group.devices_per_task]
    kinds = [" | ".join(group.accelerator_types) or "any type" for group in groups]
    return " + ".join(dict.fromkeys(kinds)) or "CPU"


def _where(job: Job) -> str:
    component = job.component
    if component.required_level:
        return f"one {component.required_level}"
    return f"rather one {component.preferred_level}" if component.preferred_level else ""
