"""A life of rounds: jobs come, end and change weight, nodes fail, plans are applied; then nothing moves.

Legality is judged by the verifier on every plan (P6), claims are handed on while a plan is under way (P8),
promises are kept while their nodes are up (P17), what one queue is guaranteed is met as far as can be, by
proof (P16), and after all that five more rounds with the clock frozen disrupt nobody (P7).
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from gangplan.domain.cluster import NodeHealth
from gangplan.domain.plan import ActionKind, RoundResult
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.model.verifier.verify import verify
from gangplan.testing.apply import apply, begin
from gangplan.testing.builders import job, node, round_of

from .planned import closed, planned

DISRUPTIONS = (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)
LENGTH = 300.0


def voluntary(result: RoundResult) -> list[str]:
    return [a.job for a in result.plan.actions if a.kind in DISRUPTIONS and a.forced is None]


def waiting(round_: Round) -> set[str]:
    return {job.name for job in round_.jobs if job.running is None}


class Life(RuleBasedStateMachine):
    """One cluster of three nodes, and what happens to it."""

    def __init__(self) -> None:
        super().__init__()
        nodes = [node("a", "H", 4), node("b", "H", 4), node("c", "A", 2)]
        policy = Policy(
            fairness_power=0.0,
            minimum_run_seconds=LENGTH,
            promise_after_seconds=2 * LENGTH,
            longest_run_seconds=4 * LENGTH,
        )
        queues = (Queue("owed", device_guarantee=4), Queue("others"))
        types = {"H": 1.0, "A": 0.5}
        self.round: Round = round_of(
            nodes, [], types=types, now=1e6, round_seconds=LENGTH, policy=policy, queues=queues
        )
        self.number = 0
        self.failed: set[str] = set()
        """Nodes that have failed: what was promised there is no more."""

    @rule(
        gpus=st.sampled_from((1, 2, 4, 8)),
        weight=st.sampled_from((0.5, 1.0, 3.0)),
        notice=st.sampled_from((0.0, 60.0)),
        restart=st.sampled_from((0.0, 30.0)),
        queue=st.sampled_from((None, "others", "owed")),
    )
    def submit(self, gpus: int, weight: float, notice: float, restart: float, queue: str | None) -> None:
        if len(self.round.jobs) < 7:
            fields = {"checkpoint_seconds": notice, "restart_seconds": restart, "queue": queue}
            new = job(f"j{self.number}", gpus=gpus, weight=weight, submit_time=self.round.now, **fields)
            self.number += 1
            self.round = replace(self.round, jobs=(*self.round.jobs, new))

    @precondition(lambda self: any(j.running for j in self.round.jobs))
    @rule(pick=st.integers(0, 6))
    def finish(self, pick: int) -> None:
        running = [j.name for j in self.round.jobs if j.running]
        done = running[pick % len(running)]
        self.round = replace(self.round, jobs=tuple(j for j in self.round.jobs if j.name != done))

    @rule(pick=st.integers(0, 2))
    def fail_or_mend_a_node(self, pick: int) -> None:
        nodes = list(self.round.cluster.nodes)
        sick = nodes[pick].health is NodeHealth.UNHEALTHY
        self.failed.add(nodes[pick].name)
        nodes[pick] = replace(nodes[pick], health=NodeHealth.HEALTHY if sick else NodeHealth.UNHEALTHY)
        self.round = replace(self.round, cluster=replace(self.round.cluster, nodes=tuple(nodes)))

    @precondition(lambda self: self.round.jobs)
    @rule(pick=st.integers(0, 6), weight=st.sampled_from((0.5, 1.0, 3.0)))
    def change_weight(self, pick: int, weight: float) -> None:
        jobs = list(self.round.jobs)
        jobs[pick % len(jobs)] = replace(jobs[pick % len(jobs)], weight=weight)
        self.round = replace(self.round, jobs=tuple(jobs))

    @rule(in_flight=st.booleans())
    def plan(self, *, in_flight: bool) -> None:
        """Plan and apply; or see the plan under way first, and what becomes of its claims and promises."""
        result = planned(self.round)
        assert verify(self.round, result.plan).violations == ()
        held = {a.job: sum(len(p.devices) for p in a.placements) for a in result.plan.actions}
        owed = sum(held.get(job.name, 0) for job in self.round.jobs if job.queue == "owed")
        quality = result.quality.guarantees
        assert quality.value == min(4, owed)
        assert quality.bound - quality.value <= 1e-6 * max(1.0, quality.bound)
        if in_flight:
            under_way = begin(self.round, result.plan)
            again = {a.job: a for a in planned(under_way).plan.actions}
            for claim in result.plan.claims:
                if claim.expires_at > self.round.now:
                    assert again[claim.job].placements == claim.placements
        starts = {a.job: a for a in result.plan.actions if a.kind is ActionKind.PLACE}
        for promise in self.round.reservations:
            if self.failed.isdisjoint(placement.node for placement in promise.placements):
                start = starts.get(promise.job)
                late = promise.latest_start < self.round.now + LENGTH
                assert start is not None or not late or promise.job not in waiting(self.round)
                if start is not None and start.not_before is not None:
                    assert start.not_before <= promise.latest_start
        after = apply(self.round, result.plan)
        for earlier, later in zip(self.round.jobs, after.jobs, strict=True):
            if earlier.running and later.running is None and earlier.name in voluntary(result):
                assert self.round.now >= (earlier.running.started_at or 0.0) + LENGTH
        still = tuple(p for p in after.reservations if p.job in waiting(after))
        self.round = replace(after, now=after.now + LENGTH, claims=(), reservations=still)

    def teardown(self) -> None:
        first = planned(self.round)
        if not closed(first) or first.statistics["taken_back_bundles"]:
            return
        now = apply(self.round, first.plan)
        for _ in range(5):
            again = planned(now)
            assert voluntary(again) == []
            now = apply(now, again.plan)


@pytest.mark.parametrize("depth", ["quick", pytest.param("deep", marks=[pytest.mark.deep])])
@pytest.mark.timeout(3_000)
def test_a_life_of_rounds(depth):
    examples, steps = (6, 8) if depth == "quick" else (300, 20)
    how = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Life, settings=how)
