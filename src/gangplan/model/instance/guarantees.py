"""Guarantees of queues as arrays: what every option and every job that stays adds to what a queue holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gangplan.model.program import BoolArray, FloatArray

if TYPE_CHECKING:
    from gangplan.model.instance.instance import Instance


@dataclass(frozen=True, slots=True, eq=False)
class Guarantees:
    """Queues that are guaranteed devices, by name.

    Attributes:
        names: of the queues, sorted.
        most: shape (queues,), devices guaranteed.
        below: shape (queues, classes), whether a class counts under each queue.
        option: shape (queues, options), devices that a job with an option holds under each queue.
        keep: shape (queues, classes), devices that a job that stays holds under each queue.
        asked: shape (queues,), the most devices that all jobs together can hold under each queue.
    """

    names: tuple[str, ...]
    most: FloatArray
    below: BoolArray
    option: FloatArray
    keep: FloatArray
    asked: FloatArray


def guaranteed(instance: Instance) -> bool:
    """Whether any queue is guaranteed anything."""
    return any(queue.device_guarantee for queue in instance.limits.queues.values())


def build_guarantees(instance: Instance) -> Guarantees:
    """The guarantees of an instance; those of 0 devices are left out."""
    limits, unit = instance.limits, float(instance.nodes.parts)
    owed = {name: queue.device_guarantee for name, queue in limits.queues.items() if queue.device_guarantee}
    names = tuple(sorted(owed))
    queue_of = instance.queue
    below = np.zeros((len(names), len(queue_of)), dtype=np.bool_)
    for g, name in enumerate(names):
        q = limits.names.index(name)
        under = np.array([q in ancestors for ancestors in limits.ancestors], dtype=np.bool_)
        below[g] = under[queue_of] & (queue_of >= 0)
    option: FloatArray = np.where(below[:, instance.option_class], instance.devices / unit, 0.0)
    keep: FloatArray = np.where(below & instance.kept, instance.keeps.devices[:, -1] / unit, 0.0)
    widest = keep.copy()
    for g in range(len(names)):
        np.maximum.at(widest[g], instance.option_class, option[g])
    return Guarantees(
        names=names,
        most=np.array([owed[name] for name in names], dtype=np.float64),
        below=below,
        option=option,
        keep=keep,
        asked=widest @ instance.members,
    )
