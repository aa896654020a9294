"""Gangs: all groups of a component run together, each at a count it allows, or none does (property P1).

Judged on the final set, for every job that runs after the plan, whatever the action is called.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from gangplan.model.layout import ROOT, Flow, flow_of, is_direct
from gangplan.model.rows import Rows
from gangplan.model.violation import Violation

if TYPE_CHECKING:
    from gangplan.model.layout import Layout
    from gangplan.model.reading import Reading

NAME = "gang"
RULES = ("gang.incomplete", "gang.count", "gang.mixed-types")


def violations(reading: Reading) -> list[Violation]:
    """Gangs that run in part, at a wrong count, or with a group on several accelerator types."""
    found: list[Violation] = []
    for name, change in reading.changes.items():
        if not change.after:
            continue
        action = change.action.id if change.action else ""
        for group in change.job.component.task_groups:
            count = change.outcome.counts.get(group.name, 0)
            if count == 0:
                message = f"{name} runs without any task of its group {group.name}"
                found.append(Violation("gang.incomplete", name, "", action, message))
            elif count not in group.allowed_counts:
                message = f"{name} runs {count} tasks of {group.name}; allowed: {group.allowed_counts}"
                found.append(Violation("gang.count", name, "", action, message))
            if group.devices_per_task and len(change.after) > 1:
                types = {
                    str(reading.nodes[node].accelerator_type)
                    for key, node in change.after
                    if key == group.name
                }
                if len(types) > 1:
                    message = f"{name} runs {group.name} on several accelerator types: {sorted(types)}"
                    found.append(Violation("gang.mixed-types", name, "", action, message))
    return found


def rows(layout: Layout) -> Rows:
    """All blocks of a gang lie somewhere: for every flow, blocks asked for are at most blocks placed."""
    node_scope = len(layout.instance.speeds.scopes) - 1
    wanted: dict[Flow, list[tuple[int, float]]] = defaultdict(list)
    for kind, options in layout.kind_options.items():
        for block, multiplicity in kind[1]:
            if is_direct(kind, node_scope):
                columns = [int(layout.option_column[k]) for k in options]
                wanted[flow_of(kind, block, ROOT)].extend((column, float(multiplicity)) for column in columns)
    for (kind, domain), column in layout.gang_column.items():
        for block, multiplicity in kind[1]:
            wanted[flow_of(kind, block, domain)].append((column, float(multiplicity)))
    found = Rows()
    for flow, places in layout.flow_pools.items():
        found.add([*wanted[flow], *((column, -1.0) for _, column in places)], upper=0.0)
    return found
