"""What a played history was worth to its jobs and to its cluster; each measure is defined once, here.

Times are seconds, devices count alike whatever their type, jobs count alike whatever their weight. What a
job that has not ended would yet suffer is not known: it counts in ``unfinished`` and in nothing that needs
its end, so that figures of runs with different numbers of unfinished jobs must not be compared.

``jobs`` has every job, ``history`` all of them together; ``fairness``, ``starts`` and ``fragmentation`` say
how their measures are defined, each with its source.
"""

from gangplan.planning.metrics.fairness import Ratio, jain
from gangplan.planning.metrics.history import Deadlines, Metrics, measure
from gangplan.planning.metrics.jobs import JobReport, job_reports
from gangplan.planning.metrics.spread import percentile
from gangplan.planning.metrics.starts import StartEstimates, TimeToStart

__all__ = [
    "Deadlines",
    "JobReport",
    "Metrics",
    "Ratio",
    "StartEstimates",
    "TimeToStart",
    "jain",
    "job_reports",
    "measure",
    "percentile",
]
