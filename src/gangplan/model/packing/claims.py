"""What stops with notice mean for those who wait for them: when they start, and what they claim meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gangplan.domain.plan import Action, ActionKind, Claim, ForcedReason
from gangplan.model.instance.instance import Instance

CLAIM_ROUNDS = 2.0
"""Rounds after its stops should have happened for which a claim holds."""


def notice_ends(instance: Instance, stopping: Iterable[int]) -> float | None:
    """When the last of the ``stopping`` jobs' notices ends, seconds since the epoch; None: none gives any.

    What is forced is not asked, unless it is for a promise, and how long a stop that is under way still takes
    is unknown.
    """
    notices = [
        instance.jobs[j].checkpoint_seconds
        for j in stopping
        if instance.forced.get(j, ForcedReason.PROMISE_DUE) is ForcedReason.PROMISE_DUE
    ]
    longest = max(notices, default=0.0)
    return instance.round.now + longest if longest > 0.0 else None


def claims_of(instance: Instance, actions: Sequence[Action]) -> tuple[Claim, ...]:
    """A claim for every waiting job that starts where others have yet to stop, or that has one already.

    A claim is never renewed: it keeps the expiry that it had first. On part of a device there is none.
    """
    round_ = instance.round
    known: dict[str, float] = {}
    for claim in round_.claims:
        j = instance.job_index.get(claim.job, -1)
        if claim.expires_at > round_.now and j in instance.placements and instance.jobs[j].running is None:
            known[claim.job] = min(claim.expires_at, known.get(claim.job, claim.expires_at))
    found: list[Claim] = []
    for action in actions:
        if action.kind is not ActionKind.PLACE or not (action.depends_on or action.job in known):
            continue
        if not any(placement.shares for placement in action.placements):
            start = round_.now if action.not_before is None else action.not_before
            expires_at = known.get(action.job, start + CLAIM_ROUNDS * round_.round_seconds)
            found.append(Claim(action.job, action.placements, expires_at, action.depends_on))
    return tuple(found)
