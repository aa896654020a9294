"""Plans that start who must wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.job import Gate, Interactive
from gangplan.domain.plan import ActionKind, Plan
from gangplan.domain.round import Round
from gangplan.testing.edits import jobs_by_name, with_job
from gangplan.testing.mutations.registry import breaks


@breaks("gate.held")
def _held(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        if action.kind not in (ActionKind.KEEP, ActionKind.EVICT):
            yield with_job(round_, action.job, gate=Gate(held=True)), plan


@breaks("gate.not-before")
def _not_yet(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        if action.kind not in (ActionKind.KEEP, ActionKind.EVICT):
            yield with_job(round_, action.job, gate=Gate(not_before=round_.now + 1.0)), plan


@breaks("gate.after-jobs")
def _after_another(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        others = [job.name for job in round_.jobs if job.name != action.job]
        if others and action.kind not in (ActionKind.KEEP, ActionKind.EVICT):
            yield with_job(round_, action.job, gate=Gate(after_jobs=("done", others[0]))), plan


@breaks("gate.idle")
def _idle(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    """Who is started, moved or resized has been idle for as long as its limit."""
    for action in plan.actions:
        if action.kind not in (ActionKind.KEEP, ActionKind.EVICT):
            yield with_job(round_, action.job, interactive=Interactive(1.0, 60.0, round_.now - 60.0)), plan


@breaks("gate.run-limit")
def _runs_too_long(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    short = replace(round_, policy=replace(round_.policy, longest_run_seconds=1.0))
    for action in plan.actions:
        if action.kind is ActionKind.PLACE:
            rigid = replace(jobs_by_name(round_)[action.job].capabilities, pausable=False)
            yield with_job(short, action.job, capabilities=rigid, work_left=None, left_quantiles=None), plan
            yield with_job(short, action.job, checkpoint_seconds=2.0), plan
