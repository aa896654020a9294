"""Guarantees of queues as arrays: what every option and every job that stays adds to what a queue holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gangplan.model.instance.limits import Limits
from gangplan.model.program import BoolArray, FloatArray, IntArray

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


class Holders(NamedTuple):
    """Who holds devices: ``of_class`` the classes, and ``devices`` in parts, shape (holders,) each."""

    of_class: IntArray
    devices: IntArray


def guaranteed(instance: Instance) -> bool:
    """Whether any queue is guaranteed anything."""
    return any(queue.device_guarantee for queue in instance.limits.queues.values())


def build_guarantees(
    limits: Limits, parts: int, members: IntArray, queue_of: IntArray, kept: Holders, options: Holders
) -> Guarantees:
    """The guarantees of a round; those of 0 devices are left out.

    Args:
        limits: who counts under which queue.
        parts: of a device.
        members: shape (classes,), jobs of each.
        queue_of: shape (classes,), index of the queue; -1 without.
        kept: classes of jobs that may stay, and device parts that each holds.
        options: the class of every option, and device parts that a job with it holds.
    """
    unit = float(parts)
    owed = {name: queue.device_guarantee for name, queue in limits.queues.items() if queue.device_guarantee}
    names = tuple(sorted(owed))
    below = np.zeros((len(names), len(queue_of)), dtype=np.bool_)
    for g, name in enumerate(names):
        q = limits.names.index(name)
        under = np.array([q in ancestors for ancestors in limits.ancestors], dtype=np.bool_)
        below[g] = under[queue_of] & (queue_of >= 0)
    option: FloatArray = np.where(below[:, options.of_class], options.devices / unit, 0.0)
    keep = np.zeros(below.shape)
    keep[:, kept.of_class] = np.where(below[:, kept.of_class], kept.devices / unit, 0.0)
    widest = keep.copy()
    for g in range(len(names)):
        np.maximum.at(widest[g], options.of_class, option[g])
    return Guarantees(
        names=names,
        most=np.array([owed[name] for name in names], dtype=np.float64),
        below=below,
        option=option,
        keep=keep,
        asked=widest @ members,
    )
