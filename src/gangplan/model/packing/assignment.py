"""Who runs where, by index, before it becomes a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gangplan.model.instance.instance import Instance

Spot = tuple[int, tuple[int, ...]]
"""A node index, and how many tasks of each group sit there."""


@dataclass(frozen=True, slots=True)
class Placed:
    """One job's new place.

    Attributes:
        option: index into the instance's option arrays.
        spots: nodes and tasks; a node occurs once.
        device: index of the device of which it takes a part; -1 where it takes none.
    """

    option: int
    spots: tuple[Spot, ...]
    device: int = -1


@dataclass(frozen=True, slots=True)
class Assignment:
    """A whole decision.

    Attributes:
        kept: job indices that stay where they are.
        placed: new places by job index.
        unbound: gangs that the programme chose but no node could take.
        unresized: options by which the programme resized running jobs that could not be, in place.
    """

    kept: frozenset[int]
    placed: Mapping[int, Placed]
    unbound: int = 0
    unresized: frozenset[int] = frozenset()


def worth(instance: Instance, assignment: Assignment) -> float:
    """Value by the options that it names, in GPU-equivalents; the verifier may find them to run faster."""
    kept = [int(instance.class_of_job[j]) for j in assignment.kept]
    placed = [each.option for each in assignment.placed.values()]
    return instance.offset + float(instance.keep_gain[kept].sum() + instance.gain[placed].sum())
