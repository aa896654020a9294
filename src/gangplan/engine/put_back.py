"""Putting vain bundles back as the plan has them that keeps everything: where no time is left for more.

A bundle is closed: whoever needs the place, the quota or the former place of one of its members is a member.
So its members can be back where they are in the plan that keeps everything, and everybody else stays as
planned. Nothing is filled and nothing is planned again, so that it takes one verification and no further look
at bundles: those that are left say what they said before, and earn what they earned.

Measured at XL, CPU time of a shared machine: from the plan that keeps everything to the one that pays .22 s
with a revert that fills and the looks around it, .13 to .15 s with this
(``benchmarks/results/2026-11-30-first-plans.md``).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from gangplan.engine.bundles import Bundle, is_chosen, jobs_of, weigh_all
from gangplan.model.packing.assignment import Assignment

if TYPE_CHECKING:
    from gangplan.engine.judge import Candidate, Judge

NAME = "put_back"
"""Of the candidates."""
_PASSES = 3


def put_back(
    judge: Judge,
    candidate: Candidate,
    floor: Candidate,
    vain: Collection[Bundle],
    others: Collection[Bundle],
    *,
    passes: int = _PASSES,
) -> Candidate | None:
    """``candidate`` with the members of ``vain`` as ``floor`` has them.

    Args:
        judge: of the round.
        candidate: a plan.
        floor: the plan that keeps everything.
        vain: the bundles of ``candidate`` without proved gain.
        others: the rest of its bundles.
        passes: most times that something is put back: with other devices a disruption may be for nobody.

    Returns:
        A plan worth more than ``floor`` with no bundle but ``others``; None where there is none, or no time
        to verify it.
    """
    if not judge.has_time_to_put_back:
        return None
    members: set[str] = set().union(*map(jobs_of, vain))
    judge.count("put_back", 1)
    found = without(judge, candidate, floor, members, NAME)
    if found is None:
        return None
    if _same(candidate, found, members, others):
        return found
    weighed = weigh_all(judge, found, floor)
    left = [bundle for bundle, each in weighed if not each.pays]
    if not left:
        return found
    if passes == 1:
        return None
    return put_back(judge, found, floor, left, [b for b, each in weighed if each.pays], passes=passes - 1)


def without(
    judge: Judge, candidate: Candidate, floor: Candidate, members: Collection[str], name: str
) -> Candidate | None:
    """``candidate`` with the jobs ``members`` as in ``floor``; None unless that passes and is worth more.

    Args:
        judge: of the round.
        candidate: a plan.
        floor: the plan that keeps everything.
        members: names of jobs.
        name: of the candidate that comes of it.
    """
    with judge.budget.phase("revert"):
        assignment = _as_in(
            floor.assignment,
            candidate.assignment,
            frozenset(judge.instance.job_index[member] for member in members),
            unlimited=not judge.instance.limits.limited,
        )
    found = judge.consider(name, assignment)
    return found if found is not None and found.value > floor.value else None


def _as_in(
    floor: Assignment, assignment: Assignment, members: frozenset[int], *, unlimited: bool
) -> Assignment:
    """``assignment``, but ``members`` as in ``floor``, as far as nobody else came to their nodes.

    Args:
        floor: the plan that keeps everything.
        assignment: another.
        members: job indices.
        unlimited: no queue has a limit, so that those start, too, that do so in ``floor`` alone and whose
            nodes nobody came to.
    """
    placed = {j: where for j, where in assignment.placed.items() if j not in members}
    taken = {node for j, where in placed.items() if floor.placed.get(j) != where for node, _ in where.spots}
    for j, where in floor.placed.items():
        waits = j in members or (unlimited and j not in placed and j not in assignment.kept)
        if waits and taken.isdisjoint(node for node, _ in where.spots):
            placed[j] = where
    kept = (assignment.kept - members) | (floor.kept & members)
    return Assignment(kept, placed, assignment.unbound)


def _same(before: Candidate, after: Candidate, members: Collection[str], bundles: Collection[Bundle]) -> bool:
    """Whether ``after`` has the bundles of ``before`` that are without ``members``, worth as much as there.

    They are where the same is said of all but ``members``, new starts need nobody's place, and all in the
    bundles fare as before.
    """
    mine, theirs = after.action_of, before.action_of
    if any(mine.get(name) is not theirs[name] for name in theirs if name not in members):
        return False
    new = [action for name, action in mine.items() if name in members or name not in theirs]
    if any(is_chosen(action) or action.depends_on for action in new):
        return False
    now, then = after.verification.outcomes, before.verification.outcomes
    return all(now[action.job] == then[action.job] for bundle in bundles for action in bundle)
