"""Apply a plan with the clock frozen: the round as it is once every action has happened.

What a test of fixed points (property P7, decision 14) needs: plan, apply, plan again, and nothing moves.
"""

from __future__ import annotations

from dataclasses import replace

from gangplan.domain.job import Job, Running
from gangplan.domain.plan import Action, ActionKind, Plan
from gangplan.domain.round import Round


def apply(round_: Round, plan: Plan) -> Round:
    """The round after ``plan``, at the same ``now``.

    A kept job stays as it is; one that starts, moves or is resized runs since now and has lost nothing; one
    that is evicted waits; who was disturbed by choice remembers it. Work done, fair progress and everything
    else are as before. Promises that the plan makes are added to those of the round.

    Args:
        round_: the round.
        plan: a plan for it, as the verifier accepts.

    Raises:
        KeyError: an action names a job that the round does not have.
    """
    actions = {action.job: action for action in plan.actions}
    unknown = actions.keys() - {job.name for job in round_.jobs}
    if unknown:
        raise KeyError(f"not jobs of the round: {sorted(unknown)}")
    made = tuple(action.reservation for action in plan.actions if action.reservation is not None)
    jobs = tuple(_after(job, actions.get(job.name), round_.now) for job in round_.jobs)
    return replace(round_, jobs=jobs, reservations=(*round_.reservations, *made))


def _after(job: Job, action: Action | None, now: float) -> Job:
    if action is None or action.kind in (ActionKind.KEEP, ActionKind.RESERVE):
        return job
    if action.forced is None and action.kind is not ActionKind.PLACE:
        job = replace(job, disrupted_at=(*job.disrupted_at, now))
    if action.kind is ActionKind.EVICT:
        return replace(job, running=None)
    return replace(job, running=Running(action.placements, started_at=now, checkpoint_age_seconds=0.0))


def begin(round_: Round, plan: Plan) -> Round:
    """The round while ``plan`` is under way, at the same ``now``.

    What waits for nothing has happened, but for evictions: who is to stop for others, or to stop and then to
    wait, is being stopped and holds its place until it has. What waits for that has not happened, and those
    that start so bring their claims along.

    Args:
        round_: the round.
        plan: a plan for it, as the verifier accepts.
    """
    stopping = {
        action.job
        for action in plan.actions
        if action.kind is ActionKind.EVICT
        or (action.depends_on and action.kind in (ActionKind.MIGRATE, ActionKind.RESIZE))
    }
    done = [action for action in plan.actions if action.job not in stopping and not action.depends_on]
    after = apply(round_, Plan(tuple(done)))
    jobs = [
        replace(job, running=replace(job.running, stopping=True))
        if job.name in stopping and job.running is not None
        else job
        for job in after.jobs
    ]
    return replace(after, jobs=tuple(jobs), claims=plan.claims)
