"""The figures of one simulation as flat numbers with a name, a unit and what is better."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gangplan.planning.metrics import JobReport, Metrics, percentile
from gangplan.planning.rounds.held import held
from gangplan.planning.rounds.history import History
from gangplan.planning.rounds.loop import Played

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Figure:
    """What a figure is.

    Attributes:
        about: in words, for tables and pictures.
        unit: ``s``, ``share``, ``h`` (device-hours), ``money``, or empty.
        better: -1 where less is better, 1 where more is, 0 where that depends.
    """

    about: str
    unit: str = ""
    better: int = 0


FIGURES: Mapping[str, Figure] = {
    "jobs": Figure("jobs that arrived"),
    "unfinished": Figure("jobs that did not end, or could never run", "", -1),
    "completion_mean": Figure("completion time, mean", "s", -1),
    "completion_p50": Figure("completion time, median", "s", -1),
    "completion_p99": Figure("completion time, 99th percentile", "s", -1),
    "makespan": Figure("first submission to last end", "s", -1),
    "queueing_mean": Figure("time to the first start, mean", "s", -1),
    "queueing_p50": Figure("time to the first start, median", "s", -1),
    "queueing_p99": Figure("time to the first start, 99th percentile", "s", -1),
    "waiting_mean": Figure("time holding nothing, mean", "s", -1),
    "largest_queueing_mean": Figure("time to the first start of the largest gangs, mean", "s", -1),
    "largest_queueing_worst": Figure("time to the first start of the largest gangs, worst", "s", -1),
    "rho_mean": Figure("finish-time fairness ratio, mean", "", -1),
    "rho_p99": Figure("finish-time fairness ratio, 99th percentile", "", -1),
    "rho_worst": Figure("finish-time fairness ratio, worst", "", -1),
    "rho_share_unfair": Figure("jobs worse off than alone on their fair share", "share", -1),
    "deadlines_met": Figure("deadlines met", "share", 1),
    "allocated": Figure("devices held", "share"),
    "busy": Figure("devices at work", "share", 1),
    "useful": Figure("devices at work that was kept", "share", 1),
    "evictions": Figure("evictions by choice", "", -1),
    "moves": Figure("moves by choice", "", -1),
    "resizes": Figure("resizes by choice"),
    "forced": Figure("stops without a choice", "", -1),
    "lost_gpu_hours": Figure("device-hours lost to stops and restarts", "h", -1),
    "useful_gpu_hours": Figure("device-hours of work that was kept", "h"),
    "delay_gpu_hours": Figure("devices asked for times completion time", "h", -1),
    "jain": Figure("Jain's index of service", "", 1),
    "devices": Figure("devices of the cluster", "", -1),
    "nodes": Figure("nodes of the cluster", "", -1),
    "price_per_hour": Figure("price of all devices for an hour", "money", -1),
    "cost": Figure("price of all devices from the first submission to the last end", "money", -1),
    "held_cost": Figure("price of the devices held, while they were", "money", -1),
}
"""All figures, by name; times are seconds, shares fractions, money the catalogue's currency."""


def figures(
    played: Played,
    metrics: Metrics,
    reports: Sequence[JobReport],
    impossible: Sequence[tuple[float, bool]] = (),
) -> dict[str, float | None]:
    """The figures of a played history.

    Args:
        played: the history.
        metrics: its measures.
        reports: its jobs.
        impossible: jobs of the source that no node here could ever hold: submission in seconds from the
            beginning, and whether with a deadline. They do not end, miss their deadline and wait to the end.
    """
    flat: dict[str, float | None] = {}
    for name in FIGURES:
        value = getattr(metrics, name, None)
        flat[name] = None if value is None or isinstance(value, Mapping) else float(value)
    rho = metrics.rho
    for part in ("mean", "p99", "worst", "share_unfair"):
        flat[f"rho_{part}"] = None if rho is None else float(getattr(rho, part))
    flat["jobs"] = float(metrics.jobs + len(impossible))
    flat["unfinished"] = float(metrics.unfinished + len(impossible))
    asked = sum(kind.jobs for kind in metrics.deadlines.values()) + sum(late for _, late in impossible)
    met = sum(kind.met for kind in metrics.deadlines.values())
    flat["deadlines_met"] = met / asked if asked else None
    end = played.state.now - played.history.template.now
    if impossible:
        waits = [end - r.submitted if r.queueing is None else r.queueing for r in reports]
        waits += [max(0.0, end - submitted) for submitted, _ in impossible]
        flat["queueing_mean"] = math.fsum(waits) / len(waits)
        flat["queueing_p50"], flat["queueing_p99"] = percentile(waits, 0.5), percentile(waits, 0.99)
    flat["useful_gpu_hours"] = math.fsum(r.busy - r.lost for r in reports) / 3600.0
    here = ((r.size, end - r.submitted if r.completion is None else r.completion) for r in reports)
    flat["delay_gpu_hours"] = math.fsum(size * seconds for size, seconds in here) / 3600.0
    return flat | _site(played.history, metrics.makespan) | {"held_cost": held_cost(played)}


def _site(history: History, makespan: float | None) -> dict[str, float | None]:
    price = price_per_hour(history)
    return {
        "devices": float(history.devices),
        "nodes": float(sum(node.usable_device_count > 0 for node in history.template.cluster.nodes)),
        "price_per_hour": price,
        "cost": None if makespan is None or price is None else price * makespan / 3600.0,
    }


def prices_of(history: History) -> dict[str, float] | None:
    """Price of a device for an hour by type, 0 where the catalogue has none; None: it has none at all."""
    catalogue = history.template.accelerators
    if all(entry.price_micros_per_hour is None for entry in catalogue):
        return None
    return {entry.name: (entry.price_micros_per_hour or 0) / _MILLION for entry in catalogue}


def price_per_hour(history: History) -> float | None:
    """Price of all devices for an hour; None: nothing has a price."""
    prices = prices_of(history)
    if prices is None:
        return None
    return math.fsum(
        prices[node.accelerator_type] * node.usable_device_count
        for node in history.template.cluster.nodes
        if node.accelerator_type is not None
    )


def held_cost(played: Played) -> float | None:
    """Price of the devices that jobs held, while they did; None: nothing has a price."""
    prices = prices_of(played.history)
    if prices is None:
        return None
    parts = (prices.get(one.kind, 0.0) * one.count * (one.ends - one.begins) for one in held(played))
    return math.fsum(parts) / 3600.0
