"""Policy on the wire -> :class:`~gangplan.domain.policy.Policy`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from gangplan.domain.policy import FairnessForm, Policy, Tier
from gangplan.domain.presets import PRESETS
from gangplan.domain.quantiles import Quantiles
from gangplan.service.wire import limits
from gangplan.service.wire.enums import read_enum
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_cluster import read_resources
from gangplan.service.wire.read_quantiles import read_quantiles, real_probability
from gangplan.v1 import policy_pb2

_DEFAULT = Policy()


def read_policy(message: policy_pb2.Policy, path: str, types: AbstractSet[str], fields: Fields) -> Policy:
    """The policy; what is unset has the preset's value, or the domain's default (decision 41).

    Args:
        message: what to read.
        path: where it stands.
        types: catalogued accelerator types.
        fields: collects what is wrong.
    """
    start = _DEFAULT
    if message.preset in PRESETS:
        start = PRESETS[message.preset].policy
    elif message.preset:
        fields.refuse(f"{path}preset", f"{message.preset!r} is none; there are {', '.join(sorted(PRESETS))}")
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
    host = start.reference_host
    if message.HasField("reference_host"):
        host = read_resources(message.reference_host, f"{path}reference_host.", fields)
        for name in ("cpu_milli", "memory_bytes"):
            if getattr(message.reference_host, name) == 0:
                fields.refuse(f"{path}reference_host.{name}", "must be above 0: it sizes CPU-only jobs")
    limit = start.disruption_limit
    if churn.HasField("disruption_limit"):
        limit = fields.integer(churn.disruption_limit, path, "churn_limits.disruption_limit", 0, 2**31 - 1)
    per_job = start.disruption_limit_per_job_hour
    if churn.HasField("disruption_limit_per_job_hour"):
        per_job = fields.integer(
            churn.disruption_limit_per_job_hour,
            path,
            "churn_limits.disruption_limit_per_job_hour",
            0,
            2**31 - 1,
        )
    minimum = start.minimum_run_seconds
    if churn.HasField("minimum_run_time"):
        minimum = fields.duration(churn.minimum_run_time, path, "churn_limits.minimum_run_time")
    hysteresis = churn.hysteresis if churn.HasField("hysteresis") else start.hysteresis
    exponent = (
        terms.throughput.size_exponent if terms.throughput.HasField("size_exponent") else start.size_exponent
    )
    power = terms.fairness.power if terms.fairness.HasField("power") else start.fairness_power
    queue_power = (
        terms.fairness.queue_power if terms.fairness.HasField("queue_power") else start.queue_fairness_power
    )
    work_quantile = start.fairness_quantile
    if terms.fairness.HasField("work_quantile"):
        work_quantile = real_probability(
            terms.fairness.work_quantile, inside, "fairness.work_quantile", fields
        )
    on_time = start.deadline_quantile
    if terms.deadline.HasField("work_quantile"):
        on_time = real_probability(terms.deadline.work_quantile, inside, "deadline.work_quantile", fields)
    deadline = terms.deadline.weight if terms.deadline.HasField("weight") else start.deadline_weight
    urgency = terms.deadline.urgency if terms.deadline.HasField("urgency") else start.deadline_urgency
    locality = terms.locality.weight if terms.locality.HasField("weight") else start.locality_weight
    switching = terms.switching.weight if terms.switching.HasField("weight") else start.switching_weight
    tracking = terms.tracking.weight if terms.tracking.HasField("weight") else start.tracking_weight
    makespan = start.makespan_weight
    if terms.tracking.HasField("makespan_weight"):
        makespan = terms.tracking.makespan_weight
    cost = terms.cost.weight_per_micro if terms.cost.HasField("weight_per_micro") else start.cost_weight
    fragmentation = start.fragmentation_weight
    if terms.fragmentation.HasField("weight"):
        fragmentation = terms.fragmentation.weight
    residual = start.residual_weight
    if terms.residual_value.HasField("weight"):
        residual = terms.residual_value.weight
    interactive = (
        terms.interactive.weight if terms.interactive.HasField("weight") else start.interactive_weight
    )
    after, longest = start.promise_after_seconds, start.longest_run_seconds
    if message.promises.HasField("after"):
        after = fields.duration(message.promises.after, path, "promises.after")
    if message.promises.HasField("longest_run"):
        longest = fields.duration(message.promises.longest_run, path, "promises.longest_run", positive=True)
    surely = start.promise_quantile
    if message.promises.HasField("work_quantile"):
        surely = real_probability(message.promises.work_quantile, path, "promises.work_quantile", fields)
    return Policy(
        size_exponent=fields.real(exponent, inside, "throughput.size_exponent", 0.0, limits.SIZE_EXPONENT),
        fairness_power=fields.real(power, inside, "fairness.power", 0.0, limits.FAIRNESS_POWER),
        fairness_forms=_read_forms(terms.fairness, f"{inside}fairness.", fields) or start.fairness_forms,
        queue_fairness_power=fields.real(
            queue_power, inside, "fairness.queue_power", 0.0, limits.FAIRNESS_POWER
        ),
        fairness_quantile=work_quantile,
        service_quantiles=_read_service(terms.fairness, f"{inside}fairness.service_quantiles.", fields)
        or start.service_quantiles,
        priority_weights=MappingProxyType(priorities or dict(start.priority_weights)),
        deadline_weight=fields.real(deadline, inside, "deadline.weight", 0.0, limits.LARGEST_FACTOR),
        deadline_urgency=fields.real(urgency, inside, "deadline.urgency", 0.0, limits.DEADLINE_URGENCY),
        deadline_quantile=on_time,
        locality_weight=fields.real(locality, inside, "locality.weight", 0.0, limits.LARGEST_FACTOR),
        switching_weight=fields.real(switching, inside, "switching.weight", 0.0, limits.LARGEST_FACTOR),
        tracking_weight=fields.real(tracking, inside, "tracking.weight", 0.0, limits.LARGEST_FACTOR),
        makespan_weight=fields.real(makespan, inside, "tracking.makespan_weight", 0.0, limits.LARGEST_FACTOR),
        cost_weight=fields.real(cost, inside, "cost.weight_per_micro", 0.0, limits.LARGEST_FACTOR),
        fragmentation_weight=fields.real(
            fragmentation, inside, "fragmentation.weight", 0.0, limits.LARGEST_FACTOR
        ),
        residual_weight=fields.real(residual, inside, "residual_value.weight", 0.0, limits.LARGEST_FACTOR),
        interactive_weight=fields.real(interactive, inside, "interactive.weight", 0.0, limits.LARGEST_FACTOR),
        headroom=_read_headroom(message.headroom, path, types, fields),
        disruption_limit=limit,
        minimum_run_seconds=minimum,
        disruption_limit_per_job_hour=per_job,
        hysteresis=fields.real(hysteresis, path, "churn_limits.hysteresis", 0.0, 1.0),
        promise_after_seconds=after,
        promise_quantile=surely,
        longest_run_seconds=longest,
        tiers=_read_tiers(message.tiers, path, fields),
        reference_host=host,
    )


def _read_headroom(
    message: policy_pb2.Headroom, path: str, types: AbstractSet[str], fields: Fields
) -> Mapping[str, int]:
    """Devices by type, in the order of names."""
    found = dict(sorted(message.devices_by_type.items()))
    for type_, devices in found.items():
        at = f'headroom.devices_by_type["{type_}"]'
        fields.known(type_, types, path, at, "catalogued accelerator type")
        fields.integer(devices, path, at, 0, 2**31 - 1)
    return MappingProxyType(found)


def _read_service(message: policy_pb2.FairnessTerm, path: str, fields: Fields) -> Quantiles | None:
    if not message.HasField("service_quantiles"):
        return None
    said = message.service_quantiles
    found = read_quantiles(said.probabilities, said.device_seconds, "device_seconds", path, fields)
    if found is not None and found.values[-1] == 0.0:
        fields.refuse(f"{path}device_seconds", "must end above 0: some job takes some time")
    return found


def _read_forms(
    message: policy_pb2.FairnessTerm, path: str, fields: Fields
) -> Mapping[FairnessForm, float] | None:
    """The forms of fairness with their parts; None when nothing is said."""
    kind = policy_pb2.FairnessForm.DESCRIPTOR
    if not message.mixture:
        if not message.form:
            return None
        return MappingProxyType({read_enum(FairnessForm, kind, message.form, f"{path}form", fields): 1.0})
    if message.form:
        fields.refuse(f"{path}form", "must not be set beside a mixture: name the form there")
    parts: dict[FairnessForm, float] = {}
    for index, part in enumerate(message.mixture):
        here = f"{path}mixture[{index}]."
        if not part.form:
            fields.refuse(f"{here}form", "must be set: the form that has this part")
            continue
        form = read_enum(FairnessForm, kind, part.form, f"{here}form", fields)
        if form in parts:
            fields.refuse(f"{here}form", f"{form.value} has a part already")
        if not 0.0 < part.part <= 1.0:
            fields.refuse(f"{here}part", f"must be above 0 and at most 1 for {form.value}, is {part.part:g}")
        parts[form] = part.part
    if sum(parts.values()) > 1.0 + 1e-9:
        fields.refuse(f"{path}mixture", f"the parts must add up to at most 1, not {sum(parts.values()):g}")
    return MappingProxyType(parts)


def _read_tiers(messages: Sequence[policy_pb2.Tier], path: str, fields: Fields) -> tuple[Tier, ...]:
    if len(messages) > limits.TIERS:
        fields.refuse(f"{path}tiers", f"has {len(messages)} entries; {limits.TIERS} are the most")
    seen: set[int] = set()
    found = []
    for index, message in enumerate(messages):
        here = f"{path}tiers[{index}]."
        if not message.priorities:
            fields.refuse(f"{here}priorities", "a tier has at least one class of priority")
        for number, priority in enumerate(message.priorities):
            if priority in seen:
                fields.refuse(f"{here}priorities[{number}]", f"{priority} is in a tier already")
            seen.add(priority)
        tolerance = fields.real(message.tolerance, here, "tolerance", 0.0, 1.0)
        found.append(Tier(tuple(sorted(message.priorities)), tolerance))
    return tuple(found)
