"""How tight the bound is on tiny rounds, whose best plan is enumerated (decision 24).

Printed (``pytest -rP``): the median and the nine tenths of (bound - best) / best, of the price bound and of
the bound at the end. No bound may be below the best plan; that is what makes it one.
"""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from gangplan.domain.round import Round
from gangplan.errors import TooManyPlansError
from gangplan.model.instance.instance import build_instance
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.testing.enumerate import best_plan
from gangplan.testing.strategies import rounds

from .planned import planned, slack

EXAMPLES = 75


def test_bounds_are_bounds_and_how_tight_they_are() -> None:
    by_prices: list[float] = []
    at_the_end: list[float] = []

    @seed(24)
    @given(rounds("tiny"))
    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    def look(round_: Round) -> None:
        try:
            best = best_plan(round_, max_plans=5_000).objective
        except TooManyPlansError:
            return
        search = PriceSearch.of(build_instance(round_))
        search.improve()
        final = planned(round_).quality.bound
        for bound, found in ((search.bound, by_prices), (final, at_the_end)):
            assert bound >= best - slack(best)
            if best > 0:
                found.append(max(0.0, bound - best) / best)

    look()
    for name, found in (("by prices", by_prices), ("at the end", at_the_end)):
        half, most = np.quantile(found, (0.5, 0.9))
        print(f"{name}: {len(found)} rounds, median {half:.2%}, nine tenths {most:.2%}, all {max(found):.2%}")
    assert len(by_prices) >= EXAMPLES / 3
    assert np.quantile(at_the_end, 0.9) <= 1e-6
    assert np.quantile(by_prices, 0.5) <= 0.05
