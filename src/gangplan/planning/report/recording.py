"""What of a played history is drawn, as JSON can keep it: figures, jobs, use over time, who held what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gangplan.domain.cluster import DeviceReporting
from gangplan.planning.metrics import JobReport, Metrics
from gangplan.planning.rounds.held import Held, held
from gangplan.planning.rounds.loop import Played
from gangplan.planning.study.figures import figures, prices_of

BINS = 240
"""Into which the time is divided."""
MOST_DEVICES, MOST_BARS = 128, 3000
"""Of more, bars would not be seen: nodes are shaded by how much of them is held."""
MOST_ROWS = 160

Array = NDArray[np.float64]


def recording(
    played: Played, metrics: Metrics, reports: Sequence[JobReport], run: dict[str, Any]
) -> dict[str, Any]:
    """The document: ``run``, ``metrics``, ``jobs`` as ``gangplan simulate -o json`` has them, and ``series``.

    Args:
        played: the history.
        metrics: its measures.
        reports: its jobs.
        run: what was played, and how.
    """
    return {
        "run": run,
        "metrics": metrics.document(),
        "jobs": [asdict(report) for report in reports],
        "series": series(played, metrics, reports),
    }


def series(played: Played, metrics: Metrics, reports: Sequence[JobReport]) -> dict[str, Any]:
    """Use over time by type, jobs that wait, who held what, prices, and all figures by name."""
    parts = list(held(played))
    end = _end(played, reports)
    edges = np.linspace(0.0, end, BINS + 1)
    kinds: dict[str, int] = {}
    for node in played.history.template.cluster.nodes:
        if node.accelerator_type is not None and node.usable_device_count:
            kinds[node.accelerator_type] = kinds.get(node.accelerator_type, 0) + node.usable_device_count
    by_kind = {}
    for kind in kinds:
        mine = [part for part in parts if part.kind == kind]
        by_kind[kind] = mean_over(
            edges, [p.begins for p in mine], [p.ends for p in mine], [p.count for p in mine]
        ).tolist()
    return {
        "edges_s": edges.tolist(),
        "devices": kinds,
        "held": by_kind,
        "waiting": _waiting(edges, parts, reports, played).tolist(),
        "prices": prices_of(played.history) or {},
        "gantt": _gantt(played, parts, edges),
        "figures": figures(played, metrics, reports),
    }


def mean_over(
    edges: Array, begins: Sequence[float], ends: Sequence[float], amounts: Sequence[float]
) -> Array:
    """The mean of a sum of steps over each bin: exact, not sampled.

    Args:
        edges: of the bins, ascending.
        begins: when each step begins.
        ends: when it ends.
        amounts: how high it is.
    """
    b, e, a = (np.asarray(list(values), dtype=np.float64) for values in (begins, ends, amounts))
    if not len(b):
        return np.zeros(len(edges) - 1)
    area = np.array([float(np.sum(a * np.clip(edge - b, 0.0, e - b))) for edge in edges])
    return np.asarray(np.diff(area) / np.maximum(np.diff(edges), 1e-12))


def _end(played: Played, reports: Sequence[JobReport]) -> float:
    """The last end, or the end of the rounds while somebody is there."""
    if all(report.finished is not None for report in reports):
        return max((report.finished or 0.0 for report in reports), default=1.0) or 1.0
    return max(played.state.now - played.history.template.now, 1.0)


def _waiting(edges: Array, parts: Sequence[Held], reports: Sequence[JobReport], played: Played) -> Array:
    """Jobs that are there and hold nothing: all that are there, less those that hold something."""
    now = played.state.now - played.history.template.now
    there = mean_over(
        edges,
        [report.submitted for report in reports],
        [now if report.finished is None else report.finished for report in reports],
        [1.0] * len(reports),
    )
    spans = sorted({(part.job, part.begins, part.ends) for part in parts})
    busy = mean_over(edges, [b for _, b, _ in spans], [e for _, _, e in spans], [1.0] * len(spans))
    return np.maximum(0.0, there - busy)


def _gantt(played: Played, parts: Sequence[Held], edges: Array) -> dict[str, Any]:
    nodes = [node for node in played.history.template.cluster.nodes if node.usable_device_count]
    exact = all(node.device_reporting is DeviceReporting.EXACT for node in nodes)
    if exact and played.history.devices <= MOST_DEVICES:
        rows = [f"{node.name}:{device}" for node in nodes for device in range(node.device_count)]
        place = {name: k for k, name in enumerate(rows)}
        bars = [
            [place[f"{part.node}:{device}"], part.begins, part.ends, part.job]
            for part in parts
            for device in part.devices
        ]
        if len(bars) <= MOST_BARS:
            return {"rows": rows, "bars": bars}
    count = min(len(nodes), MOST_ROWS)
    row_of = {node.name: k * count // max(1, len(nodes)) for k, node in enumerate(nodes)}
    names: list[list[str]] = [[] for _ in range(count)]
    room = np.zeros(count)
    for node in nodes:
        names[row_of[node.name]].append(node.name)
        room[row_of[node.name]] += node.usable_device_count
    cells = []
    for k in range(count):
        mine = [part for part in parts if row_of.get(part.node) == k]
        used = mean_over(edges, [p.begins for p in mine], [p.ends for p in mine], [p.count for p in mine])
        cells.append(np.round(used / room[k], 3).tolist())
    labels = [group[0] if len(group) == 1 else f"{group[0]} to {group[-1]}" for group in names]
    return {"rows": labels, "cells": cells}
