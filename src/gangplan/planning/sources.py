"""What simulations start from: a scenario, a trace with a cluster, or a generated history; read once.

A source is read and checked before anything is played, and edited in between: the site (clock, cluster,
catalogue, queues, policy) is a round without jobs, and the history is made for whatever became of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from gangplan.domain.round import Round
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning import histories
from gangplan.planning.rounds.breakdowns import breakdowns
from gangplan.planning.rounds.history import Arrival, Failure, History
from gangplan.planning.rounds.told import Telling, Told
from gangplan.planning.scenario import expand, load
from gangplan.planning.scenario import history as scenario_history
from gangplan.planning.scenario.schema.simulation import SimulationPart
from gangplan.planning.trace.lines import IMPORT_FIRST, Trace
from gangplan.planning.trace.lines import load as load_trace
from gangplan.planning.trace.replay import Replay, Replayed, replay

MOST_ROUNDS = 1_000_000
"""Rounds after which a replay ends unless it is said: the default of a scenario is too few for months."""
_AFTER_SECONDS = 30 * 86_400.0
"""How long after the last arrival nodes go on to fail, besides once the time until then."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a simulation starts from.

    Attributes:
        name: of the history.
        site: the first round without its jobs.
        part: what a scenario says of its simulation; the defaults where there is none.
        trace: whose jobs arrive; None: those of ``arrivals``.
        arrivals: the jobs.
        failures: nodes that fail.
        seed: of the history.
    """

    name: str
    site: Round
    part: SimulationPart = SimulationPart()
    trace: Trace | None = None
    arrivals: tuple[Arrival, ...] = ()
    failures: tuple[Failure, ...] = ()
    seed: int = 0

    @property
    def most_rounds(self) -> int:
        """After how many rounds it ends unless it is said otherwise."""
        said = self.trace is None or "rounds" in self.part.model_fields_set
        return self.part.rounds if said else MOST_ROUNDS

    def history(self, how: Replay | None = None, *, site: Round | None = None) -> Replayed:
        """The history on the site, or on an edited one.

        Args:
            how: a trace is replayed; passed over without one.
            site: in place of ``self.site``. Jobs that ran on nodes that are gone wait at the start.
        """
        site = site or self.site
        nodes = {node.name for node in site.cluster.nodes}
        failures = tuple(failure for failure in self.failures if failure.node in nodes)
        if self.trace is not None:
            asked = how or Replay()
            asked = replace(asked, checkpoint_seconds=self.part.checkpoint_every)
            return replay(self.trace, site, asked, failures)
        arrivals = tuple(_where_nodes_are(arrival, nodes) for arrival in self.arrivals)
        template = replace(site, jobs=())
        return Replayed(History(template, arrivals, failures, name=self.name, seed=self.seed), {}, {})

    def telling(self, told: Told | None = None, noise: float | None = None, seed: int = 0) -> Telling:
        """What policies are told; what is given comes before what the file says."""
        told = Told(self.part.told) if told is None else told
        return Telling(told, noise=self.part.noise if noise is None else noise, seed=seed)


def read(name: str, cluster: Path | None = None) -> Source:
    """A source from its name.

    Args:
        name: path of a scenario or (with ``cluster``) of a trace, or the name of a generated history.
        cluster: path of the scenario on whose nodes a trace is replayed.

    Raises:
        InvalidInputError: it cannot be read, or a trace has no cluster.
    """
    path = Path(name)
    if cluster is not None:
        scenario = load(cluster)
        site, part = expand(scenario, folder=cluster.parent), scenario.simulation
        failures = tuple(
            Failure(one.node, site.now + one.at, site.now + one.at + one.lasts) for one in part.failures
        )
        trace = load_trace(path)
        return Source(trace.header.name, site, part, trace=trace, failures=failures, seed=part.seed)
    if is_trace(path):
        violation = FieldViolation("--cluster", "a trace is replayed on a cluster: name its file")
        raise InvalidInputError([violation])
    if path.name.lower().endswith((".csv", ".csv.gz")):
        raise InvalidInputError([FieldViolation(name, f"is no trace file: {IMPORT_FIRST}")])
    if path.suffix.lower() in {".yaml", ".yml"} or path.is_file():
        scenario = load(path)
        return of_history(scenario_history(scenario, folder=path.parent), scenario.simulation)
    return of_history(histories.named(name))


def of_history(history: History, part: SimulationPart | None = None) -> Source:
    """The source of a history that is there."""
    return Source(
        history.name,
        history.template,
        part or SimulationPart(),
        arrivals=history.arrivals,
        failures=history.failures,
        seed=history.seed,
    )


def is_trace(path: Path) -> bool:
    """Whether a file is a trace, by its name."""
    return path.name.lower().endswith((".jsonl", ".jsonl.gz"))


def failing(history: History, most_rounds: int, mtbf: float, repair: float, seed: int) -> History:
    """The history with nodes that fail at random, until well after all could be done.

    Args:
        history: to be played.
        most_rounds: after so many it ends.
        mtbf: mean seconds to a failure of each node.
        repair: mean seconds until it is back.
        seed: of the failures.
    """
    start, length = history.template.now, history.template.round_seconds
    last = max((arrival.job.submit_time or start for arrival in history.arrivals), default=start)
    span = min(most_rounds * length, 2 * (last - start) + _AFTER_SECONDS)
    drawn = breakdowns(history.template.cluster.nodes, start, span, mtbf, repair, seed)
    return replace(history, failures=(*history.failures, *drawn))


def _where_nodes_are(arrival: Arrival, nodes: Iterable[str]) -> Arrival:
    """The job as it is, or waiting when a node that it ran on is gone."""
    running = arrival.job.running
    if running is None or all(placement.node in nodes for placement in running.placements):
        return arrival
    return replace(arrival, job=replace(arrival.job, running=None))
