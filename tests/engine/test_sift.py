"""Which options a reduced programme keeps, and what leaving the others out proves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gangplan.engine.sift import Sifted, nearest


@given(st.data())
def test_it_keeps_the_start_and_all_of_no_regret_and_no_more_than_it_may(data: st.DataObject) -> None:
    """Also where the start alone has more options than may be added."""
    count = data.draw(st.integers(1, 30))
    regret = np.array(
        data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0]), min_size=count, max_size=count))
    )
    start = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=count, max_size=count)))
    most = data.draw(st.integers(1, count))
    kept, left_out = nearest(Sifted(0.0, np.zeros(0), regret), most, start)
    given_ = (start > 0.0) | (regret == 0.0)
    assert kept[given_].all()
    assert (kept & ~given_).sum() <= most
    assert left_out == (float("inf") if kept.all() else regret[~kept].min())
