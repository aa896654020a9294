"""How fast each job of a round is on each accelerator type, and how much of it is left, as peers read it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gangplan.model.instance.instance import Instance
from gangplan.model.instance.left import counted_left
from gangplan.model.program import FloatArray, IntArray
from gangplan.planning.policies.wishes import Free, as_asked, fixed_classes, kinds_of

_AT_LEAST_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Jobs that may be decided on, with the counts that they ask for.

    Attributes:
        jobs: shape (jobs,), their indices in the instance, in the order of their names.
        throughput: shape (jobs, types), work units per second, packed; 0 where a job cannot run.
        ways: by job, of each type, the options there, the fastest first.
        gang: shape (jobs,), devices, in parts.
        devices: shape (types,), for all of them, in parts.
        left: shape (jobs,), work units; see :func:`left_or_guessed`.
        age: shape (jobs,), seconds since submission.
    """

    jobs: IntArray
    throughput: FloatArray
    ways: tuple[tuple[tuple[int, ...], ...], ...]
    gang: IntArray
    devices: IntArray
    left: FloatArray
    age: FloatArray

    @property
    def best(self) -> FloatArray:
        """Throughput of each on its best type, shape (jobs,)."""
        best: FloatArray = self.throughput.max(axis=1, initial=0.0)
        return best


def rates_of(instance: Instance) -> Rates:
    """The rates of all who can run and may be stopped, started or moved."""
    fixed, kinds = fixed_classes(instance), range(len(instance.speeds.type_names))
    jobs: list[int] = []
    rows: list[list[float]] = []
    ways: list[tuple[tuple[int, ...], ...]] = []
    gang: list[int] = []
    for j in range(len(instance.jobs)):
        if int(instance.class_of_job[j]) in fixed:
            continue
        by_kind: list[list[int]] = [[] for _ in kinds]
        for k in as_asked(instance, j):
            for kind in kinds_of(instance.option_at(k)):
                by_kind[kind].append(k)
        if not any(by_kind):
            continue
        jobs.append(j)
        ways.append(tuple(tuple(some) for some in by_kind))
        rows.append([float(instance.throughput[some[0]]) if some else 0.0 for some in by_kind])
        gang.append(max(1, *(int(instance.devices[k]) for some in by_kind for k in some[:1]), 1))
    ages = [instance.round.now - (instance.jobs[j].submit_time or instance.round.now) for j in jobs]
    return Rates(
        jobs=np.array(jobs, dtype=np.int64),
        throughput=np.array(rows, dtype=np.float64).reshape(len(jobs), len(kinds)),
        ways=tuple(ways),
        gang=np.array(gang, dtype=np.int64),
        devices=np.maximum(0, np.array(Free.of(instance).by_kind, dtype=np.int64)),
        left=np.array([left_or_guessed(instance, j) for j in jobs], dtype=np.float64),
        age=np.maximum(0.0, np.array(ages, dtype=np.float64)),
    )


def left_or_guessed(instance: Instance, j: int) -> float:
    """Work that a job has left; where nobody knows, as much as it has done, and at least an hour's.

    As much as is done is what is to be expected of durations whose tail falls with the inverse square.
    """
    job = instance.jobs[j]
    left = counted_left(job, instance.round.policy.fairness_quantile)
    if left is not None:
        return max(left, 1e-9)
    job_class = instance.classes[int(instance.class_of_job[j])]
    fastest = float(instance.throughput[job_class.start : job_class.stop].max(initial=0.0))
    return max(job.work_done, fastest * _AT_LEAST_SECONDS, 1e-9)
