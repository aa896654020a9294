"""Rounds made of a prototype's instances, so that both solve the same thing.

The prototype draws an instance as arrays; its own process writes them to a file (``process.py``),
and this reads them. Nothing of the prototype is imported here.

What is the same: racks, nodes, who runs where, counts, types, throughput by type, count and scope, device
limits of tenants, weights, deadlines and what a voluntary stop costs; waiting counts 0. So is every
coefficient of the objective, up to the one factor by which our weights are normalised (decision 1), except
that of a running job's move: the prototype charges ``sw * min(value, w * request)``, our switching term
(decision 13) what a stop costs, ``0.5 * sw * w * request`` there. Its rho is a factor of ``w``, ours comes
from the formula of decision 11, so fairness is switched off here and ``w`` is the base weight. Where nothing
runs, both have the same optimum.

What is left out: gangs of two half nodes in one rack, which none of our task splits describes; the
prototype's columns of that kind are dropped as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import (
    Component,
    Job,
    Running,
    TaskGroup,
    TaskPlacement,
    TaskSplit,
    ThroughputProfile,
)
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.domain.topology import CLUSTER, NODE, Domain, Topology

Arrays = Mapping[str, NDArray[Any]]

NOW, ROUND_SECONDS, HORIZON_SECONDS = 1e9, 300.0, 3600.0
_WORK_SECONDS = 1000 * HORIZON_SECONDS
"""Work left at full speed: so much that no job ends within the horizon."""
_LARGEST_COUNT = 256
_RACK_LOSS, _SPINE, _SPINE_LOSS, _CLUSTER, _CLUSTER_LOSS = 0.02, 0.95, 0.25, 0.9, 0.5
"""The prototype's throughput by scope, as a share of one node's: of a rack, 1 - 0.02 comm, and so on."""


@dataclass(frozen=True, slots=True)
class Converted:
    """A round, and what its objective must be multiplied by to be the prototype's."""

    round: Round
    unit: float


def read(path: Path) -> Converted:
    """The round of an instance written by the prototype's process."""
    with np.load(path, allow_pickle=False) as file:
        return convert({name: file[name] for name in file.files})


def convert(arrays: Arrays) -> Converted:
    """The round of an instance.

    Args:
        arrays: the prototype's own arrays by its own names: ``rtype``, ``rspine`` by rack; ``nrack``,
            ``ncap`` by node; ``req``, ``minc``, ``maxc``, ``alpha``, ``comm``, ``w``, ``tenant``, ``hasdl``,
            ``dlneed``, ``sw`` by job; ``base`` by job and type; ``quota`` by tenant; ``rj``, ``rn``, ``rg``:
            job, node and devices of each present placement; ``speed`` by type; ``npr``, nodes in a rack.
    """
    a = arrays
    types = tuple(f"type-{t}" for t in range(len(a["speed"])))
    unit = float(np.median(a["w"]))
    held: dict[int, list[TaskPlacement]] = {}
    used = np.zeros(len(a["nrack"]), dtype=np.int64)
    for job, node, devices in zip(a["rj"].tolist(), a["rn"].tolist(), a["rg"].tolist(), strict=True):
        first = int(used[node])
        used[node] += devices
        indices = tuple(range(first, first + devices))
        held.setdefault(job, []).append(TaskPlacement("worker", _node(node), devices, indices))
    profiles, jobs = [], []
    for j in range(len(a["req"])):
        profile = ThroughputProfile(f"job-{j:05}", _cells(a, j, types))
        profiles.append(profile)
        jobs.append(_job(a, j, profile, held.get(j), unit))
    return Converted(
        Round(
            now=NOW,
            round_seconds=ROUND_SECONDS,
            horizon_seconds=HORIZON_SECONDS,
            cluster=_cluster(a, types),
            accelerators=tuple(
                AcceleratorType(name, float(speed)) for name, speed in zip(types, a["speed"], strict=True)
            ),
            queues=tuple(
                Queue(f"tenant-{t:02}", device_limit=int(limit)) for t, limit in enumerate(a["quota"])
            ),
            jobs=tuple(jobs),
            profiles=tuple(profiles),
            policy=Policy(fairness_power=0.0, deadline_weight=0.5),
        ),
        unit,
    )


def _node(index: int) -> str:
    return f"node-{index:05}"


def _cluster(a: Arrays, types: tuple[str, ...]) -> Cluster:
    spines = sorted(set(a["rspine"].tolist()))
    return Cluster(
        topology=Topology(
            levels=("spine", "rack"),
            domains=(
                *(Domain(f"spine-{s}", "spine") for s in spines),
                *(Domain(f"rack-{r:04}", "rack", f"spine-{s}") for r, s in enumerate(a["rspine"].tolist())),
            ),
        ),
        nodes=tuple(
            Node(
                _node(n),
                domain=f"rack-{rack:04}",
                accelerator_type=types[int(a["rtype"][rack])],
                device_count=int(a["ncap"][n]),
            )
            for n, rack in enumerate(a["nrack"].tolist())
        ),
    )


def _cells(a: Arrays, j: int, types: tuple[str, ...]) -> dict[tuple[str, int, str], float]:
    """Throughput by type, count and scope: the prototype's columns of job ``j``.

    The request has a cell at scope ``node`` on every type, even where no node is so large: the prototype's
    reference is the unspread throughput of the request on its best type, present or not.
    """
    smallest, largest, request = int(a["minc"][j]), int(a["maxc"][j]), int(a["req"][j])
    comm, alpha = float(a["comm"][j]), float(a["alpha"][j])
    sites = int(a["rspine"].max()) > 0
    kinds = a["rtype"][a["nrack"]]
    cells: dict[tuple[str, int, str], float] = {}
    for t, name in enumerate(types):
        speed = float(a["base"][j, t])
        if speed <= 0.0:
            continue
        cells[name, request, NODE] = speed * request**alpha
        nodes = int((kinds == t).sum())
        per_node = int(a["ncap"][kinds == t].max()) if nodes else 0
        count = 1
        while nodes and count <= min(largest, _LARGEST_COUNT):
            packed = speed * count**alpha
            if count >= smallest and count <= per_node:
                cells[name, count, NODE] = packed
            elif count >= smallest and count // per_node <= nodes:
                if count // per_node <= int(a["npr"]):
                    cells[name, count, "rack"] = packed * (1 - _RACK_LOSS * comm)
                cells[name, count, "spine"] = packed * (_SPINE - _SPINE_LOSS * comm)
                if sites:
                    cells[name, count, CLUSTER] = packed * (_CLUSTER - _CLUSTER_LOSS * comm)
            count *= 2
    return cells


def _job(
    a: Arrays,
    j: int,
    profile: ThroughputProfile,
    held: list[TaskPlacement] | None,
    unit: float,
) -> Job:
    smallest, largest, request = int(a["minc"][j]), int(a["maxc"][j]), int(a["req"][j])
    counts = tuple(1 << k for k in range(9) if smallest <= 1 << k <= largest)
    reference = float(a["base"][j].max()) * request ** float(a["alpha"][j])
    work_left = reference * _WORK_SECONDS
    running = None
    if held:
        devices = sum(placed.tasks for placed in held)
        # A voluntary stop costs lost * devices / horizon, and 0.5 * sw * w * request in the prototype.
        cost = 0.5 * float(a["sw"][j]) * float(a["w"][j]) / unit * request
        running = Running(
            placements=tuple(sorted(held, key=lambda placed: placed.node)),
            checkpoint_age_seconds=cost * HORIZON_SECONDS / devices,
        )
    return Job(
        name=profile.name,
        queue=f"tenant-{int(a['tenant'][j]):02}",
        component=Component(
            (
                TaskGroup(
                    count=request,
                    allowed_counts=counts,
                    profile=profile.name,
                    split=TaskSplit.WHOLE_NODES,
                ),
            )
        ),
        weight=float(a["w"][j]),
        work_left=work_left,
        deadline=NOW + work_left / (float(a["dlneed"][j]) * reference) if a["hasdl"][j] else None,
        running=running,
    )
