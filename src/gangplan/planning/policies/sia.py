"""Sia: each job one configuration, by the power of its goodput."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.domain.plan import RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.planning.policies.memory import remembered, remembering
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.solving import solved
from gangplan.planning.policies.wishes import (
    Free,
    Wish,
    carry_out,
    fixed_classes,
    holds,
    kinds_of,
    ways_of,
)
from gangplan.planning.programmes.sia import GAP, POWER, MultiChoice, formulate, round_picks

NAME = "sia"
ABOUT = "one configuration of type and devices for each job, by goodput to the power -1/2; needs no durations"

GROWTH = 2
"""How many times its most devices so far a job may be given in one round."""
_LEAST = 1e-6
_UNFIT = np.inf


@dataclass(frozen=True, slots=True)
class Sia:
    """Chooses (type, devices) for all jobs at once (Jayaram Subramanya et al., SOSP 2023, section 3.3).

    The programme is :mod:`gangplan.planning.programmes.sia`. A job's goodput is its throughput in units of
    its work, which profiles of epochs make of goodput tables. Configurations are powers of two within a node
    and whole nodes beyond (section 3.2), where the job may have such; a rigid job has its own. The restart
    factor counts a job's restarts so far, and a job grows to at most twice the devices that it ever had in
    one round, since nobody has measured it beyond (section 3.1). Least goodput is that of all of the job's
    configurations, so that what is seen of it does not hang on what is free.
    """

    name: str = NAME

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        instance = build_instance(round_)
        memory = remembered(before, NAME)
        past = {name: (int(most), int(starts)) for name, (most, starts) in memory.get("past", {}).items()}
        chosen = _choose(instance, past)
        plan = carry_out(instance, chosen)
        present = {job.name for job in round_.jobs}
        past = {name: had for name, had in past.items() if name in present}
        for action in plan.actions:
            if action.placements:
                most, starts = past.get(action.job, (0, 0))
                held = sum(place.tasks for place in action.placements)
                past[action.job] = max(most, held), starts + (action.kind.value != "KEEP")
        return remembering(plan, {"past": past}, NAME)


def _choose(instance: Instance, past: dict[str, tuple[int, int]]) -> list[Wish]:
    """What each job should have, most devices first."""
    fixed = fixed_classes(instance)
    jobs = [j for j in range(len(instance.jobs)) if int(instance.class_of_job[j]) not in fixed]
    ways = {j: _configurations(instance, j) for j in jobs}
    jobs = [j for j in jobs if ways[j]]
    if not jobs:
        return []
    every = sorted({key for j in jobs for key in ways[j]})
    column = {key: n for n, key in enumerate(every)}
    cost = np.full((len(jobs), len(every)), _UNFIT)
    for i, j in enumerate(jobs):
        best = {key: float(instance.throughput[some[0]]) for key, some in ways[j].items()}
        least, factor = min(best.values()), _restart_factor(instance, j, past)
        most = _most_tasks(instance, j, past, [key[1] for key in best])
        for key, goodput in best.items():
            kept = holds(instance, j, ways[j][key])
            if kept or instance.option_at(ways[j][key][0]).counts[0] <= most:
                here = goodput / least * (1.0 if kept or j not in instance.placements else factor)
                cost[i, column[key]] = round(max(here, _LEAST) ** POWER, 2)
    picked = _picks(
        MultiChoice(
            cost=cost,
            devices=np.array([devices for _, devices in every], dtype=np.int64),
            type_of=np.array([kind for kind, _ in every], dtype=np.int64),
            capacity=np.maximum(0, np.array(Free.of(instance).by_kind, dtype=np.int64)),
        )
    )
    found = [(every[n][1], Wish(jobs[i], ways[jobs[i]][every[n]])) for i, n in picked]
    return [wish for _, wish in sorted(found, key=lambda one: (-one[0], one[1].job))]


def _picks(chosen: MultiChoice) -> list[tuple[int, int]]:
    """Job and configuration of all that are picked."""
    job, configuration = chosen.picks
    if not len(job):
        return []
    values = solved(formulate(chosen), gap=GAP).values
    if values is None:
        values = round_picks(chosen, np.zeros(len(job)))
    some = np.flatnonzero(values > 0.5)
    return list(zip(job[some].tolist(), configuration[some].tolist(), strict=True))


def _configurations(instance: Instance, j: int) -> dict[tuple[int, int], tuple[int, ...]]:
    """Options by type and devices, the fastest first; Sia's configurations, or all where there is none."""
    found: dict[tuple[int, int], list[int]] = {}
    for k in ways_of(instance, j):
        option = instance.option_at(k)
        if option.devices and len(kinds_of(option)) >= 1:
            for kind in kinds_of(option):
                found.setdefault((kind, option.devices), []).append(k)
    regular = {key: some for key, some in found.items() if _is_regular(instance, *key)}
    return {key: tuple(some) for key, some in (regular or found).items()}


def _is_regular(instance: Instance, kind: int, devices: int) -> bool:
    """A power of two within a node of the type, or whole ones."""
    of_type = instance.nodes.type_of == kind
    node = int(instance.nodes.built_in[of_type].max(initial=1)) * instance.nodes.parts
    each = devices // instance.nodes.parts
    return devices % node == 0 if devices > node else each > 0 and each & (each - 1) == 0


def _restart_factor(instance: Instance, j: int, past: dict[str, tuple[int, int]]) -> float:
    """Equation 2: (age - restarts * cost) / (age + cost)."""
    job = instance.jobs[j]
    starts = max(0, past.get(job.name, (0, 0))[1] - 1)
    age = max(0.0, instance.round.now - (job.submit_time or instance.round.now))
    cost = job.restart_seconds
    return max(0.0, age - starts * cost) / (age + cost) if age + cost > 0 else 1.0


def _most_tasks(instance: Instance, j: int, past: dict[str, tuple[int, int]], devices: list[int]) -> float:
    """Tasks that the job may have in this round at most."""
    group = instance.jobs[j].component.task_groups[0]
    if len(group.allowed_counts) == 1 or not devices:
        return np.inf
    had = past.get(instance.jobs[j].name, (0, 0))[0]
    return max(GROWTH * had, min(group.allowed_counts))


def make(how: How) -> Sia:
    """The policy."""
    del how
    return Sia()
