"""Published workloads on the clusters of their papers, by name, from a folder of data sets.

* ``gavel/TRACE[/JOBS[/LOAD]]``: a trace of Gavel on 36 V100, 36 P100 and 36 K80 in nodes of four (Narayanan
  et al., OSDI 2020, section 7.1), 360 s rounds, throughputs of its table, arrivals LOAD times as fast.
* ``sia/WORKLOAD``: one of Sia's or Pollux' workloads (``pollux-1``: Philly's first, ``saturn-1``: Helios') on
  Sia's mixed cluster of 64 (SOSP 2023, section 4.3: 6 nodes of four T4, 3 of eight RTX 2080 Ti, 2 of eight
  A100), 60 s rounds, goodput tables, restarts and slowdowns by application; ``sia-rigid/WORKLOAD`` the same
  jobs with the GPUs and the batch sizes that they ask for, their work in samples.
* ``shockwave/jobsN``: 32 V100 in nodes of four for each 120 jobs, 120 s rounds.
* ``elasticflow/fig8a``: 195 jobs with deadlines on 16 nodes of four T4, 60 s slots (ASPLOS 2023, figure 8a).
* ``itp/clusterNN[/JOBS]``: production traces with deadlines on nodes of eight A100.
* ``philly/QUEUE/JOBS``: jobs of one of Philly's virtual clusters, where they come fastest, on nodes of eight.
* ``made/GPUS/JOBS``: jobs of ours, of Philly's sizes, on nodes of eight; reads no data.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gangplan.adapters import traces
from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import Component, Job, TaskGroup
from gangplan.domain.round import Round
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.lines import Trace, gathered
from gangplan.planning.trace.records import Group, JobRecord
from gangplan.planning.trace.replay import Replay, replay

RESTART_SECONDS: Mapping[str, float] = {
    "cifar10": 50.0,
    "deepspeech2": 25.0,
    "bert": 120.0,
    "yolov3": 80.0,
    "imagenet": 250.0,
    "ncf": 15.0,
}
"""What a start costs in Sia's and Pollux' simulators, by application; others 30 s."""
_OTHER_RESTART_SECONDS = 30.0
SLOWDOWN: Mapping[str, float] = {
    "cifar10": 1.8,
    "ncf": 1.5,
    "imagenet": 1.2,
    "yolov3": 1.2,
    "bert": 1.2,
    "deepspeech2": 1.2,
}
"""By how much jobs are slower than the tables say: in Sia's simulator, fitted to its runs on a cluster."""
_LARGEST_RIGID = 24
"""GPUs of Sia's largest type: rigid jobs that ask for more get so many."""
_BUSY = 0.9
"""Share of its devices that an ``itp`` or ``philly`` workload keeps busy on the cluster made for it."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A history, and what stands beside it.

    Attributes:
        history: to be played.
        left_out: jobs of the trace that are not in it.
    """

    history: History
    left_out: int = 0


def workload(name: str, folder: Path) -> Workload:
    """The workload of that name.

    Args:
        name: ``FAMILY/NAME`` and perhaps a number of jobs, see the module's text.
        folder: of the data sets.

    Raises:
        InvalidInputError: there is none of that name, or its files are not there.
    """
    family, *rest = name.split("/")
    if family not in _FAMILIES or not rest:
        raise _none(name)
    try:
        return _FAMILIES[family](folder, rest)
    except (FileNotFoundError, ValueError, IndexError) as error:
        raise _none(name, str(error)) from error


def _none(name: str, why: str = "") -> InvalidInputError:
    there = ", ".join(sorted(_FAMILIES))
    return InvalidInputError(
        [FieldViolation("instance", f"no workload {name!r}; families are {there}. {why}".strip())]
    )


def site(
    groups: Sequence[tuple[str, int, int, float]], round_seconds: float, horizon_seconds: float = 3600.0
) -> Round:
    """An empty cluster.

    Args:
        groups: type, nodes, devices of each, relative speed.
        round_seconds: of a round.
        horizon_seconds: over which restarts are spread.
    """
    nodes = [
        Node(f"{kind.lower()}-{n:03}", accelerator_type=kind, device_count=devices)
        for kind, count, devices, _ in groups
        for n in range(count)
    ]
    return Round(
        round_seconds=round_seconds,
        horizon_seconds=horizon_seconds,
        cluster=Cluster(nodes=tuple(nodes)),
        accelerators=tuple(AcceleratorType(kind, speed) for kind, _, _, speed in groups),
    )


def _read(reader: str, *paths: Path) -> Trace:
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path} is not there")
    return gathered(traces.records(reader, list(paths), Ledger()))


def _made(trace: Trace, cluster: Round, how: Replay, name: str) -> Workload:
    found = replay(trace, cluster, how)
    return Workload(replace(found.history, name=name), sum(found.left_out.values()))


def _gavel(folder: Path, rest: Sequence[str]) -> Workload:
    own = folder / "gavel" / "traces" / "physical_cluster" / f"{rest[0]}.trace"
    philly = folder / "gavel" / "traces" / "msr_seed0" / f"{rest[0]}.trace"
    table = folder / "gavel" / "simulation_throughputs.json"
    trace = _read("gavel", own if own.exists() else philly, table)
    cluster = site((("V100", 9, 4, 1.0), ("P100", 9, 4, 0.7), ("K80", 9, 4, 0.25)), 360.0)
    how = Replay(
        most_jobs=int(rest[1]) if len(rest) > 1 else None,
        load=float(rest[2]) if len(rest) > 2 else 1.0,
        restart_seconds=20.0,
        checkpoint_seconds=0.0,
    )
    return _made(trace, cluster, how, "/".join(("gavel", *rest)))


def _sia(folder: Path, rest: Sequence[str], *, elastic: bool = True) -> Workload:
    kind, _, number = rest[0].partition("-")
    file = (
        folder / "pollux" / "workloads" / f"workload-{number}.csv"
        if kind == "pollux"
        else folder / "sia" / "workloads" / kind / f"workload-{number}.csv"
    )
    trace = _read("sia", file, folder / "pollux" / "profiles", folder / "sia" / "profiles")
    if not elastic:
        trace = replace(trace, jobs=tuple(_at_most(job, _LARGEST_RIGID) for job in trace.jobs))
    cluster = site((("T4", 6, 4, 0.4), ("RTX", 3, 8, 0.6), ("A100", 2, 8, 1.0)), 60.0)
    how = Replay(
        elastic=elastic,
        batches="ceiling" if elastic else "fixed",
        types={"t4": "T4", "rtx": "RTX", "dgx-ext": "A100"},
        checkpoint_seconds=0.0,
    )
    made = _made(trace, cluster, how, f"{'sia' if elastic else 'sia-rigid'}/{rest[0]}")
    model = {job.id: job.model for job in trace.jobs}
    arrivals = tuple(_as_in_sia(arrival, model[arrival.job.name]) for arrival in made.history.arrivals)
    return replace(made, history=replace(made.history, arrivals=arrivals))


def _sia_rigid(folder: Path, rest: Sequence[str]) -> Workload:
    return _sia(folder, rest, elastic=False)


def _at_most(record: JobRecord, gpus: int) -> JobRecord:
    """The job with no more GPUs than so many, one a task."""
    if record.gpus <= gpus:
        return record
    return record.model_copy(update={"groups": (Group(tasks=gpus),)})


def _as_in_sia(arrival: Arrival, model: str) -> Arrival:
    """The job with its application's restart, and with more to do by its slowdown."""
    restart = RESTART_SECONDS.get(model, _OTHER_RESTART_SECONDS)
    job = replace(arrival.job, restart_seconds=restart)
    return replace(arrival, job=job, work=arrival.work * SLOWDOWN.get(model, 1.0))


def _shockwave(folder: Path, rest: Sequence[str]) -> Workload:
    base = folder / "shockwave"
    trace = _read("shockwave", base / "traces" / f"{rest[0]}.trace", base / "tacc_throughputs.json")
    jobs = int("".join(c for c in rest[0].partition("_")[0] if c.isdigit()))
    nodes = 8 * max(1, round(jobs / 120))
    how = Replay(restart_seconds=20.0, checkpoint_seconds=0.0)
    return _made(trace, site((("V100", nodes, 4, 1.0),), 120.0), how, f"shockwave/{rest[0]}")


def _elasticflow(folder: Path, rest: Sequence[str]) -> Workload:
    if rest[0] != "fig8a":
        raise ValueError("of elasticflow there is fig8a")
    base = folder / "elasticflow_profiles"
    trace = _read("elasticflow", base / "traces" / "elasticVpollux_e.csv", base / "throughputs_T4")
    how = Replay(elastic=True, restart_seconds=8.0, checkpoint_seconds=0.0)
    return _made(trace, site((("T4", 16, 4, 1.0),), 60.0), how, "elasticflow/fig8a")


def _itp(folder: Path, rest: Sequence[str]) -> Workload:
    base = folder / "itp_elasticflow" / "with_deadlines" / f"{rest[0]}.csv"
    most = int(rest[1]) if len(rest) > 1 else None
    trace = _read("itp", base)
    tables = _read("elasticflow", folder / "elasticflow_profiles" / "throughputs_A100")
    trace = replace(trace, measurements=tables.measurements)
    how = Replay(elastic=True, most_jobs=most, restart_seconds=30.0, checkpoint_seconds=0.0)
    chosen = sorted(trace.jobs, key=lambda job: (job.submit_s, job.id))[:most]
    asked = math.fsum((job.duration_s or 0.0) * job.gpus for job in chosen)
    span = max(3600.0, chosen[-1].submit_s - chosen[0].submit_s)
    largest = max(job.gpus for job in chosen)
    nodes = max(math.ceil(asked / span / _BUSY / 8), math.ceil(largest / 8))
    return _made(trace, site((("A100", nodes, 8, 1.0),), 300.0), how, "/".join(("itp", *rest)))


def _philly(folder: Path, rest: Sequence[str]) -> Workload:
    trace = _read("philly", folder / "pollux" / "philly.csv")
    queue, most = rest[0], int(rest[1])
    mine = sorted((job for job in trace.jobs if job.queue == queue), key=lambda job: (job.submit_s, job.id))
    if len(mine) < most:
        raise ValueError(f"{queue} has {len(mine)} jobs")
    first = min(range(len(mine) - most + 1), key=lambda n: mine[n + most - 1].submit_s - mine[n].submit_s)
    window = mine[first : first + most]
    work = math.fsum((job.duration_s or 0.0) * job.gpus for job in window)
    span = max(86_400.0, window[-1].submit_s - window[0].submit_s)
    nodes = max(math.ceil(work / span / _BUSY / 8), math.ceil(max(job.gpus for job in window) / 8))
    how = Replay(queue=queue, skip=first, most_jobs=most, restart_seconds=60.0, checkpoint_seconds=1800.0)
    return _made(trace, site((("GPU", nodes, 8, 1.0),), 300.0), how, "/".join(("philly", *rest)))


_SIZES, _SIZE_SHARES = (1, 2, 4, 8), (70, 10, 15, 5)
_MEDIAN_SECONDS, _SPREAD = 1800.0, 1.2


def _made_up(folder: Path, rest: Sequence[str]) -> Workload:
    """Poisson arrivals, durations log-normal, sizes as Gavel draws them of Philly's, no restarts."""
    del folder
    devices, count = int(rest[0]), int(rest[1])
    rng = random.Random(f"{devices}/{count}")
    template = site((("GPU", math.ceil(devices / 8), 8, 1.0),), 300.0)
    mean = _MEDIAN_SECONDS * math.exp(_SPREAD**2 / 2)
    size = sum(one * share for one, share in zip(_SIZES, _SIZE_SHARES, strict=True)) / sum(_SIZE_SHARES)
    rate, at, arrivals = _BUSY * devices / (mean * size), 0.0, []
    for number in range(count):
        at += rng.expovariate(rate)
        gang = rng.choices(_SIZES, _SIZE_SHARES)[0]
        group = TaskGroup(count=gang, allowed_counts=(gang,))
        job = Job(f"job-{number:06}", component=Component((group,)), submit_time=at)
        seconds = min(86_400.0, _MEDIAN_SECONDS * math.exp(rng.gauss(0.0, _SPREAD)))
        arrivals.append(Arrival(job, seconds * gang))
    return Workload(History(template, tuple(arrivals), name="/".join(("made", *rest))))


_FAMILIES: Mapping[str, Callable[[Path, Sequence[str]], Workload]] = {
    "gavel": _gavel,
    "sia": _sia,
    "sia-rigid": _sia_rigid,
    "shockwave": _shockwave,
    "elasticflow": _elasticflow,
    "itp": _itp,
    "philly": _philly,
    "made": _made_up,
}
