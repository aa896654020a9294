"""How running jobs run is found for all at once, and comes out as for each alone."""

from __future__ import annotations

from hypothesis import given

from gangplan.domain.round import Round
from gangplan.model.instance.as_placed import as_placed
from gangplan.model.instance.instance import build_instance
from gangplan.testing.strategies import rounds


@given(rounds())
def test_together_is_as_alone(round_: Round) -> None:
    instance = build_instance(round_)
    for c in instance.kept.nonzero()[0].tolist():
        j = instance.classes[c].jobs[0]
        alone = as_placed(instance.jobs[j], instance.placements[j], instance.speeds, instance.nodes)
        assert instance.keep_use[c] == alone.use
        assert instance.keeps.scope[c] == alone.scope
        assert instance.keeps.throughput[c] == alone.throughput
