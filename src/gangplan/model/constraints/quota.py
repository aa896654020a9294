"""Quota: device limits along the queue tree, after the plan (property P15).

For every queue, the devices that jobs of its whole subtree hold, and those of each limited type, are at most
the limit, or what the subtree's running jobs that are not forced off hold now when that is more (property
P25). A part of a device counts as that part. Unset is unlimited; 0 is none at all (property P14). CPU-only
jobs hold no devices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from gangplan.domain.job import WHOLE_DEVICE
from gangplan.model.formulation.rows import Rows
from gangplan.model.verifier.reading import going_on
from gangplan.model.verifier.starts import present
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.domain.queue import Queue
    from gangplan.model.formulation.layout import Layout
    from gangplan.model.instance.instance import Instance
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.holding import Holding
    from gangplan.model.verifier.reading import Change, Reading
    from gangplan.model.verifier.starts import Singles

NAME = "quota"
RULES = ("quota.device-limit", "quota.device-limit-by-type")


Held = dict[tuple[str, str | None], int]
"""Thousandths of devices by queue and type; type None: of all types."""
Own = dict[tuple[str, str | None], int]
"""The same of the jobs of a queue itself, by queue and the type of their nodes; None: that has none."""


def violations(reading: Reading) -> list[Violation]:
    """Queues whose subtree would hold more than it may."""
    present, final = reading.facts.once(present_use), final_use(reading)
    found: list[Violation] = []
    for queue in reading.round.queues:
        for kind, limit in _limits(queue):
            key = (queue.name, kind)
            held, now = final.get(key, 0), present.get(key, 0)
            if held > max(limit * WHOLE_DEVICE, now):
                rule = "device-limit" if kind is None else "device-limit-by-type"
                what = "devices" if kind is None else f"devices of {kind}"
                message = (
                    f"queue {queue.name} would hold {held / WHOLE_DEVICE:g} {what}; "
                    f"its limit is {limit} ({now / WHOLE_DEVICE:g} now)"
                )
                found.append(Violation(f"quota.{rule}", message=message))
    return found


def present_use(facts: RoundFacts) -> Held:
    """What the running jobs that are not forced off hold now."""
    own: Own = {}
    for change in facts.once(going_on).values():
        if change.before and change.forced is None:
            _add(own, change, change.before, facts)
    there = facts.once(present).there
    if there is not None:
        _add_singles(own, there, facts)
    return _summed({}, own, facts)


def final_use(reading: Reading) -> Held:
    """What all jobs hold after the plan: what is held now, less what of that changes, and what it becomes."""
    own: Own = {}
    for change in reading.changed.values():
        if change.before and change.forced is None:
            _add(own, change, change.before, reading.facts, -1)
        if change.after:
            _add(own, change, change.after, reading.facts)
    if reading.starts is not None:
        _add_singles(own, reading.starts.there, reading.facts)
    return _summed(reading.facts.once(present_use), own, reading.facts)


def _limits(queue: Queue) -> Iterator[tuple[str | None, int]]:
    if queue.device_limit is not None:
        yield None, queue.device_limit
    yield from queue.device_limit_by_type.items()


def _add(own: Own, change: Change, holding: Holding, facts: RoundFacts, sign: int = 1) -> None:
    """Add (``sign`` -1: take away) a holding to what the jobs of its very queue hold."""
    if change.job.queue is None:
        return
    for (name, node), part in holding.items():
        if name in change.groups:
            milli = sign * part.tasks * change.groups[name].device_milli
            if milli:
                key = (change.job.queue, facts.nodes[node].accelerator_type if node in facts.nodes else None)
                own[key] = own.get(key, 0) + milli


def _add_singles(own: Own, singles: Singles, facts: RoundFacts) -> None:
    """Add what jobs on one node each hold."""
    columns, queues = singles.columns, facts.round.queues
    queued = columns.queue[singles.job] >= 0
    kinds = len(columns.kinds)
    keys = (columns.queue[singles.job] * kinds + columns.kind_of[singles.node])[queued]
    milli = singles.taken(columns.devices)[queued] * WHOLE_DEVICE
    found, which = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(found), dtype=np.int64)
    np.add.at(sums, which, milli)
    for key, amount in zip(found.tolist(), sums.tolist(), strict=True):
        where = (queues[key // kinds].name, columns.kinds[key % kinds])
        own[where] = own.get(where, 0) + amount


def _summed(held: Held, own: Own, facts: RoundFacts) -> Held:
    """``held``, with what queues hold themselves added to them and to every queue above."""
    found = dict(held)
    for (name, kind), milli in own.items():
        for queue in facts.once(_and_above).get(name, ()):
            for counted in {None, kind}:
                found[queue, counted] = found.get((queue, counted), 0) + milli
    return found


def _and_above(facts: RoundFacts) -> dict[str, list[str]]:
    """Every queue with those above it, by name; each once, should the tree have a cycle."""
    parents = {queue.name: queue.parent for queue in facts.round.queues}
    found: dict[str, list[str]] = {}
    for name in parents:
        here: str | None = name
        found[name] = []
        while here in parents and here not in found[name]:
            found[name].append(here)
            here = parents[here]
    return found


def rows(layout: Layout) -> Rows:
    """Devices held by a queue's subtree, in all and by type; a limit that is broken now may not get worse.

    The headroom for interactive jobs is one of the limits (``instance.limits``).
    """
    instance, found = layout.instance, Rows()
    if not instance.limits.limited:
        return found
    limits = instance.limits.queues
    asked, held = _devices_of_options(instance), instance.keeps.devices.astype(np.float64)
    queue_of = instance.queue
    unit = float(instance.nodes.parts)
    for q, name in enumerate(instance.limits.names):
        if limits[name].device_limit is None and not limits[name].device_limit_by_type:
            continue
        below = np.array([q in ancestors for ancestors in instance.limits.ancestors], dtype=np.bool_)
        members = below[queue_of] & (queue_of >= 0)
        chosen = np.flatnonzero(members[instance.option_class] & (layout.option_column >= 0))
        kept = np.flatnonzero(members & (layout.keep_column >= 0))
        columns = np.concatenate([layout.option_column[chosen], layout.keep_column[kept]])
        by_type = sorted(limits[name].device_limit_by_type.items())
        counted = [(instance.speeds.type_index[type_name], limit) for type_name, limit in by_type]
        most = limits[name].device_limit
        for type_, limit in [*([(_ALL, most)] if most is not None else []), *counted]:
            values = np.concatenate([asked[instance.option[chosen], type_], held[kept, type_]])
            found.add_arrays(columns, values, upper=max(limit * unit, float(held[kept, type_].sum())))
    return found


_ALL = -1
"""The column of all types together."""


def _devices_of_options(instance: Instance) -> FloatArray:
    """Devices of every distinct option by type, and in all in the last column."""
    asked = np.zeros((len(instance.distinct), len(instance.speeds.type_names) + 1))
    for o, option in enumerate(instance.distinct):
        for type_, devices in option.devices_by_type:
            asked[o, type_] = devices
        asked[o, _ALL] = option.devices
    return asked
