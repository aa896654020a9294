"""Peers' policies on small cases of their papers, worked by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import Component, Job, Running, TaskGroup, TaskPlacement, ThroughputProfile
from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.model.verifier.verify import verify
from gangplan.planning import policies
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.loop import Played, Settings, play


def a_job(
    name: str,
    seconds: float,
    *,
    at: float = 0.0,
    devices: int = 1,
    deadline: float | None = None,
    counts: tuple[int, ...] = (),
) -> Arrival:
    """A job that runs for so many seconds on what it asks for, at a speed of 1 for each device."""
    group = TaskGroup(count=devices, allowed_counts=counts or (devices,))
    job = Job(name, component=Component((group,)), submit_time=at, deadline=deadline)
    return Arrival(job, seconds * devices)


def a_history(
    *arrivals: Arrival,
    nodes: tuple[tuple[str, int], ...] = (("A", 1),),
    round_seconds: float = 60.0,
    profiles: tuple[ThroughputProfile, ...] = (),
) -> History:
    """Nodes of a type with so many devices each."""
    kinds = sorted({kind for kind, _ in nodes})
    template = Round(
        round_seconds=round_seconds,
        cluster=Cluster(
            nodes=tuple(Node(f"n{i}", accelerator_type=k, device_count=d) for i, (k, d) in enumerate(nodes))
        ),
        accelerators=tuple(AcceleratorType(kind, 1.0) for kind in kinds),
        profiles=profiles,
    )
    return History(template, arrivals)


def by(name: str, history: History, most_rounds: int = 400) -> Played:
    return play(history, policies.make(name), Settings(most_rounds=most_rounds))


def ends(played: Played) -> dict[str, float | None]:
    return {name: state.finished for name, state in sorted(played.state.jobs.items())}


def test_earliest_deadline_first_meets_what_first_come_misses() -> None:
    """Liu and Layland's order: b came second with the earlier deadline and stops a.

    One device, rounds of 60 s. a needs 600 s by 900, b came at 60 and needs 120 by 240. a runs 0 to 60, b 60
    to 180, a 180 to 720: both are met. First come, first served would end b at 720.
    """
    played = by(
        "earliest-deadline", a_history(a_job("a", 600, deadline=900), a_job("b", 120, at=60, deadline=240))
    )
    assert ends(played) == {"a": 720.0, "b": 180.0}


def test_earliest_deadline_gives_the_first_all_that_it_can_have() -> None:
    """ElasticFlow's baseline (ASPLOS 2023, section 6.1): 4 devices, two jobs that may have 1, 2 or 4.

    a has the earlier deadline and takes all 4 (work 480: 120 s), b waits, though one device each would have
    met both deadlines (480 s and 120 s); then b has 4 (work 120: 30 s).
    """
    many = (1, 2, 4)
    history = a_history(
        a_job("a", 480, deadline=500, counts=many),
        a_job("b", 120, deadline=510, counts=many),
        nodes=(("A", 4),),
    )
    assert ends(by("earliest-deadline", history)) == {"a": 120.0, "b": 150.0}


def test_tiresias_stops_who_has_had_more_for_who_comes() -> None:
    """Discretised 2D-LAS (NSDI 2019, section 3.2.2) on two devices; queues end at 3,250 and 7,200 device-s.

    a, a pair, has had 2 x 1,620 = 3,240 at 1,620 s and 3,360 at 1,680: the second queue. b, single, comes at
    60 and waits behind it in the first queue until then (first come, first served). At 1,680 it stops a and
    runs its 600 s, to 2,280; a then goes on: of its 3,000 s, 1,680 are done, so it ends at 3,600.
    """
    played = by("tiresias", a_history(a_job("a", 3000, devices=2), a_job("b", 600, at=60), nodes=(("A", 2),)))
    assert ends(played) == {"a": 3600.0, "b": 2280.0}


def test_nobody_passes_by_in_a_strict_queue_and_easy_lets_pass_who_ends_in_time() -> None:
    """Lifka's example in small: 4 devices; a has 3 of them until 600; b asks for 4; c for 1, d for 1.

    c (300 s) would end before b can start at 600, d (900 s) would not, and beside b nothing is to spare. So:
    strictly, c and d wait until b has ended (600 + 300 = 900); with EASY c starts at once and ends at 300,
    and d after b, at 900; whoever finds room passes b by: d would start at 300, when c has ended, and hold b
    up to 300 + 900 = 1,200.
    """
    jobs = (
        a_job("a", 600, devices=3),
        a_job("b", 300, at=1, devices=4),
        a_job("c", 300, at=2),
        a_job("d", 900, at=3),
    )
    history = a_history(*jobs, nodes=(("A", 4),))
    strict = {"a": 600.0, "b": 900.0, "c": 1200.0, "d": 1800.0}
    assert ends(by("fifo-strict", history)) == strict
    # Arrivals within the first round are seen at 60: c runs from 60 to 360.
    assert ends(by("easy-backfill", history)) == {"a": 600.0, "b": 900.0, "c": 360.0, "d": 1800.0}
    found = ends(by("fifo", history))
    assert (found["c"], found["b"]) == (360.0, 1560.0)


def on(kind: str, rate: float, tasks: int = 1) -> dict[tuple[str, int, str], float]:
    return {(kind, tasks, "cluster"): rate}


def with_profile(arrival: Arrival, profile: str, work: float) -> Arrival:
    group = arrival.job.component.task_groups[0]
    job = arrival.job
    return Arrival(
        replace(job, component=Component((replace(group, profile=profile),))),
        work,
        arrival.checkpoint_seconds,
    )


def test_gavel_gives_each_the_type_on_which_it_is_relatively_fastest() -> None:
    """Gavel's figure 1 in two jobs (OSDI 2020, section 4.1): types A and B, one device each.

    x does 4 a second on A and 1 on B, y 2 and 1. With an equal share (half of each) x does 2.5, y 1.5. Of A a
    share s for x and 1 - s for y, and of B the rest: x does 4 s + (1 - s) = 1 + 3 s, y 2 (1 - s) + s = 2 - s;
    normalised (1 + 3 s) / 2.5 = (2 - s) / 1.5 gives 1.5 + 4.5 s = 5 - 2.5 s, s = 1/2: both 1. The second
    programme may not lower that; with s = 1/2 each has A every other round. So in two rounds both have been
    on both types, and x has done 5 of 5 a pair of rounds, y 3.
    """
    fast = ThroughputProfile("x", on("A", 4.0) | on("B", 1.0))
    slow = ThroughputProfile("y", on("A", 2.0) | on("B", 1.0))
    history = a_history(
        with_profile(a_job("x", 1), "x", 60 * 5 * 4.0),
        with_profile(a_job("y", 1), "y", 60 * 3 * 4.0),
        nodes=(("A", 1), ("B", 1)),
        profiles=(fast, slow),
    )
    assert ends(by("gavel-max-min", history)) == {"x": 480.0, "y": 480.0}


def test_allox_puts_the_short_one_ahead_and_each_where_the_sum_is_least() -> None:
    """AlloX's figure 4 in three jobs (EuroSys 2020, section 4.2): types A and B, one device each.

    Seconds on (A, B): x (60, 240), y (120, 180), z (120, 600). On A alone in the order x, y, z the sum of
    completion times is 60 + 180 + 300 = 540; with y on B, 180 + 60 + 180 = 420, which is least: positions
    from the end on A are z 1 and x 2 (120 + 2 * 60 = 240), on B y 1 (180). So x runs on A to 60, z on A from
    60 to 180, y on B to 180.
    """
    profiles = tuple(
        ThroughputProfile(name, on("A", 1 / a) | on("B", 1 / b))
        for name, a, b in (("x", 60, 240), ("y", 120, 180), ("z", 120, 600))
    )
    history = a_history(
        *(with_profile(a_job(name, 1), name, 1.0) for name in "xyz"),
        nodes=(("A", 1), ("B", 1)),
        profiles=profiles,
    )
    found = ends(by("allox", history))
    assert {name: round(end or 0.0, 6) for name, end in found.items()} == {"x": 60.0, "y": 180.0, "z": 180.0}


def test_sia_gives_each_one_device_before_it_gives_anybody_more() -> None:
    """Sia's programme (SOSP 2023, section 3.3) for 4 devices and two jobs that may have 1, 2 or 4.

    Goodput over the least: x 1, 1.9, 3.4, y 1, 1.3, 1.4; costs to the power -1/2: x 1, .73, .54, y 1, .88,
    .85, a job that waits 1.1. Both must start with 1 (nobody has measured more), so 1 + 1 in the first round.
    In the second each may have 2: .73 + .88 = 1.61. In the third x could have 4 only alone (.54 + 1.1 =
    1.64), so both keep 2. x does 60 + 1.9 * 120 in these three rounds and ends at 180; then y may have 4
    (.85), with 1.4 a second, and has 1.4 * 30 to do.
    """
    profiles = (
        ThroughputProfile("x", on("A", 1.0) | on("A", 1.9, 2) | on("A", 3.4, 4)),
        ThroughputProfile("y", on("A", 1.0) | on("A", 1.3, 2) | on("A", 1.4, 4)),
    )
    many = (1, 2, 4)
    history = a_history(
        with_profile(a_job("x", 1, counts=many), "x", 60 + 1.9 * 120),
        with_profile(a_job("y", 1, counts=many), "y", 60 + 1.3 * 120 + 1.4 * 30),
        nodes=(("A", 4),),
        profiles=profiles,
    )
    seen = by("sia", history).state.jobs
    counts = {
        name: [sum(place.tasks for place in span.placements) for span in job.spans]
        for name, job in seen.items()
    }
    assert counts == {"x": [1, 2], "y": [1, 2, 4]}
    assert {name: job.finished for name, job in seen.items()} == pytest.approx({"x": 180.0, "y": 210.0})


def test_themis_auctions_among_those_who_are_worst_off() -> None:
    """Themis (NSDI 2020, sections 4 and 5), one device, leases of 1,200 s, a fifth (at least one) is invited.

    a comes at 0 and takes the device; b comes at 60. At 1,200 a's lease runs out. Both have 3,600 s of work.
    From 60 on each has a fair half: a's fair self did 60 by then and needs 3,540 / .5 = 7,080 more, ideal
    7,140; at 1,200 a would end at 1,200 + 2,400 = 3,600: rho .50. b's ideal is an age of 7,200, and it would
    end at an age of 1,140 + 3,600 = 4,740: rho .66. b is worst off, is the one invited, and wins.
    """
    played = by("themis", a_history(a_job("a", 3600), a_job("b", 3600, at=60)))
    first = {name: job.spans[0] for name, job in played.state.jobs.items()}
    assert first["b"].begins == 1200.0
    assert (first["a"].begins, first["a"].ends) == (0.0, 1200.0)


@pytest.mark.parametrize(("name", "node"), [("fgd", "n1"), ("best-fit", "n0")])
def test_fgd_leaves_pairs_whole_where_best_fit_fills_the_fullest_node(name: str, node: str) -> None:
    """FGD (USENIX ATC 2023, section 4.2) on two nodes of 4 devices, with 2 and 3 of them free.

    Tasks of the round: a 2 devices, on n0; b 1, on n1; c 1, first in line; x and y 2. Of five two take 1 and
    three 2. c on n0 leaves 1 there, of no use to three of five: from 0 to .6. On n1 it leaves 2, of use to
    all: 0. So the descent takes n1. Best fit leaves 1 of 4 on n0 and 2 of 4 on n1, and takes n0.
    """

    def one(task: str, devices: int, at: float, where: str = "", first: int = 0) -> Job:
        held = TaskPlacement("worker", where, 1, tuple(range(first, first + devices)))
        running = Running((held,), started_at=0.0) if where else None
        group = TaskGroup(devices_per_task=devices)
        return Job(task, component=Component((group,)), submit_time=at, running=running)

    jobs = (one("a", 2, 0, "n0"), one("b", 1, 0, "n1"), one("c", 1, 1), one("x", 2, 2), one("y", 2, 3))
    round_ = replace(a_history(nodes=(("A", 4), ("A", 4))).template, now=60.0, jobs=jobs)
    plan = policies.make(name).decide(round_, None)
    assert isinstance(plan, Plan)
    assert {action.job: action.placements[0].node for action in plan.actions}["c"] == node
    assert verify(round_, plan).valid
