"""Deadlines of 195 jobs on 64 T4: ElasticFlow's figure 8a.

Gu et al., *ElasticFlow* (ASPLOS 2023), and its artifact's plot: jobs of ``elasticVpollux_e`` on 16 nodes of
four T4; how many end by their deadlines. Instances are ``elasticflow/ROUNDs/RESTARTs``, both in seconds. Of
the artifact's settings these matter:

* Slots of 60 s: nothing is decided within a slot of the last decision, but an arrival after a quiet time is
  seen at once. With rounds of 60 s on a grid a job waits for the next one, which is more than the shortest
  jobs have to spare (28 run for 33 s, and have up to 36); rounds of 1 s see all arrivals at once.
* Restarts: of ElasticFlow 2 s, and 2 s for each doubling of a job's devices and one more, at every decision,
  also where nothing changes for a job; EDF has none, and Tiresias' are not in a job's end.
* Rigid policies run each job on the GPUs that it asks for; others on any measured number.
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

NAME = "elasticflow"
PAPER = "ElasticFlow, ASPLOS 2023, figure 8a"
MEASURE = "deadlines_met"
FIGURES = {
    policy: {MEASURE: figure}
    for policy, figure in {
        "elasticflow": 0.728,
        "pollux": 0.523,
        "themis": 0.312,
        "tiresias": 0.287,
        "chronus": 0.262,
        "earliest-deadline": 0.118,
    }.items()
}
RIGID = frozenset({"themis", "tiresias", "chronus"})
"""Policies that give each job the GPUs that it asks for."""
NODES, PER_NODE = 16, 4
FOLDER = Path("elasticflow_profiles")


def prepare(data: Path, parts: Sequence[str], policy: str) -> Prepared:
    """See :meth:`gangplan.bench.published.protocol.Setting.prepare`."""
    try:
        round_seconds, restart = (float(part.removesuffix("s")) for part in parts)
    except ValueError as error:
        said = "instances are elasticflow/ROUNDs/RESTARTs, e.g. elasticflow/60s/6s"
        raise InvalidInputError([FieldViolation("instance", said)]) from error
    files = [data / FOLDER / "traces" / "elasticVpollux_e.csv", data / FOLDER / "throughputs_T4"]
    trace = gathered(traces.records("elasticflow", files, Ledger()))
    nodes = tuple(Node(f"n{n:02}", accelerator_type="T4", device_count=PER_NODE) for n in range(NODES))
    site = Round(
        round_seconds=round_seconds, cluster=Cluster(nodes=nodes), accelerators=(AcceleratorType("T4"),)
    )
    elastic = policy not in RIGID
    how = Replay(elastic=elastic, restart_seconds=restart, checkpoint_seconds=0.0)
    history = replay(trace, site, how).history
    last = max(arrival.job.deadline or 0.0 for arrival in history.arrivals)
    counts = "any measured number of GPUs" if elastic else "the GPUs asked for"
    return Prepared(
        history,
        Settings(most_rounds=int(last / round_seconds) + 2),  # by then it is known of every deadline
        f"elasticVpollux_e, {NODES} nodes of {PER_NODE} T4, rounds of {round_seconds:g} s, restarts of "
        f"{restart:g} s, {counts}",
    )


def measures(metrics: Metrics, reports: Sequence[JobReport]) -> Mapping[str, float | None]:
    """Share of the jobs that ended by their deadlines."""
    del metrics
    return {MEASURE: sum(report.deadline_met is True for report in reports) / len(reports)}
