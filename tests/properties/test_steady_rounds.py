"""Rounds in which nothing can change are passed, and what comes out is the same; simulations go on later."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.domain.job import Gate
from gangplan.errors import InvalidInputError
from gangplan.planning import histories, policies
from gangplan.planning.metrics import measure
from gangplan.planning.policies import How
from gangplan.planning.rounds.breakdowns import breakdowns
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.loop import RoundRecord, Settings, play
from gangplan.planning.rounds.saved import belongs_to, restore, save
from gangplan.planning.rounds.state import JobState
from gangplan.planning.rounds.told import Telling, Told

STEADY = ("fifo", "shortest-remaining", "easy-backfill")
CLOSE = 1e-6


@st.composite
def long_histories(draw: st.DrawFn) -> History:
    """Small ones stretched, so that jobs run for many rounds; with gates, and nodes that fail at random."""
    history = histories.small(draw(st.integers(0, 10_000)))
    start, length = history.template.now, history.template.round_seconds
    stretch = draw(st.sampled_from([1.0, 4.3, 9.0]))
    gates = draw(st.booleans())

    def stretched(number: int, arrival: Arrival) -> Arrival:
        job = arrival.job
        assert job.submit_time is not None
        came = start + (job.submit_time - start) * stretch
        opens = came + 2.5 * length if gates and number % 3 == 0 else None
        job = replace(job, submit_time=came, deadline=None, gate=Gate(not_before=opens))
        return Arrival(job, arrival.work * stretch, arrival.checkpoint_seconds)

    arrivals = tuple(itertools.starmap(stretched, enumerate(history.arrivals)))
    failures = ()
    if draw(st.booleans()):
        nodes = history.template.cluster.nodes
        failures = breakdowns(nodes, start, 100 * length, 20 * length, 2 * length, draw(st.integers(0, 99)))
    return replace(history, arrivals=arrivals, failures=failures)


def alike(one: JobState, other: JobState) -> bool:
    """The same but for rounding."""
    assert one.finished == pytest.approx(other.finished, abs=1e-3)
    assert one.lost == pytest.approx(other.lost, rel=CLOSE, abs=1e-3)
    assert len(one.spans) == len(other.spans)
    for mine, yours in zip(one.spans, other.spans, strict=True):
        assert mine.placements == yours.placements
        assert (mine.begins, mine.ends) == pytest.approx((yours.begins, yours.ends), abs=1e-3)
    for field in ("waiting_seconds", "held", "busy", "restarting", "contention_seconds"):
        found, expected = getattr(one.attended, field), getattr(other.attended, field)
        assert found == pytest.approx(expected, rel=CLOSE, abs=1e-2), field
    assert one.fair.finish_age == pytest.approx(other.fair.finish_age, rel=CLOSE, abs=1e-3)
    assert one.held_seconds == pytest.approx(other.held_seconds, abs=1e-3)
    return True


@given(long_histories(), st.sampled_from(STEADY), st.sampled_from([Told.EXACT, Told.NOISY, Told.UNKNOWN]))
@settings(max_examples=12)
def test_rounds_that_are_passed_change_nothing(history: History, name: str, told: Told) -> None:
    how = Settings(Telling(told), 600)
    asked: list[RoundRecord] = []
    quick = play(history, policies.make(name), how, on_round=asked.append)
    slow = play(history, policies.make(name), replace(how, skip_steady=False))
    assert quick.state.jobs.keys() == slow.state.jobs.keys()
    assert all(alike(quick.state.jobs[job], slow.state.jobs[job]) for job in slow.state.jobs)
    totals = quick.state.totals
    assert totals.rounds == slow.state.totals.rounds
    assert slow.state.totals.steady == 0
    assert totals.capacity == pytest.approx(slow.state.totals.capacity, rel=CLOSE)
    assert sum(record.rounds for record in asked) + totals.skipped == totals.rounds
    assert len(asked) + totals.steady + totals.skipped == totals.rounds


def test_most_rounds_of_long_jobs_are_passed() -> None:
    history = histories.small(3)
    arrivals = tuple(replace(each, work=each.work * 100) for each in history.arrivals)
    found = play(replace(history, arrivals=arrivals), policies.make("fifo"))
    assert found.finished
    assert found.state.totals.steady > 0.9 * found.state.totals.rounds


@given(long_histories(), st.sampled_from([*STEADY, "least-attained-service"]))
@settings(max_examples=10)
def test_work_is_conserved_and_no_device_is_held_twice(history: History, name: str) -> None:
    found = play(history, policies.make(name), Settings(Telling(), 600))
    held: dict[tuple[str, int], list[tuple[float, float]]] = defaultdict(list)
    for arrival in history.arrivals:
        job = found.state.jobs[arrival.job.name]
        if job.finished is not None:
            assert job.done == arrival.work
            assert job.run - job.lost == pytest.approx(arrival.work, rel=CLOSE)
        opens = arrival.job.gate.not_before or 0.0
        for span in job.spans:
            assert span.begins >= max(arrival.job.submit_time or 0.0, opens)
            for place in span.placements:
                for device in place.devices:
                    held[place.node, device].append((span.begins, span.ends))
    for times in held.values():
        times.sort()
        assert all(one[1] <= two[0] for one, two in itertools.pairwise(times))
    down = [(failure.node, failure.begins, failure.ends) for failure in history.failures]
    for job in found.state.jobs.values():
        for span in job.spans:
            for place in span.placements:
                assert not any(
                    node == place.node and max(begins, span.begins) < min(ends, span.ends)
                    for node, begins, ends in down
                )
    figures = measure(found)
    assert figures.busy <= figures.allocated + CLOSE <= 1 + 2 * CLOSE


@pytest.mark.parametrize(
    ("name", "told", "seed", "after"),
    [
        ("fifo", Told.EXACT, 1, 3),
        ("shortest-remaining", Told.NOISY, 2, 7),
        ("myopic", Told.EXACT, 3, 4),
        ("tracking", Told.NOISY, 4, 5),
        ("tracking", Told.PREDICTED, 5, 12),
    ],
)
def test_what_is_gone_on_with_ends_as_if_it_had_not_been_stopped(
    name: str, told: Told, seed: int, after: int, tmp_path: Path
) -> None:
    history, how = histories.small(seed), Settings(Telling(told), 400)
    policy = policies.make(name, How(pipeline="greedy"))
    whole = play(history, policy, how)
    first = play(history, policy, replace(how, most_rounds=after))
    assert not first.finished
    belongs = belongs_to(history, name, how)
    save(first.state, belongs, tmp_path / "state.json")
    again = restore(tmp_path / "state.json", belongs)
    assert again == first.state
    rest = play(history, policy, how, begin=again)
    if name in STEADY:  # a limit of rounds may cut a steady time in two, which rounds differently
        assert all(alike(rest.state.jobs[job], whole.state.jobs[job]) for job in whole.state.jobs)
    else:
        assert dict(rest.state.jobs) == dict(whole.state.jobs)


def test_another_simulations_state_is_refused(tmp_path: Path) -> None:
    history, how = histories.small(1), Settings()
    file = tmp_path / "state.json"
    save(
        play(history, policies.make("fifo"), replace(how, most_rounds=2)).state,
        belongs_to(history, "fifo", how),
        file,
    )
    for other in (
        belongs_to(histories.small(2), "fifo", how),
        belongs_to(history, "myopic", how),
        belongs_to(history, "fifo", Settings(Telling(Told.UNKNOWN))),
    ):
        with pytest.raises(InvalidInputError, match="belongs to another simulation"):
            restore(file, other)
    file.write_text("{}")
    with pytest.raises(InvalidInputError, match="is no saved simulation"):
        restore(file, "x")
    with pytest.raises(InvalidInputError, match="cannot be read"):
        restore(tmp_path / "away", "x")


def test_nodes_break_down_as_often_as_is_said() -> None:
    nodes = histories.large("S", rounds=1).template.cluster.nodes
    found = breakdowns(nodes, 100.0, 1e7, 1e4, 1e3, seed=7)
    down = sum(failure.ends - failure.begins for failure in found) / (1e7 * len(nodes))
    assert down == pytest.approx(1e3 / 1.1e4, rel=0.05)
    assert found == breakdowns(nodes, 100.0, 1e7, 1e4, 1e3, seed=7)
    assert found != breakdowns(nodes, 100.0, 1e7, 1e4, 1e3, seed=8)
    longer = breakdowns(nodes[:2], 100.0, 2e7, 1e4, 1e3, seed=7)
    assert [f for f in found if f.node == nodes[0].name] == [
        f for f in longer if f.node == nodes[0].name and f.begins < 100.0 + 1e7
    ]


@pytest.mark.parametrize("name", ["myopic", "gangplan-efficiency"])
def test_our_policies_plan_again_when_something_happens_or_after_what_they_declare(name: str) -> None:
    """Long jobs: few plans, and whoever comes or ends does so in the last round that a plan stands for."""
    history = histories.small(3)
    arrivals = tuple(replace(each, work=each.work * 5) for each in history.arrivals[:3])
    history = replace(history, arrivals=arrivals)
    length = history.template.round_seconds
    asked: list[RoundRecord] = []
    policy = policies.make(name, How(pipeline="greedy", replan_seconds=5 * length))
    found = play(history, policy, on_round=asked.append)
    assert found.finished
    assert max(record.rounds for record in asked) == 5
    times = [one.job.submit_time or 0.0 for one in arrivals]
    times += [job.finished for job in found.state.jobs.values() if job.finished is not None]
    for record in asked:
        assert not any(record.round.now + 1e-6 < at < record.after.now - length - 1e-6 for at in times)
    every = play(history, policies.make(name, How(pipeline="greedy")), Settings(most_rounds=8))
    assert every.state.totals.steady == 0
