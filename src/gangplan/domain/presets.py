"""Policies with a name: one table, what each sets and why (decision 41).

What they lead to, means over 40 small generated histories (``gangplan simulate small/seed0 --preset NAME`` to
``small/seed39``; greedy steps, work left told exactly, completion and queueing in seconds):

| preset | mean completion | queueing | of the largest | rho, mean | rho, worst | deadlines met | evictions |
|---|---|---|---|---|---|---|---|
| none | 2984 | 347 | 400 | 0.926 | 1.478 | 73 % | 10.7 |
| efficiency | 2651 | 1129 | 1709 | 0.931 | 1.807 | 86 % | 0.9 |
| finish-time-fair | 3072 | 320 | 398 | 0.935 | 1.393 | 71 % | 14.2 |
| deadline | 2954 | 458 | 706 | 0.930 | 1.558 | 82 % | 9.1 |
| interactive | 2940 | 327 | 553 | 0.911 | 1.562 | 74 % | 10.3 |
| soonest-end | 2992 | 426 | 547 | 0.935 | 1.756 | 77 % | 9.1 |

Of interactive jobs, of which these histories have none, 96 % start in time under ``interactive``, and 88 %
under no preset (``benchmarks/results/2026-11-30-interactive.md``).

``efficiency`` ends jobs soonest and meets most deadlines there, since it hardly stops anybody; it pays with
the wait of the largest gangs and the worst ratio. ``deadline`` meets more than no preset does, at an equal
mean completion. That row is from before it had urgency and its weight of 400. Over the first 24, with the
look-ahead, it meets 90 % with urgency and a weight of 4, and 97 % with 400, where jobs wait for longer: mean
completions of 2665 and 2707 s, to the first start 478 and 796 s, worst ratios of 1.21 and 1.61. The histories
have no prices, so that ``cost`` does there what no preset does, and no parts of devices, so that ``fill``
does what ``efficiency`` does. ``soonest-end`` is for durations that nobody knows: with what jobs of the past
took its mean completion is 2633 seconds (``benchmarks/results/2026-11-29-durations.md``). ``makespan``, with
the look-ahead on the first 24, is done after 5571 seconds where ``efficiency`` takes 5790; on Shockwave's
jobs, of which one takes longer than all of them would on all devices, it ends after 18.7 hours, and
``efficiency`` after 23.0 (``benchmarks/results/2026-11-30-policies.md``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
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

    def over(self, policy: Policy) -> Policy:
        """The policy with what this preset sets; what it leaves at its default stays as it is."""
        default = Policy()
        set_here = {
            field.name: getattr(self.policy, field.name)
            for field in fields(Policy)
            if getattr(self.policy, field.name) != getattr(default, field.name)
        }
        return replace(policy, **set_here)


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
        "makespan",
        "All that is known is done soonest: who would end last does not wait, otherwise as efficiency.",
        # A device at work on a job that the end of all waits for is worth five: before short jobs that the
        # look-ahead weighs up to four times the median. It is for batches: nobody knows what is still to
        # come, and in a stream of jobs some long one would always go first.
        Policy(fairness_power=0.0, queue_fairness_power=0.0, makespan_weight=4.0),
    ),
    Preset(
        "deadline",
        "Who can still meet its deadline goes first, before whatever else there is; the nearer the more.",
        # The reward for the rate that a deadline needs is 400 times what the job's work is worth otherwise, a
        # horizon before it, and still four times a hundred horizons before: with 4 a deadline that is far off
        # counted less than a little more work on other jobs, until it was too late for it.
        # Urgency 1 spreads it over the time that is left: without it a job that has waited is worth less for
        # each device that it now needs, and goes on waiting until it is lost.
        Policy(deadline_weight=400.0, deadline_urgency=1.0),
    ),
    Preset(
        "interactive",
        "Short and small jobs start soon: every job has one voice, and whoever has held least goes first.",
        # gamma 0: a job is worth the same whatever it asks for, so per device the small ones are worth most.
        # Device time received stands for a duration that nobody knows, as in Tiresias: a job that has held
        # little is probably a short one. The start of a job that is said to be interactive is worth four
        # times its work while it is in time: it goes before one of up to five times its weight. Devices left
        # for such starts are the own matter of each cluster (``headroom``).
        Policy(
            size_exponent=0.0,
            fairness_power=2.0,
            fairness_forms={FairnessForm.DEVICE_TIME: 1.0},
            interactive_weight=4.0,
        ),
    ),
    Preset(
        "soonest-end",
        "Who will probably end soon goes first, where nobody knows how long anybody runs.",
        # The Gittins index of the device time received, by what jobs of the past took if the policy says it;
        # else the less received, the sooner. Who nears what most jobs took is not stopped for a new one.
        Policy(fairness_forms={FairnessForm.GITTINS: 1.0}),
    ),
    Preset(
        "fill",
        "As much of the devices as can be is at work, where more is asked for than there is.",
        # What efficiency does, and a device that is left free counts as used to five sixths: a large part of
        # one whose rest nobody could use waits unless it is more than that (in openb, 81 hundredths do wait).
        # With equal weights 500 pods a round so fill 2 points more of openb's cluster than without, when 130
        # % of its devices have been asked for; at 100 % less (85 %, without the term 95.5 %).
        Policy(fairness_power=0.0, queue_fairness_power=0.0, fragmentation_weight=5.0),
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
