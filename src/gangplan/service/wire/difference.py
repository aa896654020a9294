"""An answer as the difference from the one before, and back.

Every job has an action that gives it a place, or a verdict: an EVICT may be beside it, or a RESERVE. A job
that has neither in a difference, and that there still is, has what it had: the same verdict, or KEEP with the
same placements, scope and throughput. A RESERVE is said once, when the promise is made, beside either.
"""

from __future__ import annotations

from collections.abc import Collection

from gangplan.v1 import plan_pb2, round_pb2, verdict_pb2

_RESERVE = plan_pb2.ACTION_KIND_RESERVE


def difference(
    last: round_pb2.PlanRoundResponse, answer: round_pb2.PlanRoundResponse
) -> round_pb2.PlanRoundResponse:
    """``answer`` without what follows from ``last``; what a KEEP is worth by term is not said again."""
    actions = {action.job: action for action in last.plan.actions if action.kind != _RESERVE}
    verdicts = {verdict.job: verdict for verdict in last.verdicts}
    short = round_pb2.PlanRoundResponse()
    short.CopyFrom(answer)
    del short.plan.actions[:]
    del short.verdicts[:]
    for action in answer.plan.actions:
        before = actions.get(action.job)
        if before is None or not _goes_on(before, action):
            short.plan.actions.append(action)
    named = _named(short)
    for verdict in answer.verdicts:
        if verdict.job in named or verdicts.get(verdict.job) != verdict:
            short.verdicts.append(verdict)
    return short


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


def _goes_on(before: plan_pb2.Action, after: plan_pb2.Action) -> bool:
    """Whether ``after`` is the KEEP that follows from ``before``: says as much, and nothing beside it.

    Field by field, what is told from others soonest first: to make that KEEP and compare takes twice as long.
    """
    return (
        after.kind == plan_pb2.ACTION_KIND_KEEP
        and before.kind != plan_pb2.ACTION_KIND_EVICT
        and after.job == before.job
        and after.scope == before.scope
        and after.throughput == before.throughput
        and not after.forced_reason
        and not after.depends_on
        and not after.beneficiaries
        and not after.HasField("not_before")
        and not after.HasField("expires_at")
        and not after.HasField("reservation")
        and after.placements == before.placements
        and after.preconditions == before.preconditions
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
