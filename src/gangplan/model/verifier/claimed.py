"""Claims in force, by the verifier's own reading (property P8).

A claim that has not expired and whose job waits is in force when the job could start there, beside all that
goes on and every claim before it, without breaking a rule: that is asked of the rules themselves, with a
plan that does nothing else. Claims are taken as they expire, then by job and place. A promise that is due is
a claim.
"""

from __future__ import annotations

from collections.abc import Callable

from gangplan.domain.job import TaskPlacement
from gangplan.domain.plan import Action, ActionKind, Claim, Plan
from gangplan.model.verifier.facts import RoundFacts
from gangplan.model.verifier.reading import Reading, read_plan
from gangplan.model.verifier.violation import Violation

Rule = Callable[[Reading], list[Violation]]


def claims_in_force(facts: RoundFacts, rules: list[Rule]) -> dict[str, tuple[TaskPlacement, ...]]:
    """Where every job with a claim in force must start, by name.

    Args:
        facts: the round's constants.
        rules: what a start must not break.
    """
    waiting = {
        job.name
        for job in facts.round.jobs
        if job.running is None and all(g.device_share is None for g in job.component.task_groups)
    }
    accepted: dict[str, Action] = {}
    owed = [Claim(one.promise.job, one.promise.placements, one.promise.expires_at) for one in facts.due]
    for claim in sorted([*facts.round.claims, *owed], key=_order):
        if claim.job not in waiting or claim.job in accepted or claim.expires_at <= facts.round.now:
            continue
        if len({(p.group, p.node) for p in claim.placements}) < len(claim.placements):
            continue
        start = Action(f"claim:{claim.job}", ActionKind.PLACE, claim.job, claim.placements)
        reading = read_plan(Plan((*accepted.values(), start)), facts)
        if claim.placements and not reading.malformed and not any(rule(reading) for rule in rules):
            accepted[claim.job] = start
    return {name: action.placements for name, action in accepted.items()}


def _order(claim: Claim) -> tuple[float, str, tuple[tuple[str, str, int, tuple[int, ...]], ...]]:
    """The order of claims; parts of devices are left out, on which none is in force."""
    places = tuple((p.group, p.node, p.tasks, p.devices) for p in claim.placements)
    return claim.expires_at, claim.job, places
