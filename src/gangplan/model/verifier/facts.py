"""What a round says of each job before anything is decided: the verifier's own arithmetic.

Plain Python, written from the definitions and not from the model, so that the two can be checked against
each other. Sources: switching, decision 13; sizes of CPU-only jobs, decision 41; ``throughput`` and
``fairness`` have theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gangplan.columns import Columns, columns_of
from gangplan.domain.cluster import Node
from gangplan.domain.job import WHOLE_DEVICE, DeadlineKind, Job
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import ForcedReason
from gangplan.domain.policy import FairnessForm, Policy
from gangplan.domain.round import Round
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.kept import Kept
from gangplan.model.verifier.by_job import ByJob
from gangplan.model.verifier.claims import Claim, claims
from gangplan.model.verifier.fairness import finish_time_fairness, isolated_throughputs
from gangplan.model.verifier.forced import forced_reasons
from gangplan.model.verifier.gates import closed_gates, run_limits
from gangplan.model.verifier.left import all_left, left_at
from gangplan.model.verifier.owed import Owed
from gangplan.model.verifier.promised import Due, promises_in_force, stops
from gangplan.model.verifier.standing import standing
from gangplan.model.verifier.throughput import Throughput

Floats = NDArray[np.float64]
_Result = TypeVar("_Result")
_GROUPS_A_JOB, _GROUPS = 4, 10_000
"""Task groups whose figures are known by identity: so many for each job, and so many more."""


class JobFacts(NamedTuple):
    """One job's constants in this round.

    Attributes:
        size: req, devices asked for; for a CPU-only job its dominant share of reference hosts
            (decision 41).
        full_value: ``size ** policy.size_exponent``, GPU-equivalents at the reference throughput.
        reference: X_ref of the first device group, work units/s; for a CPU-only job the count of its first
            group. 0 when the job has no option at its requested count.
        isolated: x_iso, work units/s with its fair share alone (decision 11).
        rho: finish-time fairness ratio of the unserved job, clipped.
        base: ``job.weight`` times the weight of its priority class.
        base_weight: b, ``base`` over its median.
        weight: w, ``base * rho ** p`` over its median; under other forms of fairness what they make of it.
        present: relative throughput where it runs now; 0 while it waits or when that is no option.
        present_throughput: work units/s where it runs now; 0 likewise.
        held: devices held now (a CPU-only job: ``size``); 0 while it waits, and for a doomed job, whose stop
            loses nothing.
        horizon: H, seconds over which a switching cost is spread (decision 13).
        lost_seconds: running time that a stop throws away (decision 13).
        time_left: seconds until the deadline; None without one.
        claim: what serving it is worth under the policy's forms of fairness; None: w r at relative
            throughput r.
        doomed: its strict deadline cannot be met, whatever is done.
    """

    size: float
    full_value: float
    reference: float
    isolated: float
    rho: float
    base: float
    base_weight: float
    weight: float
    present: float
    present_throughput: float
    held: float
    horizon: float
    lost_seconds: float
    time_left: float | None
    claim: Claim | None
    doomed: bool


class Weighing(NamedTuple):
    """What each job weighs, in the round's order.

    Attributes:
        bases: ``job.weight`` times the weight of its priority class.
        middle: the median of ``bases``.
        weights: w.
        claims: what serving it is worth under the policy's forms of fairness; None: w r at relative
            throughput r.
    """

    bases: Sequence[float]
    middle: float
    weights: Sequence[float]
    claims: Sequence[Claim] | None


class FactsByJob(ByJob[JobFacts]):
    """Constants by job name, each put together when it is first asked for.

    A plan asks about those who run and whom it starts, which in a crowded round are few of all.

    Args:
        names: of all jobs.
        make: the constants of a job.
    """

    __slots__ = ("_known", "_make")

    def __init__(self, names: Collection[str], make: Callable[[str], JobFacts]) -> None:
        super().__init__(names)
        self._make = make
        self._known: dict[str, JobFacts] = {}

    def __getitem__(self, name: str) -> JobFacts:
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._make(name)
        return found


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class RoundFacts:
    """Everything the verifier knows of a round before it sees a plan.

    Attributes:
        round: the round.
        nodes: by name.
        domains: by node name: its domain at each declared level, outermost first; None where it has none.
        rank: scope to its place in ``topology.scopes``; 0 is the widest.
        throughput: the lookup.
        forced: running jobs that cannot go on, and why.
        gates: jobs that may not start, and by which rule.
        jobs: constants by job name; each is put together when it is first asked for.
        weighing: what each job weighs.
        columns: what is read of every job, in the round's order.
        promises: promises in force, by job name.
        due: those of them whose jobs start in this round.
        kept: the verifier's own of an earlier round, for what is computed when it is asked for.
    """

    round: Round
    nodes: Mapping[str, Node]
    domains: Mapping[str, tuple[str | None, ...]]
    rank: Mapping[str, int]
    throughput: Throughput
    forced: Mapping[str, ForcedReason]
    gates: Mapping[str, str]
    jobs: Mapping[str, JobFacts]
    weighing: Weighing
    columns: Columns[Job]
    promises: Mapping[str, Reservation] = field(default_factory=dict)
    due: tuple[Due, ...] = ()
    kept: Kept = field(default_factory=Kept, repr=False)
    _known: dict[Callable[[RoundFacts], Any], Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, compute: Callable[[RoundFacts], _Result]) -> _Result:
        """``compute(self)``, computed once and remembered: what does not depend on a plan.

        All plans of a round share it, so nobody may change the result, unless it is itself a memory of what
        the round says (a dict that is filled as needed).

        Args:
            compute: a function of a module, which is the key; not a closure.
        """
        found: _Result
        if compute in self._known:
            found = self._known[compute]
        else:
            found = self._known[compute] = compute(self)
        return found

    def scope(self, nodes: Iterable[str]) -> str:
        """The narrowest level whose one domain holds all ``nodes`` (names of present nodes).

        A node without a domain at a level is in no domain of that level. Domains are equal when
        their full names are (property P9).
        """
        return _scope(nodes, self.domains, self.round.cluster.topology.levels)


def round_facts(round_: Round, kept: Kept | None = None) -> RoundFacts:
    """All facts of ``round_``: O(jobs + nodes), with options of alike jobs looked at once.

    Args:
        round_: the round.
        kept: the verifier's own of an earlier round; the facts are the same without. None: nothing.
    """
    kept = kept or Kept()
    topology = round_.cluster.topology
    forced = forced_reasons(round_, kept)
    nodes, domains, capacity = kept.once("cluster", (round_.cluster,), lambda: _cluster(round_))
    throughput = kept.once(
        "throughput", (topology, round_.accelerators, round_.profiles), lambda: Throughput(round_)
    )
    throughput.forget(_GROUPS_A_JOB * len(round_.jobs) + _GROUPS)
    policy = round_.policy

    columns = columns_of(kept, "jobs", round_.jobs)
    weighed = columns.of("base", lambda some: _bases(some, policy), policy)
    index = {job.name: i for i, job in enumerate(round_.jobs)}
    gates = {**run_limits(round_, throughput), **closed_gates(round_)}
    promises = promises_in_force(round_)
    dues: list[Due] = []
    if promises:
        stay = {job.name: job for job in round_.jobs if job.running is not None and job.name not in forced}
        dues, ahead = stops(round_, stay, set(gates), promises)
        stopped = ahead.union(*(one.stops for one in dues))
        forced |= dict.fromkeys(stopped, ForcedReason.PROMISE_DUE)
    absent: frozenset[str] = frozenset()
    if gates:
        absent = frozenset(job.name for job in round_.jobs if job.running is None and job.name in gates)
    rho, alone = _fairness(round_, columns, weighed, capacity, throughput, absent, kept)
    base_median = _median(weighed)
    plain = _plain_weights(round_, columns, weighed, rho)
    base_of, rho_of, isolated_of = weighed.tolist(), rho.tolist(), alone.tolist()
    weight_of: list[float] = [] if plain is None else plain.tolist()
    worth = {}
    if plain is None:
        bases = dict(zip(index, base_of, strict=True))
        rhos, isolated = (dict(zip(index, values, strict=True)) for values in (rho_of, isolated_of))
        owed = Owed(round_, bases, capacity, throughput, absent)
        accruing = {name: 0.0 if name in absent else x for name, x in isolated.items()}
        references = {job.name: _reference(job, throughput) for job in round_.jobs}
        worth = _claims(round_, owed, bases, rhos, accruing, references)
        weight_of = [worth[name].weight for name in index]

    idle_horizon = max(round_.round_seconds, round_.horizon_seconds)

    def constants(name: str) -> JobFacts:
        i = index[name]
        job = round_.jobs[i]
        size = job_size(job, policy)
        relative = present = held = lost = 0.0
        horizon = idle_horizon
        doomed = job.deadline_kind is DeadlineKind.STRICT and _doomed(round_, job, throughput)
        if job.running is not None:
            relative, present = _present(job, nodes, domains, topology.levels, throughput, forced)
            held, lost = 0.0 if doomed else _held(job, size), _lost(round_, job)
            horizon = _horizon(round_, job, present)
        return JobFacts(
            size,
            size**policy.size_exponent,
            _reference(job, throughput),
            isolated_of[i],
            rho_of[i],
            base_of[i],
            base_of[i] / base_median,
            weight_of[i],
            relative,
            present,
            held,
            horizon,
            lost,
            None if job.deadline is None else job.deadline - round_.now,
            worth.get(name),
            doomed,
        )

    jobs = FactsByJob(index, constants)
    ranks = {scope: rank for rank, scope in enumerate(topology.scopes)}
    weighing = Weighing(
        base_of, base_median, weight_of, None if plain is not None else [worth[name] for name in index]
    )
    return RoundFacts(
        round_,
        nodes,
        domains,
        ranks,
        throughput,
        forced,
        gates,
        jobs,
        weighing,
        columns,
        promises,
        tuple(dues),
        kept,
    )


def _bases(jobs: Sequence[Job], policy: Policy) -> Floats:
    """Each job's weight times that of its priority class."""
    weights = policy.priority_weights
    return np.array([job.weight * weights.get(job.priority, 1.0) for job in jobs], dtype=np.float64)


def _median(values: Floats) -> float:
    """As :func:`~gangplan.model.verifier.claims.median`."""
    return (float(np.median(values)) if len(values) else 1.0) or 1.0


def _cluster(
    round_: Round,
) -> tuple[dict[str, Node], dict[str, tuple[str | None, ...]], dict[str, int]]:
    """Nodes and their domains by name, and usable devices by type."""
    topology = round_.cluster.topology
    by_domain = {
        name: tuple(topology.at_level(name, level) for level in topology.levels)
        for name in {node.domain for node in round_.cluster.nodes}
    }
    return (
        {node.name: node for node in round_.cluster.nodes},
        {node.name: by_domain[node.domain] for node in round_.cluster.nodes},
        usable_by_type(round_),
    )


def job_size(job: Job, policy: Policy) -> float:
    """Req of a job (decision 41).

    The devices of all its groups at their requested counts, a part of one as that part; for a CPU-only job
    the larger of its CPU and its memory as a share of ``policy.reference_host`` (a dimension of the host that
    is 0 counts nothing).
    """
    groups = job.component.task_groups
    milli = sum([group.count * group.device_milli for group in groups])
    if milli:
        return milli / WHOLE_DEVICE
    host = policy.reference_host
    cpu = sum(group.count * group.resources_per_task.cpu_milli for group in groups)
    memory = sum(group.count * group.resources_per_task.memory_bytes for group in groups)
    return max(
        cpu / host.cpu_milli if host.cpu_milli else 0.0,
        memory / host.memory_bytes if host.memory_bytes else 0.0,
    )


def usable_by_type(round_: Round) -> dict[str, int]:
    """Usable devices by type."""
    capacity: dict[str, int] = {}
    for node in round_.cluster.nodes:
        if node.accelerator_type is not None:
            capacity[node.accelerator_type] = (
                capacity.get(node.accelerator_type, 0) + node.usable_device_count
            )
    return capacity


def _fairness(
    round_: Round,
    columns: Columns[Job],
    bases: Floats,
    capacity: Mapping[str, int],
    throughput: Throughput,
    absent: Collection[str],
    kept: Kept,
) -> tuple[Floats, Floats]:
    """Clipped rho and x_iso, shape (jobs,) each; who may not start does not contend, and has a rho of 1."""
    components = [job.component for job in round_.jobs]
    here = np.ones(len(bases), dtype=np.bool_)
    if absent:
        here = np.array([job.name not in absent for job in round_.jobs], dtype=np.bool_)
    contending = math.fsum(bases[here].tolist())
    alone = isolated_throughputs(components, bases, contending, capacity, throughput, kept)
    left = all_left(columns, round_.policy.fairness_quantile)
    rho = finish_time_fairness(columns, left, np.where(here, alone, 0.0), round_.now, round_.round_seconds)
    return rho, alone


def _plain_weights(round_: Round, columns: Columns[Job], bases: Floats, rho: Floats) -> Floats | None:
    """W where rho alone decides it, ``base * rho ** p`` over its median; None where more does."""
    policy = round_.policy
    if (
        policy.fairness_forms != {FairnessForm.WEIGHTS: 1.0}
        or any(queue.service_received is not None for queue in round_.queues)
        or columns.of("known by service", _known_by_service).any()
    ):
        return None
    power = policy.fairness_power
    ratios = rho if power == 1.0 else np.array([one**power for one in rho.tolist()], dtype=np.float64)
    unfair = bases * ratios
    return unfair / _median(unfair)


def _known_by_service(jobs: Sequence[Job]) -> NDArray[np.bool_]:
    """Whether each job's work left is neither known nor predicted, but what it has received is known."""
    return np.array(
        [
            job.work_left is None
            and job.left_quantiles is None
            and job.service_received_device_seconds is not None
            for job in jobs
        ],
        dtype=np.bool_,
    )


def _claims(
    round_: Round,
    owed: Owed,
    bases: Mapping[str, float],
    rhos: Mapping[str, float],
    isolated: Mapping[str, float],
    references: Mapping[str, float],
) -> dict[str, Claim]:
    """What serving every job is worth under the policy's forms of fairness."""
    policy = round_.policy
    queues = dict.fromkeys(bases, 1.0)
    if policy.queue_fairness_power and any(q.service_received is not None for q in round_.queues):
        queues = {job.name: owed.queue_ratio(job) ** policy.queue_fairness_power for job in round_.jobs}
    standings = {
        job.name: standing(
            job,
            round_.now,
            round_.round_seconds,
            left=left_at(job, policy.fairness_quantile),
            isolated=isolated[job.name],
            reference=references[job.name],
            rho=rhos[job.name],
            devices=partial(owed.devices, job),
            equal=partial(owed.equal, job),
            service_quantiles=policy.service_quantiles,
        )
        for job in round_.jobs
    }
    pressing = {name: base * queues[name] for name, base in bases.items()}
    return claims(policy, pressing, queues, standings)


def _reference(job: Job, throughput: Throughput) -> float:
    """X_ref of the first device group; the count of the first group of a CPU-only job."""
    groups = job.component.task_groups
    for group in groups:
        if group.devices_per_task:
            return throughput.reference(group)
    return float(groups[0].count)


def _scope(
    nodes: Iterable[str], domains: Mapping[str, tuple[str | None, ...]], levels: tuple[str, ...]
) -> str:
    names = set(nodes)
    if len(names) == 1:
        return NODE
    paths = [domains[name] for name in names]
    for place in range(len(levels) - 1, -1, -1):
        first = paths[0][place] if paths else None
        if first is not None and all(path[place] == first for path in paths):
            return levels[place]
    return CLUSTER


def _present(
    job: Job,
    nodes: Mapping[str, Node],
    domains: Mapping[str, tuple[str | None, ...]],
    levels: tuple[str, ...],
    throughput: Throughput,
    forced: Mapping[str, ForcedReason],
) -> tuple[float, float]:
    """Relative and absolute throughput where the job runs now; 0 when it waits or is forced off."""
    if job.running is None or job.name in forced:
        return 0.0, 0.0
    counts: dict[str, int] = {}
    types: dict[str, str | None] = {}
    for placement in job.running.placements:
        counts[placement.group] = counts.get(placement.group, 0) + placement.tasks
        types[placement.group] = nodes[placement.node].accelerator_type
    scope = _scope((placement.node for placement in job.running.placements), domains, levels)
    return throughput.of_gang(job.component, counts, types, scope)


def _held(job: Job, size: float) -> float:
    """Devices held now; a CPU-only job holds its size."""
    if job.running is None:
        return 0.0
    per_task = {group.name: group.device_milli for group in job.component.task_groups}
    if not any(per_task.values()):
        return size
    return sum(p.tasks * per_task.get(p.group, 0) for p in job.running.placements) / WHOLE_DEVICE


def _horizon(round_: Round, job: Job, present: float) -> float:
    """H: min(horizon, time left at the present speed), at least one round (decision 13)."""
    horizon = round_.horizon_seconds
    left = left_at(job, round_.policy.fairness_quantile)
    if left is not None and left > 0 and present > 0:
        horizon = min(horizon, left / present)
    return max(round_.round_seconds, horizon)


def _doomed(round_: Round, job: Job, throughput: Throughput) -> bool:
    """Whether even the best throughput from now on is too little for the deadline."""
    if job.deadline is None or job.work_left is None:
        return False
    time = max(0.0, job.deadline - round_.now)
    return job.work_left * (1 - 1e-9) > throughput.best(job.component) * time


def _lost(round_: Round, job: Job) -> float:
    """Running time that a stop throws away: the checkpoint's age, or else the worst case (decision 13).

    A job that gets notice writes a checkpoint: it loses the time that this takes, and no work.
    """
    if job.running is None:
        return 0.0
    if job.checkpoint_seconds > 0:
        return job.checkpoint_seconds
    if job.running.checkpoint_age_seconds is not None:
        lost = job.running.checkpoint_age_seconds
    elif job.running.started_at is not None:
        lost = round_.now - job.running.started_at
    elif job.submit_time is not None:
        lost = round_.now - job.submit_time
    else:
        lost = round_.horizon_seconds
    return max(0.0, lost)
