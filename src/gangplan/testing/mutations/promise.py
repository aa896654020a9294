"""Promises that are none, and plans that break those made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gangplan.domain.job import Gate
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.testing.edits import jobs_by_name, with_action, with_job, with_node
from gangplan.testing.mutations.registry import breaks


def _promise(round_: Round, plan: Plan, **fields: Any) -> Iterator[Plan]:
    """The plan with a RESERVE in place of every PLACE, each alone."""
    for action in plan.actions:
        if action.kind is ActionKind.PLACE and not any(p.shares for p in action.placements):
            late = round_.now + 1e9
            promise = Reservation(action.job, None, late, late, placements=action.placements)
            reserve = Action("r", ActionKind.RESERVE, action.job, reservation=replace(promise, **fields))
            yield replace(plan, actions=(*(a for a in plan.actions if a is not action), reserve))


@breaks("promise.delayed")
def _in_the_way_of_a_promise(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    """Another job is promised the place where one starts that will not be gone by then."""
    for action in plan.actions:
        if action.kind is ActionKind.PLACE and not any(p.shares for p in action.placements):
            twin = replace(jobs_by_name(round_)[action.job], name="promised")
            soon = Reservation(
                "promised", None, round_.now - 1.0, round_.now + 9e3, placements=action.placements
            )
            yield replace(round_, jobs=(*round_.jobs, twin), reservations=(soon,)), plan


@breaks("promise.room-taken")
def _in_the_queue_of_a_promise(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    """Another job is promised all of a limit, under which one starts that will not be gone by then."""
    for action in plan.actions:
        if action.kind is ActionKind.PLACE and not any(p.shares for p in action.placements):
            job = jobs_by_name(round_)[action.job]
            each = {group.name: group.devices_per_task for group in job.component.task_groups}
            devices = sum(each[place.group] * place.tasks for place in action.placements)
            if not devices:
                continue
            twin = replace(job, name="promised", queue="kept", gate=Gate(held=True))
            soon = Reservation(
                "promised", None, round_.now - 1.0, round_.now + 9e3, placements=action.placements
            )
            limited = replace(
                round_,
                jobs=(*round_.jobs, twin),
                queues=(*round_.queues, Queue("kept", device_limit=devices)),
                reservations=(soon,),
            )
            yield with_job(limited, action.job, queue="kept"), plan


@breaks("promise.malformed")
def _no_promise(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for promising in _promise(round_, plan, job="another"):
        yield round_, promising
    for promising in _promise(round_, plan, placements=()):
        yield round_, promising
    for promising in _promise(round_, plan, expires_at=0.0):
        yield round_, promising
    for action in plan.actions:
        if action.kind is ActionKind.KEEP:
            promise = Reservation(action.job, None, round_.now, round_.now, placements=action.placements)
            yield round_, with_action(plan, action, reservation=promise)


@breaks("promise.not-kept")
def _empty_promise(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    """A place that is promised to another already, or is closed."""
    for promising in _promise(round_, plan):
        promise = promising.actions[-1].reservation
        assert promise is not None
        twin = replace(jobs_by_name(round_)[promise.job], name="promised")
        other = replace(promise, job="promised")
        yield replace(round_, jobs=(*round_.jobs, twin), reservations=(other,)), promising
        yield with_node(round_, promise.placements[0].node, cordoned=True), promising
