"""What the caller wants: terms, weights and limits. One table holds every default (decision 41)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from gangplan.domain.cluster import Resources
from gangplan.domain.quantiles import Quantiles

_NO_WEIGHTS: Mapping[int, float] = MappingProxyType({})
_NO_HEADROOM: Mapping[str, int] = MappingProxyType({})


class FairnessForm(Enum):
    """How fairness enters what a job's service is worth; each is a module of ``gangplan.model.forms``."""

    WEIGHTS = "WEIGHTS"
    """Finish-time fairness as a weight: rho^p of the unserved job (Themis; decision 11)."""
    LOG = "LOG"
    """Nash welfare: the logarithm of the service received (Shockwave; decision 12)."""
    NEGATIVE_POWER = "NEGATIVE_POWER"
    """Finish-time fairness as a loss: minus rho^p of the job as served (decision 11)."""
    DEVICE_TIME = "DEVICE_TIME"
    """Device time received against the share of devices owed over the job's life."""
    EFFECTIVE_THROUGHPUT = "EFFECTIVE_THROUGHPUT"
    """Work done against that of an equal share of every accelerator type (Gavel)."""
    GITTINS = "GITTINS"
    """Chance to end soon by the device time received, where nobody knows durations (decision 15)."""


_FINISH_TIME: Mapping[FairnessForm, float] = MappingProxyType({FairnessForm.WEIGHTS: 1.0})


@dataclass(frozen=True, slots=True)
class Tier:
    """Jobs for whose places all lower tiers yield (decision 8).

    Attributes:
        priorities: classes of priority in the tier.
        tolerance: how far below the best found the tier may end when lower ones are decided, as a fraction.
    """

    priorities: tuple[int, ...]
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class Policy:
    """Weights of the objective, each in GPU-equivalents per unit of its term.

    One GPU-equivalent is one reference device doing useful work for one round.

    Attributes:
        size_exponent: gamma; a job's full-speed value grows with its requested devices to this power.
        fairness_power: p in rho^p (decision 11), 0 to 2; 0 switches fairness between jobs off.
        fairness_forms: by form, the part of a job's worth that it decides, above 0; together at most 1. What
            is left over is worth the base weight alone.
        queue_fairness_power: power of a queue's owed over its received service, which its jobs' weights are
            multiplied by, 0 to 2; 0 switches fairness between queues off. Without effect while no two
            siblings say what they have received.
        fairness_quantile: probability, above 0 and below 1, at which rho reads a predicted work left. At 0.5
            it is the median of rho, as rho only rises with the work left; long tails do not move it.
        service_quantiles: of the device-seconds that jobs take, from history; for the form GITTINS. None: the
            less a job has received, the sooner it is expected to end.
        priority_weights: weight by priority class; a class that is not listed weighs 1.
        deadline_weight: worth of meeting the rate that a deadline still needs, per weighted requested device.
        deadline_urgency: power, 0 to 2, of the horizon over the time left until the deadline, by which that
            worth is multiplied; 0: it is the same however near the deadline is.
        deadline_quantile: probability, above 0 and below 1, at which deadlines read a predicted work left: a
            rate counts as enough if it is enough so often. At 0.8, to miss a deadline is taken to cost four
            times as much as to hurry in vain (the ratio of a newsvendor).
        locality_weight: cost of a spread wider than preferred, per weighted requested device.
        switching_weight: cost of lost and restarting device time, per device-round.
        tracking_weight: factor of the worth that the outlook gives to each reference device at work on its
            target; nothing where a round has no outlook, and in one that has, stops cost 1 + it times as
            much.
        makespan_weight: least worth that an outlook gives to each reference device at work on a job that the
            end of all that is known waits for, which is then asked for in full
            (``lookahead.last_end``); 0: nobody minds who ends last. Nothing where a round has no outlook.
        cost_weight: cost of the devices in use, per millionth of the caller's currency for an hour.
        fragmentation_weight: cost of the rest of a device that a large part of it leaves and that nobody can
            be expected to use, per device. Who takes such a part waits unless its work is worth more.
        residual_weight: factor of what the outlook says that blocks of whole nodes are worth when left free;
            nothing where a round has no outlook.
        interactive_weight: worth of starting an interactive job in time, per weighted requested device.
        headroom: devices by accelerator type that only interactive jobs may take: all others together hold at
            most what may be filled of the type less so many, or what they hold now where that is more.
        disruption_limit: most voluntary evictions, moves and resizes in one round; None is unlimited.
        minimum_run_seconds: a job that was started, moved or resized is left alone for so long; one of which
            nobody knows since when it runs started long ago.
        disruption_limit_per_job_hour: most voluntary evictions, moves and resizes of one job within an hour;
            None is unlimited.
        hysteresis: share by which what a job is worth may be misjudged: disruptions must pay even if all that
            their jobs are worth, before and after, is off by so much to their disadvantage (decision 14); in
            rounds that follow an outlook with fairness between jobs four times as much, at most all.
        promise_after_seconds: a job that has waited for so long and has never run is promised a place, the
            oldest first, so that its wait is bounded whatever arrives; None: no promise is made for age.
        promise_quantile: probability, above 0 and below 1, at which promises read a predicted work left: who
            must be gone by then, is gone so often.
        longest_run_seconds: a job that may not be paused is not started unless it is sure to run no longer,
            as far as ``promise_quantile`` is sure, however it is placed; nor is any that gives longer notice
            of a stop. None: no limit.
        tiers: most important first: each tier's weighted count of jobs that run is made as large as can be,
            and fixed within its tolerance, before anything below counts. Classes in no tier come after all.
        reference_host: CPU and memory that go with one reference device; sizes CPU-only jobs.
    """

    size_exponent: float = 1.0
    fairness_power: float = 1.0
    fairness_forms: Mapping[FairnessForm, float] = field(default_factory=lambda: _FINISH_TIME)
    queue_fairness_power: float = 1.0
    fairness_quantile: float = 0.5
    service_quantiles: Quantiles | None = None
    priority_weights: Mapping[int, float] = field(default_factory=lambda: _NO_WEIGHTS)
    deadline_weight: float = 0.5
    deadline_urgency: float = 0.0
    deadline_quantile: float = 0.8
    locality_weight: float = 0.1
    switching_weight: float = 1.0
    tracking_weight: float = 1.0
    makespan_weight: float = 0.0
    cost_weight: float = 0.0
    fragmentation_weight: float = 0.0
    residual_weight: float = 0.0
    interactive_weight: float = 1.0
    headroom: Mapping[str, int] = field(default_factory=lambda: _NO_HEADROOM)
    disruption_limit: int | None = None
    minimum_run_seconds: float = 0.0
    disruption_limit_per_job_hour: int | None = None
    hysteresis: float = 0.05
    promise_after_seconds: float | None = None
    promise_quantile: float = 0.95
    longest_run_seconds: float | None = None
    tiers: tuple[Tier, ...] = ()
    reference_host: Resources = Resources(cpu_milli=8_000, memory_bytes=64 * 2**30)
