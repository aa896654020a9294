"""Jobs: those that run first, then those that wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gangplan.domain.cluster import Node, NodeHealth
from gangplan.domain.job import OPEN, Capabilities, Component, DeadlineKind, Gate, Interactive, Job, TaskSplit
from gangplan.domain.quantiles import Quantiles
from gangplan.testing.strategies.draw import NOW, Draw
from gangplan.testing.strategies.groups import draw_group, draw_groups
from gangplan.testing.strategies.running import draw_running
from gangplan.testing.strategies.sizes import Bounds
from gangplan.testing.strategies.world import Room, World, tasks_that_fit


def draw_jobs(d: Draw, bounds: Bounds, world: World, nodes: Sequence[Node]) -> list[Job]:
    """Running jobs first, as far as there is room, then waiting ones, some of them alike, some alike a
    running one.

    In a *crowded* round light jobs fill the nodes and heavier ones wait; in a *limited* one the queues, not
    the nodes, have no room.
    """
    world.most = max((node.usable_device_count for node in nodes), default=0)
    total = sum(node.usable_device_count for node in nodes)
    world.counts = [count for count in bounds.counts if count <= max(1, total)]
    for node in nodes:
        usable = node.usable_resources
        world.rooms.append(
            Room(
                node,
                sorted(node.usable_devices),
                node.usable_device_count,
                usable.cpu_milli,
                usable.memory_bytes,
            )
        )
    world.parts = d.chance(30)
    count = d.number(bounds.jobs)
    crowded = world.mood == "crowded"
    running = max(1, count - 1 - count // 4) if crowded else d.number((max(1, count // 3), count // 2))
    jobs: list[Job] = []
    for i in range(count):
        name = f"j{i}"
        if i < running:
            if d.chance(78):
                job, first = _filler(d, name, world)
            else:
                job, first = _job(d, name, world, urgent=False), None
            job = replace(job, running=draw_running(d, job, world, first))
            if i == 0 and job.gate.after_jobs:
                job = replace(job, gate=replace(job.gate, after_jobs=()))
        elif d.chance(75) and any(other.running for other in jobs):
            job = _rival(d, name, [other for other in jobs if other.running])
        elif jobs and d.chance(25):
            job = replace(d.one(jobs[::-1]), name=name, running=None)
        else:
            job = _job(d, name, world, urgent=True)
        jobs.append(job)
    return jobs


def _filler(d: Draw, name: str, world: World) -> tuple[Job, Room | None]:
    """A light job that takes most of what is free on a node, so that others have something to gain; and that
    node.
    """
    job = _job(d, name, world, urgent=False)
    rooms = [room for room in world.rooms if room.count and room.node.health is NodeHealth.HEALTHY]
    room = d.one(sorted(rooms, key=lambda room: -room.count)) if rooms else None
    group = draw_group(d, "worker", world, devices=1 if room else 0, most=1)
    most = max(1, tasks_that_fit(room, group)) if room else 1
    few = (max(1, most // 2), 1, most)
    count = d.one(few if world.mood == "limited" else (most, most, max(1, most - 1)))
    allowed = (
        tuple(sorted({count, max(1, count // 2), *((most,) if d.chance(50) else ())}))
        if d.chance(35)
        else (count,)
    )
    filling = replace(group, count=count, allowed_counts=allowed, split=TaskSplit.FREE, accelerator_types=())
    light = replace(
        job,
        component=replace(job.component, task_groups=(filling,)),
        weight=d.one((0.5, 1.0)),
        priority=0,
        restart_seconds=d.one((0.0, 10.0)),
        capabilities=replace(job.capabilities, pausable=not d.chance(4)),
    )
    return light, room


def _rival(d: Draw, name: str, running: Sequence[Job]) -> Job:
    """A waiting job like a running one, but worth more."""
    like = d.one(running[::-1])
    return replace(
        like, name=name, running=None, priority=2, weight=d.one((2.0, 4.0)), work_done=0.0, fair_progress=0.0
    )


def _job(d: Draw, name: str, world: World, *, urgent: bool) -> Job:
    """A job's own data; ``urgent`` ones (those that wait) more often weigh more than what runs."""
    scopes = world.topology.scopes
    priority = d.one((2, 2, 1, 0)) if urgent else d.one((0, 0, 0, 1, 2))
    work_left = d.one((600.0, 5_000.0, 100_000.0, None, 0.0, None))
    deadline, kind, decay = None, DeadlineKind.TARGET, 0.0
    if d.chance(30):
        deadline = NOW + d.one((1_200.0, 3_600.0, 86_400.0, -60.0))
        kind = d.one((DeadlineKind.TARGET, DeadlineKind.STRICT, DeadlineKind.SOFT))
        decay = d.one((600.0, 7_200.0, 86_400.0)) if kind is DeadlineKind.SOFT else 0.0
    submitted = d.chance(80)
    return Job(
        name=name,
        component=Component(
            draw_groups(d, world),
            required_level=d.one(scopes[1:]) if d.chance(20) else None,
            preferred_level=d.one(scopes[1:]) if d.chance(30) else None,
        ),
        queue=d.one(world.queues).name if world.queues and d.chance(75) else None,
        weight=d.one((1.0, 1.0, 2.0, 0.5)),
        priority=priority,
        submit_time=NOW - d.one((3_600.0, 0.0, 60.0, 86_400.0)) if submitted else None,
        work_done=d.one((0.0, 1_000.0)),
        work_left=work_left,
        fair_progress=d.one((0.0, 500.0, 2_000.0)),
        fair_finish_age=1_800.0 if d.chance(5) else None,
        deadline=deadline,
        deadline_kind=kind,
        deadline_decay_seconds=decay,
        restart_seconds=d.one((0.0, 10.0, 120.0)),
        checkpoint_seconds=d.one((60.0, 600.0)) if d.chance(10) else 0.0,
        capabilities=Capabilities(
            pausable=not d.chance(8), movable=not d.chance(20), resizable=not d.chance(15)
        ),
        gate=_gate(d) if d.chance(10) else OPEN,
        disrupted_at=(NOW - d.one((600.0, 3_600.0)),) if d.chance(6) else (),
        revision=f"v{d.number((0, 3))}",
        service_received_device_seconds=d.one((0.0, 2_000.0, 50_000.0)) if d.chance(50) else None,
        left_quantiles=_predicted(d) if work_left is None and d.chance(50) else None,
        user=d.one(("", "ada", "ben")),
        interactive=_interactive(d) if world.interactive and d.chance(30) else None,
    )


def _interactive(d: Draw) -> Interactive:
    """Objectives that are met, missed by less than themselves, or long ago."""
    return Interactive(
        d.one((600.0, 60.0, 3_000.0)), d.one((600.0, None)), d.one((None, None, NOW - 60.0, NOW - 600.0))
    )


def _predicted(d: Draw) -> Quantiles:
    """Work left in the words of a predictor: one quantile, ties, or a long tail."""
    return d.one(
        (
            Quantiles((0.1, 0.5, 0.9), (600.0, 5_000.0, 100_000.0)),
            Quantiles((0.5,), (5_000.0,)),
            Quantiles((0.25, 0.75), (0.0, 0.0)),
            Quantiles((0.6, 0.7, 0.95), (600.0, 600.0, 5_000.0)),
        )
    )


def _gate(d: Draw) -> Gate:
    """What keeps a job from being started: its owner, a time, the first job; or nothing any more."""
    return Gate(
        held=d.chance(35),
        not_before=NOW + d.one((600.0, 0.0, -600.0)) if d.chance(35) else None,
        after_jobs=(d.one(("j0", "done")),) if d.chance(35) else (),
        held_seconds=d.one((0.0, 1_800.0)),
    )
