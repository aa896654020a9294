"""Blocks of whole nodes that a plan leaves free, as jobs that nobody runs (``terms/residual.py``).

Whether a small job breaks a node that was whole is no matter of its option but of all options together. So
what is left free is decided like what is placed: for every kind of block that the outlook gives a worth,
there is a class of as many jobs as are wanted, each with one option, the block, worth what one is worth. They
go through rows, prices, binding and filling as any other, so that the programme's bound and that of the
prices hold for plans and what they leave together; no plan names them.

They come after all others in every array and belong to no queue and no tier.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gangplan.domain.job import Component, Job, TaskGroup, TaskSplit
from gangplan.domain.outlook import FreeBlocks
from gangplan.model.instance.instance import Instance, JobClass, block_pools, sort_blocks
from gangplan.model.instance.options import Block, Demand, Option
from gangplan.model.instance.sites import NO_DOMAIN

_ANY_TASK = TaskGroup()


def with_free_blocks(instance: Instance) -> Instance:
    """The instance with the blocks that the outlook gives a worth; the same where there are none."""
    outlook, factor = instance.round.outlook, instance.round.policy.residual_weight
    if outlook is None or factor <= 0.0 or instance.free_from < len(instance.jobs):
        return instance
    plain = next(
        (f for f, group in enumerate(instance.filters) if not group.node_selector and not group.tolerations),
        len(instance.filters),
    )
    found = [
        (entry, option)
        for entry in outlook.free_blocks
        if entry.number > 0 and entry.worth > 0.0 and (option := _option(instance, entry, plain)) is not None
    ]
    if not found:
        return instance
    filters = instance.filters if plain < len(instance.filters) else (*instance.filters, _ANY_TASK)
    fresh = {demand.block for _, option in found for demand in option.demands}
    blocks = sort_blocks({*instance.blocks, *fresh})
    jobs, classes, tied = list(instance.jobs), list(instance.classes), []
    at, first = len(instance.option), len(instance.classes)
    for number, (entry, _) in enumerate(found):
        mine = range(len(jobs), len(jobs) + entry.number)
        jobs += [Job(name=_name(entry, copy), component=_component(entry)) for copy in range(entry.number)]
        tied += [first + number] * entry.number
        classes.append(
            JobClass(
                tuple(mine), at + number, at + number + 1, -1, kept=False, must_stay=False, must_run=False
            )
        )
    more, copies = len(found), len(jobs) - len(instance.jobs)
    ones, none = np.ones(more), np.zeros(more)
    keeps, owed = instance.keeps, instance.guarantees
    unowed = np.zeros((len(owed.names), more))
    return replace(
        instance,
        jobs=tuple(jobs),
        free_from=len(instance.jobs),
        classes=tuple(classes),
        first=np.concatenate([instance.first, [job_class.jobs[0] for job_class in classes[first:]]]),
        queue=np.concatenate([instance.queue, np.full(more, -1)]),
        must_run=np.concatenate([instance.must_run, np.zeros(more, dtype=np.bool_)]),
        class_of_job=np.concatenate([instance.class_of_job, np.array(tied, dtype=np.int64)]),
        members=np.concatenate([instance.members, [entry.number for entry, _ in found]]),
        kept=np.concatenate([instance.kept, np.zeros(more, dtype=np.bool_)]),
        distinct=(*instance.distinct, *(option for _, option in found)),
        option=np.concatenate([instance.option, len(instance.distinct) + np.arange(more)]),
        option_class=np.concatenate([instance.option_class, first + np.arange(more)]),
        devices=np.concatenate([instance.devices, [option.devices for _, option in found]]),
        throughput_at=np.concatenate(
            [instance.throughput_at, np.ones((more, instance.throughput_at.shape[1]))]
        ),
        relative=np.concatenate([instance.relative, ones]),
        throughput=np.concatenate([instance.throughput, ones]),
        gain=np.concatenate([instance.gain, [factor * entry.worth for entry, _ in found]]),
        keep_gain=np.concatenate([instance.keep_gain, none]),
        keep_use=(*instance.keep_use, *({} for _ in found)),
        keeps=replace(
            keeps,
            devices=np.concatenate([keeps.devices, np.zeros((more, keeps.devices.shape[1]), dtype=np.int64)]),
            scope=np.concatenate([keeps.scope, np.zeros(more, dtype=np.int64)]),
            throughput=np.concatenate([keeps.throughput, none]),
        ),
        blocks=blocks,
        block_index={block: b for b, block in enumerate(blocks)},
        filters=filters,
        block_pools=block_pools(blocks, instance.pools, instance.nodes, filters),
        guarantees=replace(
            owed,
            below=np.concatenate([owed.below, unowed > 0.0], axis=1),
            option=np.concatenate([owed.option, unowed], axis=1),
            keep=np.concatenate([owed.keep, unowed], axis=1),
        ),
        weight=np.concatenate([instance.weight, np.zeros(copies)]),
        fair_rate=np.concatenate([instance.fair_rate, np.zeros(copies)]),
        tiers=np.concatenate([instance.tiers, np.zeros((len(instance.tiers), more))], axis=1),
    )


def _option(instance: Instance, entry: FreeBlocks, plain: int) -> Option | None:
    """The block as an option; None where no open node could ever be part of it."""
    type_ = instance.speeds.type_index.get(entry.accelerator_type)
    levels = instance.round.cluster.topology.scopes
    if type_ is None or (entry.level is not None and entry.level not in levels):
        return None
    nodes, parts = instance.nodes, instance.nodes.parts
    scope = 0 if entry.level is None else levels.index(entry.level)
    if entry.nodes == 1:
        scope = len(levels) - 1
    whole = nodes.open & (nodes.type_of == type_) & (nodes.built_in == entry.node_devices)
    if (whole & (nodes.domain_at[:, scope] != NO_DOMAIN)).sum() < entry.nodes:
        return None
    block = Block((entry.node_devices * parts, 0, 0), (type_,), entry.node_devices, (plain,))
    devices = entry.node_devices * entry.nodes * parts
    return Option(
        counts=(entry.nodes,),
        scope=scope,
        demands=(Demand(block, entry.nodes, (1,)),),
        devices=devices,
        devices_by_type=((type_, devices),),
        wider_than_preferred=False,
    )


def _component(entry: FreeBlocks) -> Component:
    group = TaskGroup(
        count=entry.nodes,
        allowed_counts=(entry.nodes,),
        devices_per_task=entry.node_devices,
        accelerator_types=(entry.accelerator_type,),
        split=TaskSplit.WHOLE_NODES,
    )
    return Component(task_groups=(group,))


def _name(entry: FreeBlocks, copy: int) -> str:
    """No name of a job: those are never empty between slashes."""
    level = entry.level or ""
    return f"free//{entry.accelerator_type}/{entry.node_devices}/{entry.nodes}/{level}/{copy}"
