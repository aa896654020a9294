"""What is in flight, kept from round to round: it comes out as it would without anything kept."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.domain.job import DeviceShare, Job, Running, TaskPlacement
from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.service.session_overlay import Overlay, under_way
from gangplan.service.sessions.content import Content
from gangplan.service.sessions.in_flight import InFlight
from gangplan.service.sessions.record import Record
from gangplan.testing import builders
from gangplan.v1 import plan_pb2

_NODES, _DEVICES, _JOBS = 3, 3, 8


def _placement(rng: random.Random) -> TaskPlacement:
    """Few devices of few nodes, so that jobs are often in each other's way."""
    devices = tuple(sorted(rng.sample(range(_DEVICES), rng.randint(1, 2))))
    shares = (DeviceShare(500),) * len(devices) if rng.random() < 0.3 else ()
    return TaskPlacement("worker", f"node-{rng.randrange(_NODES)}", len(devices), devices, shares)


def _entry(rng: random.Random, number: int, before: list[InFlight]) -> InFlight:
    kind = rng.choice([ActionKind.PLACE, ActionKind.PLACE, ActionKind.MIGRATE, ActionKind.EVICT])
    action = plan_pb2.Action(forced_reason=rng.choice([0, 0, 1]))
    place = _placement(rng)
    if kind is not ActionKind.EVICT:
        written = action.placements.add(
            group=place.group, node=place.node, tasks=place.tasks, devices=place.devices
        )
        for share in place.shares:
            written.shares.add(mode=1, compute_milli=share.compute_milli)
    others = rng.sample(before, min(len(before), rng.choice([0, 0, 1])))
    return InFlight(
        plan_id="p",
        action_id=str(number),
        kind=kind,
        job=f"job-{rng.randrange(_JOBS + 1)}",  # the last is not there
        action=action.SerializeToString(deterministic=True),
        nodes=(place.node,) if action.placements else (),
        depends_on=tuple(other.name for other in others),
        since=float(number),
        void_after=rng.choice([1e9, 1e9, 5.0]),
        stopped=rng.random() < 0.3,
    )


def _told(job: Job, rng: random.Random) -> Job:
    running = Running((_placement(rng),)) if rng.random() < 0.5 else None
    return replace(job, running=running)


def _edited(round_: Round, rng: random.Random) -> Round:
    """Some jobs are told otherwise, one may be gone or a node other; the clock may go on."""
    jobs = [_told(job, rng) if rng.random() < 0.15 else job for job in round_.jobs]
    if len(jobs) > 1 and rng.random() < 0.2:
        jobs.pop(rng.randrange(len(jobs)))
    round_ = replace(round_, jobs=tuple(jobs), now=round_.now + rng.choice([0.0, 1.0]))
    if rng.random() < 0.3:
        nodes = list(round_.cluster.nodes)
        at = rng.randrange(len(nodes))
        nodes[at] = replace(nodes[at], device_count=rng.choice([2, 8]))
        round_ = replace(round_, cluster=replace(round_.cluster, nodes=tuple(nodes)))
    return round_


def different_somewhere(seed: int) -> list[str]:
    """Jobs that are otherwise with what was kept than without, in any round of a history."""
    rng = random.Random(seed)
    jobs = [_told(builders.job(f"job-{i}"), rng) for i in range(_JOBS)]
    round_ = builders.round_of([builders.node(f"node-{i}", "H100", 8) for i in range(_NODES)], jobs)
    entries: list[InFlight] = []
    overlay = Overlay()
    found: list[str] = []
    for number in range(12):
        round_ = _edited(round_, rng)
        entries = [entry for entry in entries if rng.random() < 0.9]
        entries = [
            replace(entry, stopped=True) if rng.random() < 0.1 else entry  # its stop was reported
            for entry in entries
        ]
        entries += [_entry(rng, 10 * number + i, entries) for i in range(rng.randint(0, 2))]
        if rng.random() < 0.1:
            rng.shuffle(entries)
        record = Record(session_id="s", caller="me", content=Content.of({}), in_flight=tuple(entries))
        kept, anew = under_way(round_, record, overlay), under_way(round_, record)
        if kept != anew:
            found += [
                f"round {number}: {one}, not {other}"
                for one, other in zip(kept.jobs, anew.jobs, strict=True)
                if one != other
            ]
    return found


@settings(max_examples=60)
@given(st.integers(0, 1_000_000))
def test_what_is_in_flight_is_the_same_with_what_was_kept(seed: int) -> None:
    assert different_somewhere(seed) == []
