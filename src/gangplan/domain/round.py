"""One round: everything that a decision may depend on. No clock is read anywhere else (decision 10)."""

from __future__ import annotations

from dataclasses import dataclass

from gangplan.domain.cluster import AcceleratorType, Cluster
from gangplan.domain.job import Job, ThroughputProfile
from gangplan.domain.outlook import Outlook, Reservation
from gangplan.domain.plan import Claim
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue


@dataclass(frozen=True, slots=True)
class Round:
    """The input of one decision.

    Attributes:
        now: seconds since the epoch.
        round_seconds: length of this round, D; positive.
        horizon_seconds: expected time to the next change of plan, at least one round; switching costs
            are spread over it (decision 13).
        cluster: topology and nodes.
        accelerators: the catalogue; names X_ref's best type, whether present or not (decision 2).
        queues: the quota tree.
        jobs: running and waiting.
        profiles: shared throughput profiles.
        policy: weights and limits.
        claims: those of the last plan that are not fulfilled yet; each keeps its place for its job.
        reservations: promises of earlier rounds, each of which keeps its place for its job from a time on;
            and wishes for promises, which have no place yet.
        outlook: what this round should give each job (decision 31); None: each round on its own.
    """

    now: float = 0.0
    round_seconds: float = 300.0
    horizon_seconds: float = 3600.0
    cluster: Cluster = Cluster()
    accelerators: tuple[AcceleratorType, ...] = ()
    queues: tuple[Queue, ...] = ()
    jobs: tuple[Job, ...] = ()
    profiles: tuple[ThroughputProfile, ...] = ()
    policy: Policy = Policy()
    claims: tuple[Claim, ...] = ()
    outlook: Outlook | None = None
    reservations: tuple[Reservation, ...] = ()
