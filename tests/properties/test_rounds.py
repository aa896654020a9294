"""The loop over rounds: what must hold of every history, whoever decides."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.planning import histories, policies
from gangplan.planning.metrics import measure
from gangplan.planning.predict.predictor import LEAST_JOBS
from gangplan.planning.rounds.history import Failure, History
from gangplan.planning.rounds.loop import Played, RoundRecord, Settings, play
from gangplan.planning.rounds.told import Telling, Told

NAMES = ("fifo", "least-attained-service", "shortest-remaining", "myopic", "tracking")
CLOSE = 1e-6


@st.composite
def cases(draw: st.DrawFn) -> tuple[History, str, Settings]:
    """A small history, perhaps with failing nodes; a policy; and what it is told."""
    history = histories.small(draw(st.integers(0, 10_000)))
    start, length = history.template.now, history.template.round_seconds
    failures = []
    for node in history.template.cluster.nodes:
        if draw(st.integers(0, 3)) == 3:
            begins = start + draw(st.floats(0, 12)) * length
            failures.append(Failure(node.name, begins, begins + draw(st.floats(0.1, 3)) * length))
    telling = Telling(draw(st.sampled_from(Told)), seed=draw(st.integers(0, 5)))
    return replace(history, failures=tuple(failures)), draw(st.sampled_from(NAMES)), Settings(telling, 400)


def played(case: tuple[History, str, Settings]) -> Played:
    history, name, how = case
    return play(history, policies.make(name), how)


@given(cases())
@settings(max_examples=20)
def test_everybody_ends_and_work_is_conserved(case: tuple[History, str, Settings]) -> None:
    found = played(case)
    assert found.finished
    for arrival in found.history.arrivals:
        job = found.state.jobs[arrival.job.name]
        assert job.done == arrival.work
        assert job.run - job.lost == pytest.approx(job.done, rel=CLOSE)
        assert job.lost >= 0


@given(cases())
@settings(max_examples=20)
def test_spans_alone_say_when_a_job_ends(case: tuple[History, str, Settings]) -> None:
    """The work and the end of every job, computed anew from when it ran how fast."""
    found = played(case)
    for arrival in found.history.arrivals:
        job, every = found.state.jobs[arrival.job.name], arrival.checkpoint_seconds
        done = 0.0
        for number, span in enumerate(job.spans):
            useful = max(0.0, span.ends - span.begins - arrival.job.restart_seconds)
            if number == len(job.spans) - 1:
                assert done + span.throughput * useful == pytest.approx(arrival.work, rel=CLOSE)
                assert span.ends == job.finished
            elif every == 0:
                done += span.throughput * useful
            else:
                assert every is not None
                done += span.throughput * every * ((useful + CLOSE) // every)


@given(cases())
@settings(max_examples=20)
def test_no_device_is_held_twice_and_nobody_runs_before_it_arrives(
    case: tuple[History, str, Settings],
) -> None:
    found = played(case)
    held: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for arrival in found.history.arrivals:
        job = found.state.jobs[arrival.job.name]
        assert arrival.job.submit_time is not None
        assert all(span.begins >= arrival.job.submit_time for span in job.spans)
        assert all(one.ends <= two.begins for one, two in itertools.pairwise(job.spans))
        for span in job.spans:
            for placement in span.placements:
                for device in placement.devices:
                    held[placement.node, device].append((span.begins, span.ends))
    for times in held.values():
        times.sort()
        assert all(one[1] <= two[0] for one, two in itertools.pairwise(times))
    down = [(f.node, f.begins, f.ends) for f in found.history.failures]
    for job in found.state.jobs.values():
        for span in job.spans:
            for placement in span.placements:
                assert not any(
                    node == placement.node and max(begins, span.begins) < min(ends, span.ends)
                    for node, begins, ends in down
                )


@given(cases(), st.integers(0, 10**6))
@settings(max_examples=8)
def test_same_again_and_whatever_the_order(case: tuple[History, str, Settings], seed: int) -> None:
    history, name, how = case
    first, again = played(case), played(case)
    assert again.state.jobs == first.state.jobs
    arrivals, nodes = list(history.arrivals), list(history.template.cluster.nodes)
    random.Random(seed).shuffle(arrivals)
    random.Random(seed).shuffle(nodes)
    cluster = replace(history.template.cluster, nodes=tuple(nodes))
    shuffled = replace(history, arrivals=tuple(arrivals), template=replace(history.template, cluster=cluster))
    assert dict(played((shuffled, name, how)).state.jobs) == dict(first.state.jobs)


@given(cases())
@settings(max_examples=12)
def test_device_seconds_add_up(case: tuple[History, str, Settings]) -> None:
    """Useful within busy within held within what there is; held is what the spans hold."""
    found = played(case)
    figures = measure(found)
    assert -CLOSE <= figures.useful <= figures.busy + CLOSE
    assert figures.busy <= figures.allocated + CLOSE <= 1 + 2 * CLOSE
    held = sum(
        (span.ends - span.begins) * sum(len(placement.devices) for placement in span.placements)
        for job in found.state.jobs.values()
        for span in job.spans
    )
    assert held / found.state.totals.capacity == pytest.approx(figures.allocated, rel=CLOSE)


@given(cases())
@settings(max_examples=12)
def test_there_and_waiting_or_running_is_all_there_is(case: tuple[History, str, Settings]) -> None:
    """A job's life from its first round on is what it ran and what it waited."""
    found = played(case)
    start, length = found.history.template.now, found.history.template.round_seconds
    for arrival in found.history.arrivals:
        job = found.state.jobs[arrival.job.name]
        assert arrival.job.submit_time is not None
        assert job.finished is not None
        first = start + -((start - arrival.job.submit_time) // length) * length
        ran = sum(span.ends - span.begins for span in job.spans)
        assert ran + job.attended.waiting_seconds == pytest.approx(job.finished - first, abs=1e-3)


@given(st.integers(0, 10_000))
@settings(max_examples=8)
def test_a_policy_is_told_what_the_setting_says(seed: int) -> None:
    history = histories.small(seed)
    works = {arrival.job.name: arrival.work for arrival in history.arrivals}
    for told in Told:
        seen: list[RoundRecord] = []
        play(history, policies.make("fifo"), Settings(Telling(told, seed=seed)), on_round=seen.append)
        for record in seen:
            for job in record.round.jobs:
                work = works[job.name]
                if told is Told.UNKNOWN:
                    assert job.work_left is None
                elif told is Told.EXACT:
                    assert job.work_left == work - job.work_done
                elif told is Told.PREDICTED:
                    ended = sum(one.finished is not None for one in record.before.jobs.values())
                    assert job.work_left is None
                    assert (job.left_quantiles is not None) == (ended >= LEAST_JOBS)
                    assert job.left_quantiles is None or job.left_quantiles.values[0] > 0.0
                else:
                    assert job.work_left is not None
                    assert 0.035 * work - CLOSE <= job.work_left <= 1.3 * work - job.work_done + CLOSE


def test_generated_histories_show_what_the_properties_are_about() -> None:
    """Evictions, moves, resizes, crashes and lost work occur, and nobody's rho is out of this world."""
    found = []
    for seed in range(12):
        history = histories.small(seed)
        node, start = history.template.cluster.nodes[0].name, history.template.now
        history = replace(history, failures=(Failure(node, start + 700.0, start + 800.0),))
        found.append(measure(play(history, policies.make("myopic"))))
    assert sum(one.evictions > 0 for one in found) >= 6
    assert sum(one.moves > 0 for one in found) >= 6
    assert sum(one.resizes > 0 for one in found) >= 1
    assert sum(one.forced > 0 for one in found) >= 6
    assert sum(one.lost_gpu_hours > 0 for one in found) >= 6
    for one in found:
        assert one.rho is not None
        assert 0.1 < one.rho.mean <= one.rho.p99 <= one.rho.worst < 20
