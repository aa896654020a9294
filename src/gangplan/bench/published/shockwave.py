"""Makespan, completion times and fairness of 120 jobs on 32 V100: Shockwave's simulation.

Zheng et al., *Shockwave* (NSDI 2023), the table behind its comparison on 32 devices: the results of its
simulator that come with its public code. Rounds of 120 s; fairness in its own measure, unfair above 1.05.

What differs: 116 of the jobs change their batch size while they run, by rules that are in their programs and
not in the trace; here each runs at the speed that it begins with, which is the duration in the trace. Its
cluster is one of counts; here it is eight nodes of four, and gangs are spread as they must.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gangplan.adapters import traces
from gangplan.bench.published.protocol import Prepared
from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.round import Round
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.metrics import JobReport, Metrics
from gangplan.planning.rounds.loop import Settings
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.lines import gathered
from gangplan.planning.trace.replay import Replay, replay

NAME = "shockwave"
PAPER = "Shockwave, NSDI 2023, 120 jobs on 32 devices, simulated"
_COLUMNS = ("makespan_s", "mean_jct_s", "rho_worst", "rho_above_1.05")
FIGURES = {
    policy: dict(zip(_COLUMNS, figures, strict=True))
    for policy, figures in {
        "shockwave": (24_197.0, 9_958.0, 1.78, 0.050),
        "allox": (32_489.0, 9_926.0, 4.96, 0.275),
        "gavel-finish-time": (31_929.0, 11_302.0, 3.44, 0.225),
        "gavel-max-min": (33_208.0, 11_274.0, 2.95, 0.250),
    }.items()
}
NODES, PER_NODE, ROUND_SECONDS = 8, 4, 120.0
FOLDER = Path("shockwave")


def prepare(data: Path, parts: Sequence[str], policy: str) -> Prepared:
    """See :meth:`gangplan.bench.published.protocol.Setting.prepare`."""
    del policy
    if tuple(parts) != ("jobs120",):
        raise InvalidInputError([FieldViolation("instance", "there is shockwave/jobs120")])
    trace = gathered(traces.records("shockwave", [data / FOLDER / "traces" / "jobs120.trace"], Ledger()))
    nodes = tuple(Node(f"n{n}", accelerator_type="v100", device_count=PER_NODE) for n in range(NODES))
    site = Round(
        round_seconds=ROUND_SECONDS, cluster=Cluster(nodes=nodes), accelerators=(AcceleratorType("v100"),)
    )
    history = replay(trace, site, Replay(checkpoint_seconds=0.0)).history
    said = f"jobs120, {NODES} nodes of {PER_NODE} V100, rounds of {ROUND_SECONDS:g} s, no restart costs, "
    return Prepared(history, Settings(most_rounds=2_000), said + "batch sizes as at the start")


def measures(metrics: Metrics, reports: Sequence[JobReport]) -> Mapping[str, float | None]:
    """The table's columns."""
    del reports
    rho = metrics.rho_shockwave
    values = (
        metrics.makespan,
        metrics.completion_mean,
        None if rho is None else rho.worst,
        None if rho is None else rho.share_unfair,
    )
    return dict(zip(_COLUMNS, values, strict=True))
