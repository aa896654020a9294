"""An assignment as a solution of the programme: the complete warm start."""

from __future__ import annotations

import numpy as np

from gangplan.model.formulation.layout import ROOT, Domain, Layout, flow_of, is_direct
from gangplan.model.packing.assignment import Assignment
from gangplan.model.program import FloatArray


def encode(layout: Layout, assignment: Assignment) -> FloatArray:
    """Column values of ``assignment``, shape (columns,); options that have no column are left out."""
    instance = layout.instance
    node_scope = len(instance.speeds.scopes) - 1
    values = np.zeros(layout.columns, dtype=np.float64)
    block_column = {
        (flow, pool): column for flow, places in layout.flow_pools.items() for pool, column in places
    }
    staying = {int(instance.class_of_job[j]) for j in assignment.kept}
    for c in staying:
        values[layout.keep_column[c]] = 1.0
    for placed in assignment.placed.values():
        k = placed.option
        if layout.option_column[k] < 0:
            continue
        values[layout.option_column[k]] += 1.0
        kind = layout.kind(k)
        domain: Domain = ROOT
        if not is_direct(kind, node_scope):
            first = placed.spots[0][0]
            domain = (kind[0], int(instance.nodes.domain_at[first, kind[0]]))
            if (kind, domain) in layout.gang_column:
                values[layout.gang_column[kind, domain]] += 1.0
        for demand, (block, _) in zip(instance.option_at(k).demands, kind[1], strict=True):
            group = next(g for g, count in enumerate(demand.tasks) if count)
            for node, tasks in placed.spots:
                copies = tasks[group] // demand.tasks[group]
                at = (flow_of(kind, block, domain), int(instance.pools.pool_of[node]))
                if copies and at in block_column:
                    values[block_column[at]] += copies
    for rooms in layout.rooms.values():
        for room in rooms:
            if room.column >= 0:
                held = sum(a[0] for c, a in layout.kept_on[room.node] if c in staying)
                free = int(instance.nodes.capacity[room.node, 0]) - held
                values[room.column] = free // room.size
    for gang_room in layout.gang_rooms:
        nodes = np.concatenate([instance.pools.members[p] for p in gang_room.pools])
        kept = [sum(a[0] for c, a in layout.kept_on.get(n, ()) if c in staying) for n in nodes.tolist()]
        taken = np.array(kept, dtype=np.int64)
        whole = int((instance.nodes.capacity[nodes, 0] - taken >= gang_room.devices).sum())
        values[gang_room.column] = whole // gang_room.nodes
    return values
