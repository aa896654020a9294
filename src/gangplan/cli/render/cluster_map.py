"""The cluster as a map: nodes and their devices, with each job's letter and colour.

Small clusters get a line per node, middling ones several nodes per line, large ones a table of pools
(alike nodes counted by how many of their devices are free) and a few nodes as a sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gangplan.cli.render.figures import cores, count, counted, gibibytes
from gangplan.cli.render.labels import Label, label_width
from gangplan.cli.render.occupancy import Holder, NodeOccupancy, Vacancy
from gangplan.domain.cluster import DeviceReporting, NodeHealth
from gangplan.domain.topology import Topology

LINE_PER_NODE = 24
"""Up to so many nodes, each has a line of its own."""
EVERY_NODE = 160
"""Up to so many nodes, every one is drawn; above, pools and a sample."""
SAMPLE = 12
"""Nodes drawn of a cluster too large to draw."""

_VACANCY = {
    Vacancy.FREE: (".", "dim"),
    Vacancy.OUT_OF_ORDER: ("x", "bold red"),
    Vacancy.OTHERS: ("#", "dim"),
}


def drawn_nodes(nodes: Sequence[NodeOccupancy]) -> tuple[NodeOccupancy, ...]:
    """The nodes that :func:`cluster_map` draws one by one: all, or a sample of a large cluster.

    The sample takes the most mixed nodes of each pool in turn: many different jobs, then few free devices.
    """
    if len(nodes) <= EVERY_NODE:
        return tuple(nodes)
    pools = _pools(nodes)
    queues = [
        sorted(pool, key=lambda n: (-len(n.jobs), n.free_devices, n.node.name)) for pool in pools.values()
    ]
    sample: list[NodeOccupancy] = []
    for place in range(SAMPLE):
        for queue in queues:
            if place < len(queue) and len(sample) < SAMPLE:
                sample.append(queue[place])
    return tuple(sample)


def cluster_map(
    topology: Topology, nodes: Sequence[NodeOccupancy], labels: Mapping[str, Label]
) -> RenderableType:
    """Draw the cluster as the plan leaves it.

    Args:
        topology: levels and domains; nodes are grouped by their domain.
        nodes: every node of the cluster.
        labels: of the jobs on :func:`drawn_nodes`; a job without a label is drawn as ``?``.
    """
    if not nodes:
        return Text("The cluster has no nodes.", style="dim")
    drawn = drawn_nodes(nodes)
    if len(nodes) > EVERY_NODE:
        return Group(
            _pool_table(nodes),
            Text(),
            Text(f"A sample, {len(drawn)} of {count(len(nodes))} nodes", style="bold"),
            _packed(topology, drawn, labels),
            _key(drawn, labels),
        )
    if len(nodes) > LINE_PER_NODE:
        return Group(_packed(topology, drawn, labels), _key(drawn, labels))
    return Group(_lines(topology, drawn, labels), _key(drawn, labels))


def _lines(topology: Topology, nodes: Sequence[NodeOccupancy], labels: Mapping[str, Label]) -> Table:
    with_domains = any(n.node.domain for n in nodes)
    with_cpu = any(n.node.resources.cpu_milli for n in nodes)
    with_memory = any(n.node.resources.memory_bytes for n in nodes)
    notes = {n.node.name: _notes(n) for n in nodes}
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    if with_domains:
        table.add_column("domain", overflow="fold")
    table.add_column("node", overflow="fold")
    table.add_column("type", overflow="fold")
    table.add_column("devices and jobs", overflow="fold", min_width=8)
    if with_cpu:
        table.add_column("CPU", justify="right")
    if with_memory:
        table.add_column("memory GiB", justify="right")
    if any(notes.values()):
        table.add_column("", overflow="fold")
    for domain, group in _by_domain(topology, nodes):
        for first, here in enumerate(group):
            row: list[RenderableType] = []
            if with_domains:
                row.append(domain if not first else "")
            row += [here.node.name, here.node.accelerator_type or "CPU only", _cells(here, labels)]
            total = here.node.resources
            if with_cpu:
                row.append(f"{cores(here.used.cpu_milli)} of {cores(total.cpu_milli)}")
            if with_memory:
                row.append(f"{gibibytes(here.used.memory_bytes)} of {gibibytes(total.memory_bytes)}")
            if any(notes.values()):
                row.append(Text(notes[here.node.name], style="yellow"))
            table.add_row(*row)
    return table


def _packed(topology: Topology, nodes: Sequence[NodeOccupancy], labels: Mapping[str, Label]) -> Group:
    parts: list[RenderableType] = []
    types = {n.node.accelerator_type for n in nodes}
    for domain, group in _by_domain(topology, nodes):
        if domain:
            parts.append(Text(domain, style="dim"))
        cells = []
        for here in group:
            cell = Text(f"{here.node.name} ", no_wrap=True, end="")
            if len(types) > 1:
                cell.append(f"{here.node.accelerator_type or 'CPU only'} ", style="dim")
            cell.append(_cells(here, labels))
            note = _notes(here)
            if note:
                cell.append(f" {note}", style="yellow")
            cells.append(cell)
        parts.append(Columns(cells, padding=(0, 2, 0, 0), column_first=False))
    return Group(*parts)


def _cells(here: NodeOccupancy, labels: Mapping[str, Label]) -> Text:
    width = label_width(labels)
    text = Text(no_wrap=False, end="")
    for index, holder in enumerate(here.devices):
        if width > 1 and index:
            text.append(" ")
        text.append(*_cell(holder, labels, width))
    for name, tasks in here.cpu_tasks.items():
        if text:
            text.append(" ")
        text.append(*_cell(name, labels, width))
        if tasks > 1:
            text.append(f"x{tasks}", style="dim")
    if here.node.device_reporting is DeviceReporting.COUNT_ONLY and here.devices:
        text.append(" ~", style="dim")
    return text


def _cell(holder: Holder, labels: Mapping[str, Label], width: int) -> tuple[str, str]:
    if isinstance(holder, Vacancy):
        mark, style = _VACANCY[holder]
        return mark * width, style
    label = labels.get(holder)
    return (label.text, label.style) if label else ("?" * width, "reverse")


def _notes(here: NodeOccupancy) -> str:
    node = here.node
    notes = [
        "unhealthy" if node.health is NodeHealth.UNHEALTHY else "",
        "cordoned" if node.cordoned else "",
        "drains" if node.drain_time is not None else "",
        "tainted" if node.taints else "",
    ]
    return ", ".join(note for note in notes if note)


def _key(nodes: Sequence[NodeOccupancy], labels: Mapping[str, Label]) -> Text:
    seen = {holder for n in nodes for holder in n.devices if isinstance(holder, Vacancy)}
    parts = ["each letter is a job"] if labels else []
    if any(label.text.isupper() for label in labels.values()):
        parts = ["each letter is a job: UPPER CASE starts, moves or changes size", "lower case stays"]
    parts += [f"{_VACANCY[v][0]} {v.value}" for v in Vacancy if v in seen]
    if any(n.node.device_reporting is DeviceReporting.COUNT_ONLY and n.devices for n in nodes):
        parts.append("~ counts only, no indices")
    return Text(" · ".join(parts), style="dim italic")


def _by_domain(
    topology: Topology, nodes: Sequence[NodeOccupancy]
) -> Iterable[tuple[str, list[NodeOccupancy]]]:
    def where(here: NodeOccupancy) -> tuple[str, ...]:
        return tuple(domain.name for domain in reversed(topology.path(here.node.domain)))

    ordered = sorted(nodes, key=where)  # stable: nodes of a domain stay in the order of the round
    return [(" > ".join(path), list(group)) for path, group in groupby(ordered, key=where)]


def _pools(nodes: Sequence[NodeOccupancy]) -> dict[tuple[str, int], list[NodeOccupancy]]:
    pools: dict[tuple[str, int], list[NodeOccupancy]] = {}
    for here in nodes:
        pools.setdefault((here.node.accelerator_type or "", here.node.device_count), []).append(here)
    return dict(sorted(pools.items(), key=lambda item: (item[0][0] == "", item[0])))


def _pool_table(nodes: Sequence[NodeOccupancy]) -> Table:
    pools = _pools(nodes)
    largest = max(size for _, size in pools)
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("type")
    table.add_column("nodes", justify="right")
    table.add_column("devices", justify="right")
    table.add_column("busy", justify="right")
    table.add_column("CPU", justify="right")
    columns = range(min(largest, 8) + 1)
    for free in columns:
        heading = "none free" if free == 0 else f"{free}+" if free == 8 and largest > 8 else str(free)
        table.add_column(heading, justify="right")
    for (kind, size), pool in pools.items():
        devices = sum(len(n.devices) for n in pool)
        idle = sum(n.free_devices for n in pool)
        cpu_total = sum(n.node.resources.cpu_milli for n in pool)
        cpu_used = sum(n.used.cpu_milli for n in pool)
        histogram = [0] * len(columns)
        for here in pool:
            histogram[min(here.free_devices, len(columns) - 1)] += 1
        row = [
            f"{kind} x{size}" if kind else "CPU only",
            count(len(pool)),
            count(devices) if size else "",
            f"{1 - idle / devices:.0%}" if devices else "",
            f"{cpu_used / cpu_total:.0%}" if cpu_total else "",
        ]
        cells = [Text(count(n) if n else ".", style="" if n else "dim") for n in histogram[: size + 1]]
        table.add_row(*row, *(cells if size else []))
    table.caption = f"{counted(len(nodes), 'node')}; on the right: how many have so many devices free"
    table.caption_justify = "left"
    return table
