"""A round for practice: the first round of a process takes many times as long as any later one."""

from __future__ import annotations

from functools import cache

from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import Job
from gangplan.domain.round import Round
from gangplan.model.instance.instance import build_instance
from gangplan.model.prices.lagrangian import PriceSearch

PRACTICE = Round(
    cluster=Cluster(nodes=(Node("node", accelerator_type="type", device_count=2),)),
    accelerators=(AcceleratorType("type"),),
    jobs=(Job("job-1"), Job("job-2"), Job("job-3")),
)


@cache
def compile_loops() -> None:
    """Have all compiled loops ready: from the cache within a second, else ten seconds or more, once."""
    PriceSearch.of(build_instance(PRACTICE)).improve(steps=1)
