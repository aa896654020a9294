"""The price greedy: decide by prices, then place on exact node state.

A running job stays when it is worth the price of what it holds. Every other class starts with its best
option at the prices, large gangs first, since they need whole nodes; then whatever is left is filled by value
per device.
"""

from __future__ import annotations

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import fill, place_gangs, stay_where_free
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.prices.by_type import Prices


def price_greedy(instance: Instance, prices: Prices) -> Assignment:
    """A plan from prices; no bound is claimed for it."""
    kept = [c for c, job_class in enumerate(instance.classes) if job_class.kept]
    margin = instance.keep_gain - prices.keep_cost
    leaving = [c for c in sorted(kept, key=lambda c: (margin[c], c)) if margin[c] < 0.0]
    leaving = [c for c in leaving if not instance.classes[c].must_run]
    staying = set(kept) - set(leaving[: instance.round.policy.disruption_limit])
    occupancy = Occupancy(instance, staying)
    profit = instance.gain - prices.option_cost
    best: dict[int, int] = {}
    for k in np.argsort(-profit, kind="stable").tolist():
        c = int(instance.option_class[k])
        if profit[k] > 0.0 and c not in best and not instance.classes[c].kept:
            best[c] = k
    placed: dict[int, Placed] = {}
    for c, k in sorted(
        best.items(), key=lambda item: (-int(instance.devices[item[1]]), -profit[item[1]], item[0])
    ):
        members = list(instance.classes[c].jobs)
        for spots in place_gangs(occupancy, k, len(members), Fit.BEST):
            placed[members.pop(0)] = Placed(k, spots)
    staying |= stay_where_free(occupancy, staying, placed)
    stays = frozenset(instance.classes[c].jobs[0] for c in staying)
    return fill(occupancy, Assignment(kept=stays, placed=placed), Fit.BEST)
