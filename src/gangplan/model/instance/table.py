"""The option table: one row per (class, option) and what every term needs to price it.

Terms read this table and nothing else of the model; each term's ``coefficients`` returns its raw values
by row, and the weighted sum over the terms is the column's coefficient u (formulation, section 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from gangplan.model.program import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class OptionTable:
    """Columns of equal length, one entry per row (class and option, or class and "not running").

    Attributes:
        value: V = req^gamma * relative throughput, GPU-equivalents; 0 when the job does not run.
        fair_value: the same as the forms of fairness see it: w V where they are straight.
        needed_value: V at the service that the outlook asks for; 0 without one.
        target_worth: of a unit of V that the outlook asks for; 1 without one.
        size: req, reference devices.
        base: b, base weight over the median base weight.
        weight: w, what a job at its reference is worth under the forms of fairness, per unit of V.
        throughput: work units per second.
        rate_needed: work units per second that the deadline still needs; ``inf`` when none can be met.
        urgency: factor of the reward for a deadline, by how near it is.
        lateness_seconds: by how much the job would end after its deadline at this throughput; negative when
            before, ``inf`` when it has none that can be judged.
        decay_seconds: time after a soft deadline until nothing is left of its reward; 0: not soft.
        wider_than_preferred: the spread is wider than the preferred level.
        price: of the devices held, millionths of the currency for an hour.
        most_paid: what of the price counts at most: for a job that stays where it is, what its service is
            worth; ``inf`` elsewhere.
        stranded: rest of a device that a newly placed part leaves and nobody can be expected to use, devices;
            0 for a job that stays where it is.
        start_share: part of the reward for an interactive start that it earns; 0 for other jobs.
        lost_device_seconds: device-seconds of work and restart that a voluntary stop, move or resize costs.
        horizon_seconds: H of decision 13, at least one round.
    """

    value: FloatArray
    fair_value: FloatArray
    needed_value: FloatArray
    target_worth: FloatArray
    size: FloatArray
    base: FloatArray
    weight: FloatArray
    throughput: FloatArray
    rate_needed: FloatArray
    urgency: FloatArray
    lateness_seconds: FloatArray
    decay_seconds: FloatArray
    wider_than_preferred: BoolArray
    price: FloatArray
    most_paid: FloatArray
    stranded: FloatArray
    start_share: FloatArray
    lost_device_seconds: FloatArray
    horizon_seconds: FloatArray
