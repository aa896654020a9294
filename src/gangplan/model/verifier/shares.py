"""The fair shares of a round, for people: by the verifier's own arithmetic, from the round alone."""

from __future__ import annotations

import math
from functools import partial

from gangplan.domain.job import Job
from gangplan.domain.round import Round
from gangplan.domain.shares import FairShares, JobShare, QueueShare
from gangplan.model.forms import effective_throughput
from gangplan.model.verifier.facts import RoundFacts, round_facts, usable_by_type
from gangplan.model.verifier.left import left_at
from gangplan.model.verifier.owed import Owed
from gangplan.model.verifier.standing import Standing, standing


def fair_shares(round_: Round) -> FairShares:
    """What every job and queue is owed: shares, entitlements and ratios.

    Each figure's formula and source is in :data:`gangplan.domain.shares.DEFINITIONS`.
    """
    facts = round_facts(round_)
    capacity = usable_by_type(round_)
    absent = frozenset(job.name for job in round_.jobs if job.running is None and job.name in facts.gates)
    bases = {name: known.base for name, known in facts.jobs.items()}
    contending = math.fsum(base for name, base in bases.items() if name not in absent)
    owed = Owed(round_, bases, capacity, facts.throughput, absent)
    jobs = []
    for job in sorted(round_.jobs, key=lambda job: job.name):
        known = facts.jobs[job.name]
        part = 0.0 if job.name in absent else known.base / contending
        stands = _standing(round_, job, facts, owed)
        away = job.name in absent
        jobs.append(
            JobShare(
                job=job.name,
                queue=job.queue,
                devices_by_type={name: count * part for name, count in sorted(capacity.items())},
                isolated_throughput=0.0 if away else known.isolated,
                fairness_ratio=known.rho,
                share=owed.share(job),
                entitled_devices=owed.devices(job),
                device_time_ratio=stands.owed_over_received,
                equal_throughput=owed.equal(job),
                effective_throughput_ratio=effective_throughput.urgency(stands, 1.0),
                weight=known.weight,
            )
        )
    shares = {each.job: each.share for each in jobs}
    usable = sum(capacity.values())
    parents = {queue.name: queue.parent for queue in round_.queues}
    received: dict[str, list[float]] = {queue.name: [] for queue in round_.queues}
    for job in round_.jobs:
        here = job.queue
        while here is not None:
            received[here].append(shares[job.name])
            here = parents[here]
    queues = tuple(
        QueueShare(name, math.fsum(parts), math.fsum(parts) * usable, owed.ratio_of(name))
        for name, parts in sorted(received.items())
    )
    return FairShares(tuple(jobs), queues, dict(sorted(capacity.items())))


def _standing(round_: Round, job: Job, facts: RoundFacts, owed: Owed) -> Standing:
    known = facts.jobs[job.name]
    return standing(
        job,
        round_.now,
        round_.round_seconds,
        left=left_at(job, round_.policy.fairness_quantile),
        isolated=known.isolated,
        reference=known.reference,
        rho=known.rho,
        devices=partial(owed.devices, job),
        equal=partial(owed.equal, job),
        service_quantiles=round_.policy.service_quantiles,
    )
