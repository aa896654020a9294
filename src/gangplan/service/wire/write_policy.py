""":class:`~gangplan.domain.policy.Policy` -> the wire, every value written out."""

from __future__ import annotations

from gangplan.domain.policy import FairnessForm, Policy
from gangplan.service.wire.times import write_seconds
from gangplan.service.wire.write_cluster import write_resources
from gangplan.v1 import policy_pb2


def write_policy(policy: Policy) -> policy_pb2.Policy:
    """The policy without a default left open, so that a stored round means the same for ever."""
    message = policy_pb2.Policy(
        terms=policy_pb2.Terms(
            throughput=policy_pb2.ThroughputTerm(size_exponent=policy.size_exponent),
            fairness=_write_fairness(policy),
            priority=policy_pb2.PriorityTerm(
                weight_by_priority=dict(sorted(policy.priority_weights.items()))
            ),
            deadline=policy_pb2.DeadlineTerm(
                weight=policy.deadline_weight,
                urgency=policy.deadline_urgency,
                work_quantile=policy.deadline_quantile,
            ),
            locality=policy_pb2.LocalityTerm(weight=policy.locality_weight),
            switching=policy_pb2.SwitchingTerm(weight=policy.switching_weight),
            cost=policy_pb2.CostTerm(weight_per_micro=policy.cost_weight),
            tracking=policy_pb2.TrackingTerm(
                weight=policy.tracking_weight, makespan_weight=policy.makespan_weight
            ),
            fragmentation=policy_pb2.FragmentationTerm(weight=policy.fragmentation_weight),
            residual_value=policy_pb2.ResidualValueTerm(weight=policy.residual_weight),
            interactive=policy_pb2.InteractiveTerm(weight=policy.interactive_weight),
        ),
        churn_limits=policy_pb2.ChurnLimits(
            disruption_limit=policy.disruption_limit,
            hysteresis=policy.hysteresis,
            disruption_limit_per_job_hour=policy.disruption_limit_per_job_hour,
        ),
        promises=policy_pb2.PromisePolicy(work_quantile=policy.promise_quantile),
        headroom=policy_pb2.Headroom(devices_by_type=dict(sorted(policy.headroom.items()))),
        reference_host=write_resources(policy.reference_host),
        tiers=[
            policy_pb2.Tier(priorities=tier.priorities, tolerance=tier.tolerance) for tier in policy.tiers
        ],
    )
    write_seconds(policy.minimum_run_seconds, message.churn_limits.minimum_run_time)
    if policy.promise_after_seconds is not None:
        write_seconds(policy.promise_after_seconds, message.promises.after)
    if policy.longest_run_seconds is not None:
        write_seconds(policy.longest_run_seconds, message.promises.longest_run)
    return message


def _write_fairness(policy: Policy) -> policy_pb2.FairnessTerm:
    message = policy_pb2.FairnessTerm(
        power=policy.fairness_power,
        queue_power=policy.queue_fairness_power,
        work_quantile=policy.fairness_quantile,
    )
    if policy.service_quantiles is not None:
        message.service_quantiles.probabilities.extend(policy.service_quantiles.probabilities)
        message.service_quantiles.device_seconds.extend(policy.service_quantiles.values)
    parts = [(form, policy.fairness_forms[form]) for form in FairnessForm if form in policy.fairness_forms]
    if [part for _, part in parts] == [1.0]:
        message.form = _number(parts[0][0])
    else:
        for form, part in parts:
            message.mixture.add(form=_number(form), part=part)
    return message


def _number(form: FairnessForm) -> policy_pb2.FairnessForm.ValueType:
    return policy_pb2.FairnessForm.Value(f"FAIRNESS_FORM_{form.value}")
