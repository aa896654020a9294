"""Gangs: all groups of a component run together, each at a count it allows, or none does (property P1).

Judged on the final set, for every job that runs after the plan, whatever the action is called.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from gangplan.model.formulation.layout import ROOT, Flow, flow_of, is_direct
from gangplan.model.formulation.rows import INFINITY, Rows
from gangplan.model.verifier.reading import going_on
from gangplan.model.verifier.starts import present
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.model.formulation.layout import Layout
    from gangplan.model.program import IntArray
    from gangplan.model.verifier.columns import Bools
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.reading import Change, Reading
    from gangplan.model.verifier.starts import Singles, Starts

NAME = "gang"
RULES = ("gang.incomplete", "gang.count", "gang.mixed-types")


def violations(reading: Reading) -> list[Violation]:
    """Gangs that run in part, at a wrong count, or with a group on several accelerator types."""
    found = reading.judged(_judge, _sound)
    for name in reading.facts.once(_broken_now):
        if name not in reading.changed:
            found += _judge(reading.changes[name], reading.facts)
    return found


def _sound(starts: Starts, facts: RoundFacts) -> Bools:
    """Starts with an allowed number of tasks; they have one group, on one node."""
    del facts
    return _allowed(starts.there)


def _allowed(singles: Singles) -> Bools:
    """Whether a job's one group is allowed so many tasks."""
    columns = singles.columns
    found: Bools = columns.allowed_counts[columns.counts[singles.job], singles.tasks]
    return found


def _broken_now(facts: RoundFacts) -> list[str]:
    """Running jobs that would break a rule of this family if they were kept; they should be forced off."""
    others = facts.once(going_on)
    found = [name for name, change in others.items() if change.after and _judge(change, facts)]
    there = facts.once(present)
    if there.there is not None:
        found += [there.names[row] for row in np.flatnonzero(~_allowed(there.there)).tolist()]
    return found


def _judge(change: Change, facts: RoundFacts) -> list[Violation]:
    found: list[Violation] = []
    if not change.after:
        return found
    name = change.job.name
    action = change.action.id if change.action else ""
    for group in change.groups.values():
        count = change.outcome.counts.get(group.name, 0)
        if count == 0:
            message = f"{name} runs without any task of its group {group.name}"
            found.append(Violation("gang.incomplete", name, "", action, message))
        elif count not in group.allowed_counts:
            message = f"{name} runs {count} tasks of {group.name}; allowed: {group.allowed_counts}"
            found.append(Violation("gang.count", name, "", action, message))
        if group.devices_per_task and len(change.after) > 1:
            types = {
                str(facts.nodes[node].accelerator_type) for key, node in change.after if key == group.name
            }
            if len(types) > 1:
                message = f"{name} runs {group.name} on several accelerator types: {sorted(types)}"
                found.append(Violation("gang.mixed-types", name, "", action, message))
    return found


def rows(layout: Layout) -> Rows:
    """All blocks of a gang lie somewhere: for every flow, blocks asked for are at most blocks placed."""
    node_scope = len(layout.instance.speeds.scopes) - 1
    wanted: dict[Flow, list[tuple[IntArray, int]]] = defaultdict(list)
    for kind, columns in layout.kind_columns.items():
        if is_direct(kind, node_scope):
            for block, multiplicity in kind[1]:
                wanted[flow_of(kind, block, ROOT)].append((columns, multiplicity))
    for (kind, domain), column in layout.gang_column.items():
        for block, multiplicity in kind[1]:
            wanted[flow_of(kind, block, domain)].append((np.array([column]), multiplicity))
    found = Rows()
    for flow, places in layout.flow_pools.items():
        asked = [columns for columns, _ in wanted[flow]]
        numbers = [np.full(len(columns), float(multiplicity)) for columns, multiplicity in wanted[flow]]
        placed = np.array([column for _, column in places], dtype=np.int64)
        columns = np.concatenate([*asked, placed])
        values = np.concatenate([*numbers, np.full(len(placed), -1.0)])
        order = np.argsort(columns, kind="stable")
        columns, values = columns[order], values[order]
        first = np.flatnonzero(np.diff(columns, prepend=-1))
        tied = flow[2] is not None and flow[2][3] >= 0  # of these it matters where they lie: no one too many
        least = 0.0 if tied else -INFINITY
        found.add_arrays(columns[first], np.add.reduceat(values, first), upper=0.0, lower=least)
    return found
