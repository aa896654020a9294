"""All that has happened so far: immutable, one for every round."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import cast

from gangplan.domain.job import Running, TaskPlacement
from gangplan.domain.outlook import Reservation
from gangplan.domain.plan import RoundResult
from gangplan.domain.quantiles import Quantiles
from gangplan.planning.predict.predictor import Predictor


@dataclass(frozen=True, slots=True)
class Span:
    """A time for which a job held the same devices.

    Attributes:
        begins, ends: seconds since the epoch.
        placements: what it held.
        throughput: work units per second, once its restart was over.
    """

    begins: float
    ends: float
    placements: tuple[TaskPlacement, ...]
    throughput: float


@dataclass(frozen=True, slots=True)
class FairSelf:
    """The job as it would be with its fair share alone (decision 11).

    Attributes:
        progress: work that it has done.
        finish_age: age in seconds at which all was done; None while it is not.
    """

    progress: float = 0.0
    finish_age: float | None = None


@dataclass(frozen=True, slots=True)
class Attended:
    """What a job was given, in seconds, device-seconds and times.

    Attributes:
        waiting_seconds: it was there and held nothing.
        held: device-seconds from start to stop, restarts included.
        busy: of these, those in which it worked.
        lost: of the busy ones, those whose work was thrown away.
        restarting: device-seconds of restarts, the first start left out.
        starting: device-seconds of the first start.
        evictions, moves, resizes: by the policy's choice.
        forced: stops without a choice: crashes, nodes that are gone or drained.
        contention_seconds: sum over rounds of its length times the jobs that were there.
        proportional_seconds: time in which its proportional share alone would have done what it did, round by
            round (Gavel's cumulative isolated time).
    """

    waiting_seconds: float = 0.0
    held: float = 0.0
    busy: float = 0.0
    lost: float = 0.0
    restarting: float = 0.0
    starting: float = 0.0
    evictions: int = 0
    moves: int = 0
    resizes: int = 0
    forced: int = 0
    contention_seconds: float = 0.0
    proportional_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class JobState:
    """One job that has arrived.

    Attributes:
        done: work done; what a stop would throw away counts.
        safe: of that, what is in its last checkpoint.
        run: work that was ever done; ``done`` and ``lost`` together.
        lost: work that was thrown away.
        running: where it runs; None while it waits, and when it has ended.
        delay_left: seconds of restart that it still owes.
        throughput: work units per second where it runs, once its restart is over; 0 while it waits.
        fair: its fair self, with its true work.
        fair_as_told: its fair self, with the work that policies are told.
        foreseen: work that was predicted when it came; None: nothing was.
        held_seconds: for which it was behind its gate, time before ``not_before`` left out.
        disrupted_at: when it was evicted, moved or resized by choice within the last hour.
        first_start: seconds since the epoch; None: it never ran.
        estimated_start: when it was first told to start, before it ever ran; None: nobody said.
        promised_start: the latest start that it was first promised; None: it never was.
        finished: seconds since the epoch; None: it has not ended.
        spans: closed ones, in order; a job that runs has one more that is open.
        attended: what it was given.
    """

    done: float = 0.0
    safe: float = 0.0
    run: float = 0.0
    lost: float = 0.0
    running: Running | None = None
    delay_left: float = 0.0
    throughput: float = 0.0
    fair: FairSelf = FairSelf()
    fair_as_told: FairSelf = FairSelf()
    foreseen: Quantiles | None = None
    held_seconds: float = 0.0
    disrupted_at: tuple[float, ...] = ()
    first_start: float | None = None
    estimated_start: float | None = None
    promised_start: float | None = None
    finished: float | None = None
    spans: tuple[Span, ...] = ()
    attended: Attended = Attended()


_NOBODY: Mapping[str, JobState] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all rounds.

    Attributes:
        rounds: how many there were, skipped ones included.
        skipped: rounds in which nobody was there, so that nothing could change.
        steady: rounds in which somebody was there and nothing could change, so that nobody was asked.
        capacity: device-seconds that there were, on nodes that were up.
    """

    rounds: int = 0
    skipped: int = 0
    steady: int = 0
    capacity: float = 0.0


@dataclass(frozen=True, slots=True)
class State:
    """The world at the start of a round.

    Attributes:
        now: seconds since the epoch.
        live: those who have arrived and not ended, by name.
        ended: those who have ended; apart, so that a round costs what those who are there cost.
        arrived: how many of the history's arrivals, in order of submission, are among them.
        answer: what the policy answered last, from which it may take what it wants to remember: prices, its
            plan. None at first, and when it answered with a bare plan.
        promises: those that were made and whose jobs have not started; handed to every round.
        totals: sums.
        predictor: what was learned from those who have ended.
    """

    now: float
    live: Mapping[str, JobState] = field(default_factory=lambda: _NOBODY)
    ended: Mapping[str, JobState] = field(default_factory=lambda: _NOBODY)
    arrived: int = 0
    answer: RoundResult | None = None
    promises: tuple[Reservation, ...] = ()
    totals: Totals = Totals()
    predictor: Predictor = Predictor()

    @property
    def jobs(self) -> Mapping[str, JobState]:
        """Everybody who has arrived, by name."""
        return ChainMap(cast("dict[str, JobState]", self.live), cast("dict[str, JobState]", self.ended))

    @property
    def present(self) -> tuple[str, ...]:
        """Names of the jobs that have arrived and not ended."""
        return tuple(self.live)
