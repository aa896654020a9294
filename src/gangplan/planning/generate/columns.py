"""Ways to run each job, and what they are worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.domain.policy import Policy
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.planning.generate.arrays import FloatArray, IntArray
from gangplan.planning.generate.crowd import Crowd
from gangplan.planning.generate.site import TYPES, Site

SCOPES = (NODE, "rack", "spine", CLUSTER)
_DEADLINE_WEIGHT = Policy().deadline_weight


@dataclass(frozen=True, slots=True)
class Columns:
    """Ways to run a job, sorted by job: one entry per (job, type, count, scope) that exists."""

    job: IntArray
    type: IntArray
    count: IntArray
    scope: IntArray
    """Index into ``SCOPES``."""
    throughput: FloatArray
    reference: FloatArray
    """Shape (jobs,): the request on its best type, packed (decision 2)."""
    value: FloatArray
    """GPU-equivalents with the weights that the crowd had when it was drawn."""


def build_columns(site: Site, crowd: Crowd) -> Columns:
    """Every way to run every job that exists."""
    parts: list[tuple[IntArray, int, int, int, FloatArray]] = []
    chat = crowd.chattiness
    nodes_by_type = np.bincount(site.node_type, minlength=len(TYPES))
    for count in site.mix.counts(int(crowd.largest.max())).tolist():
        for kind, per_node in enumerate(site.mix.devices_per_node):
            allowed = (
                (crowd.speed[:, kind] > 0) & (crowd.smallest <= count) & (count <= crowd.largest)
            ).nonzero()[0]
            raw = crowd.speed[allowed, kind] * count ** crowd.scaling[allowed]
            here = chat[allowed]
            if count <= per_node:
                parts.append((allowed, kind, count, 0, raw))
                continue
            nodes = count // per_node
            if count % per_node or nodes > nodes_by_type[kind]:
                continue
            if nodes <= site.size.nodes_per_rack:
                parts.append((allowed, kind, count, 1, raw * (1 - 0.02 * here)))
            parts.append((allowed, kind, count, 2, raw * (0.95 - 0.25 * here)))
            if site.spines > 1:
                parts.append((allowed, kind, count, 3, raw * (0.9 - 0.5 * here)))
    job = np.concatenate([part[0] for part in parts])
    kind_of, count_of, scope_of = (
        np.concatenate([np.full(len(part[0]), part[which], dtype=np.int64) for part in parts])
        for which in (1, 2, 3)
    )
    throughput = np.concatenate([part[4] for part in parts])
    order = np.lexsort((scope_of, count_of, kind_of, job))
    job, kind_of, count_of, scope_of, throughput = (
        array[order] for array in (job, kind_of, count_of, scope_of, throughput)
    )
    # The narrowest scope of a pair stands for "packed", and throughput falls with every wider one.
    reference = np.zeros(len(crowd))
    full = count_of == crowd.requested[job]
    np.maximum.at(reference, job[full], throughput[full])
    relative = throughput / np.where(reference > 0, reference, np.inf)[job]
    worth = crowd.weight * crowd.rho * crowd.requested
    deadline_met = crowd.has_deadline[job] & (relative >= crowd.deadline_rate[job])
    value = worth[job] * (relative + _DEADLINE_WEIGHT * deadline_met)
    return Columns(job, kind_of, count_of, scope_of, throughput, reference, value)


def isolated_throughput(site: Site, crowd: Crowd, columns: Columns) -> FloatArray:
    """x_iso of decision 11: the best packed option, slowed to the job's share of the devices it uses."""
    share = site.devices_by_type[None, :] * crowd.weight[:, None] / crowd.weight.sum()
    packed = np.append(
        True, (np.diff(columns.job) != 0) | (np.diff(columns.type) != 0) | (np.diff(columns.count) != 0)
    )
    job, kind, count = columns.job[packed], columns.type[packed], columns.count[packed]
    rate = columns.throughput[packed] * np.minimum(1.0, share[job, kind] / count)
    best = np.zeros(len(crowd))
    np.maximum.at(best, job, rate)
    return best
