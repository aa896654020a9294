"""Where the running jobs that may stay have their tasks, as flat arrays."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gangplan.domain.job import Job, TaskPlacement
from gangplan.kept import Kept
from gangplan.model.instance.kinds import Kinds
from gangplan.model.instance.sites import Nodes, task_vector
from gangplan.model.program import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Spots:
    """One entry for every placement, job by job, in the order in which each job has them.

    Attributes:
        jobs: shape (owners,), job indices.
        owner: shape (entries,), position in ``jobs``.
        group: shape (entries,), position of the task group in the job's component.
        node: shape (entries,), node index.
        tasks: shape (entries,).
        amounts: shape (entries, 3), devices (in parts), CPU (milli) and memory (bytes).
    """

    jobs: IntArray
    owner: IntArray
    group: IntArray
    node: IntArray
    tasks: IntArray
    amounts: IntArray

    def take(self, owners: IntArray) -> Spots:
        """The placements of some of the jobs, by position, ascending."""
        position = np.full(len(self.jobs), -1, dtype=np.int64)
        position[owners] = np.arange(len(owners))
        owner = position[self.owner]
        mine = owner >= 0
        entries = (self.group[mine], self.node[mine], self.tasks[mine], self.amounts[mine])
        return Spots(self.jobs[owners], owner[mine], *entries)


def build_spots(
    jobs: Sequence[Job],
    places: Mapping[str, tuple[TaskPlacement, ...]],
    where: Mapping[str, int],
    kinds: Kinds,
    nodes: Nodes,
    kept: Kept,
) -> Spots:
    """Flatten the placements of ``jobs``.

    Args:
        jobs: with placements, all on nodes that exist.
        places: theirs, by name.
        where: job index by name.
        kinds: of all components, by job index.
        nodes: of the round.
        kept: of an earlier round.
    """
    found = kept.each(
        "spots", jobs, lambda job: _spots(job, places[job.name], nodes.index), beside=(nodes.index,)
    )
    index = np.array([where[job.name] for job in jobs], dtype=np.int64)
    owner = np.repeat(np.arange(len(found)), np.fromiter(map(len, found), dtype=np.int64, count=len(found)))
    numbers = itertools.chain.from_iterable(itertools.chain.from_iterable(found))
    flat = np.fromiter(numbers, dtype=np.int64, count=3 * len(owner)).reshape(-1, 3)
    group, node, tasks = flat[:, 0], flat[:, 1], flat[:, 2]
    sizes = [len(component.task_groups) for component in kinds.components]
    first = np.cumsum([0, *sizes])
    each = [task_vector(g, nodes.parts) for component in kinds.components for g in component.task_groups]
    demand = np.array(each, dtype=np.int64).reshape(-1, 3)
    amounts = demand[first[kinds.of_job[index]][owner] + group] * tasks[:, None]
    return Spots(index, owner, group, node, tasks, amounts)


def _spots(
    job: Job, placements: Sequence[TaskPlacement], index: Mapping[str, int]
) -> list[tuple[int, int, int]]:
    """Position of the group, node index and tasks of every placement."""
    groups = job.component.task_groups
    if len(groups) == 1:
        return [(0, index[placement.node], placement.tasks) for placement in placements]
    position = {group.name: g for g, group in enumerate(groups)}
    return [(position[placement.group], index[placement.node], placement.tasks) for placement in placements]
