"""Leaving out of a plan who is done soon: what is left may pay where a bundle as a whole does not.

A bundle is judged over the shortest horizon of its members (decision 13), and hundreds of exchanges are one
bundle where each needs a place of the next. Two or three of them may be for nothing that lasts: a job is
stopped that is done soon, or stopped only for starts that are. These go back to what they do in the plan that
keeps everything, with whoever needs the place of one of them and whoever makes room for nobody else. All
others stay as planned, so that it takes one verification and one look. To plan anew around those who are
stopped takes prices and the greedy besides, and what starts soon done stops somebody else the next time.

Measured on ``XL/steady/85/seed2``: of a bundle of 913 jobs that does not pay six go back, and all of the rest
pays, .01 % less in value, after a tenth of a second; planned anew it took .4 to .7 s and three plans
(``benchmarks/results/2026-11-30-first-plans.md``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

from gangplan.engine.bundles import is_chosen
from gangplan.engine.put_back import without

if TYPE_CHECKING:
    from gangplan.domain.plan import Action
    from gangplan.engine.judge import Candidate, Judge

NAME = "leave_out"
"""Of the candidates."""


def leave_out(
    judge: Judge, candidate: Candidate, floor: Candidate, soon: Collection[Action]
) -> Candidate | None:
    """``candidate`` without the disruptions ``soon`` and what hangs together with them.

    Args:
        judge: of the round.
        candidate: a plan.
        floor: the plan that keeps everything.
        soon: disruptions of ``candidate`` by choice.

    Returns:
        A verified plan worth more than ``floor``, whose bundles are still to be looked at; else None.
    """
    judge.count("left_out", 1)
    with judge.budget.phase("revert"):
        members = hanging_together(candidate, soon)
    return without(judge, candidate, floor, members, NAME)


def hanging_together(candidate: Candidate, soon: Collection[Action]) -> set[str]:
    """Names of the jobs that go back with the disruptions ``soon`` of ``candidate``.

    Whoever is not stopped after all needs its place, so that who was to have it goes back, too; and who was
    stopped for none but those who go back.
    """
    action_of = candidate.action_of
    followers: dict[str, set[str]] = defaultdict(set)
    by_id = {action.id: action.job for action in candidate.plan.actions if is_chosen(action)}
    for action in candidate.plan.actions:
        for stop in action.depends_on:
            if stop in by_id:
                followers[by_id[stop]].add(action.job)
        if action.id in by_id:
            followers[action.job].update(name for name in action.beneficiaries if name in action_of)
    stopped_for: dict[str, list[str]] = defaultdict(list)
    waiting = {name: len(others) for name, others in followers.items()}
    for name, others in followers.items():
        for other in others:
            stopped_for[other].append(name)
    found: set[str] = set()
    going = [action.job for action in soon]
    while going:
        name = going.pop()
        if name in found:
            continue
        found.add(name)
        going += followers.get(name, ())
        for stopped in stopped_for.get(name, ()):
            waiting[stopped] -= 1
            if not waiting[stopped]:
                going.append(stopped)
    return found
