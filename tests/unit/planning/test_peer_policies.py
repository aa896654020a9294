"""Peers' policies on small cases of their papers, worked by hand."""

from __future__ import annotations

from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import Component, Job, TaskGroup, ThroughputProfile
from gangplan.domain.round import Round
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
