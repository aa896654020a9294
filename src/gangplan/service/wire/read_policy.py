"""Policy on the wire -> :class:`~gangplan.domain.policy.Policy`."""

from __future__ import annotations

from types import MappingProxyType

from gangplan.domain.policy import Policy
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_cluster import read_resources
from gangplan.v1 import policy_pb2

_DEFAULT = Policy()


def read_policy(message: policy_pb2.Policy, path: str, fields: Fields) -> Policy:
    """The policy; what is unset has the domain's default (decision 41)."""
    terms, churn = message.terms, message.churn_limits
    inside = f"{path}terms."
    priorities = dict(sorted(terms.priority.weight_by_priority.items()))
    for priority, weight in priorities.items():
        fields.real(
            weight,
            inside,
            f"priority.weight_by_priority[{priority}]",
            limits.SMALLEST_FACTOR,
            limits.LARGEST_FACTOR,
        )
    host = _DEFAULT.reference_host
    if message.HasField("reference_host"):
        host = read_resources(message.reference_host, f"{path}reference_host.", fields)
        for name in ("cpu_milli", "memory_bytes"):
            if getattr(message.reference_host, name) == 0:
                fields.refuse(f"{path}reference_host.{name}", "must be above 0: it sizes CPU-only jobs")
    limit = _DEFAULT.disruption_limit
    if churn.HasField("disruption_limit"):
        limit = fields.integer(churn.disruption_limit, path, "churn_limits.disruption_limit", 0, 2**31 - 1)
    per_job = _DEFAULT.disruption_limit_per_job_hour
    if churn.HasField("disruption_limit_per_job_hour"):
        per_job = fields.integer(
            churn.disruption_limit_per_job_hour,
            path,
            "churn_limits.disruption_limit_per_job_hour",
            0,
            2**31 - 1,
        )
    minimum = _DEFAULT.minimum_run_seconds
    if churn.HasField("minimum_run_time"):
        minimum = fields.duration(churn.minimum_run_time, path, "churn_limits.minimum_run_time")
    hysteresis = churn.hysteresis if churn.HasField("hysteresis") else _DEFAULT.hysteresis
    exponent = (
        terms.throughput.size_exponent
        if terms.throughput.HasField("size_exponent")
        else _DEFAULT.size_exponent
    )
    power = terms.fairness.power if terms.fairness.HasField("power") else _DEFAULT.fairness_power
    deadline = terms.deadline.weight if terms.deadline.HasField("weight") else _DEFAULT.deadline_weight
    locality = terms.locality.weight if terms.locality.HasField("weight") else _DEFAULT.locality_weight
    switching = terms.switching.weight if terms.switching.HasField("weight") else _DEFAULT.switching_weight
    return Policy(
        size_exponent=fields.real(exponent, inside, "throughput.size_exponent", 0.0, limits.SIZE_EXPONENT),
        fairness_power=fields.real(power, inside, "fairness.power", 0.0, limits.FAIRNESS_POWER),
        priority_weights=MappingProxyType(priorities),
        deadline_weight=fields.real(deadline, inside, "deadline.weight", 0.0, limits.LARGEST_FACTOR),
        locality_weight=fields.real(locality, inside, "locality.weight", 0.0, limits.LARGEST_FACTOR),
        switching_weight=fields.real(switching, inside, "switching.weight", 0.0, limits.LARGEST_FACTOR),
        disruption_limit=limit,
        minimum_run_seconds=minimum,
        disruption_limit_per_job_hour=per_job,
        hysteresis=fields.real(hysteresis, path, "churn_limits.hysteresis", 0.0, 1.0),
        reference_host=host,
    )
