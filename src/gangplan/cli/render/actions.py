"""What is to be done: a line per action, or a line per class of alike actions when there are many."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gangplan.cli.render.figures import amount, count, counted, ranges
from gangplan.cli.render.labels import Label
from gangplan.cli.render.occupancy import devices_held
from gangplan.domain.job import WHOLE_DEVICE, Job, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.domain.round import Round

ONE_BY_ONE = 40
"""Up to so many actions, each has a line."""
CLASSES = 15
"""Lines of a summary."""
_NODES_IN_FULL = 3

_ORDER = (
    ActionKind.EVICT,
    ActionKind.MIGRATE,
    ActionKind.RESIZE,
    ActionKind.PLACE,
    ActionKind.RESERVE,
    ActionKind.KEEP,
)
_STYLE = {
    ActionKind.EVICT: "bold red",
    ActionKind.MIGRATE: "bold yellow",
    ActionKind.RESIZE: "bold yellow",
    ActionKind.PLACE: "bold green",
    ActionKind.RESERVE: "bold blue",
    ActionKind.KEEP: "dim",
}


def actions_table(round_: Round, plan: Plan, labels: Mapping[str, Label]) -> RenderableType:
    """Every action with its place and purpose, or a summary by class when they are many.

    Disruptive actions always have their own lines, up to :data:`ONE_BY_ONE` of them.
    """
    if not plan.actions:
        return Text("Nothing to do.", style="dim")
    jobs = {job.name: job for job in round_.jobs}
    types = {node.name: node.accelerator_type for node in round_.cluster.nodes}
    ordered = sorted(plan.actions, key=lambda action: _ORDER.index(action.kind))
    if len(ordered) <= ONE_BY_ONE:
        return _one_by_one(ordered, jobs, labels)
    disruptive = [a for a in ordered if a.kind not in (ActionKind.PLACE, ActionKind.KEEP)]
    quiet = [a for a in ordered if a.kind in (ActionKind.PLACE, ActionKind.KEEP)]
    if not disruptive or len(disruptive) > ONE_BY_ONE:
        return _by_class(ordered, jobs, types)
    return Group(_one_by_one(disruptive, jobs, labels), Text(), _by_class(quiet, jobs, types))


def _one_by_one(actions: Iterable[Action], jobs: Mapping[str, Job], labels: Mapping[str, Label]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("action")
    table.add_column("job", overflow="fold")
    table.add_column("tasks", overflow="fold")
    table.add_column("where", overflow="fold")
    table.add_column("scope")
    table.add_column("why", overflow="fold")
    for action in actions:
        label = labels.get(action.job)
        table.add_row(
            Text(label.text, style=label.style) if label else "",
            Text(action.kind.value, style=_STYLE[action.kind]),
            action.job,
            _tasks(jobs.get(action.job), action.placements),
            _from_and_to(action, jobs.get(action.job)),
            action.scope,
            _why(action),
        )
    return table


def _by_class(
    actions: Iterable[Action], jobs: Mapping[str, Job], types: Mapping[str, str | None]
) -> RenderableType:
    classes: Counter[tuple[ActionKind, str, str]] = Counter()
    devices: dict[tuple[ActionKind, str, str], float] = defaultdict(float)
    for action in actions:
        job = jobs.get(action.job)
        on = sorted({kind for place in action.placements if (kind := types.get(place.node))})
        held = devices_held(job, action.placements) if job else 0
        key = (
            action.kind,
            _shape(job, action.placements),
            ", ".join(on) if held else "CPU",
        )
        classes[key] += 1
        devices[key] += held
    rows = sorted(classes, key=lambda key: (_ORDER.index(key[0]), -devices[key], -classes[key], key[1:]))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("action")
    table.add_column("jobs", justify="right")
    table.add_column("each")
    table.add_column("on", overflow="fold")
    table.add_column("devices", justify="right")
    for key in rows[:CLASSES]:
        action_kind, shape, on_types = key
        table.add_row(
            Text(action_kind.value, style=_STYLE[action_kind]),
            count(classes[key]),
            shape,
            on_types,
            amount(devices[key]) if devices[key] else "",
        )
    rest = rows[CLASSES:]
    if not rest:
        return table
    jobs_left = sum(classes[key] for key in rest)
    more = f"and {counted(len(rest), 'more class', 'more classes')}: {counted(jobs_left, 'job')}"
    held = sum(devices[key] for key in rest)
    return Group(table, Text(f"{more} on {counted(held, 'device')}" if held else more, style="dim"))


def _shape(job: Job | None, placements: Iterable[TaskPlacement]) -> str:
    tasks: Counter[str] = Counter()
    for place in placements:
        tasks[place.group] += place.tasks
    parts = []
    for group in job.component.task_groups if job else ():
        size = group.device_milli / WHOLE_DEVICE
        if tasks[group.name]:
            parts.append(f"{tasks[group.name]} x {counted(size, 'device') if size else 'CPU task'}")
    return " + ".join(parts) or "stop"


def _tasks(job: Job | None, placements: Iterable[TaskPlacement]) -> str:
    tasks: Counter[str] = Counter()
    for place in placements:
        tasks[place.group] += place.tasks
    groups = job.component.task_groups if job else ()
    parts = []
    for group in groups:
        if not tasks[group.name]:
            continue
        of = f"/{group.count}" if tasks[group.name] != group.count else ""
        devices = group.device_milli / WHOLE_DEVICE
        size = f" x {amount(devices)} dev" if devices else " x CPU"
        prefix = f"{group.name} " if len(groups) > 1 else ""
        parts.append(f"{prefix}{tasks[group.name]}{of}{size}")
    return ", ".join(parts)


def _from_and_to(action: Action, job: Job | None) -> str:
    before = _where(job.running.placements) if job is not None and job.running is not None else ""
    match action.kind:
        case ActionKind.EVICT:
            return f"from {before}" if before else ""
        case ActionKind.MIGRATE | ActionKind.RESIZE:
            return f"{before} -> {_where(action.placements)}"
        case _:
            return _where(action.placements)


def _where(placements: tuple[TaskPlacement, ...]) -> str:
    by_node: dict[str, list[int]] = {}
    for place in placements:
        by_node.setdefault(place.node, []).extend(place.devices)
    if len(by_node) > _NODES_IN_FULL + 1:
        names = list(by_node)
        return f"{', '.join(names[:_NODES_IN_FULL])} and {len(names) - _NODES_IN_FULL} more"
    return ", ".join(f"{name}[{ranges(devices)}]" if devices else name for name, devices in by_node.items())


def _why(action: Action) -> str:
    parts = []
    if action.forced is not None:
        parts.append(f"forced: {action.forced.value}")
    others = [name for name in action.beneficiaries if name != action.job]
    if others:
        shown = ", ".join(others[:3])
        parts.append(f"makes room for {shown}" + (f" and {len(others) - 3} more" if len(others) > 3 else ""))
    elif action.beneficiaries:
        parts.append("for its own good")
    if action.depends_on:
        parts.append(
            f"after {', '.join(action.depends_on[:3])}" + (" ..." if len(action.depends_on) > 3 else "")
        )
    return "; ".join(parts)
