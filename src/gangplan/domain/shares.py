"""What every job and queue of a round is owed, as an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JobShare:
    """One job's fair share. One that may not start is owed nothing, and its ratios are 1.

    Attributes:
        job: its name.
        queue: its queue; None: none.
        devices_by_type: C_t w / N (decision 11): its part of the usable devices of every type by its base
            weight among all that contend. Over all jobs they sum to the usable devices.
        isolated_throughput: x_iso, work units per second with these devices alone.
        fairness_ratio: rho if it waits this round, 1/4 to 8; 1 where age or work left is unknown.
        share: fraction of the cluster that the tree of queues gives it; over all jobs they sum to 1.
        entitled_devices: of the types that it may use, and no more than it asks for.
        device_time_ratio: device time owed over received at the end of a round of waiting, 1/4 to 8.
        equal_throughput: work units per second with an equal share of the time of every type.
        effective_throughput_ratio: what that would have done over what was done, likewise.
        weight: w in this round's objective.
    """

    job: str
    queue: str | None
    devices_by_type: Mapping[str, float]
    isolated_throughput: float
    fairness_ratio: float
    share: float
    entitled_devices: float
    device_time_ratio: float
    equal_throughput: float
    effective_throughput_ratio: float
    weight: float


@dataclass(frozen=True, slots=True)
class QueueShare:
    """What one queue is owed.

    Attributes:
        queue: its name.
        share: fraction of the cluster for all jobs in it and below; 0 without any that contends.
        devices: the same in devices of any type.
        service_ratio: share owed over share received, multiplied down the tree, 1/4 to 8; 1 where unknown.
    """

    queue: str
    share: float
    devices: float
    service_ratio: float


@dataclass(frozen=True, slots=True)
class FairShares:
    """The fair shares of a round.

    Attributes:
        jobs: by name.
        queues: by name.
        usable_devices_by_type: what is shared.
    """

    jobs: tuple[JobShare, ...]
    queues: tuple[QueueShare, ...]
    usable_devices_by_type: Mapping[str, int]


DEFINITIONS: tuple[tuple[str, str, str], ...] = (
    (
        "devices_by_type",
        "C_t w / N: usable devices of the type x base weight / sum of base weights of all that contend",
        "1/N share of Themis (Mahajan et al., NSDI 2020, section 3.1), weighted",
    ),
    (
        "isolated_throughput",
        "max over options of throughput x min(1, share / devices); with several types the scarcest decides",
        "isolated finish time of Themis (NSDI 2020, section 3.1); a gang above its share runs time-shared",
    ),
    (
        "fairness_ratio",
        "(age + D + left / r) / (A + isolated_left / x_iso), r = (done + x_iso D) / (age + D), 1/4 to 8",
        "finish-time fairness rho of Themis (NSDI 2020, section 3.1)",
    ),
    (
        "share",
        "queues with jobs share by weight; jobs in a queue itself are one more of weight 1, by base weight",
        "weighted fair shares along a tree, as in Slurm's fair tree and YARN's fair scheduler",
    ),
    (
        "entitled_devices",
        "min(devices asked for, share x usable devices of the types that the job may use)",
        "Gandiva-fair (Chaudhary et al., EuroSys 2020)",
    ),
    (
        "device_time_ratio",
        "entitled x (age + D) / (received + entitled x D), within 1/4 to 8",
        "attained service of Tiresias (Gu et al., NSDI 2019, section 3.2) against the share of Gandiva-fair",
    ),
    (
        "equal_throughput",
        "sum over types of throughput x share x C_t / devices asked for, fractions of time at most 1 in all",
        "X-equal of Gavel (Narayanan et al., OSDI 2020, section 4.1)",
    ),
    (
        "effective_throughput_ratio",
        "equal_throughput x (age + D) / (done + equal_throughput x D), within 1/4 to 8",
        "normalised effective throughput of Gavel (OSDI 2020, section 4.1)",
    ),
    (
        "service_ratio",
        "product down the tree of share owed / (share received + one round of what is owed), 1/4 to 8",
        "usage over shares of Slurm's fair tree",
    ),
)
"""Name, formula and source of every figure."""
