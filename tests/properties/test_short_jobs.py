"""Jobs of less than a round: what they get in rounds is little, and they go first all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.policy import Policy
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.tracking import make
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.loop import play
from gangplan.testing.builders import job, node, round_of

from .planned import drawn, in_depth

D = 300.0
DEVICES = 2


@in_depth
def depth():
    """Quick or deep."""


def ends(shorts: list[float], longs: int, policy: Policy) -> dict[str, float]:
    """When jobs of so many seconds are done, beside long ones of eight rounds, all there from the start."""
    jobs = [
        *(job(f"s{n}", work_left=seconds) for n, seconds in enumerate(shorts)),
        *(job(f"l{n}", work_left=8 * D) for n in range(longs)),
    ]
    arrivals = [Arrival(replace(one, work_left=None, submit_time=0.0), one.work_left or 0.0) for one in jobs]
    template = round_of([node("a", "H", DEVICES)], [], round_seconds=D, policy=policy)
    played = play(History(template, tuple(arrivals)), make(How(pipeline="greedy")))
    found = {name: state.finished for name, state in played.state.jobs.items()}
    assert all(end is not None for end in found.values())
    return {name: end for name, end in found.items() if end is not None}


@pytest.mark.parametrize("power", [0.0, 1.0, 2.0])
def test_a_minute_does_not_wait_for_hours(power: float) -> None:
    """Four jobs of a minute and six of forty on two devices: in minutes, 1, 1, 6, 6 and not 121."""
    found = ends([60.0] * 4, 6, Policy(fairness_power=power))
    assert sorted(end for name, end in found.items() if name.startswith("s")) == [60.0, 60.0, 360.0, 360.0]


@drawn
@given(
    st.lists(st.integers(1, 299).map(float), min_size=1, max_size=8),
    st.integers(1, 6),
    st.sampled_from([0.0, 1.0, 2.0]),
)
def test_who_needs_less_than_a_round_waits_for_its_like_alone(
    shorts: list[float], longs: int, power: float
) -> None:
    """Each round ends as many of them as there are devices, however many long jobs wait beside them."""
    found = ends(shorts, longs, Policy(fairness_power=power))
    rounds = -(-len(shorts) // DEVICES)
    assert max(end for name, end in found.items() if name.startswith("s")) <= rounds * D
