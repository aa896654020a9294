"""A large gang starts in time whatever arrives: promises and the bound on waiting, round after round (P17).

A stream of small jobs of a hundred times its weight never ends, and never leaves it a whole node by chance.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.domain.job import Capabilities
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.planning.policies.myopic import Myopic
from gangplan.planning.policies.protocol import How
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.loop import Settings, play
from gangplan.testing.builders import job, node, round_of

from .planned import drawn, in_depth

NOW = 1e6
D = 300.0
AFTER, LONGEST = 2 * D, 3 * D


@in_depth
def depth():
    """Quick or deep."""


@st.composite
def streams(draw):
    """Three nodes, one or two gangs of whole nodes, and small jobs all the time.

    The gangs are in a queue of no limit, or one of two nodes or all; so are the small jobs, or most of them.
    """
    jobs = []
    most = draw(st.sampled_from((None, 8, 12)))
    by_type = {"H": draw(st.sampled_from((12, 8)))}
    above = Queue("top", device_limit=most)
    limited = Queue("q", "top", device_limit_by_type=by_type)
    sizes = (1, 2, 3) if by_type["H"] == 12 and most != 8 else (1, 2)
    others = draw(st.sampled_from(("q", "top", None)))
    for i, nodes in enumerate(draw(st.lists(st.sampled_from(sizes), min_size=1, max_size=2))):
        begins = draw(st.sampled_from((0.0, D, 2.5 * D)))
        gang = job(f"gang{i}", gpus=4 * nodes, weight=0.01, submit_time=NOW + begins)
        jobs.append(Arrival(gang, draw(st.sampled_from((D, 1.5 * D))) * 4 * nodes))
    rigid = Capabilities(pausable=False, movable=draw(st.booleans()), resizable=False)
    for round_ in range(40):
        for turn in range(draw(st.integers(3, 6)) if round_ < 12 else 5):
            gpus, rounds = draw(st.sampled_from(((1, 0.5), (1, 2.5), (2, 1.4), (3, 0.9), (2, 2.9))))
            lasts = rounds * D
            pausable = draw(st.booleans()) if round_ < 12 else turn % 2 == 0
            small = job(
                f"small{round_}-{turn}",
                gpus=gpus,
                submit_time=NOW + round_ * D,
                checkpoint_seconds=draw(st.sampled_from((0.0, 0.0, 60.0))) if round_ < 12 else 0.0,
                capabilities=Capabilities() if pausable else rigid,
            )
            jobs.append(Arrival(small, (6 * lasts if pausable else lasts) * gpus))
    nodes = [node(name, "H", 4) for name in "abc"]
    minimum = draw(st.sampled_from((0.0, D)))
    policy = Policy(fairness_power=0.0, minimum_run_seconds=minimum)
    template = round_of(nodes, [], now=NOW, round_seconds=D, policy=policy, queues=(above, limited))
    jobs = [
        replace(arrival, job=replace(arrival.job, queue="q" if i % 4 else others))
        if arrival.job.name.startswith("small")
        else replace(arrival, job=replace(arrival.job, queue="q"))
        for i, arrival in enumerate(jobs)
    ]
    return History(template, tuple(jobs), name="stream")


def lived(history):
    """First starts, bounds as they were first told, and promises, by job."""
    told, promised = {}, {}

    def look(record):
        for verdict in record.after.answer.verdicts:
            if verdict.latest_start is not None:
                told.setdefault(verdict.job, verdict.latest_start)
        for action in record.plan.actions:
            if action.reservation is not None:
                promised.setdefault(action.job, action.reservation.latest_start)

    played = play(history, Myopic(How(pipeline="greedy")), Settings(most_rounds=40), on_round=look)
    return {name: state.first_start for name, state in played.state.jobs.items()}, told, promised, played


@settings(drawn, max_examples=max(5, settings().max_examples // 6))
@given(streams())
def test_who_waits_starts_in_time_whatever_arrives(history):
    policy = replace(history.template.policy, promise_after_seconds=AFTER, longest_run_seconds=LONGEST)
    starts, told, promised, played = lived(
        replace(history, template=replace(history.template, policy=policy))
    )
    ended = played.state.now
    for name, latest in {**told, **promised}.items():
        assert starts[name] is not None or latest >= ended, f"{name} has not started by {latest}"
        assert starts[name] is None or starts[name] <= latest, f"{name} started after {latest}"
    gangs = [name for name in starts if name.startswith("gang")]
    assert all(name in told or starts[name] is not None for name in gangs)


def test_without_promises_the_gang_waits_for_ever_and_with_them_it_does_not():
    """Five new jobs a round, each on one to three devices: there is always something worth more."""
    jobs = [Arrival(job("gang", gpus=8, weight=0.01, submit_time=NOW), 8 * D)]
    for round_ in range(40):
        for turn in range(6):
            small = job(f"small{round_}-{turn}", gpus=1 + turn % 3, submit_time=NOW + round_ * D)
            jobs.append(Arrival(small, (1 + turn % 3) * 1.5 * D))
    nodes = [node(name, "H", 4) for name in "abc"]
    template = round_of(nodes, [], now=NOW, round_seconds=D, policy=Policy(fairness_power=0.0))
    starts, told, _, _ = lived(History(template, tuple(jobs), name="stream"))
    assert starts["gang"] is None
    assert "gang" not in told
    policy = replace(template.policy, promise_after_seconds=AFTER, longest_run_seconds=LONGEST)
    starts, told, promised, _ = lived(History(replace(template, policy=policy), tuple(jobs), name="stream"))
    assert starts["gang"] <= promised["gang"] <= told["gang"]
