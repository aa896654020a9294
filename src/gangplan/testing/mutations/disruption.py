"""Plans that disturb who may not be disturbed, or too many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.plan import ActionKind, Plan
from gangplan.domain.round import Round
from gangplan.testing.edits import jobs_by_name, unforced, with_job, with_running
from gangplan.testing.mutations.registry import breaks


@breaks("disruption.safe-point")
def _unsafe(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in unforced(plan):
        yield with_running(round_, action.job, next_safe_point=round_.now + 1.0), plan


@breaks("disruption.minimum-run-time")
def _too_soon(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in unforced(plan):
        yield with_running(round_, action.job, minimum_run_until=round_.now + 1.0), plan
        patient = replace(round_, policy=replace(round_.policy, minimum_run_seconds=60.0))
        yield with_running(patient, action.job, started_at=round_.now - 59.0), plan


@breaks("disruption.job-hour")
def _once_too_often(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in unforced(plan):
        often = replace(round_, policy=replace(round_.policy, disruption_limit_per_job_hour=1))
        yield with_job(often, action.job, disrupted_at=(round_.now - 3599.0,)), plan


@breaks("disruption.limit")
def _too_many(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    count = sum(1 for _ in unforced(plan))
    if count:
        yield replace(round_, policy=replace(round_.policy, disruption_limit=count - 1)), plan


@breaks("disruption.not-pausable")
def _unpausable(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in unforced(plan, ActionKind.EVICT):
        can = replace(jobs_by_name(round_)[action.job].capabilities, pausable=False)
        yield with_job(round_, action.job, capabilities=can), plan


@breaks("disruption.not-movable")
def _unmovable(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in unforced(plan, ActionKind.MIGRATE):
        can = replace(jobs_by_name(round_)[action.job].capabilities, movable=False)
        yield with_job(round_, action.job, capabilities=can), plan


@breaks("disruption.not-resizable")
def _unresizable(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in unforced(plan, ActionKind.RESIZE):
        can = replace(jobs_by_name(round_)[action.job].capabilities, resizable=False)
        yield with_job(round_, action.job, capabilities=can), plan
