"""Where very many jobs run -> :class:`~gangplan.domain.job.Running`, those about whom nothing is unusual."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gangplan.domain.cluster import DeviceReporting
from gangplan.domain.job import Component, Running, TaskPlacement
from gangplan.service.wire import limits
from gangplan.service.wire.columns import Bools, Columns, lists, or_none, packed
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.known import Known
from gangplan.twins import twin_maker

_running, _placement = twin_maker(Running), twin_maker(TaskPlacement)


class PlainRunning(NamedTuple):
    """Where jobs run.

    Attributes:
        running: None for a job that waits or that is left.
        runs: whether a job runs.
        apart: whether it is sure that no device is held by two that are not left.
    """

    running: list[Running | None]
    runs: Bools
    apart: bool


class _Devices(NamedTuple):
    """Device indices.

    Attributes:
        indices: ascending.
        needed: fewest devices that a node with all of them has; endless where they cannot be.
    """

    indices: tuple[int, ...]
    needed: float


def plain_running(
    rows: Columns, data: bytes, components: Sequence[Component | None], known: Known, fields: Fields
) -> PlainRunning:
    """Where jobs run; those about whom anything is unusual are refused in ``rows``.

    Args:
        rows: the jobs, read up to the field ``running``.
        data: their bytes.
        components: theirs; None: of a job that is refused.
        known: names that they may refer to.
        fields: what is known to be a name.
    """
    running, there = rows.inner(12)
    found: list[Running | None] = [None] * len(rows)
    if not there.any():
        return PlainRunning(found, there, apart=True)
    owners, placements = running.each(1)
    started = or_none(*running.seconds(2, limits.EPOCH_SECONDS))
    age = or_none(*running.seconds(3, limits.SECONDS))
    safe_point = or_none(*running.seconds(4, limits.EPOCH_SECONDS))
    run_until = or_none(*running.seconds(5, limits.EPOCH_SECONDS))
    stopping, _ = running.integer(6)
    rows.refuse(~running.clean())
    by_job, apart = _placements(placements, data, owners.tolist(), components, known, fields)
    left = there.copy()
    for index, places in by_job.items():
        left[index] = False
        found[index] = _running(
            tuple(places),
            started[index],
            age[index],
            safe_point[index],
            run_until[index],
            bool(stopping[index]),
        )
    rows.refuse(left)
    return PlainRunning(found, there, apart)


def _placements(
    rows: Columns,
    data: bytes,
    owners: Sequence[int],
    components: Sequence[Component | None],
    known: Known,
    fields: Fields,
) -> tuple[dict[int, list[TaskPlacement]], bool]:
    """Placements by job, of jobs all of whose are plain, and whether no device is held twice."""
    groups, nodes = rows.span(1)[0], rows.span(2)[0]
    tasks, _ = rows.integer(3)
    rows.refuse((tasks < 1) | (tasks > limits.TASKS))
    devices = rows.span(4)[0]
    node_at = {name.encode(): node for name, node in known.nodes.items() if fields.knows(name)}
    group_at: dict[bytes, str] = {}
    devices_at: dict[bytes, _Devices] = {}
    placed: dict[int, list[TaskPlacement]] = {}
    odd: set[int] = set()
    held: dict[str, set[int]] = {}
    apart = True
    for owner, good, g, g_end, n, n_end, number, d, d_end in zip(
        owners,
        rows.clean().tolist(),
        *lists(groups),
        *lists(nodes),
        tasks.tolist(),
        *lists(devices),
        strict=True,
    ):
        node = node_at.get(data[n:n_end])
        component = components[owner]
        if not good or node is None or component is None:
            odd.add(owner)
            continue
        name = data[g:g_end]
        group = group_at.get(name)
        if group is None:
            group = group_at[name] = name.decode()
        encoded = data[d:d_end]
        indices = devices_at.get(encoded)
        if indices is None:
            indices = devices_at[encoded] = _devices(encoded)
        places = placed.setdefault(owner, [])
        if (
            indices.needed > (node.device_count if node.device_reporting is DeviceReporting.EXACT else 0)
            or all(group != one.name for one in component.task_groups)
            or any(group == one.group and node.name == one.node for one in places)
        ):
            odd.add(owner)
            continue
        places.append(_placement(group, node.name, number, indices.indices, ()))
        if indices.indices:
            taken = held.setdefault(node.name, set())
            apart = apart and taken.isdisjoint(indices.indices)
            taken.update(indices.indices)
    for owner in odd:
        placed.pop(owner, None)
    return placed, apart


def _devices(encoded: bytes) -> _Devices:
    """Device indices by the bytes of their packed list."""
    indices = sorted(packed(encoded))
    if not indices:
        return _Devices((), 0)
    possible = indices[0] >= 0 and len(set(indices)) == len(indices)
    return _Devices(tuple(indices), indices[-1] + 1 if possible else math.inf)
