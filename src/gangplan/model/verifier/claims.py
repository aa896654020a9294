"""What each job's service is worth under the policy's forms of fairness: the verifier's own arithmetic."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gangplan.domain.policy import FairnessForm, Policy
from gangplan.model.forms import Form, forms
from gangplan.model.verifier.standing import Standing


class Claim(NamedTuple):
    """One job's claim to be served.

    Attributes:
        weight: w, what it is worth at its reference, per unit of its full value.
        straight: the part of w that is worth r at relative throughput r.
        curved: the rest: form, and its part of w.
        standing: how the job stands.
        power: p.
    """

    weight: float
    straight: float
    curved: tuple[tuple[Form, float], ...]
    standing: Standing
    power: float

    def earns(self, relative: float) -> float:
        """What the job is worth at a relative throughput, per unit of its full value; 0 when it waits."""
        if relative <= 0.0:
            return 0.0
        worth = self.straight * relative
        for form, part in self.curved:
            worth += part * form.earns(self.standing, relative, self.power)
        return worth


def claims(
    policy: Policy,
    owed: Mapping[str, float],
    queues: Mapping[str, float],
    standings: Mapping[str, Standing],
) -> dict[str, Claim]:
    """The claims of all jobs, by name.

    Args:
        policy: which forms, and how much of each.
        owed: by job name: its base weight times what its queue is owed.
        queues: by job name: what its queue is owed.
        standings: by job name.
    """
    power = policy.fairness_power
    parts = dict(policy.fairness_forms) if power > 0 else {}
    middle = median(owed.values())
    rest = max(0.0, 1.0 - sum(parts.values()))
    straight = {name: rest * mine / middle for name, mine in owed.items()}
    curved: dict[str, list[tuple[Form, float]]] = {name: [] for name in owed}
    for kind in FairnessForm:
        if kind not in parts:
            continue
        form = forms()[kind]
        pressing = owed if form.BY_BASE else queues
        for name, claim in _of_form(form, pressing, standings, power).items():
            if form.CURVED:
                curved[name].append((form, parts[kind] * claim))
            else:
                straight[name] += parts[kind] * claim
    return {
        name: Claim(
            straight[name] + sum(part for _, part in curved[name]),
            straight[name],
            tuple(curved[name]),
            standings[name],
            power,
        )
        for name in owed
    }


def _of_form(
    form: Form, owed: Mapping[str, float], standings: Mapping[str, Standing], power: float
) -> dict[str, float]:
    """C of every job: weight times urgency over the median of that."""
    urgency = {name: form.urgency(standing, power) for name, standing in standings.items()}
    with_one = {name: s for name, s in urgency.items() if s > 0}
    if form.SPREAD is not None:
        typical = median(with_one.values())
        least, most = typical / form.SPREAD, typical * form.SPREAD
        with_one = {name: min(most, max(least, s)) for name, s in with_one.items()}
    pressing = {name: owed[name] * s for name, s in with_one.items()}
    scale = median(pressing.values())
    found = {name: value / scale for name, value in pressing.items()}
    plain = forms()[FairnessForm.WEIGHTS]
    for name in urgency.keys() - with_one.keys():
        found[name] = owed[name] / median(owed.values()) * plain.urgency(standings[name], power)
    return found


def median(values: Iterable[float]) -> float:
    """The ordinary median; 1 when there is none or it is 0, so that weights can be divided by it."""
    values = list(values)
    return (statistics.median(values) if values else 1.0) or 1.0
