"""Policies that plan ahead on small cases of their papers, worked by hand."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import Component, Job, TaskGroup, ThroughputProfile
from gangplan.domain.round import Round
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.planning import policies
from gangplan.planning.policies.minimum_share import Room, Scalable, shares
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.loop import Settings, play


def a_job(
    name: str,
    work: float,
    *,
    at: float = 0.0,
    deadline: float | None = None,
    counts: tuple[int, ...] = (1,),
    profile: str | None = None,
    weight: float = 1.0,
) -> Arrival:
    """A job with so much work that may have any of these numbers of devices, and asks for the first."""
    group = TaskGroup(count=counts[0], allowed_counts=counts, profile=profile)
    job = Job(name, component=Component((group,)), submit_time=at, deadline=deadline, weight=weight)
    return Arrival(job, work)


def ends(
    name: str,
    *arrivals: Arrival,
    devices: int,
    round_seconds: float,
    speeds: dict[str, dict[int, float]] | None = None,
) -> dict[str, float | None]:
    """When each job ends on one node of so many devices."""
    profiles = tuple(
        ThroughputProfile(
            profile, {("A", count, scope): x for count, x in by_count.items() for scope in (NODE, CLUSTER)}
        )
        for profile, by_count in (speeds or {}).items()
    )
    template = Round(
        round_seconds=round_seconds,
        cluster=Cluster(nodes=(Node("n", accelerator_type="A", device_count=devices),)),
        accelerators=(AcceleratorType("A", 1.0),),
        profiles=profiles,
    )
    played = play(History(template, arrivals), policies.make(name), Settings(most_rounds=400))
    return {name: state.finished for name, state in sorted(played.state.jobs.items())}


CONCAVE = {"concave": {1: 1.0, 2: 1.5}}


def concave(name: str, work: float, deadline: float | None) -> Arrival:
    return a_job(name, work, deadline=deadline, counts=(1, 2), profile="concave")


def test_elasticflow_shares_where_earliest_deadline_first_does_not() -> None:
    """Concave speeds, as the paper argues with (ASPLOS 2023, section 2): 1 on one device, 1.5 on two.

    Two devices; a and b have 180 each, by 180 and by 210. Earliest deadline first gives a both: it ends at
    180 / 1.5 = 120, and b at 240, which is late. The minimum satisfactory share of both is one device: 180
    by 180.
    """
    jobs = concave("a", 180, 180), concave("b", 180, 210)
    first = ends("earliest-deadline", *jobs, devices=2, round_seconds=30, speeds=CONCAVE)
    assert first == {"a": 120.0, "b": 240.0}
    shared = ends("elasticflow", *jobs, devices=2, round_seconds=30, speeds=CONCAVE)
    assert shared == {"a": 180.0, "b": 180.0}


def test_elasticflow_declines_who_would_make_an_admitted_one_late() -> None:
    """The same two, and c with 60 by 100, which comes last (by name).

    With c, in the order of deadlines: c one device to 60, a one to 180, and b has none to 60, one to 180 and
    two to 210: 120 + 1.5 x 30 = 165 of 180. So c is declined, and it is served when its deadline is over and
    both devices are free, at 180: 60 / 1.5 = 40 s. It alone would have been admitted.
    """
    jobs = concave("a", 180, 180), concave("b", 180, 210), concave("c", 60, 100)
    found = ends("elasticflow-singly", *jobs, devices=2, round_seconds=30, speeds=CONCAVE)
    assert found == {"a": 180.0, "b": 180.0, "c": 220.0}
    assert ends("elasticflow", jobs[2], devices=2, round_seconds=30, speeds=CONCAVE) == {"c": 40.0}


def test_elasticflow_judges_those_of_a_round_together() -> None:
    """The same three, as the public code has it: together they cannot be met, so none is admitted.

    Each comes back when its deadline is over. c at 120, on both devices: 60 / 1.5 = 40 s. a at 180, on both,
    has 45 done at 210, when b comes: one device each, so a ends at 210 + 135 = 345. b has 150 done at 360,
    and the
    other device from then on: 30 / 1.5 = 20 s.
    """
    jobs = concave("a", 180, 180), concave("b", 180, 210), concave("c", 60, 100)
    found = ends("elasticflow", *jobs, devices=2, round_seconds=30, speeds=CONCAVE)
    assert found == {"a": 345.0, "b": 380.0, "c": 160.0}


def test_elasticflow_gives_what_is_free_where_device_time_grows_least() -> None:
    """Three devices, no hurry: a doubles its speed on two (1, 2), b does not (1, 1.2); 120 of work each.

    Each has one. The third costs a nothing (120 device-seconds either way) and b 120 / 1.2 x 2 - 120 = 80. So
    a ends at 60; then b has two from 60 on, where it has 60 left: 60 + 60 / 1.2 = 110.
    """
    speeds = {"linear": {1: 1.0, 2: 2.0}, "flat": {1: 1.0, 2: 1.2}}
    jobs = (
        a_job("a", 120, deadline=4000, counts=(1, 2), profile="linear"),
        a_job("b", 120, deadline=4000, counts=(1, 2), profile="flat"),
    )
    assert ends("elasticflow", *jobs, devices=3, round_seconds=30, speeds=speeds) == {"a": 60.0, "b": 110.0}


def test_chronus_leaves_the_next_lease_to_those_without_deadlines_while_it_can() -> None:
    """One device, leases of four rounds of 60 s. s has 480 (two leases) by 960, b 240 (one) and no deadline.

    The programme loads the next lease least: s needs two of four, so b has the first, to 240, and s the next
    two, to 720. Earliest deadline first ends s at 480 and b at 720.
    """
    s, b = a_job("s", 480, deadline=960), a_job("b", 240)
    assert ends("chronus", s, b, devices=1, round_seconds=60) == {"b": 240.0, "s": 720.0}
    assert ends("earliest-deadline", s, b, devices=1, round_seconds=60) == {"b": 720.0, "s": 480.0}


def test_chronus_takes_in_who_can_be_met_with_all_others() -> None:
    """s and t by 960: of four leases on one device s needs two; t fits with two and does not with three.

    With 480, t is taken in, and both are done by 960, in whatever order. With 720 it is not: it is served as
    one without a deadline, but s, shorter, goes first once it must: s is met, t ends at 480 + 720 = 1200.
    """
    s = a_job("s", 480, deadline=960)
    met = ends("chronus", s, a_job("t", 480, deadline=960), devices=1, round_seconds=60)
    assert max(end or math.inf for end in met.values()) == 960.0
    found = ends("chronus", s, a_job("t", 720, deadline=960), devices=1, round_seconds=60)
    assert found["t"] == 1200.0
    assert (found["s"] or math.inf) <= 960.0


def test_pollux_gives_devices_to_whom_they_speed_up() -> None:
    """Four devices, a linear (1, 2, 3 on 1, 2, 3), b flat (1, 1.2, 1.3); 180 of work each.

    With a fair share of two each, speedups are a 1/2, 1, 3/2 and b 5/6, 1, 13/12, and their inverses sum to 2
    for 2 + 2, and to 2/3 + 6/5 = 1.87 for 3 + 1. So a has three and ends at 60, when b, on one, has 120 left.
    Alone, its fair share is all that it can have: one device has 1.3 / 1 as inverse, three 1 / 0.9 (it would
    be stopped for it). So it has three: 60 + 120 / 1.3 = 152.3.
    """
    speeds = {"linear": {1: 1.0, 2: 2.0, 3: 3.0}, "flat": {1: 1.0, 2: 1.2, 3: 1.3}}
    found = ends(
        "pollux",
        a_job("a", 180, counts=(1, 2, 3), profile="linear"),
        a_job("b", 180, counts=(1, 2, 3), profile="flat"),
        devices=4,
        round_seconds=60,
        speeds=speeds,
    )
    assert found["a"] == 60.0
    assert math.isclose(found["b"] or 0.0, 60 + 120 / 1.3)


def test_shockwave_ends_jobs_by_the_finish_that_it_promised() -> None:
    """One device, rounds of 120 s: a has 240, b 1,200, both there at once: each is promised twice its time.

    a must end by 480 and b by 2,400. Whatever gives a two of the first four rounds keeps both promises; the
    work is twelve rounds, so the later one ends at 1,440, and that is b.
    """
    found = ends("shockwave", a_job("a", 240), a_job("b", 1200), devices=1, round_seconds=120)
    assert found["b"] == 1440.0
    assert (found["a"] or math.inf) <= 480.0


@st.composite
def scalables(draw: st.DrawFn) -> list[Scalable]:
    found = []
    for _ in range(draw(st.integers(1, 6))):
        levels = (1, 2, 4, 8)[: draw(st.integers(1, 4))]
        gains = [1.0, *(draw(st.floats(1.05, 2.0)) for _ in levels[1:])]
        rates = tuple(math.prod(gains[: n + 1]) for n in range(len(levels)))
        deadline = draw(st.floats(5.0, 400.0))
        found.append(Scalable(levels, rates, draw(st.floats(1.0, 500.0)), deadline))
    return found


@given(scalables())
def test_minimum_shares_fit_and_do_what_they_say(jobs: list[Scalable]) -> None:
    """Nobody has more than there is, everybody does all its work, and who is not late does it in time."""
    room = Room(0.0, 10.0, 8)
    found = shares(room, jobs)
    assert all(0 <= free <= 8 for free in room.free)
    times = sorted({0.0, *(t for one in found for t in (*one.begins, one.until))})
    for time in times:
        held = sum(
            max(((b, d) for b, d in zip(one.begins, one.devices, strict=True) if b <= time), default=(0, 0))[
                1
            ]
            for one in found
            if time < one.until
        )
        assert held <= 8
    for job, one in zip(jobs, found, strict=True):
        done = 0.0
        for begin, end, devices in zip(one.begins, (*one.begins[1:], one.ends), one.devices, strict=True):
            if devices:
                done += job.rates[job.levels.index(devices)] * (end - begin)
        assert math.isclose(done, job.left, rel_tol=1e-6)
        assert one.late == (one.ends > job.deadline + 1e-8)
        assert one.ends <= one.until <= one.ends + 10.0 + 1e-6
    first = min(range(len(jobs)), key=lambda n: jobs[n].deadline)
    job, one = jobs[first], found[first]
    if not one.late:  # alone with all there is, no lower level would have done
        needed = job.left / job.deadline
        least = next(
            level for level, rate in zip(job.levels, job.rates, strict=True) if rate >= needed * (1 - 1e-9)
        )
        assert max(one.devices) <= least
