"""A promise that the verifier lets a plan make is kept: whoever is in its way stops in time (P17).

Played round by round without an engine: only those stop who are forced to, of whom both sides know.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, example, given
from hypothesis import strategies as st

from gangplan.domain.job import Capabilities, Job, TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import Action, ActionKind, ForcedReason, Plan
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.model.instance.instance import build_instance
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, job, node, round_of

LENGTH = 60.0
"""Seconds of a round."""
START = 6_000.0


def holder(number: int, notice: float, free: float | None, left: float | None) -> Job:
    """One who holds a device, gives notice and is left alone until ``free``; with ``left``, until his end."""
    found = job(f"held-{number}", running=at("a", [number]), checkpoint_seconds=notice, work_left=left)
    assert found.running is not None
    running = replace(found.running, minimum_run_until=None if free is None else START + free)
    return replace(found, running=running, capabilities=Capabilities(pausable=left is None))


holders = st.builds(
    lambda *each: [holder(number, *one) for number, one in enumerate(each)],
    *[
        st.tuples(
            st.sampled_from([0.0, 10.0, 90.0, 300.0]),
            st.none() | st.integers(0, 15).map(lambda rounds: rounds * 50.0),
            st.none() | st.integers(1, 15).map(lambda rounds: rounds * 45.0),
        )
    ]
    * 3,
)


def begun(now: float, jobs: list[Job], promise: Reservation | None, *, by_queue: bool) -> Round:
    """Three devices that are held, and where the promised job needs them, or room in their queue."""
    big = job("big", gpus=3, queue="q")
    nodes = [node("a", "H100", 3), node("b", "H100", 3)]
    queues = (Queue("q", device_limit=3 if by_queue else None),)
    members = [replace(each, queue="q") for each in (*jobs, big)]
    reservations = () if promise is None else (promise,)
    round_ = round_of(nodes, members, queues=queues, round_seconds=LENGTH, reservations=reservations)
    return replace(round_, now=now)


def place(*, by_queue: bool) -> TaskPlacement:
    return at("b" if by_queue else "a", range(3))


def earliest(held: Job) -> float:
    """By when who runs has ended, or can be stopped, with a round to see it."""
    if not held.capabilities.pausable:
        return START + (held.work_left or 0.0) + LENGTH
    assert held.running is not None
    return max(held.running.minimum_run_until or 0.0, START + LENGTH) + LENGTH + held.checkpoint_seconds


@example(jobs=[holder(0, 300.0, None, None), holder(1, 10.0, 900.0, None)], spare=30, by_queue=False)
@example(jobs=[holder(0, 300.0, None, None), holder(1, 0.0, None, 800.0)], spare=0, by_queue=True)
@given(jobs=holders, spare=st.integers(0, 150), by_queue=st.booleans())
def test_who_is_in_the_way_stops_in_time(jobs: list[Job], spare: int, *, by_queue: bool) -> None:
    """Those with a long notice give it in time, though others may be stopped or end only later."""
    latest = max(map(earliest, jobs)) + spare
    promise = Reservation("big", None, latest, latest + 10_000.0, placements=(place(by_queue=by_queue),))
    first = begun(START, jobs, None, by_queue=by_queue)
    kept = [Action(x.name, ActionKind.KEEP, x.name, x.running.placements) for x in jobs if x.running]
    plan = Plan((*kept, Action("promise", ActionKind.RESERVE, "big", reservation=promise)))
    assume(not any(found.rule.startswith("promise.") for found in verify(first, plan).violations))
    ends = {each.name: START + each.work_left for each in jobs if each.work_left is not None}
    free, now = START, START
    while True:
        now += LENGTH
        assert now <= latest
        here = [each for each in jobs if ends.get(each.name, now + 1) > now]
        round_ = begun(now, here, promise, by_queue=by_queue)
        instance, facts = build_instance(round_), round_facts(round_)
        assert {instance.jobs[j].name: why for j, why in instance.forced.items()} == facts.forced
        stopped = {name for name, why in facts.forced.items() if why is ForcedReason.PROMISE_DUE}
        free = max([free, *(now + each.checkpoint_seconds for each in here if each.name in stopped)])
        jobs = [each for each in here if each.name not in stopped]
        if facts.due:
            break
    assert max(now, free) <= latest
