"""What is asked: S and M rounds with mixed time budgets, by many callers, at moments drawn beforehand."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gangplan.v1 import round_pb2

BUDGETS = {"S": (0.1, 0.3, 1.0), "M": (0.3, 0.3, 1.0, 2.0)}
"""Seconds, by size; each as likely as its share of the list."""
SHARE_OF_M = 0.5
INSTANCES = 10
"""Different rounds of each size."""
OCCUPANCIES = (50, 85)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request of the load.

    Attributes:
        at: seconds since the beginning at which it is to be sent.
        caller: number of the caller.
        size: ``S`` or ``M``.
        instance: which of the rounds of that size.
        budget: its time budget, seconds.
    """

    at: float
    caller: int
    size: str
    instance: int
    budget: float


def arrivals(rate: float, seconds: float, callers: int, rng: random.Random) -> list[Ask]:
    """Requests in order of time: a Poisson process, which no answer holds up.

    Args:
        rate: requests per second, all callers together.
        seconds: how long they come.
        callers: each request is of one of so many, drawn anew.
        rng: draws.
    """
    found: list[Ask] = []
    at = rng.expovariate(rate)
    while at < seconds:
        size = "M" if rng.random() < SHARE_OF_M else "S"
        found.append(
            Ask(at, rng.randrange(callers), size, rng.randrange(INSTANCES), rng.choice(BUDGETS[size]))
        )
        at += rng.expovariate(rate)
    return found


def one_by_one() -> list[Ask]:
    """Each M round with the least budget twice, so far apart that none meets another."""
    budget = min(BUDGETS["M"])
    return [Ask(2.0 * budget * at, 0, "M", at % INSTANCES, budget) for at in range(2 * INSTANCES)]


def requests(seed: int) -> dict[tuple[str, int, float], round_pb2.PlanRoundRequest]:
    """The request for each size, instance and budget, made before the clock runs.

    Args:
        seed: of the instances: each size has :data:`INSTANCES`, half and 85 % occupied by turns.
    """
    from gangplan.engine.parameters import PlanParameters
    from gangplan.planning.generate import generate_named
    from gangplan.service.wire import write_round

    found = {}
    for size, budgets in BUDGETS.items():
        for number in range(INSTANCES):
            occupancy = OCCUPANCIES[number % len(OCCUPANCIES)]
            round_ = generate_named(f"{size}/steady/{occupancy}/seed{seed + number}")
            for budget in budgets:
                how = PlanParameters(time_budget_seconds=budget)
                found[size, number, budget] = write_round(round_, how, compact=True)
    return found
