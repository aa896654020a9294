"""Cost: what the devices in use are paid for.

Minus the price of the devices that a job holds after the plan, by accelerator type, in millionths of the
caller's currency for an hour; a type without a price is free, and a part of a device costs that part. The
weight says what money is worth: with ``1e-7`` an hour of the reference device's work is worth 10 units of the
currency, and a job whose devices cost more than its work is worth waits. Prices per type beside throughput
are those of Gavel's cost policies (Narayanan et al., OSDI 2020, section 4.2), as a term among the others.

What runs where it is costs at most what its service is worth under the forms of fairness: it is then worth
nothing, not less. For nobody is stopped for nobody's good, so that its price could not be saved by stopping
it; who takes its place, or a cheaper place for itself, may.

The price goes by the hour, not by the round, so that the weight means the same whatever a round's length: one
GPU-equivalent is one reference device at work for this round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gangplan.model.verifier.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gangplan.domain.round import Round
    from gangplan.model.instance.table import OptionTable
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.outcome import Outcome
    from gangplan.model.verifier.outcome_table import OutcomeTable

NAME = "cost"
UNIT = "millionths of the currency for an hour"
SPREAD_OVER_HORIZON = False


def weight(round_: Round) -> float:
    """``policy.cost_weight``."""
    return round_.policy.cost_weight


def coefficients(table: OptionTable) -> FloatArray:
    """Raw values by row of the option table: minus the price."""
    paid: FloatArray = np.minimum(table.price, table.most_paid)
    return -paid


def evaluate(table: OutcomeTable) -> FloatArray:
    """Minus the price of the devices that each job holds, group by group."""
    worth_of_money = table.facts.round.policy.cost_weight
    if not worth_of_money:
        return np.zeros(len(table))
    prices = table.facts.once(_prices)
    paid = np.array([_paid(outcome, prices) for outcome in table.outcomes()], dtype=np.float64)
    service = table.columns.full_value[table.at] * table.earned()
    with np.errstate(over="ignore"):  # money worth next to nothing: any price is paid
        most = service / worth_of_money
    return -np.where(table.done(Status.KEPT), np.minimum(paid, most), paid)


def _paid(outcome: Outcome, prices: Mapping[str, int]) -> float:
    """The price of the devices that a job holds, in millionths for an hour."""
    paid = 0.0
    for group in outcome.job.component.task_groups:
        if group.device_milli and group.name in outcome.types:
            devices = outcome.counts[group.name] * group.device_milli / 1000
            paid += devices * prices.get(outcome.types[group.name], 0)
    return paid


def _prices(facts: RoundFacts) -> dict[str, int]:
    return {entry.name: entry.price_micros_per_hour or 0 for entry in facts.round.accelerators}
