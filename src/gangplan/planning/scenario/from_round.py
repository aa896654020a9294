"""From a round back to a scenario, to be changed by hand: alike nodes and jobs are one entry each."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from typing import Any

from gangplan.domain.cluster import DeviceReporting, Node, Resources, Toleration
from gangplan.domain.job import Interactive, Job, TaskGroup, TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.policy import Policy
from gangplan.domain.quantiles import Quantiles
from gangplan.domain.round import Round
from gangplan.domain.topology import Topology
from gangplan.engine.parameters import PlanParameters
from gangplan.planning.scenario.schema import Scenario

_SECONDS = ("minimum_run", "promise_after", "longest_run")
_ELSEWHERE = (
    "priority_weights",
    "fairness_forms",
    "tiers",
    "service_quantiles",
    "reference_host",
    "headroom",
)
_DEFAULT = Policy()


def scenario_of(round_: Round, parameters: PlanParameters | None = None) -> Scenario:
    """A scenario whose first round is ``round_``.

    A scenario has no words for claims, an outlook, a promise to somebody who is not there, stops of the last
    hour, and contradictions such as a job that has run for longer than it has been there. What is lost shows
    when the round is compared with what :func:`~gangplan.planning.scenario.expand` makes of the scenario.

    Args:
        round_: a valid round.
        parameters: how it was solved; pipeline, solver, time limit and seed of it are kept.
    """
    now = round_.now
    promises = {each.job: each for each in round_.reservations}
    document: dict[str, Any] = {
        "gangplan": "scenario/v1",
        "settings": {"now": now, "round": round_.round_seconds, "horizon": round_.horizon_seconds},
        "solve": _solve(parameters),
        "accelerators": {
            each.name: {
                "speed": each.relative_speed,
                "price": None if each.price_micros_per_hour is None else each.price_micros_per_hour / 1e6,
            }
            for each in round_.accelerators
        },
        "topology": _topology(round_.cluster.topology),
        "nodes": _grouped((node.name, _node(node, now)) for node in round_.cluster.nodes),
        "queues": [
            {
                "name": queue.name,
                "parent": queue.parent,
                "limit": queue.device_limit,
                "limits": dict(queue.device_limit_by_type),
                "guarantee": queue.device_guarantee,
                "weight": queue.weight,
                "received": queue.service_received,
            }
            for queue in round_.queues
        ],
        "profiles": {profile.name: _cells(profile.throughput) for profile in round_.profiles},
        "policy": _policy(round_.policy),
        "jobs": _grouped((job.name, _job(job, now, promises.get(job.name))) for job in round_.jobs),
    }
    return Scenario.model_validate({key: value for key, value in document.items() if value})


def _grouped(parts: Iterable[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Alike parts as one under all their names; what runs or has a promise stands alone."""
    found: list[dict[str, Any]] = []
    known: dict[str, dict[str, Any]] = {}
    for name, part in parts:
        key = json.dumps(part, sort_keys=True, default=str)
        if key in known and not {"running", "promised"} & part.keys():
            known[key]["names"].append(name)
            continue
        known[key] = {**part, "names": [name]}
        found.append(known[key])
    return found


def _said(document: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    """Without what says nothing."""
    return {
        key: value
        for key, value in document.items()
        if value not in (None, "", [], {}, False) and value != defaults.get(key, 0)
    }


def _solve(parameters: PlanParameters | None) -> dict[str, Any]:
    if parameters is None:
        return {}
    return {
        "pipeline": parameters.pipeline,
        "solver": None if parameters.solver == "auto" else parameters.solver,
        "time_limit": parameters.time_budget_seconds,
        "seed": parameters.seed,
    }


def _topology(topology: Topology) -> dict[str, Any]:
    """The tree, every domain by its own name."""

    def below(parent: str | None) -> list[dict[str, Any]]:
        return [
            {"name": domain.name, "level": domain.level, "domains": below(domain.name)}
            for domain in topology.domains
            if domain.parent == parent
        ]

    if not topology.levels:
        return {}
    return {"levels": list(topology.levels), "domains": below(None)}


def _resources(resources: Resources) -> dict[str, Any]:
    return _said({"cpu": f"{resources.cpu_milli}m", "memory": resources.memory_bytes}, cpu="0m")


def _node(node: Node, now: float) -> dict[str, Any]:
    exact = node.device_reporting is DeviceReporting.EXACT
    others = node.used_by_others
    return _said(
        {
            "domain": node.domain,
            "type": node.accelerator_type,
            "gpus": node.device_count,
            **_resources(node.resources),
            "reporting": node.device_reporting.value,
            "unhealthy_gpus": sorted(node.unhealthy_devices) if exact else node.unhealthy_device_count,
            "others": _said(
                {
                    "gpus": sorted(others.devices) if exact else others.device_count,
                    **_resources(others.resources),
                }
            ),
            "labels": dict(node.labels),
            "taints": [
                {"key": taint.key, "value": taint.value, "effect": taint.effect.value}
                for taint in node.taints
            ],
            "cordoned": node.cordoned,
            "health": node.health.value,
            "revision": node.revision,
        },
        reporting="EXACT",
        health="HEALTHY",
    ) | ({} if node.drain_time is None else {"drain": node.drain_time - now})


def _since(moment: float | None, now: float) -> float | None:
    return None if moment is None else moment - now


def _ahead(moment: float | None, now: float) -> float | None:
    """Time until ``moment``; None where it has passed and says nothing any more."""
    return None if moment is None or moment < now else moment - now


def _toleration(toleration: Toleration) -> dict[str, Any]:
    effect = None if toleration.effect is None else toleration.effect.value
    return {"key": toleration.key, "value": toleration.value, "effect": effect}


def _tasks(group: TaskGroup) -> dict[str, Any]:
    rigid = group.allowed_counts == (group.count,)
    return _said(
        {
            "tasks": group.count,
            "counts": None if rigid else list(group.allowed_counts),
            "gpus": group.devices_per_task,
            "gpu_milli": None if group.device_share is None else group.device_share.compute_milli,
            **_resources(group.resources_per_task),
            "types": list(group.accelerator_types),
            "profile": group.profile,
            "split": group.split.value,
            "selector": dict(group.node_selector),
            "tolerations": [_toleration(each) for each in group.tolerations],
        },
        split="FREE",
    )


def _where(placements: Sequence[TaskPlacement], groups: Sequence[TaskGroup]) -> dict[str, Any]:
    places: dict[str, dict[str, Any]] = {}
    for place in placements:
        places.setdefault(place.group, {})[place.node] = list(place.devices) or place.tasks
    if _short(groups):
        return next(iter(places.values()))
    return dict(places)


def _short(groups: Sequence[TaskGroup]) -> bool:
    """Whether the short form, one group named ``worker``, says all."""
    return len(groups) == 1 and groups[0].name == "worker"


def _job(job: Job, now: float, promise: Reservation | None) -> dict[str, Any]:
    groups = job.component.task_groups
    running, gate = job.running, job.gate
    tasks = _tasks(groups[0]) if _short(groups) else {}
    roles = [] if _short(groups) else [{"name": group.name, **_tasks(group)} for group in groups]
    part = _said(
        {
            "groups": roles,
            "required": job.component.required_level,
            "preferred": job.component.preferred_level,
            "queue": job.queue,
            "weight": job.weight,
            "priority": job.priority,
            "user": job.user,
            "fair_progress": job.fair_progress,
            "deadline_kind": job.deadline_kind.value,
            "decay": job.deadline_decay_seconds,
            "restart": job.restart_seconds,
            "notice": job.checkpoint_seconds,
            "held": gate.held,
            "after": list(gate.after_jobs),
            "held_time": gate.held_seconds,
            "revision": job.revision,
            "done": job.work_done,
            "work_quantiles": _amounts(job.left_quantiles),
        },
        weight=1.0,
        deadline_kind="TARGET",
    )
    may = {name: getattr(job.capabilities, name) for name in ("pausable", "movable", "resizable")}
    known = {
        "age": None if job.submit_time is None else now - job.submit_time,
        "work": job.work_left,
        "fair_finish_age": job.fair_finish_age,
        "interactive": _interactive(job.interactive, now),
        "received": job.service_received_device_seconds,
        "deadline": _since(job.deadline, now),
        "not_before": _ahead(gate.not_before, now),
    }
    part |= tasks
    part |= {name: False for name, value in may.items() if not value}
    part |= {name: value for name, value in known.items() if value is not None}
    if running is not None:
        since = None if running.started_at is None else now - running.started_at
        since = _at_most(since, None if job.submit_time is None else now - job.submit_time)
        run: dict[str, Any] = {
            "where": _where(running.placements, groups),
            "since": since,
            "checkpoint": _at_most(running.checkpoint_age_seconds, since),
            "safe_point": _ahead(running.next_safe_point, now),
            "minimum_run": _ahead(running.minimum_run_until, now),
            "stopping": running.stopping or None,
        }
        part["running"] = {name: value for name, value in run.items() if value is not None}
    if promise is not None:
        promised: dict[str, Any] = {
            "where": _where(promise.placements, groups) if promise.placements else None,
            "domain": promise.domain,
            "by": promise.latest_start - now,
            "until": promise.expires_at - now,
        }
        part["promised"] = {name: value for name, value in promised.items() if value is not None}
    return part


def _interactive(interactive: Interactive | None, now: float) -> dict[str, Any] | None:
    if interactive is None:
        return None
    since = interactive.idle_since
    return {
        "start_within": interactive.start_within_seconds,
        "idle_limit": interactive.idle_limit_seconds,
        "idle": None if since is None else now - since,
    }


def _at_most(value: float | None, limit: float | None) -> float | None:
    """``value``; it contradicts a scenario when it is above ``limit``."""
    return value if value is None or limit is None else min(value, limit)


def _amounts(quantiles: Quantiles | None) -> dict[float, float]:
    if quantiles is None or not any(quantiles.values):
        return {}
    return dict(zip(quantiles.probabilities, quantiles.values, strict=True))


def _cells(throughput: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for (kind, count, scope), rate in throughput.items():
        found.setdefault(kind, {}).setdefault(scope, {})[count] = rate
    return found


def _policy(policy: Policy) -> dict[str, Any]:
    """What differs from the default policy."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(policy):
        value = getattr(policy, field.name)
        if value == getattr(_DEFAULT, field.name) or field.name in _ELSEWHERE:
            continue
        found[field.name.removesuffix("_seconds") if _is_seconds(field.name) else field.name] = value
    if policy.priority_weights:
        found["priority_weights"] = dict(policy.priority_weights)
    if policy.headroom:
        found["headroom"] = dict(policy.headroom)
    if policy.fairness_forms != _DEFAULT.fairness_forms:
        found["fairness_forms"] = {form.value: part for form, part in policy.fairness_forms.items()}
    if policy.tiers:
        found["tiers"] = [
            {"priorities": list(tier.priorities), "tolerance": tier.tolerance} for tier in policy.tiers
        ]
    if policy.service_quantiles is not None:
        found["service_quantiles"] = _amounts(policy.service_quantiles)
    if policy.reference_host != _DEFAULT.reference_host:
        host = policy.reference_host
        found["reference_host"] = {"cpu": f"{host.cpu_milli}m", "memory": host.memory_bytes}
    return found


def _is_seconds(name: str) -> bool:
    return name.removesuffix("_seconds") in _SECONDS
