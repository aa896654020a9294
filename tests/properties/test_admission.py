"""Letting jobs in: a YES is a schedule that the verifier accepts, a NO what no schedule can do."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.admission import Admission, AdmissionVerdict
from gangplan.domain.job import DeadlineKind
from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.engine.admit import admit
from gangplan.model.verifier.verify import verify
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.window import Goal, plan_window, window_of
from gangplan.testing.builders import job, node, round_of
from gangplan.testing.strategies import rounds

from .planned import drawn, in_depth

pytestmark = pytest.mark.timeout(900)
SLOT = 300.0


@in_depth
def depth():
    """Quick or deep."""


@st.composite
def crowded(draw: st.DrawFn) -> Round:
    """One or two small nodes and up to three jobs with deadlines, all in whole slots; nothing runs yet."""
    nodes = [node(f"n{i}", "T", draw(st.sampled_from([4, 2, 8, 3]))) for i in range(draw(st.integers(1, 2)))]
    jobs = []
    for i in range(draw(st.integers(1, 3))):
        gpus, length = draw(st.integers(1, 5)), draw(st.integers(1, 3))
        deadline = draw(st.integers(length, 5))
        jobs.append(
            job(
                f"j{i}",
                gpus=gpus,
                work_left=gpus * length * SLOT,
                deadline=deadline * SLOT,
                deadline_kind=DeadlineKind.STRICT,
                required="node",
            )
        )
    return round_of(nodes, jobs, now=0.0, round_seconds=SLOT)


def possible(round_: Round) -> bool:
    """By brute force: whether jobs, moved and stopped for free in whole slots, can be done in time."""
    room = [n.device_count for n in round_.cluster.nodes]
    jobs = round_.jobs
    size = [one.component.task_groups[0].count for one in jobs]
    length = [round((one.work_left or 0.0) / (s * SLOT)) for one, s in zip(jobs, size, strict=True)]
    last = [round((one.deadline or 0.0) / SLOT) for one in jobs]
    fits = [
        places
        for places in itertools.product(range(-1, len(room)), repeat=len(jobs))
        if all(
            sum(s for s, p in zip(size, places, strict=True) if p == n) <= room[n] for n in range(len(room))
        )
    ]
    together = {tuple(p >= 0 for p in places) for places in fits}
    states = {tuple(length)}
    for slot in range(max(last)):
        states = {
            tuple(
                max(0, left - (run and slot < end)) for left, run, end in zip(state, runs, last, strict=True)
            )
            for state in states
            for runs in together
        }
    return any(not any(state) for state in states)


def met_in_the_window(round_: Round) -> float:
    """How many deadlines are met at most, by the exact window programme over all rounds to the last one.

    A job that no node can take is none of its jobs.
    """
    largest = max(n.device_count for n in round_.cluster.nodes)
    jobs = [one for one in round_.jobs if one.component.task_groups[0].count <= largest]
    arrivals = tuple(Arrival(replace(one, submit_time=round_.now), one.work_left or 0.0) for one in jobs)
    last = max(round((one.deadline or 0.0) / SLOT) for one in round_.jobs)
    if not arrivals:
        return 0.0
    window = window_of(History(replace(round_, jobs=()), arrivals), last)
    return plan_window(window, Goal.DEADLINES).bound


def check_witness(found: AdmissionVerdict, round_: Round) -> None:
    """Every step is valid, follows from the one before, and at the end all deadlines are met."""
    names = {one.name for one in round_.jobs if one.deadline is not None and one.work_left}
    done: dict[str, float] = {}
    ready: dict[str, float] = {}
    left = {one.name: one.work_left for one in found.witness[0].round.jobs if one.name in names}
    for step in found.witness:
        now = step.round.now
        assert verify(step.round, step.plan).valid
        assert step.until > now
        at_work = {a.job: a for a in step.plan.actions if a.kind is not ActionKind.EVICT}
        for one in step.round.jobs:
            if one.name not in names:
                continue
            assert one.work_left is not None
            assert one.work_left >= left[one.name] - 1e-6 * max(1.0, left[one.name])  # nothing is given away
            left[one.name] = one.work_left
            action = at_work.get(one.name)
            if action is None:
                continue
            if action.kind is not ActionKind.KEEP:
                ready[one.name] = now + one.restart_seconds
            begin = max(now, ready.get(one.name, now))
            left[one.name] -= max(0.0, step.until - begin) * action.throughput
            if left[one.name] <= 1e-6 * max(1.0, one.work_left):
                done[one.name] = begin + one.work_left / action.throughput
    deadlines = {one.name: one.deadline for one in round_.jobs if one.name in names}
    assert done.keys() == names
    assert all(done[name] <= deadlines[name] + 1e-3 for name in names)


@drawn
@given(crowded())
def test_no_is_what_no_schedule_can_do_and_yes_is_a_schedule(round_: Round) -> None:
    found = admit(round_, round_.jobs[-1].name)
    if found.answer is Admission.NO:
        assert not possible(round_)
        assert met_in_the_window(round_) < len(round_.jobs) - 0.5
    elif found.answer is not Admission.NOT_PROVED:
        check_witness(found, round_)


@drawn
@given(crowded())
def test_the_window_meets_all_deadlines_exactly_where_brute_force_does(round_: Round) -> None:
    assert (met_in_the_window(round_) > len(round_.jobs) - 0.5) == possible(round_)


@drawn
@given(crowded())
def test_the_earliest_date_is_not_refuted_and_earlier_ones_are(round_: Round) -> None:
    name = round_.jobs[-1].name
    found = admit(round_, name)
    if found.answer is not Admission.NO or found.earliest_deadline is None:
        return
    for factor, refuted in ((0.97, True), (1.0, False)):
        due = found.earliest_deadline * factor
        jobs = tuple(replace(one, deadline=due) if one.name == name else one for one in round_.jobs)
        answer = admit(replace(round_, jobs=jobs), name).answer
        assert (answer is Admission.NO) == refuted


@drawn
@given(rounds(), st.data())
def test_any_round_gets_an_answer_and_a_yes_is_verified(round_: Round, data: st.DataObject) -> None:
    waiting = [one for one in round_.jobs if one.running is None]
    if not waiting:
        return
    mine = data.draw(st.sampled_from(waiting)).name
    hours = data.draw(st.sampled_from([4.0, 0.5, 24.0]))
    jobs = tuple(
        replace(one, deadline=round_.now + 3600.0 * hours, work_left=one.work_left or 3600.0)
        if one.name == mine
        else replace(one, deadline=None)
        for one in round_.jobs
    )
    asked = replace(round_, jobs=jobs)
    found = admit(asked, mine)
    if found.witness:
        check_witness(found, asked)
        assert (found.answer is Admission.YES_IF) == bool(found.giving_way)
