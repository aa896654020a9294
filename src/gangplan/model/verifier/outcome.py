"""What a plan means for each job, recomputed from the round and the plan alone."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from gangplan.domain.job import Job


class Status(Enum):
    """What a plan does to a job."""

    WAITING = "WAITING"
    KEPT = "KEPT"
    STARTED = "STARTED"
    MOVED = "MOVED"
    RESIZED = "RESIZED"
    EVICTED = "EVICTED"


class Outcome(NamedTuple):
    """One job's share of a plan.

    Attributes:
        job: the job.
        status: what is done to it.
        forced: the planner had no choice (its node is gone, ...); no switching cost then.
        scope: narrowest level that holds all its tasks; empty when it does not run.
        counts: tasks by group; empty when it does not run.
        types: accelerator type by group, for groups with devices; none for a group on several, which breaks
            a rule.
        devices: devices held; a part of one counts as that part.
        relative_throughput: X / X_ref of its slowest group (decisions 2 and 7); 0 when it does not run.
        throughput: work units per second; 0 when it does not run.
    """

    job: Job
    status: Status
    forced: bool
    scope: str
    counts: Mapping[str, int]
    types: Mapping[str, str]
    devices: float
    relative_throughput: float
    throughput: float
