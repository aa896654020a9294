"""What serving the jobs is worth: base weights, what their queues are owed, and the forms of fairness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from gangplan.columns import Columns
from gangplan.domain.job import Job
from gangplan.domain.policy import FairnessForm, Policy
from gangplan.domain.round import Round
from gangplan.model.forms import Form, forms
from gangplan.model.instance.columns import column
from gangplan.model.instance.standing import Standings
from gangplan.model.program import FloatArray, IntArray


def base_weights(round_: Round, jobs: Columns[Job]) -> FloatArray:
    """Base weights, shape (jobs,): the job's own weight times its priority's."""
    policy = round_.policy
    return jobs.of("base weight", lambda some: _base_weights(policy, some), policy)


def _base_weights(policy: Policy, jobs: Sequence[Job]) -> FloatArray:
    priorities = list(map(attrgetter("priority"), jobs))
    given = policy.priority_weights
    by_priority = {priority: given.get(priority, 1.0) for priority in set(priorities)}
    by_class = [by_priority[priority] for priority in priorities]
    return column(jobs, "weight") * np.array(by_class, dtype=np.float64)


def normalise(weights: FloatArray) -> FloatArray:
    """Scale so that the median is 1 (decision 1); a median of 0 scales nothing."""
    median = float(np.median(weights)) if len(weights) else 0.0
    return weights / (median or 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """What serving each job is worth, per unit of its full value.

    Attributes:
        base: b, shape (jobs,), base weight over the median base weight.
        weight: w, shape (jobs,), what a job at its reference is worth under all forms together.
        straight: the part of w that is worth ``r`` at relative throughput r.
        curved: the rest: form, and its part of w.
        standings: of all jobs.
        power: p.
    """

    base: FloatArray
    weight: FloatArray
    straight: FloatArray
    curved: tuple[tuple[Form, FloatArray], ...]
    standings: Standings
    power: float

    def earned(self, jobs: IntArray, relative: FloatArray) -> FloatArray:
        """What rows about ``jobs`` are worth at relative throughputs, per unit of full value."""
        worth: FloatArray = self.straight[jobs] * relative
        if self.curved:
            standings = self.standings.take(jobs)
            for form, part in self.curved:
                worth = worth + part[jobs] * form.earned(standings, relative, self.power)
        return worth

    def keys(self) -> tuple[FloatArray, ...]:
        """Jobs alike in all of these are worth the same under every option, other things equal."""
        plain = (self.weight, self.base)
        if not self.curved:
            return plain
        parts = [part for _, part in self.curved]
        return (*plain, self.straight, *parts, *self.standings.curve_keys())


def build_weights(policy: Policy, base: FloatArray, standings: Standings) -> Weights:
    """Weigh all jobs.

    Args:
        policy: which forms, and how much of each.
        base: shape (jobs,), base weights, not normalised.
        standings: of all jobs.
    """
    queues = standings.entitlement.queue_ratios(policy.queue_fairness_power)
    owed = base * queues
    power = policy.fairness_power
    parts = policy.fairness_forms if power > 0.0 else {}
    straight = max(0.0, 1.0 - sum(parts.values())) * normalise(owed)
    curved = []
    for name, part in sorted(parts.items(), key=lambda item: item[0].value):
        form = forms()[name]
        claim = part * _claims(owed if form.BY_BASE else queues, form, standings, power)
        if form.CURVED:
            curved.append((form, claim))
        else:
            straight = straight + claim
    weight = sum((claim for _, claim in curved), straight)
    return Weights(normalise(base), weight, straight, tuple(curved), standings, power)


def _claims(owed: FloatArray, form: Form, standings: Standings, power: float) -> FloatArray:
    """C, shape (jobs,): weight times urgency over the median; without an urgency, that of weights."""
    urgency = form.urgencies(standings, power)
    own = urgency > 0.0
    if own.any() and form.SPREAD is not None:
        median = float(np.median(urgency[own]))
        urgency[own] = np.clip(urgency[own], median / form.SPREAD, median * form.SPREAD)
    if own.all():
        return normalise(owed * urgency)
    claims = normalise(owed) * forms()[FairnessForm.WEIGHTS].urgencies(standings, power)
    if own.any():
        claims[own] = normalise(owed[own] * urgency[own])
    return claims
