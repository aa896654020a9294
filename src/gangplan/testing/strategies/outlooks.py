"""What the look-ahead says of jobs."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.domain.job import Job
from gangplan.domain.outlook import JobOutlook, Outlook
from gangplan.testing.strategies.draw import NOW, Draw


def draw_outlook(d: Draw, jobs: Sequence[Job], round_seconds: float) -> Outlook:
    """Targets for most jobs, some of them owed more, and for one that is gone."""
    entries = [
        JobOutlook(
            job.name,
            d.one((1.0, 0.0, 0.5, 1.5)),
            d.one((0.0, 0.0, 0.25)),
            job.work_done,
            worth=d.one((1.0, 0.125, 4.0)),
        )
        for job in jobs
        if d.chance(80)
    ]
    return Outlook(NOW - round_seconds, round_seconds, (*entries, JobOutlook("gone", 1.0)))
