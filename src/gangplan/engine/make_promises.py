"""New promises, once a plan is settled: a place and a time for who has waited long enough, or is wished for.

Whoever has waited for ``policy.promise_after_seconds`` and has never run is promised a place, in the order of
age, and the first for whom there is none yet stops the row: nobody younger is promised anything before. Only
when nobody of them is left, wishes (reservations without a place) are met. A node is promised to one job at a
time. ``engine/wait_bound.py`` says what follows from this.

The place is what first fit takes in the cluster as it will be: with everybody gone who has ended by then, or
can have been stopped with notice. That is asked by bisection over those moments, in rounds of their own that
know neither fairness nor prices. If a place becomes free by itself within ``promise_after_seconds``, nobody
is counted on to be stopped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from gangplan.domain.cluster import Node
from gangplan.domain.job import OPEN, WHOLE_DEVICE, Job, Running, TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.judge import Candidate, Judge
from gangplan.model.instance.gates import stoppable_from
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.instance.left import counted_left
from gangplan.model.instance.limits import HEADROOM
from gangplan.model.instance.promised_room import (
    chain,
    chains,
    gone_if_it_starts,
    gone_where_it_is,
    held,
    limits_of,
)
from gangplan.model.instance.promises import in_force, longest_notice
from gangplan.model.packing.fill import keep_and_fill
from gangplan.model.packing.order import make_plan
from gangplan.model.verifier.outcome import Outcome, Status
from gangplan.model.verifier.verify import verify

_STARTS = (Status.STARTED, Status.MOVED, Status.RESIZED)
_ROUND_UP = 1e-3
"""Seconds that are added to a latest start, so that rounding on the wire makes none too early."""


class Holder(NamedTuple):
    """A job that holds something after the plan.

    Attributes:
        job: the job, running where it is then.
        ends: seconds since the epoch; by when a round finds it ended, at the policy's quantile; ``inf``:
            unknown.
        stopped: when it can have been stopped with notice, in rounds; ``inf``: never.
        crowds: until when it counts under the limits of its queues (``model/instance/promised_room.py``).
    """

    job: Job
    ends: float
    stopped: float
    crowds: float

    @property
    def gone(self) -> float:
        """When it is gone, one way or the other."""
        return min(self.ends, self.stopped)


@dataclass(frozen=True, slots=True)
class Asking:
    """A job that is to be promised a place.

    Attributes:
        job: the job.
        wish: what was asked for; None: it is old enough.
    """

    job: Job
    wish: Reservation | None = None


def with_promises(judge: Judge, best: Candidate, plan: Plan) -> Plan:
    """The plan with a RESERVE action for every new promise; as it is where there is none to make.

    Args:
        judge: of the round.
        best: the candidate that the plan is of.
        plan: the same plan, priced.
    """
    instance = judge.instance
    round_ = instance.round
    if round_.policy.promise_after_seconds is None and not round_.reservations:
        return plan
    waiting = {name for name, outcome in best.verification.outcomes.items() if _waits(outcome)}
    old = aged(instance, waiting)
    wished = _wished(instance, waiting)
    if not old and not wished:
        return plan
    made = _make(judge, holders(instance, plan, best.verification.outcomes), old, wished)
    promising = replace(plan, actions=(*plan.actions, *(_action(promise) for promise in made)))
    if not made:
        return plan
    wrong = verify(round_, promising, judge.facts).violations
    if wrong:
        judge.remarks.append(f"no promise was made: {wrong[0].message}")
        return plan
    judge.work["promises"] = len(made)
    return promising


def waited(job: Job, now: float) -> float | None:
    """Seconds of waiting that count: not before it may start, and not while it was held; None: unknown."""
    if job.submit_time is None:
        return None
    begins = job.submit_time if job.gate.not_before is None else max(job.submit_time, job.gate.not_before)
    return max(0.0, now - begins - job.gate.held_seconds)


def never_ran(job: Job) -> bool:
    """Whether a waiting job has never run, as far as anybody says."""
    return job.running is None and job.work_done <= 0.0 and not job.service_received_device_seconds


def promisable(instance: Instance) -> Callable[[Job], bool]:
    """By job: whether promises are made to it: whole devices only, nothing in its way but who holds a place.

    Room under the limits of its queues is promised with the place, if there is enough while they are empty.
    The headroom for interactive jobs is kept for nobody, and what others leave of it is not known, so that no
    promise is made to who is held back by one: a type that it takes has a headroom that can bind.
    """
    binding = _binding_headroom(instance)

    def may_be_promised(job: Job) -> bool:
        groups = job.component.task_groups
        if job.name in instance.gated or any(group.device_share for group in groups):
            return False
        if not _fits_limits(instance, job):
            return False
        if not binding or HEADROOM not in instance.limits.chain(job):
            return True
        return binding.isdisjoint(t for group in groups for t in instance.speeds.allowed_types(group))

    return may_be_promised


def _binding_headroom(instance: Instance) -> set[int]:
    """Types of which other jobs may hold less than there is, since some is left for interactive ones."""
    nodes, headroom = instance.nodes, instance.limits.queues.get(HEADROOM)
    if headroom is None:
        return set()
    types = instance.speeds.type_index
    return {
        types[kind]
        for kind, limit in headroom.device_limit_by_type.items()
        if kind in types and limit < nodes.built_in[nodes.type_of == types[kind]].sum()
    }


def _fits_limits(instance: Instance, job: Job) -> bool:
    """Whether the least that the job takes is within the limits of its queues, on some types."""
    if job.queue is None:
        return True
    queues = instance.limits.queues
    limits = [limit for name in chain(queues, job.queue) for limit in limits_of(queues[name])]
    groups = [group for group in job.component.task_groups if group.devices_per_task]
    least = [min(group.allowed_counts) * group.devices_per_task for group in groups]
    names = instance.speeds.type_names
    return any(
        all(
            sum(devices for devices, t in zip(least, types, strict=True) if kind in (None, names[t])) <= most
            for kind, most in limits
        )
        for types in itertools.product(*(instance.speeds.allowed_types(group) for group in groups))
    )


def aged(instance: Instance, waiting: Collection[str]) -> list[Job]:
    """Jobs without a promise that have waited long enough for one, the longest first."""
    round_ = instance.round
    after = round_.policy.promise_after_seconds
    if after is None:
        return []
    promised = {promise.job for promise in in_force(round_)}
    may_be_promised = promisable(instance)
    old = [
        (-age, job.name, job)
        for job in round_.jobs
        if job.name in waiting
        and job.name not in promised
        and never_ran(job)
        and (age := waited(job, round_.now)) is not None
        and age >= after
        and may_be_promised(job)
    ]
    return [job for _, _, job in sorted(old, key=lambda entry: entry[:2])]


def holders(instance: Instance, plan: Plan, outcomes: Mapping[str, Outcome]) -> list[Holder]:
    """Who holds something after the plan, and when each is gone."""
    round_, speeds = instance.round, instance.speeds
    jobs = {job.name: job for job in round_.jobs}
    noticed = round_.now + longest_notice(round_)
    found = []
    for action in plan.actions:
        if action.placements and action.kind is not ActionKind.RESERVE:
            job, outcome = jobs[action.job], outcomes[action.job]
            running = job.running
            if running is None or outcome.status is not Status.KEPT:
                running = Running(action.placements)
            there = replace(job, running=running)
            begins = noticed if outcome.status in _STARTS else None
            ends, stopped = _ends(there, round_, outcome, begins), _stopped(there, round_, begins)
            if begins is None:
                crowds = gone_where_it_is(there, round_, speeds)
            else:
                crowds = gone_if_it_starts(there, round_, speeds, begins)
            found.append(Holder(there, ends, stopped, crowds))
    return found


def _ends(job: Job, round_: Round, outcome: Outcome, begins: float | None) -> float:
    """By when it is found ended; ``begins``: if it starts in this round, when at the latest."""
    left = counted_left(job, round_.policy.promise_quantile)
    if left is None or outcome.throughput <= 0.0:
        return math.inf
    since = round_.now if begins is None else begins + job.restart_seconds
    return since + left / outcome.throughput + round_.round_seconds


def _stopped(job: Job, round_: Round, begins: float | None) -> float:
    """The end of its notice if it is stopped in the last round from which that ends in time."""
    length = round_.round_seconds
    if job.running is None or not job.capabilities.pausable:
        return math.inf
    free = [round_.now + length]
    if begins is not None:
        free.append(begins + round_.policy.minimum_run_seconds)
    else:
        free.append(stoppable_from(job, round_))
    return max(free) + length + job.checkpoint_seconds


def _waits(outcome: Outcome) -> bool:
    return outcome.status is Status.WAITING


def _wished(instance: Instance, waiting: Collection[str]) -> list[Asking]:
    """Wishes for jobs that wait without a promise, the earliest first."""
    round_ = instance.round
    jobs = {job.name: job for job in round_.jobs}
    promised = {promise.job for promise in in_force(round_)}
    found: dict[str, Asking] = {}
    may_be_promised = promisable(instance)
    for wish in sorted(round_.reservations, key=lambda w: (w.latest_start, w.job, w.domain or "")):
        name = wish.job
        if wish.placements or name in promised or name in found or name not in waiting:
            continue
        if wish.expires_at > round_.now and may_be_promised(jobs[name]):
            found[name] = Asking(jobs[name], wish)
    return list(found.values())


def _make(
    judge: Judge, held: Sequence[Holder], old: Sequence[Job], wished: Sequence[Asking]
) -> list[Reservation]:
    """Promises to those who are old enough, in their order; then to those who are wished for."""
    round_ = judge.instance.round
    taken = {placement.node for promise in in_force(round_) for placement in promise.placements}
    due = {one.promise.job for one in judge.facts.due}
    waiting = [promise for promise in in_force(round_) if promise.job not in due]
    trials = _Trials(judge, held, waiting)
    made: list[Reservation] = []
    for job in old:
        if not trials.fits_if_empty(job):
            continue  # it never fits, and keeps nobody waiting
        promise = trials.promise(job, taken, round_.policy.promise_after_seconds or 0.0)
        if promise is None:
            return made
        made.append(promise)
        waiting.append(promise)
        taken |= {placement.node for placement in promise.placements}
    for asking in wished:
        wish = asking.wish
        if wish is None or asking.job.name in {promise.job for promise in made}:
            continue
        promise = trials.promise(asking.job, taken, max(0.0, wish.latest_start - round_.now), wish)
        if promise is not None and promise.latest_start <= wish.latest_start + _ROUND_UP:
            made.append(promise)
            waiting.append(promise)
            taken |= {placement.node for placement in promise.placements}
    return made


class _Trials:
    """Places in the cluster as it will be.

    Args:
        judge: of the round.
        held: who holds something.
        waiting: promises to those who go on waiting; more are added as they are made.
    """

    def __init__(self, judge: Judge, held: Sequence[Holder], waiting: Sequence[Reservation]) -> None:
        self._judge = judge
        self._round = judge.instance.round
        self._held = held
        self._waiting = waiting
        self._slowest = 0.0
        self._jobs = {job.name: job for job in self._round.jobs}
        self._nodes = {node.name: node for node in self._round.cluster.nodes}
        self._above = chains(self._round.queues)

    def fits_if_empty(self, job: Job) -> bool:
        """Whether first fit places the job on the empty cluster."""
        return self._place(job, (), (), self._round.queues) is not None

    def promise(
        self, job: Job, taken: Collection[str], patience: float, wish: Reservation | None = None
    ) -> Reservation | None:
        """The earliest promise that can be kept; None: there is none, or no time to look for it.

        Args:
            job: to whom.
            taken: nodes that are promised to others.
            patience: seconds from now within which it is left to the others to end by themselves.
            wish: what was asked for.
        """
        now = self._round.now
        closed = frozenset(taken) | self._outside(None if wish is None else wish.domain)
        found = self._earliest(job, closed, lambda holder: holder.ends)
        if found is None or found[0] > now + patience:
            found = self._earliest(job, closed, lambda holder: holder.gone)
        if found is None:
            return None
        latest = max(found[0], now + self._round.round_seconds) + _ROUND_UP
        lasts = max(self._round.horizon_seconds, 2.0 * self._round.round_seconds)
        return Reservation(
            job=job.name,
            domain=None if wish is None else wish.domain,
            latest_start=latest,
            expires_at=latest + lasts,
            placements=found[1],
        )

    def _earliest(
        self, job: Job, closed: Collection[str], gone: Callable[[Holder], float]
    ) -> tuple[float, tuple[TaskPlacement, ...]] | None:
        """When there is first room for the job, and where."""
        times = [gone(h) for h in self._held]
        if job.queue is not None:
            times += [h.crowds for h in self._held]
        moments = sorted({self._round.now, *(t for t in times if math.isfinite(t))})

        def there(moment: float) -> tuple[TaskPlacement, ...] | None:
            staying = [h.job for h in self._held if gone(h) > moment]
            gone_by = [h for h in self._held if gone(h) <= moment]
            return self._place(job, staying, closed, self._left(job, gone_by, moment))

        low, high = 0, len(moments) - 1
        best = there(moments[high])
        if best is None:
            return None
        while low < high:
            middle = (low + high) // 2
            found = there(moments[middle])
            if found is None:
                low = middle + 1
            else:
                best, high = found, middle
        return moments[high], best

    def _place(
        self, job: Job, staying: Sequence[Job], closed: Collection[str], queues: Sequence[Queue]
    ) -> tuple[TaskPlacement, ...] | None:
        """Where first fit puts the job beside those who stay, off the closed nodes; None: nowhere.

        ``queues`` have what limits leave to it and to those who stay.
        """
        budget = self._judge.budget
        began = budget.elapsed
        if budget.limited and budget.remaining < 2.0 * self._slowest + self._judge.slowest_seconds:
            return None
        cluster = self._round.cluster
        nodes: tuple[Node, ...] = cluster.nodes
        if closed:
            nodes = tuple(replace(n, cordoned=True) if n.name in closed else n for n in nodes)
        instance = build_instance(
            replace(
                self._round,
                cluster=replace(cluster, nodes=nodes),
                jobs=(_plain(job), *(_plain(other) for other in staying)),
                queues=tuple(queues),
                policy=Policy(),
                claims=(),
                outlook=None,
                reservations=(),
            )
        )
        plan = make_plan(instance, keep_and_fill(instance))
        self._slowest = max(self._slowest, budget.elapsed - began)
        for action in plan.actions:
            if action.job == job.name and action.kind is ActionKind.PLACE:
                return action.placements
        return None

    def _left(self, job: Job, gone_by: Sequence[Holder], moment: float) -> list[Queue]:
        """The queues, with what promises and those of who is ``gone_by`` then that still count leave.

        A limit under which something is promised counts all of that, and who is there when the first promise
        under it is due.
        """
        if job.queue is None:
            return [Queue(queue.name, queue.parent) for queue in self._round.queues]
        jobs, nodes, above = self._jobs, self._nodes, self._above

        def left(queue: Queue, kind: str | None, limit: int) -> int:
            promised = [
                (each.latest_start, devices)
                for each in self._waiting
                if queue.name in above.get(jobs[each.job].queue or "", ())
                and (devices := held(jobs[each.job], each.placements, nodes, kind))
            ]
            due = min([moment, *(latest for latest, _ in promised)])
            crowd = sum(
                held(holder.job, holder.job.running.placements, nodes, kind)
                for holder in gone_by
                if holder.crowds > due
                and holder.job.running is not None
                and queue.name in above.get(holder.job.queue or "", ())
            )
            return max(0, (limit * WHOLE_DEVICE - crowd - sum(d for _, d in promised)) // WHOLE_DEVICE)

        found = []
        for queue in self._round.queues:
            most = {kind: left(queue, kind, limit) for kind, limit in limits_of(queue)}
            total = most.pop(None, None)
            by_type = {kind: amount for kind, amount in most.items() if kind is not None}
            found.append(Queue(queue.name, queue.parent, total, by_type))
        return found

    def _outside(self, domain: str | None) -> frozenset[str]:
        """Nodes that are not in a domain."""
        if domain is None:
            return frozenset()
        topology = self._round.cluster.topology
        return frozenset(
            node.name
            for node in self._round.cluster.nodes
            if node.name != domain and all(each.name != domain for each in topology.path(node.domain))
        )


def _plain(job: Job) -> Job:
    """The job without anything but what it needs and holds, and its queue."""
    return replace(job, weight=1.0, priority=0, deadline=None, gate=OPEN, disrupted_at=())


def _action(promise: Reservation) -> Action:
    return Action(f"reserve/{promise.job}", ActionKind.RESERVE, promise.job, reservation=promise)
