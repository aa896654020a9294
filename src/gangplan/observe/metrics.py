"""Prometheus metrics of the service, each in one registry per server so that servers do not mix."""

from __future__ import annotations

from collections import Counter as Tally

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector

from gangplan import __version__
from gangplan.domain.plan import RoundResult
from gangplan.observe.board import Board
from gangplan.observe.tracing import Tracing

# From one millisecond to a minute: a round may take any of these.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
# Gaps as fractions, from proved optimal to useless.
GAPS = (1e-6, 1e-5, 1e-4, 1e-3, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1)
BYTES = tuple(float(2**power) for power in range(10, 29, 2))


class Metrics:
    """Every metric of one server, and who else follows its rounds; names start with ``gangplan_``.

    Args:
        tracing: makes spans of its calls and rounds; None: nobody does.
    """

    def __init__(self, tracing: Tracing | None = None) -> None:
        self.tracing = tracing or Tracing()
        self.board = Board()
        registry = CollectorRegistry()
        self.registry = registry
        ProcessCollector(registry=registry)
        Info("gangplan_build", "What runs.", registry=registry).info({"version": __version__})
        self.calls = Counter(
            "gangplan_calls", "Calls answered, by method and status.", ["method", "code"], registry=registry
        )
        self.call_seconds = Histogram(
            "gangplan_call_seconds", "Whole time of a call.", ["method"], buckets=SECONDS, registry=registry
        )
        self.calls_in_flight = Gauge("gangplan_calls_in_flight", "Calls being answered.", registry=registry)
        self.queued = Gauge("gangplan_calls_queued", "Calls that wait for a slot.", registry=registry)
        self.refused = Counter("gangplan_calls_refused", "Calls refused for overload.", registry=registry)
        self.denied = Counter(
            "gangplan_calls_denied",
            "Calls refused for who calls, how often or with how much, by reason.",
            ["reason"],
            registry=registry,
        )
        self.cancelled = Counter(
            "gangplan_calls_cancelled", "Calls that the client gave up.", registry=registry
        )
        self.request_bytes = Histogram(
            "gangplan_request_bytes", "Size of requests.", ["method"], buckets=BYTES, registry=registry
        )
        self.rounds = Counter(
            "gangplan_rounds",
            "Rounds planned, by pipeline, reason and limit.",
            ["pipeline", "reason", "limit"],
            registry=registry,
        )
        self.rounds_running = Gauge("gangplan_rounds_running", "Rounds being planned.", registry=registry)
        self.phase_seconds = Histogram(
            "gangplan_phase_seconds",
            "Time by phase of a round.",
            ["phase"],
            buckets=SECONDS,
            registry=registry,
        )
        self.relative_gap = Histogram(
            "gangplan_relative_gap", "Relative gap, a fraction.", buckets=GAPS, registry=registry
        )
        self.gap_of_gain = Histogram(
            "gangplan_gap_of_gain", "Gap of gain, a fraction.", buckets=GAPS, registry=registry
        )
        self.actions = Counter("gangplan_actions", "Actions planned, by kind.", ["kind"], registry=registry)
        self.verdicts = Counter(
            "gangplan_verdicts", "Jobs without a placement, by verdict.", ["kind"], registry=registry
        )
        self.round_seconds = Histogram(
            "gangplan_round_seconds",
            "Whole time of a round, from when it was read.",
            ["pipeline"],
            buckets=SECONDS,
            registry=registry,
        )
        self.jobs_waiting = Gauge(
            "gangplan_jobs_waiting", "Jobs without a placement in the last round.", registry=registry
        )
        self.sessions = Gauge(
            "gangplan_sessions_held",
            "Sessions in this process's memory; all of them are in what they are kept in.",
            registry=registry,
        )
        self.worker_restarts = Counter(
            "gangplan_worker_restarts",
            "Solver workers replaced after a crash or a kill.",
            registry=registry,
        )
        self.captures = Counter(
            "gangplan_captures",
            "Rounds to be captured, by outcome: written, or dropped since they could not be (not_written, "
            "queue_full).",
            ["outcome"],
            registry=registry,
        )

    def observe_round(self, result: RoundResult) -> None:
        """Count one answered round."""
        self.round_seconds.labels(result.pipeline).observe(result.seconds_by_phase.get("total", 0.0))
        self.rounds.labels(result.pipeline, result.reason.value, result.limit.value).inc()
        self.relative_gap.observe(result.quality.relative_gap)
        self.gap_of_gain.observe(result.quality.gap_of_gain)
        for phase, seconds in result.seconds_by_phase.items():
            self.phase_seconds.labels(phase).observe(seconds)
        for kind, number in Tally(action.kind.value for action in result.plan.actions).items():
            self.actions.labels(kind).inc(number)
        for kind, number in Tally(verdict.kind.value for verdict in result.verdicts).items():
            self.verdicts.labels(kind).inc(number)
