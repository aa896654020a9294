"""Policies with a name: one table, what each sets and why (decision 41)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gangplan.domain.policy import FairnessForm, Policy


@dataclass(frozen=True, slots=True)
class Preset:
    """A policy with a name.

    Attributes:
        name: as a request or a scenario names it.
        purpose: what it is for, in a sentence.
        policy: what it stands for; whoever names it may set any field otherwise.
    """

    name: str
    purpose: str
    policy: Policy


_ALL = (
    Preset(
        "efficiency",
        "Most useful work: devices go where they are fastest, and nobody is owed anything.",
        # No fairness between jobs or queues: what is left is throughput by weight, deadlines and locality.
        Policy(fairness_power=0.0, queue_fairness_power=0.0),
    ),
    Preset(
        "finish-time-fair",
        "Jobs that would end later than with a fair share of their own go first.",
        # The square tells a job at 4 times its fair finish from one at twice as much by a factor of 4: enough
        # to outweigh that it runs on a slower type. The default policy takes the ratio itself.
        Policy(fairness_power=2.0),
    ),
    Preset(
        "deadline",
        "Deadlines that can still be met are met, before anything else is weighed.",
        # The reward for the rate that a deadline needs is four times what the job's work is worth otherwise;
        # at the default of one half a job with a deadline yields to one that weighs half as much again.
        Policy(deadline_weight=4.0),
    ),
    Preset(
        "interactive",
        "Short and small jobs start soon: every job has one voice, and whoever has held least goes first.",
        # gamma 0: a job is worth the same whatever it asks for, so per device the small ones are worth most.
        # Device time received stands for a duration that nobody knows, as in Tiresias: a job that has held
        # little is probably a short one. There is no class of interactive jobs with a goal for its start yet.
        Policy(size_exponent=0.0, fairness_power=2.0, fairness_forms={FairnessForm.DEVICE_TIME: 1.0}),
    ),
    Preset(
        "cost",
        "Work is done where it is cheap, and waits where it would cost more than it is worth.",
        # An hour of the reference device's work is worth 10 units of the currency: about three times what one
        # costs to rent in 2025. Whoever counts in another currency says so by the weight. Needs prices.
        Policy(cost_weight=1e-7),
    ),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({preset.name: preset for preset in _ALL})
"""All presets, by name."""
