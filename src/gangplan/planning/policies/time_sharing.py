"""Gavel's round mechanism: shares of time become gangs, round by round.

Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads" (OSDI 2020),
section 5: a policy gives each job a share of time on each type; in every round, pairs of job and type go by
priority, the share over the fraction of time that the job has had there since shares were last computed, and
each is taken for which there are devices. Shares are computed anew whenever somebody comes or goes (section
3.2, and the public code). What is then left goes to whoever else there is room for, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gangplan.domain.plan import RoundResult
from gangplan.domain.round import Round
from gangplan.model.formulation.nesting import present_tasks
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.program import FloatArray
from gangplan.planning.policies.memory import remembered, remembering
from gangplan.planning.policies.rates import Rates, rates_of
from gangplan.planning.policies.wishes import Free, Wish, carry_out

Allocate = Callable[[Rates, FloatArray], FloatArray]
"""Shares of time, shape (jobs, types), from the rates and the seconds that the work done so far would have
taken each job with an equal share, shape (jobs,)."""


def share_time(round_: Round, before: RoundResult | None, name: str, allocate: Allocate) -> RoundResult:
    """The plan of a round by shares of time, and what was given so far.

    Args:
        round_: the round.
        before: the policy's last answer.
        name: of the policy.
        allocate: computes shares when somebody has come or gone.
    """
    instance = build_instance(round_)
    rates = rates_of(instance)
    memory = remembered(before, name)
    names = [instance.jobs[j].name for j in rates.jobs.tolist()]
    isolated = _isolated(rates, instance, names, memory)
    kinds = list(instance.speeds.type_names)
    if set(memory.get("shares", {})) != set(names) or memory.get("kinds") != kinds:
        shares = allocate(rates, np.array([isolated[job] for job in names], dtype=np.float64))
        got = np.zeros_like(shares)
        since = round_.now - round_.round_seconds / 2  # half a round in which nobody had anything
    else:
        shares = np.array([memory["shares"][job] for job in names], dtype=np.float64)
        got = np.array([memory["got"][job] for job in names], dtype=np.float64)
        since = memory["since"]
        _account(got, instance, rates, round_.now - memory["at"])
    plan = carry_out(instance, *_by_priority(instance, rates, shares, got / max(1e-9, round_.now - since)))
    return remembering(
        plan,
        {
            "kinds": kinds,
            "shares": dict(zip(names, shares.tolist(), strict=True)),
            "got": dict(zip(names, got.tolist(), strict=True)),
            "since": since,
            "at": round_.now,
            "isolated": isolated,
            "done": {instance.jobs[j].name: instance.jobs[j].work_done for j in rates.jobs.tolist()},
        },
        name,
    )


def equal_share(rates: Rates) -> FloatArray:
    """Throughput of each with an equal share of the time of every type, shape (jobs,) (section 4.1).

    Of a type with N devices the share of time is N over jobs and gang, cut in proportion above 1.
    """
    if not len(rates.jobs):
        return np.zeros(0)
    share = rates.devices[None, :] / len(rates.jobs) / rates.gang[:, None]
    share = share / np.maximum(1.0, share.sum(axis=1, keepdims=True))
    rate: FloatArray = (rates.throughput * share).sum(axis=1)
    return rate


def _isolated(rates: Rates, instance: Instance, names: list[str], memory: dict[str, Any]) -> dict[str, float]:
    """Seconds that the work done so far would have taken with an equal share, round by round."""
    now = equal_share(rates)
    found = {}
    for name, j, rate in zip(names, rates.jobs.tolist(), now.tolist(), strict=True):
        had = float(memory.get("isolated", {}).get(name, 0.0))
        did = instance.jobs[j].work_done - float(memory.get("done", {}).get(name, 0.0))
        found[name] = had + (max(0.0, did) / rate if rate > 0 else 0.0)
    return found


def _account(got: FloatArray, instance: Instance, rates: Rates, seconds: float) -> None:
    """Add what the running ones had since the last round."""
    for i, j in enumerate(rates.jobs.tolist()):
        if j in instance.placements:
            for kind in _kinds_held(instance, j):
                got[i, kind] += seconds


def _kinds_held(instance: Instance, j: int) -> set[int]:
    return {int(instance.nodes.type_of[node]) for node in present_tasks(instance, j)} - {-1}


def _by_priority(
    instance: Instance, rates: Rates, shares: FloatArray, fraction: FloatArray
) -> tuple[list[Wish], list[Wish]]:
    """The pairs for which there are devices, and the jobs that are left."""
    priority = shares / np.maximum(fraction, 1e-9)
    free, chosen, taken = Free.of(instance), [], set()
    pairs = [
        (float(priority[i, kind]), float(shares[i, kind]), i, kind)
        for i, kind in zip(*np.nonzero(shares > 1e-6), strict=True)
        if rates.ways[i][kind]
    ]
    pairs.sort(key=lambda pair: (-pair[0], -pair[1], pair[2], pair[3]))
    for _, _, i, kind in pairs:
        ways = rates.ways[i][kind]
        if i not in taken and free.by_kind[kind] >= int(rates.gang[i]):
            free.by_kind[kind] -= int(rates.gang[i])
            taken.add(i)
            chosen.append(Wish(int(rates.jobs[i]), ways))
    best = priority.max(axis=1, initial=0.0)
    others = sorted(set(range(len(rates.jobs))) - taken, key=lambda i: (-float(best[i]), i))
    spare = []
    for i in others:
        every = sorted({k for some in rates.ways[i] for k in some}, key=lambda k: -instance.throughput[k])
        spare.append(Wish(int(rates.jobs[i]), tuple(every)))
    return chosen, spare
