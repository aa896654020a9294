"""The present state: who was placed in the round before, and who has gone since."""

from __future__ import annotations

import numpy as np

from gangplan.planning.generate.arrays import FloatArray
from gangplan.planning.generate.columns import Columns
from gangplan.planning.generate.crowd import PRIORITY_MIX, Crowd, draw_rho
from gangplan.planning.generate.floor import Floor
from gangplan.planning.generate.site import TYPES, Site


def _type_prices(columns: Columns, site: Site, jobs: int, steps: int = 150) -> FloatArray:
    """Prices per device of each type at which the jobs' best columns together ask for what there is."""
    capacity = site.devices_by_type
    starts = np.searchsorted(columns.job, np.arange(jobs))
    starts = starts[starts < len(columns.job)]
    scale = float(np.median(columns.value / columns.count))
    prices = np.zeros(len(TYPES))
    for step in range(1, steps + 1):
        profit = columns.value - prices[columns.type] * columns.count
        best = np.maximum.reduceat(profit, starts)
        taken = (profit > 0) & (profit >= best[np.searchsorted(starts, np.arange(len(profit)), "right") - 1])
        asked = np.bincount(
            columns.type[taken], weights=columns.count[taken].astype(np.float64), minlength=len(TYPES)
        )
        excess = (asked - capacity) / np.maximum(capacity, 1)
        prices = np.maximum(0.0, prices + scale / np.sqrt(step) * np.clip(excess, -1, 1))
    return prices


def place_greedily(columns: Columns, site: Site, crowd: Crowd, floor: Floor) -> None:
    """Each job's best column at the types' prices, largest blocks first; then fill by profit per device."""
    prices = _type_prices(columns, site, len(crowd))
    profit = columns.value - prices[columns.type] * columns.count
    by_profit = np.lexsort((np.arange(len(profit)), -profit, columns.job))
    first = np.append(True, np.diff(columns.job[by_profit]) > 0)
    best = by_profit[first]
    best = best[profit[best] > 0]
    for column in best[np.lexsort((-profit[best], -columns.count[best]))]:
        floor.try_place(columns, int(column))
    for column in np.argsort(-profit / columns.count, kind="stable"):
        floor.try_place(columns, int(column))


def place_at_random(
    columns: Columns, site: Site, floor: Floor, occupancy: float, rng: np.random.Generator
) -> None:
    """Random jobs on random types, until ``occupancy`` is held."""
    for column in rng.permutation(len(columns.job)):
        if floor.devices_held + columns.count[column] <= occupancy * site.devices:
            floor.try_place(columns, int(column))


def depart(crowd: Crowd, site: Site, floor: Floor, occupancy: float, rng: np.random.Generator) -> None:
    """Drop random jobs until at most ``occupancy`` is held.

    What stays has its rho moved a little; what goes is replaced by a new arrival with another rho and
    priority.
    """
    held = {job: sum(devices for _, _, devices in parts) for job, parts in floor.held.items()}
    total = sum(held.values())
    for job in rng.permutation(sorted(held)):
        if total <= occupancy * site.devices:
            break
        total -= held[int(job)]
        del floor.held[int(job)]
        crowd.arrived[job] = True
    crowd.rho = np.clip(crowd.rho * np.exp(rng.normal(0.0, 0.15, len(crowd))), 0.3, 4.0)
    new = crowd.arrived
    crowd.rho[new] = draw_rho(rng, int(new.sum()))
    crowd.priority[new] = rng.choice(len(PRIORITY_MIX), int(new.sum()), p=PRIORITY_MIX)
