"""Promise: backfill never delays a promise, and a new promise can be kept (decision 19; property P17).

A reservation with a place is in force until its job runs or it expires; it is void without all its nodes, or
when the place has no whole gang. What starts on one of its nodes must be gone by its latest start, or be such
that it can be stopped for it:

* it ends in time: the longest notice that a stop of this round may give, its restart, the work that it has
  left at ``policy.promise_quantile``, done at the least throughput that it can have anywhere, and one round,
  so that there is a round before the latest start that finds the place free; or
* it may be paused, gives notice for it (``checkpoint_seconds``), and there is a round after its minimum run
  time from whose beginning this notice ends in time.

That is the second condition of EASY backfill (Lifka, *The ANL/IBM SP scheduling system*, JSSPP 1995), with
the nodes fixed and for every promise instead of the first one (as in conservative backfill: Mu'alem and
Feitelson, *Utilization, predictability, workloads, and user runtime estimates in scheduling the IBM SP2 with
backfilling*, IEEE TPDS 12, 2001), and with those who can be stopped counted as gone. On the nodes of
its own promise a job may delay those that come after it in the order of latest start.

A promise holds devices in the **queues** of its job as well, where they have limits. Under each limit L that
promises of n devices in all count under, those who may still be there when the first of them is due that does
not start in this round, T, hold after the plan at most

    max(0, L - n);  where those of them who run hold more already, nobody of them starts, moves or is resized.

Those are, of the jobs of the queue's subtree: running ones, unless by T they have ended at the least
throughput or can be stopped with notice as above; and those who wait, by the same rule as for promised
nodes, but for the jobs of the promises themselves where they can be no larger than what they are promised.
A running job that is gone by T where it is, and would not be if it moved or were resized now, does neither.
The limit counts all promises as if the first were the last: who leaves between two of them is counted too
long, which may put off a later promise and breaks none.

A promise is **due** as soon as nobody is in its way, on its nodes or in its queues, or in the last round from
which those in its way can be stopped in time, notice included (where a queue has too little room, those who
started last); they are then forced off (``PROMISE_DUE``), and it is a claim
(:mod:`gangplan.model.constraints.claim`). While one of them may not be stopped yet, who may is forced off
in the last round from which his own notice ends in time, and from then on until the latest start: he could
not be stopped in time any more once all may. So it is kept unless a node fails or closes, a quota is cut,
or a job that may not be paused runs longer than its quantile said.

RESERVE makes a promise for a job that waits, in the place that the plan leaves: nobody else's node, where the
job may run, and by the latest start everybody who is in the way has ended or can have been stopped; under
every limit of its queues there is room for it then and for all that was promised before, at T. For nodes the
programme has no row: those that are promised take no option of who would delay the promise. What limits keep
are rows like those of limits (``quota.rows``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gangplan.domain.job import WHOLE_DEVICE, Running
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.model.constraints import eligibility, gang, topology
from gangplan.model.verifier.left import left_at
from gangplan.model.verifier.outcome import Status
from gangplan.model.verifier.promised import (
    all_started,
    barred_by,
    in_the_way,
    longest_run,
    stoppable_from,
    whole,
)
from gangplan.model.verifier.promised_room import (
    Limit,
    Room,
    leaves,
    leaves_after_start,
    limits_by_queue,
    rooms,
)
from gangplan.model.verifier.reading import read_plan, unplanned
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.domain.job import Job
    from gangplan.model.verifier.columns import Bools
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.holding import Holding
    from gangplan.model.verifier.reading import Change, Reading
    from gangplan.model.verifier.starts import Starts

NAME = "promise"
RULES = ("promise.delayed", "promise.malformed", "promise.not-kept", "promise.room-taken")
_STARTS = (Status.STARTED, Status.MOVED, Status.RESIZED)
_TOLERANCE = 1e-6
"""Seconds by which a promise's latest start may be too early."""


def violations(reading: Reading) -> list[Violation]:
    """Starts that delay a promise, and promises that make no sense or cannot be kept."""
    found = delays(reading)
    waiting = list(reading.facts.once(_not_due))
    taken = {p.node for promise in reading.facts.promises.values() for p in promise.placements}
    for action in reading.plan.actions:
        if action.kind is not ActionKind.RESERVE:
            if action.reservation is not None:
                found.append(_on(action, "malformed", f"{action.job} has a reservation, but no RESERVE"))
            continue
        if action.job not in reading.changes:
            continue
        why = _senseless(action, reading)
        if why is None:
            why = _not_kept(action, reading, taken, waiting)
            rule = "not-kept"
        else:
            rule = "malformed"
        if why is not None:
            found.append(_on(action, rule, f"the promise to {action.job} {why}"))
        elif action.reservation is not None:
            taken |= {placement.node for placement in action.reservation.placements}
            waiting.append(action.reservation)
    return found


def delays(reading: Reading) -> list[Violation]:
    """Starts on promised nodes, or in queues, of those who may still be there when the promise is due."""
    return [*reading.judged(_judge, _sound), *_crowding(reading)] if reading.facts.promises else []


def _crowding(reading: Reading) -> list[Violation]:
    """Queues with too little left for what is promised, and moves of who would be gone but for them."""
    facts = reading.facts
    promised = facts.once(_rooms)
    if not promised:
        return []
    now = facts.once(_outlasting)
    after, found = dict(now), []
    full = {limit for limit, room in promised.items() if now[limit] > room.rest}
    for name, change in reading.every_change.items():
        for limit in facts.once(_limits_of)(name):
            if limit in full and _outlasts(change.job, limit, facts) and _may_add(change, limit, facts):
                message = f"{name} may still be in queue {limit.queue} when who is promised starts"
                found.append(Violation("promise.room-taken", name, message=message))
            if _outlasts(change.job, limit, facts):
                before = {} if change.forced is not None else change.before
                after[limit] += _milli(change, change.after, limit.kind, facts)
                after[limit] -= _milli(change, before, limit.kind, facts)
            elif change.status in (Status.MOVED, Status.RESIZED) and _late_if_moved(change, limit, facts):
                message = f"{name} moves, and may still be in queue {limit.queue} when who is promised starts"
                found.append(Violation("promise.room-taken", name, message=message))
    for limit, room in promised.items():
        if limit not in full and after[limit] > room.rest:
            what = f"devices of {limit.kind}" if limit.kind else "devices"
            message = (
                f"queue {limit.queue} would hold {after[limit] / WHOLE_DEVICE:g} {what} when who is promised "
                f"is to start; {room.rest / WHOLE_DEVICE:g} are left"
            )
            found.append(Violation("promise.room-taken", message=message))
    return found


def _not_due(facts: RoundFacts) -> tuple[Reservation, ...]:
    """Promises whose jobs do not start in this round."""
    due = {one.promise.job for one in facts.due}
    return tuple(promise for name, promise in facts.promises.items() if name not in due)


def _may_add(change: Change, limit: Limit, facts: RoundFacts) -> bool:
    """Whether a job holds devices under a limit after the plan otherwise than it does now."""
    if change.job.running is not None and change.forced is None:
        return change.status in (Status.MOVED, Status.RESIZED)
    return _milli(change, change.after, limit.kind, facts) > 0


def _rooms(facts: RoundFacts) -> dict[Limit, Room]:
    return rooms(facts.round, facts.once(_not_due), [one.promise for one in facts.due])


def _limits_of(facts: RoundFacts) -> Callable[[str], list[Limit]]:
    """By job: the limits above it under which something is promised."""
    promised = facts.once(_rooms)
    by_queue = {
        queue: [limit for limit in limits if limit in promised]
        for queue, limits in facts.once(_limits).items()
    }
    queues = {job.name: job.queue for job in facts.round.jobs}
    return lambda name: by_queue[queues[name]]


def _limits(facts: RoundFacts) -> dict[str | None, dict[Limit, int]]:
    return limits_by_queue(facts.round)


def _outlasting(facts: RoundFacts) -> dict[Limit, int]:
    """Thousandths of devices held now, by limit, by those who go on and may still be there."""
    held = dict.fromkeys(facts.once(_rooms), 0)
    every = facts.once(unplanned)
    for job in facts.round.jobs:
        if job.running is None or job.name in facts.forced:
            continue
        for limit in facts.once(_limits_of)(job.name):
            if _outlasts(job, limit, facts):
                held[limit] += _milli(every[job.name], every[job.name].before, limit.kind, facts)
    return held


def _outlasts(job: Job, limit: Limit, facts: RoundFacts) -> bool:
    """Whether a job may still be there when the first promise under a limit is due."""
    known = facts.once(_known)
    if (limit, job.name) not in known:
        room, round_ = facts.once(_rooms)[limit], facts.round
        if job.running is not None and job.name not in facts.forced:
            gone = leaves(job, round_, facts.throughput, stoppable_from(job, round_))
            found = gone > room.first
        else:
            run = longest_run(job, round_, facts.throughput)
            gone = leaves_after_start(job, round_, run, facts.once(_all_started), noticed=True)
            due = any(one.promise.job == job.name for one in facts.due)
            found = gone > room.first and not due and not room.is_of(job)
        known[limit, job.name] = found
    return known[limit, job.name]


def _known(facts: RoundFacts) -> dict[tuple[Limit, str], bool]:
    """Filled by :func:`_outlasts`."""
    return {}


def _late_if_moved(change: Change, limit: Limit, facts: RoundFacts) -> bool:
    """Whether a running job that is gone in time where it is would not be if it moved or were resized."""
    if change.forced is not None:
        return False
    run = longest_run(change.job, facts.round, facts.throughput)
    gone = leaves_after_start(change.job, facts.round, run, facts.once(_all_started))
    return gone > facts.once(_rooms)[limit].first


def _milli(change: Change, holding: Holding, kind: str, facts: RoundFacts) -> int:
    """Thousandths of devices of a type (empty: of all) in a holding."""
    return sum(
        part.tasks * change.groups[group].device_milli
        for (group, node), part in holding.items()
        if group in change.groups
        and (not kind or (node in facts.nodes and facts.nodes[node].accelerator_type == kind))
    )


def _sound(starts: Starts, facts: RoundFacts) -> Bools:
    """Starts on nodes that are not promised."""
    promised = [starts.there.columns.node_index.get(node, -1) for node in facts.once(_nodes)]
    return ~np.isin(starts.there.node, promised)


def _judge(change: Change, facts: RoundFacts) -> list[Violation]:
    if change.status not in _STARTS:
        return []
    nodes = {node for _, node in (change.after if change.status is Status.RESIZED else change.started)}
    if nodes.isdisjoint(facts.once(_nodes)):
        return []
    found = []
    action = change.action.id if change.action else ""
    starts = facts.once(_all_started)
    barred = barred_by(change.job, facts.round, facts.promises, facts.throughput, starts)
    for other, kept in barred.items():
        for node in sorted(nodes & kept):
            message = f"{change.job.name} starts on {node}, and may still be there when {other} is to start"
            found.append(Violation("promise.delayed", change.job.name, node, action, message))
    return found


def _nodes(facts: RoundFacts) -> frozenset[str]:
    """Nodes that are promised."""
    return frozenset(p.node for promise in facts.promises.values() for p in promise.placements)


def _all_started(facts: RoundFacts) -> float:
    return all_started(facts.round)


def _senseless(action: Action, reading: Reading) -> str | None:
    """What is wrong with a RESERVE action in itself; None: nothing."""
    promise, change = action.reservation, reading.changes[action.job]
    if promise is None:
        return "is not told"
    if promise.job != action.job:
        return f"names {promise.job!r}"
    if change.status is not Status.WAITING:
        return "is needless: it does not wait"
    if action.placements or action.depends_on or action.beneficiaries or action.forced or action.throughput:
        return "says what only is said of jobs that run"
    if not whole(change.job, promise.placements):
        return "has no whole gang"
    if promise.expires_at < promise.latest_start:
        return "expires before its latest start"
    return None


def _not_kept(
    action: Action, reading: Reading, taken: set[str], waiting: Sequence[Reservation]
) -> str | None:
    """Why a promise cannot be kept if all goes as expected; None: it can.

    Args:
        action: that makes it.
        reading: of its plan.
        taken: nodes that are promised to others.
        waiting: promises to others that do not start in this round.
    """
    promise, facts = action.reservation, reading.facts
    assert promise is not None
    name, job = action.job, reading.changes[action.job].job
    nodes = {placement.node for placement in promise.placements}
    if name in facts.promises:
        return "is made already"
    if name in facts.gates:
        return f"is made to a job that may not start ({facts.gates[name]})"
    if not nodes <= facts.nodes.keys():
        return "is on a node that is not in the cluster"
    if nodes & taken:
        return f"is on {min(nodes & taken)}, which is promised to another"
    start = Action("promise", ActionKind.PLACE, name, promise.placements)
    alone = read_plan(Plan((start,)), facts)
    for family in (eligibility, gang, topology):
        wrong = [v for v in family.violations(alone) if v.job == name]
        if wrong:
            return f"is on a place where it may not run: {wrong[0].message}"
    late = promise.latest_start + _TOLERANCE
    holders = {
        other: _as_after(change)
        for other, change in reading.changes.items()
        if change.after and _leaves(change, reading) > late
    }
    for node in sorted(nodes):
        others = in_the_way(job, promise.placements, facts.nodes[node], holders, reading.round)
        if others is None:
            return f"is on {node}, which has no room for it"
        if others:
            return f"is on {node}, where {min(others)} may still run"
    return _too_many(promise, reading, waiting)


def _too_many(promise: Reservation, reading: Reading, waiting: Sequence[Reservation]) -> str | None:
    """The limit under which there is no room for a promise beside the others; None: there is none."""
    facts, round_ = reading.facts, reading.round
    above = facts.once(_limits)
    mine = above[reading.changes[promise.job].job.queue]
    for limit, room in rooms(round_, [*waiting, promise]).items():
        if limit not in mine or promise.job not in room.needs:
            continue
        held = sum(
            _milli(change, change.after, limit.kind, facts)
            for change in reading.changes.values()
            if change.after
            and limit in above[change.job.queue]
            and _out_of_queues(change, reading) > room.first + _TOLERANCE
        )
        if held + sum(room.needs.values()) * WHOLE_DEVICE > room.most * WHOLE_DEVICE:
            return f"has no room in queue {limit.queue} by then"
    return None


def _out_of_queues(change: Change, reading: Reading) -> float:
    """By when one who holds something after the plan is gone, as :func:`_crowding` will count."""
    facts, round_ = reading.facts, reading.round
    if change.status in _STARTS:
        run = longest_run(change.job, round_, facts.throughput)
        return leaves_after_start(change.job, round_, run, facts.once(_all_started))
    return leaves(change.job, round_, facts.throughput, stoppable_from(change.job, round_))


def _as_after(change: Change) -> Job:
    """The job, running where it is after the plan."""
    if change.action is None or change.status is Status.KEPT:
        return change.job
    return replace(change.job, running=Running(change.action.placements))


def _leaves(change: Change, reading: Reading) -> float:
    """By when a round finds a job ended that runs after the plan, or stopped with its notice."""
    job, round_ = change.job, reading.round
    begins = starts = round_.now
    if change.status in _STARTS:
        starts = reading.facts.once(_all_started)
        begins = starts + job.restart_seconds
    left = left_at(job, round_.policy.promise_quantile)
    ends = float("inf")
    if left is not None and change.outcome.throughput > 0:
        ends = begins + left / change.outcome.throughput + round_.round_seconds
    if not job.capabilities.pausable:
        return ends
    if change.status in _STARTS:
        free = starts + round_.policy.minimum_run_seconds
    else:
        free = stoppable_from(job, round_)
    next_round = max(free, round_.now + round_.round_seconds)
    return min(ends, next_round + round_.round_seconds + job.checkpoint_seconds)


def _on(action: Action, rule: str, message: str) -> Violation:
    return Violation(f"promise.{rule}", action.job, "", action.id, message)
