"""Promises: a large gang gets its place in time, and only who is gone by then goes there meanwhile."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangplan.domain.cluster import AcceleratorType, NodeHealth
from gangplan.domain.job import Capabilities, DeviceShare, Gate, TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import ActionKind, ForcedReason
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.instance.promises import in_force
from gangplan.model.verifier.promised import promises_in_force
from gangplan.model.verifier.verify import verify
from gangplan.testing.apply import apply
from gangplan.testing.builders import job, node, round_of

NOW = 1e6
D = 300.0
RIGID = Capabilities(pausable=False, movable=False, resizable=False)


def place(on: str, devices: tuple[int, ...]) -> tuple[TaskPlacement, ...]:
    return (TaskPlacement("worker", on, len(devices), devices),)


def planned(round_):
    result = plan_round(round_, PlanParameters(time_budget_seconds=600.0))
    assert verify(round_, result.plan).violations == ()
    return result


def done(result, name):
    return next((a for a in result.plan.actions if a.job == name), None)


def on(result, name):
    action = done(result, name)
    return {p.node for p in action.placements} if action else set()


def rounds_with(jobs, promise=None, **policy):
    """Two nodes of four devices, and a promise of all of ``a`` to ``big`` in four rounds."""
    nodes = [node("a", "H", 4), node("b", "H", 4)]
    made = promise or Reservation("big", None, NOW + 4 * D, NOW + 40 * D, placements=place("a", (0, 1, 2, 3)))
    return replace(
        round_of(nodes, jobs, now=NOW, round_seconds=D, policy=Policy(fairness_power=0.0, **policy)),
        reservations=(made,),
    )


def big(**fields):
    return job("big", gpus=4, work_left=9e5, weight=0.01, submit_time=NOW - 900.0, **fields)


def long_holder(on_node="a", **fields):
    return job("holder", gpus=1, work_left=9e5, running=place(on_node, (0,)), started=NOW - 9e4, **fields)


@pytest.mark.parametrize(
    ("fields", "there"),
    [
        ({"work_left": 2.9 * D}, True),
        ({"work_left": 3.1 * D}, False),
        ({"work_left": None}, False),
        ({"work_left": None, "checkpoint_seconds": 60.0}, True),
        ({"work_left": None, "checkpoint_seconds": 60.0, "capabilities": RIGID}, False),
        ({"work_left": None, "checkpoint_seconds": 3 * D + 1.0}, False),
        ({"work_left": 2.9 * D, "restart_seconds": D}, False),
    ],
)
def test_who_goes_where_a_place_is_promised_is_gone_by_then(fields, there):
    """``b`` is full, so that a small job starts on ``a`` or not at all."""
    full = [job("full", gpus=4, capabilities=RIGID, work_left=9e5, running=place("b", (0, 1, 2, 3)))]
    holder = long_holder(capabilities=Capabilities())
    small = job("small", gpus=1, **fields)
    result = planned(rounds_with([*full, holder, big(), small]))
    assert on(result, "small") == ({"a"} if there else set())
    if not there:
        verdict = next(v for v in result.verdicts if v.job == "small")
        assert verdict.kind.value != "NEVER_FITS"


def test_a_job_that_fits_on_promised_nodes_only_is_told_so():
    jobs = [long_holder(), big(), job("wide", gpus=3, work_left=None)]
    round_ = rounds_with(jobs)
    small_b = replace(round_.cluster.nodes[1], device_count=2)
    round_ = replace(round_, cluster=replace(round_.cluster, nodes=(round_.cluster.nodes[0], small_b)))
    verdict = next(v for v in planned(round_).verdicts if v.job == "wide")
    assert (verdict.kind.value, verdict.code) == ("HELD_BY_POLICY", "PROMISED")


def test_the_gang_starts_as_soon_as_its_place_is_free():
    result = planned(rounds_with([big(), job("small", gpus=4, work_left=9e5, weight=100.0)]))
    assert done(result, "big").kind is ActionKind.PLACE
    assert on(result, "big") == {"a"}
    assert on(result, "small") == {"b"}


@pytest.mark.parametrize(("before", "stopped"), [(1.5, False), (1.1, True), (0.5, True)])
def test_who_is_in_the_way_stops_in_the_last_round_from_which_its_notice_ends_in_time(before, stopped):
    latest = NOW + before * D
    promise = Reservation("big", None, latest, latest + 9e3, placements=place("a", (0, 1, 2, 3)))
    jobs = [long_holder(checkpoint_seconds=60.0), big(), job("other", gpus=4, work_left=9e5)]
    result = planned(rounds_with(jobs, promise))
    held = done(result, "holder")
    if not stopped:
        assert held.kind is ActionKind.KEEP
        assert done(result, "big") is None
        return
    assert held.forced is ForcedReason.PROMISE_DUE
    start = done(result, "big")
    assert start.kind is ActionKind.PLACE
    assert start.not_before == NOW + 60.0 <= latest
    assert held.id in start.depends_on


def test_nobody_is_stopped_who_may_not_be_or_for_a_place_that_is_closed():
    latest = NOW + 0.5 * D
    promise = Reservation("big", None, latest, latest + 9e3, placements=place("a", (0, 1, 2, 3)))
    assert done(planned(rounds_with([long_holder(capabilities=RIGID), big()], promise)), "holder").kind is (
        ActionKind.KEEP
    )
    round_ = rounds_with([long_holder(), big()], promise)
    closed = replace(round_.cluster.nodes[0], cordoned=True)
    round_ = replace(round_, cluster=replace(round_.cluster, nodes=(closed, round_.cluster.nodes[1])))
    assert done(planned(round_), "holder").kind is ActionKind.KEEP


@pytest.mark.parametrize("void", ["expired", "gone", "runs", "no gang"])
def test_a_void_promise_keeps_nothing(void):
    jobs = [job("small", gpus=4, work_left=9e5), job("small2", gpus=4, work_left=9e5), big()]
    round_ = rounds_with(jobs)
    promise = round_.reservations[0]
    if void == "expired":
        round_ = replace(round_, reservations=(replace(promise, expires_at=NOW),))
    elif void == "gone":
        round_ = replace(round_, jobs=tuple(round_.jobs[:2]))
    elif void == "runs":
        round_ = rounds_with([*jobs[:1], big(running=place("b", (0, 1, 2, 3)))])
    else:
        round_ = replace(round_, reservations=(replace(promise, placements=place("a", (0, 1))),))
    assert {"a"} <= on(planned(round_), "small") | on(planned(round_), "small2")


def test_an_old_job_is_promised_a_place_and_starts_by_then():
    """Two rigid jobs end after 2 and 5 rounds, a pausable one never."""
    jobs = [
        job("short", gpus=4, work_left=8 * D, capabilities=RIGID, running=place("a", (0, 1, 2, 3))),
        long_holder("b"),
        big(),
    ]
    round_ = replace(rounds_with(jobs, promise_after_seconds=600.0), reservations=())
    result = planned(round_)
    reserve = done(result, "big")
    assert reserve.kind is ActionKind.RESERVE
    promise = reserve.reservation
    assert {p.node for p in promise.placements} == {"b"}  # its holder can be stopped, well before 2 rounds
    assert promise.latest_start <= NOW + 2 * D + 1.0
    verdict = next(v for v in result.verdicts if v.job == "big")
    assert verdict.latest_start == promise.latest_start
    for number in range(1, 3):
        after = apply(round_, result.plan)
        still = after.reservations
        round_ = replace(after, now=NOW + number * D, reservations=still)
        result = planned(round_)
        if done(result, "big") is not None and done(result, "big").kind is ActionKind.PLACE:
            break
    assert done(result, "big").kind is ActionKind.PLACE
    assert round_.now <= promise.latest_start


@pytest.mark.parametrize(
    ("limit", "by_type", "told"),
    [
        (None, {}, True),
        (8, {"H": 8}, True),
        (None, {"H": 7}, True),
        (7, {}, True),
        (None, {"H": 6}, False),
        (6, {}, False),
        (None, {"A": 0}, True),
    ],
)
def test_only_a_limit_that_a_job_is_too_large_for_stops_promises_to_it(limit, by_type, told):
    """Eight devices of type H, for H only; the job waits in a queue below the limited one."""
    queues = (Queue("top", None, limit, by_type), Queue("q", "top"))
    jobs = [replace(long_holder(name, capabilities=RIGID), name=name) for name in "ab"]
    jobs.append(job("big", gpus=7, types=["H"], work_left=9e5, submit_time=NOW - 900.0, queue="q"))
    round_ = rounds_with(jobs, promise_after_seconds=2e3, longest_run_seconds=9e6)
    catalogue = (*round_.accelerators, AcceleratorType("A"))
    result = planned(replace(round_, reservations=(), queues=queues, accelerators=catalogue))
    (verdict,) = (verdict for verdict in result.verdicts if verdict.job == "big")
    assert (verdict.latest_start is not None) is told


def limited(jobs, limit, promise=None, **policy):
    """The two nodes with all ``jobs`` in one queue of a limit; ``big`` is promised ``a`` in four rounds."""
    round_ = rounds_with([replace(each, queue="q") for each in jobs], promise, **policy)
    return replace(round_, queues=(Queue("q", device_limit=limit),))


@pytest.mark.parametrize(("limit", "there"), [(8, True), (6, True), (5, True), (4, False)])
def test_what_is_promised_in_a_queue_is_left_in_its_limit_by_who_is_there_then(limit, there):
    """``small`` would start on ``b``, beside the promise of four devices of ``a``; the limit has no room."""
    result = planned(limited([big(), long_holder(), job("small", gpus=1, work_left=9e5)], limit))
    assert (done(result, "small") is not None) is there
    if not there:
        verdict = next(v for v in result.verdicts if v.job == "small")
        assert (verdict.kind.value, verdict.code) == ("HELD_BY_POLICY", "PROMISED")
        assert verdict.message == "queue q is short of 1 device beside what is promised to others"


@pytest.mark.parametrize(
    "fields", [{"work_left": 2.9 * D}, {"work_left": None, "checkpoint_seconds": 60.0}, {"queue": "other"}]
)
def test_who_is_gone_by_then_or_elsewhere_takes_the_room_meanwhile(fields):
    small = {"work_left": 9e5, **fields}
    round_ = limited([big(), long_holder(), job("small", gpus=1, **small)], 4)
    if "queue" in fields:
        jobs = tuple(replace(each, queue="other") if each.name == "small" else each for each in round_.jobs)
        round_ = replace(round_, jobs=jobs, queues=(*round_.queues, Queue("other")))
    assert done(planned(round_), "small").kind is ActionKind.PLACE


def test_the_promised_job_itself_may_start_elsewhere_before():
    result = planned(limited([big(), long_holder(checkpoint_seconds=60.0, capabilities=RIGID)], 5))
    assert done(result, "big").kind is ActionKind.PLACE
    assert "b" in on(result, "big")


@pytest.mark.parametrize(("before", "stopped"), [(1.5, False), (1.1, True)])
def test_who_is_too_many_in_a_queue_stops_in_the_last_round_for_it_the_last_started_first(before, stopped):
    """``a`` is free; five devices of the six are held on ``b`` by jobs that are in nobody's way there."""
    latest = NOW + before * D
    promise = Reservation("big", None, latest, latest + 9e3, placements=place("a", (0, 1, 2, 3)))
    jobs = [big()]
    for number in range(3):
        fields = {"work_left": 9e5, "checkpoint_seconds": 60.0, "started": NOW - 9e4 + number}
        jobs.append(job(f"old{number}", gpus=1, running=place("b", (number,)), **fields))
    result = planned(limited(jobs, 6, promise))
    kinds = {name: done(result, name).kind for name in ("old0", "old1", "old2")}
    assert kinds["old0"] is kinds["old1"] is ActionKind.KEEP
    assert (kinds["old2"] is not ActionKind.KEEP) is stopped
    if stopped:
        assert done(result, "old2").forced is ForcedReason.PROMISE_DUE
        assert on(result, "big") == {"a"}


def test_a_promise_that_is_due_does_not_wait_for_room_that_is_kept_for_a_later_one():
    """Of eight devices in the queue six are promised; two that hold one each stop too late for ``big``."""
    soon = Reservation("soon", None, NOW + 0.4 * D, NOW + 9e3, placements=place("b", (0, 1)))
    later = Reservation("big", None, NOW + D, NOW + 9e3, placements=place("a", (0, 1, 2, 3)))
    old = [
        job(f"old{d}", gpus=1, running=place("b", (d,)), started=NOW - 9e4, checkpoint_seconds=60.0)
        for d in (2, 3)
    ]
    first = job("soon", gpus=2, work_left=9e5, capabilities=RIGID)
    round_ = limited([big(), first, *old, job("small", gpus=1, work_left=9e5)], 8)
    holder = long_holder()
    round_ = replace(round_, jobs=(*round_.jobs, holder), reservations=(soon, later))
    result = planned(round_)
    assert done(result, "soon").kind is ActionKind.PLACE
    assert done(result, "small") is None
    assert {done(result, name).kind for name in ("old2", "old3", "holder")} == {ActionKind.KEEP}


@pytest.mark.parametrize(("rounds", "moves"), [(0.5, False), (4, True)])
def test_who_would_be_there_only_if_it_moved_stays_where_it_is(rounds, moves):
    """``slow`` runs at a tenth of its speed; it can be stopped in a round, or two later once it moved."""
    latest = NOW + rounds * D + 0.6 * D
    promise = Reservation("big", None, latest, latest + 9e3, placements=place("b", (0, 1, 2, 3)))
    nodes = [node("a", "L", 4), node("b", "H", 4), node("c", "H", 4)]
    jobs = [
        replace(big(gate=Gate(held=True)), queue="q"),
        job(
            "slow",
            gpus=1,
            work_left=9e6,
            running=place("a", (0,)),
            started=NOW - 9e4,
            checkpoint_age=0.0,
            queue="q",
        ),
    ]
    catalogue = (AcceleratorType("H"), AcceleratorType("L", 0.1))
    round_ = replace(
        round_of(nodes, jobs, now=NOW, round_seconds=D / 2, policy=Policy(minimum_run_seconds=D)),
        accelerators=catalogue,
        reservations=(promise,),
        queues=(Queue("q", device_limit=6),),
    )
    assert (done(planned(round_), "slow").kind is ActionKind.MIGRATE) is moves


@pytest.mark.parametrize(("limit", "rounds"), [(8, 1), (7, 1), (5, 1), (4, 3)])
def test_a_promise_is_made_for_when_its_queue_has_room(limit, rounds):
    """``a`` is free all the time, but for a node's sake; ``short`` of the queue ends after two rounds."""
    short = {"gpus": 1, "work_left": 2 * D, "capabilities": RIGID}
    jobs = [job("short", running=place("b", (0,)), **short), big()]
    round_ = replace(limited(jobs, limit, promise_after_seconds=600.0), reservations=())
    [reserve] = [a for a in planned(round_).plan.actions if a.job == "big"]
    if rounds == 1:
        assert reserve.kind is ActionKind.PLACE
    else:
        assert reserve.kind is ActionKind.RESERVE
        assert reserve.reservation.latest_start == pytest.approx(NOW + rounds * D, abs=0.01)


def test_a_wish_is_met_when_there_is_a_place_by_then():
    jobs = [job("short", gpus=4, work_left=8 * D, capabilities=RIGID, running=place("a", (0, 1, 2, 3)))]
    jobs += [job("full", gpus=4, work_left=9e5, capabilities=RIGID, running=place("b", (0, 1, 2, 3))), big()]
    wish = Reservation("big", None, NOW + 4 * D, NOW + 40 * D)
    promise = done(planned(rounds_with(jobs, wish)), "big").reservation
    assert promise.latest_start == pytest.approx(NOW + 3 * D, abs=0.01)
    assert done(planned(rounds_with(jobs, replace(wish, latest_start=NOW + 2 * D))), "big") is None
    assert done(planned(rounds_with(jobs, replace(wish, domain="b"))), "big") is None


def test_a_job_that_may_not_be_paused_and_runs_too_long_is_held():
    round_ = replace(rounds_with([big(capabilities=RIGID)], longest_run_seconds=3600.0), reservations=())
    verdict = planned(round_).verdicts[0]
    assert (verdict.kind.value, verdict.code) == ("HELD_BY_POLICY", "RUN_LIMIT")
    assert done(planned(replace(round_, policy=replace(round_.policy, longest_run_seconds=9e5))), "big")


def test_a_promise_on_a_node_that_fails_is_void_and_made_anew():
    jobs = [long_holder("b"), big()]
    round_ = rounds_with(jobs, promise_after_seconds=600.0)
    sick = replace(round_.cluster.nodes[0], health=NodeHealth.UNHEALTHY)
    round_ = replace(round_, cluster=replace(round_.cluster, nodes=(round_.cluster.nodes[1],)))
    assert sick.name == "a"
    promise = done(planned(round_), "big").reservation
    assert {p.node for p in promise.placements} == {"b"}


def test_two_promises_to_one_job_for_one_moment_are_told_apart_by_their_places():
    round_ = rounds_with([big()])
    [one] = round_.reservations
    other = replace(one, placements=place("b", (0, 1, 2, 3)))
    shared = replace(one, placements=(replace(one.placements[0], shares=(DeviceShare(500),) * 4),))
    for several in ((one, other), (other, one), (other, shared, one)):
        both = replace(round_, reservations=several)
        assert in_force(both) == (one,)
        assert promises_in_force(both) == {"big": one}
