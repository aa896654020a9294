"""By when a waiting job starts, whatever arrives (property P17).

With ``policy.promise_after_seconds`` A and ``policy.longest_run_seconds`` R, and rounds of D seconds, a job
of counted age a that has never run, and that fits on the empty cluster and under the limits of its queues
while they are empty, starts within

    max(0, A - a) + D + (k + 1) (P + D) + P,        P = max(A, 2 R + m + 2 D, what those who run now need),

where k is the number of waiting jobs that have never run and are older (more counted age, then by name) and m
is ``policy.minimum_run_seconds``.

*Proof.* (1) *A promise made in a round starts within P of it.* Whoever then holds devices is gone, or can
have been stopped, within P: a stop by choice gives at most R notice, so that who starts in the round has
started R later; one that may not be paused has then ended within R (``gate.run-limit`` starts no other, and
nobody whose notice is longer than R); one that may be paused can be stopped m after its start, from the first
round after, the last round before the latest start at the worst, and is gone R later: 2 R + m + 2 D. For
those who run now that is computed from what they have left. A place that becomes free by itself is waited for
A at most. Who counts under the limits of its queues is gone by the same reckoning, at the least throughput.
So the latest start is within P; and no start of a later round may delay it (``promise.delayed`` on its nodes,
``promise.room-taken`` under its limits), and in the last round for it those in its way are forced off
(``claim.not-taken``): it is kept.

(2) *The oldest without a promise gets one within P + D.* Promises are made in the order of age, and the first
for whom there is no place stops the row (:mod:`gangplan.engine.make_promises`). By (1) everybody's leave is
known, so only nodes and room under limits that are promised to others keep a place from it. Those promises
are kept within P, by (1), and meanwhile nobody else is promised anything. In the first round after, nothing
is promised, and it gets a promise, since it fits on the empty cluster and in its queues while they are empty.

(3) After max(0, A - a) + D there is a round in which the job is old enough. Ages of those who wait grow
alike, so that nobody comes before it but those k, now or ever: who arrives later is younger, and who has run
is promised nothing for age. By (2) each of them, and then the job, gets its promise within P + D of the one
before; by (1) it starts within P of its own.  ∎

*Conditions.* The caller plans every D and hands promises back; the time budget lets them be found; nodes stay
as they are; jobs arrive no later than their submit time says, and their safe points are within R; estimates
at ``promise_quantile`` hold for jobs that may not be paused; limits are not lowered; no headroom for
interactive jobs can keep it out; the caller's own promises are none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import Plan
from gangplan.engine.make_promises import Holder, holders, never_ran, promisable, waited
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.promises import in_force
from gangplan.model.verifier.outcome import Outcome, Status


def latest_starts(instance: Instance, plan: Plan, outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """By when each waiting job starts, seconds since the epoch; who is not listed may wait for ever.

    A job with a promise starts by that. The others have the bound of this module, if the policy makes one; it
    says nothing of those that fit nowhere.

    Args:
        instance: of the round.
        plan: with its new promises.
        outcomes: what the verifier says that it does.
    """
    round_ = instance.round

    def waits(name: str) -> bool:
        return name in outcomes and outcomes[name].status is Status.WAITING

    made = [action.reservation for action in plan.actions if action.reservation is not None]
    kept: list[Reservation] = [p for p in in_force(round_) if p.latest_start >= round_.now]
    found = {promise.job: promise.latest_start for promise in (*kept, *made) if waits(promise.job)}
    after = round_.policy.promise_after_seconds
    if after is None or round_.policy.longest_run_seconds is None:
        return found
    longest = promise_seconds(instance, holders(instance, plan, outcomes))
    if longest is None:
        return found
    length = round_.round_seconds
    old = sorted(
        (-age, job.name)
        for job in round_.jobs
        if never_ran(job) and (age := waited(job, round_.now)) is not None and waits(job.name)
    )
    jobs = {job.name: job for job in round_.jobs}
    may_be_promised = promisable(instance)
    for older, (age, name) in enumerate(old):
        if name not in found and may_be_promised(jobs[name]):
            ripe = max(0.0, after + age) + length
            found[name] = round_.now + ripe + (older + 1) * (longest + length) + longest
    return found


def promise_seconds(instance: Instance, held: Sequence[Holder]) -> float | None:
    """P, the longest time from a promise to its latest start; None: there is no such time."""
    policy, now, length = instance.round.policy, instance.round.now, instance.round.round_seconds
    after, run = policy.promise_after_seconds, policy.longest_run_seconds
    if after is None or run is None:
        return None
    now_running = max((max(holder.gone, holder.crowds) - now for holder in held), default=0.0)
    longest = max(after, 2.0 * run + policy.minimum_run_seconds + 2.0 * length, now_running)
    return longest if math.isfinite(longest) else None
