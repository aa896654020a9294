"""What each rule in force costs: the same simulation without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.domain.policy import Policy
from gangplan.domain.round import Round

_OFF: tuple[tuple[str, str, Any], ...] = (
    ("fairness between jobs", "fairness_power", 0.0),
    ("fairness between queues", "queue_fairness_power", 0.0),
    ("reward for deadlines", "deadline_weight", 0.0),
    ("cost of spreading", "locality_weight", 0.0),
    ("cost of stops", "switching_weight", 0.0),
    ("worth of who ends last", "makespan_weight", 0.0),
    ("price of devices", "cost_weight", 0.0),
    ("price of rests of devices", "fragmentation_weight", 0.0),
    ("worth of whole nodes left free", "residual_weight", 0.0),
    ("gain that a disruption must prove", "hysteresis", 0.0),
    ("minimum run", "minimum_run", 0.0),
    ("limit on disruptions of a round", "disruption_limit", None),
    ("limit on disruptions of a job", "disruption_limit_per_job_hour", None),
    ("promises for age", "promise_after", None),
    ("longest run", "longest_run", None),
)
"""A rule in words, the field that a scenario writes it in, and what switches it off."""
_FIELDS = {
    "minimum_run": "minimum_run_seconds",
    "promise_after": "promise_after_seconds",
    "longest_run": "longest_run_seconds",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that is in force.

    Attributes:
        name: in words.
        without: changes of a study that switch it off.
    """

    name: str
    without: tuple[Mapping[str, Any], ...]


def in_force(site: Round) -> tuple[Rule, ...]:
    """The rules of a site's policy and queues that have an effect, each with what switches it off."""
    policy: Policy = site.policy
    found = []
    for name, field, off in _OFF:
        value = getattr(policy, _FIELDS.get(field, field))
        if value != off:
            found.append(Rule(name, ({"policy": {"weights": {field: off}}},)))
    if policy.tiers:
        found.append(Rule("tiers of priority", ({"policy": {"weights": {"tiers": []}}},)))
    limited = [queue for queue in site.queues if queue.device_limit is not None or queue.device_limit_by_type]
    found += [
        Rule(f"limit of {queue.name}", ({"quota": {"queue": queue.name, "limit": None, "limits": {}}},))
        for queue in limited
    ]
    return tuple(found)


def price(
    with_it: Mapping[str, float | None], without: Mapping[str, float | None]
) -> dict[str, float | None]:
    """What a rule costs: device-hours with it less those without.

    Returns:
        ``delay_gpu_hours``: devices asked for times completion time, over all jobs: what jobs wait and run
        longer. ``lost_gpu_hours``: thrown away by stops and restarts. Below 0 the rule saves them. None: one
        of both did not get so far.
    """
    found: dict[str, float | None] = {}
    for name in ("delay_gpu_hours", "lost_gpu_hours", "completion_mean", "deadlines_met"):
        before, after = without.get(name), with_it.get(name)
        found[name] = None if before is None or after is None else after - before
    return found
