"""What parts of devices leave that nobody can be expected to use, as arrays (``terms/fragmentation.py``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gangplan.domain.job import WHOLE_DEVICE, Job
from gangplan.model.program import FloatArray, IntArray


def stranded(jobs: Sequence[Job]) -> FloatArray:
    """Devices that each job makes useless wherever it is placed anew, shape (jobs,).

    The rest of its device for a part of at least ``b``, 0 for all others. Parts in ascending order, with
    sums of what all up to each ask for: what is lost at ``b`` is the rests from ``b`` on, less the parts up
    to ``1 - b``.
    """
    asked: IntArray = np.array([_part(job) for job in jobs], dtype=np.int64)
    parts = np.sort(asked[asked > 0])
    large = parts[2 * parts > WHOLE_DEVICE]
    if not len(large):
        return np.zeros(len(jobs))
    rests = np.cumsum((WHOLE_DEVICE - parts)[::-1])[::-1]
    below = np.concatenate([[0], np.cumsum(parts)])
    first = np.searchsorted(parts, large, side="left")
    lost = rests[first] - below[np.searchsorted(parts, WHOLE_DEVICE - large, side="right")]
    most = int(lost.max())
    if most <= 0:
        return np.zeros(len(jobs))
    least = large[lost == most].max()
    found: FloatArray = np.where(asked >= least, (WHOLE_DEVICE - asked) / WHOLE_DEVICE, 0.0)
    return found


def _part(job: Job) -> int:
    """Thousandths of its one device that a job takes; 0: whole devices, or none."""
    for group in job.component.task_groups:
        if group.device_share is not None:
            return group.device_share.compute_milli
    return 0
