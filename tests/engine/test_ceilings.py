"""Which options a reduced programme keeps, and what leaving the others out proves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gangplan.engine.ceilings import Ceilings

BOUND = 10.0


def numbers(count: int, *choices: float) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from(choices), min_size=count, max_size=count)


@given(st.data())
def test_it_keeps_the_start_and_what_costs_nothing_and_no_more_than_it_may(data: st.DataObject) -> None:
    """Also where the start alone has more options than may be added."""
    count = data.draw(st.integers(1, 30))
    regret = np.array(data.draw(numbers(count, 0.0, 0.5, 1.0, 2.0, 3.0)))
    size = np.array(data.draw(numbers(count, 1.0, 2.0, 8.0)))
    start = np.array(data.draw(numbers(count, 0.0, 1.0)))
    worth = data.draw(st.sampled_from([-np.inf, 8.0, 9.25, 10.0]))
    most = data.draw(st.integers(0, count) | st.just(np.inf))
    kept, left_out = Ceilings(BOUND, BOUND - regret, size).nearest(most, start, worth)
    given_ = (start > 0.0) | (regret == 0.0)
    assert kept[given_].all()
    others = kept & ~given_
    if most == np.inf:
        assert (kept | (BOUND - regret <= worth)).all()
    else:
        cost = regret / size
        assert (
            cost[others] <= np.sort(cost[~given_])[: max(1, int(most) + len(others))].max(initial=0)
        ).all()
        assert others.sum() <= most or len(np.unique(cost[others])) < len(cost[others])
    assert not (others & (BOUND - regret <= worth)).any()
    assert left_out == (-np.inf if kept.all() else (BOUND - regret)[~kept].max())


@given(st.data())
def test_the_lower_of_two_ceilings_counts(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    first, second = (np.array(data.draw(numbers(count, 0.0, 1.0, 5.0))) for _ in range(2))
    both = Ceilings(BOUND, BOUND - first, np.ones(count)).lowered(BOUND - 2.0, second)
    assert both.bound == BOUND - 2.0
    assert (both.of_column == np.minimum(BOUND - first, BOUND - 2.0 - second)).all()
