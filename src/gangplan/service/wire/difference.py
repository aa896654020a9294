"""An answer as the difference from the one before, and back.

Every job has an action that gives it a place, or a verdict: an EVICT may be beside it, or a RESERVE. A job
that has neither in a difference, and that there still is, has what it had: the same verdict, or KEEP with the
same placements, scope and throughput. A RESERVE is said once, when the promise is made, beside either.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from gangplan.domain.plan import Action, ActionKind, RoundResult, Verdict
from gangplan.v1 import plan_pb2, round_pb2, verdict_pb2

_RESERVE = plan_pb2.ACTION_KIND_RESERVE
_STOPS, _PROMISES = ActionKind.EVICT, ActionKind.RESERVE


class Said(NamedTuple):
    """What an answer said of jobs, for the difference of the next one.

    Attributes:
        actions: by job; RESERVEs left out.
        verdicts: by job.
    """

    actions: Mapping[str, Action]
    verdicts: Mapping[str, Verdict]

    @classmethod
    def by(cls, result: RoundResult) -> Said:
        """What ``result`` says."""
        actions = {action.job: action for action in result.plan.actions if action.kind is not _PROMISES}
        return cls(actions, {verdict.job: verdict for verdict in result.verdicts})


def difference(last: Said, result: RoundResult) -> RoundResult:
    """``result`` without what follows from ``last``; what a KEEP is worth by term is not said again.

    It is left out before anything is written: to write a whole answer takes longer than all else that a small
    delta costs around the planner.
    """
    actions = [
        action
        for action in result.plan.actions
        if (before := last.actions.get(action.job)) is None or not _goes_on(before, action)
    ]
    named = {action.job for action in actions if action.kind is not _PROMISES}
    verdicts = [
        verdict
        for verdict in result.verdicts
        if verdict.job in named or last.verdicts.get(verdict.job) != verdict
    ]
    plan = replace(result.plan, actions=tuple(actions))
    return replace(result, plan=plan, verdicts=tuple(verdicts))


def expand(
    last: round_pb2.PlanRoundResponse, short: round_pb2.PlanRoundResponse, jobs: Collection[str]
) -> round_pb2.PlanRoundResponse:
    """The whole answer.

    Args:
        last: the whole answer before, which the difference is from.
        short: the difference.
        jobs: names of the jobs that there are.
    """
    whole = round_pb2.PlanRoundResponse()
    whole.CopyFrom(short)
    named = _named(short) | {verdict.job for verdict in short.verdicts}
    taken = {action.action_id for action in short.plan.actions}
    for action in last.plan.actions:
        if action.job in named or action.job not in jobs:
            continue
        if action.kind not in (plan_pb2.ACTION_KIND_EVICT, _RESERVE):
            kept = _bare_keep(action)
            kept.action_id = _new_id(action.job, taken)
            whole.plan.actions.append(kept)
    for verdict in last.verdicts:
        if verdict.job not in named and verdict.job in jobs:
            whole.verdicts.append(verdict)
    _sort(whole)
    return whole


def _named(short: round_pb2.PlanRoundResponse) -> set[str]:
    """Jobs of whom a difference says an action; promises are beside whatever goes on."""
    return {action.job for action in short.plan.actions if action.kind != _RESERVE}


def _goes_on(before: Action, after: Action) -> bool:
    """Whether ``after`` is the KEEP that follows from ``before``: says as much, and nothing beside it."""
    return (
        after.kind is ActionKind.KEEP
        and before.kind is not _STOPS
        and (after.placements is before.placements or after.placements == before.placements)
        and after.throughput == before.throughput
        and after.scope == before.scope
        and after.preconditions == before.preconditions
        and after.forced is None
        and after.not_before is None
        and after.reservation is None
        and not after.depends_on
        and not after.beneficiaries
    )


def _bare_keep(before: plan_pb2.Action) -> plan_pb2.Action:
    return plan_pb2.Action(
        kind=plan_pb2.ACTION_KIND_KEEP,
        job=before.job,
        placements=before.placements,
        scope=before.scope,
        throughput=before.throughput,
        preconditions=before.preconditions,
    )


def _new_id(job: str, taken: set[str]) -> str:
    """As the planner calls a KEEP, unless that is taken."""
    name = f"keep:{job}"
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _sort(whole: round_pb2.PlanRoundResponse) -> None:
    """KEEPs that were put back come first, verdicts in the order of names, as in every answer."""
    verdicts: list[verdict_pb2.Verdict] = sorted(whole.verdicts, key=lambda verdict: verdict.job)
    del whole.verdicts[:]
    whole.verdicts.extend(verdicts)
