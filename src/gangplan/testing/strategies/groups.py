"""Task groups."""

from __future__ import annotations

from dataclasses import replace

from gangplan.domain.cluster import Resources, Toleration
from gangplan.domain.job import DeviceShare, TaskGroup, TaskSplit
from gangplan.testing.strategies.draw import GIB, Draw
from gangplan.testing.strategies.world import World


def draw_groups(d: Draw, world: World) -> tuple[TaskGroup, ...]:
    """Mostly one group with devices; CPU-only jobs, gangs of a CPU-only leader and workers or of two kinds,
    and, in some rounds, tasks that take a part of a device.
    """
    shape = d.one(("gpu", "gpu", "gpu", "led", "gpu", "two", "gpu", "cpu"))
    if world.parts and world.most and d.chance(45):
        part = DeviceShare(d.one((500, 250, 300, 400, 600, 700, 50)))
        whole = draw_group(d, "worker", world, devices=1, most=1)
        return (replace(whole, count=1, allowed_counts=(1,), split=TaskSplit.FREE, device_share=part),)
    if shape == "cpu" or not world.most:
        return (draw_group(d, "host", world, devices=0, most=4),)
    if shape == "led":
        return (
            draw_group(d, "leader", world, devices=0, most=1),
            draw_group(d, "worker", world, devices=1, most=4),
        )
    if shape == "two":
        return (
            draw_group(d, "actor", world, devices=1, most=2),
            draw_group(d, "learner", world, devices=1, most=2),
        )
    per_task = d.one((1, 1, 1, 1, 2)) if world.most >= 2 else 1
    return (draw_group(d, "worker", world, devices=per_task, most=16),)


def draw_group(d: Draw, name: str, world: World, *, devices: int, most: int) -> TaskGroup:
    """A task group of tasks with ``devices`` each, mostly of at most ``most`` devices (tasks, where 0)."""
    counts = [count for count in world.counts if count * max(1, devices) <= max(most, 1)] or [1]
    wide = [count for count in counts if count * devices > world.most]
    count = d.one(wide) if wide and d.chance(40) else d.one(counts)
    allowed = {count}
    if most > 2 and d.chance(45):
        allowed |= {d.one(counts), max(1, count // 2), count}
    types: tuple[str, ...] = ()
    if devices and d.chance(25):
        types = tuple(sorted({d.one(world.types).name, d.one(world.types).name}))
    cpu = d.one((1, 2, 4, 0)) * max(1, devices)
    memory = d.one((0, 8, 32)) * max(1, devices)
    if not devices:
        cpu = max(1, cpu)
    return TaskGroup(
        name=name,
        count=count,
        allowed_counts=tuple(sorted(allowed)),
        devices_per_task=devices,
        resources_per_task=Resources(cpu * 1000, memory * GIB),
        accelerator_types=types,
        profile=d.one(world.profiles).name if devices and world.profiles and d.chance(50) else None,
        split=TaskSplit.WHOLE_NODES if devices and count > 1 and d.chance(20) else TaskSplit.FREE,
        node_selector={"pool": d.one(("a", "b"))} if d.chance(6) else {},
        tolerations=(Toleration("team"),) if d.chance(40) else (),
    )
