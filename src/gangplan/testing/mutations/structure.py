"""Plans that do not say what plans say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.plan import ActionKind, ForcedReason, Plan, Precondition
from gangplan.domain.round import Round
from gangplan.testing.edits import jobs_by_name, started_placements, with_action, with_placement
from gangplan.testing.mutations.registry import breaks


@breaks("structure.action-id")
def _same_id(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions[1:]:
        yield round_, with_action(plan, action, id=plan.actions[0].id)


@breaks("structure.action-id")
def _no_id(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, with_action(plan, action, id="")


@breaks("structure.unknown-job")
def _unknown_job(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, with_action(plan, action, job="no such job")


@breaks("structure.repeated-job")
def _twice(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, Plan((*plan.actions, replace(action, id="once more")))


@breaks("structure.missing-action")
def _left_out(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        if action.kind is not ActionKind.PLACE:
            yield round_, Plan(tuple(a for a in plan.actions if a is not action))


@breaks("structure.kind")
def _other_kind(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        for kind in ActionKind:
            if kind not in (action.kind, ActionKind.EVICT):
                yield round_, with_action(plan, action, kind=kind)


@breaks("structure.forced")
def _other_reason(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, with_action(plan, action, forced=None if action.forced else ForcedReason.NODE_GONE)


@breaks("structure.evict-placements")
def _ghost(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        running = jobs_by_name(round_)[action.job].running
        if action.kind is ActionKind.EVICT and running is not None:
            yield round_, with_action(plan, action, placements=running.placements)


@breaks("structure.unknown-node")
def _nowhere(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, _ in started_placements(plan):
        yield round_, with_placement(plan, action, index, node="no such node")


@breaks("structure.unknown-group")
def _nobody(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, _ in started_placements(plan):
        yield round_, with_placement(plan, action, index, group="no such group")


@breaks("structure.task-count")
def _no_tasks(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, _ in started_placements(plan):
        yield round_, with_placement(plan, action, index, tasks=0)
        yield round_, with_placement(plan, action, index, tasks=-1)


@breaks("structure.repeated-placement")
def _same_place(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, _, placement in started_placements(plan):
        yield round_, with_action(plan, action, placements=(*action.placements, placement))


@breaks("structure.device-order")
def _reversed(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action, index, placement in started_placements(plan):
        if len(placement.devices) > 1:
            yield round_, with_placement(plan, action, index, devices=placement.devices[::-1])


@breaks("structure.scope")
def _other_scope(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        for scope in round_.cluster.topology.scopes:
            if scope != action.scope:
                yield round_, with_action(plan, action, scope=scope)


@breaks("structure.throughput")
def _boast(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, with_action(plan, action, throughput=action.throughput * 2 + 1)
        yield round_, with_action(plan, action, throughput=float("nan"))


@breaks("structure.worth")
def _priceless(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        yield round_, with_action(plan, action, cost_by_term={"no such term": 1.0})
        yield round_, with_action(plan, action, cost_by_term={"switching": 1.0})


@breaks("structure.precondition")
def _stale(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for action in plan.actions:
        for read in (Precondition("job", action.job, "no such revision"), Precondition("moon", "x", "")):
            yield round_, with_action(plan, action, preconditions=(read,))
