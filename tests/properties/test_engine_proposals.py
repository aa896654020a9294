"""Warm or cold, proposed to or not: every answer is valid, every bound a bound, and no proposal costs value.

Rounds are tiny, so that the raw enumerator says what is best.
"""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.job import TaskPlacement
from gangplan.domain.plan import Action, ActionKind, Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.engine import proposers
from gangplan.engine.proposers import Proposal
from gangplan.engine.warm_start import pack
from gangplan.errors import TooManyPlansError
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.adopt import adopt
from gangplan.model.packing.order import make_plan
from gangplan.model.verifier.verify import verify
from gangplan.testing.enumerate import best_plan
from gangplan.testing.strategies import rounds
from gangplan.testing.strategies.plans import plans

from .planned import RELATIVE, drawn, in_depth, planned, reached, slack

MOST_PLANS = 2_000
SAID: dict[str, Proposal] = {}


@in_depth
def depth():
    """Quick or deep."""


class Says:
    """Proposes what the property has drawn."""

    def propose(self, _round: Round, _seconds: float) -> Proposal:
        return SAID["now"]


SAYS = Says()


@pytest.fixture(scope="module", autouse=True)
def says():
    """A proposer of that name, for this module's rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposers, "installed", lambda: {"says": f"{__name__}:SAYS"})
        assert sys.modules[__name__].SAYS is SAYS
        yield


@st.composite
def sensible(draw: st.DrawFn, round_: Round) -> Plan:
    """A plan whose names and counts are right; whether there is room, nobody looked."""
    nodes = st.sampled_from([node.name for node in round_.cluster.nodes])
    actions = []
    for job in draw(st.permutations(round_.jobs)):
        what = draw(st.sampled_from(("start", "start", "stop", "stay", "nothing")))
        if what == "stop":
            actions.append(Action(f"a{len(actions)}", ActionKind.EVICT, job.name))
        elif what == "stay" and job.running is not None:
            actions.append(Action(f"a{len(actions)}", ActionKind.KEEP, job.name, job.running.placements))
        elif what == "start":
            count = [draw(st.sampled_from(group.allowed_counts)) for group in job.component.task_groups]
            home = draw(nodes)
            where: Counter[tuple[str, str]] = Counter()
            for group, tasks in zip(job.component.task_groups, count, strict=True):
                away = draw(st.integers(0, tasks)) if draw(st.booleans()) else 0
                where[group.name, home] += tasks - away
                where[group.name, draw(nodes)] += away
            placements = tuple(TaskPlacement(g, n, tasks) for (g, n), tasks in where.items() if tasks)
            kind = ActionKind.PLACE if job.running is None else ActionKind.MIGRATE
            actions.append(Action(f"a{len(actions)}", kind, job.name, placements))
    return Plan(tuple(actions))


def any_plan(round_: Round) -> st.SearchStrategy[Plan]:
    return sensible(round_) | plans(round_)


def prices(round_: Round) -> st.SearchStrategy[dict[str, float]]:
    names = st.sampled_from([*(type_.name for type_ in round_.accelerators), "unheard-of"])
    return st.dictionaries(names, st.floats(0, 1e3) | st.floats(0, 2), max_size=3)


NAMES = st.one_of(
    st.tuples(st.just("block"), st.sampled_from(("H100", "A100", "V100", "type-0", "")), st.integers(1, 8)),
    st.tuples(st.just("group"), st.sampled_from(("H100", "A100")), st.integers(1, 8), st.integers(1, 4)),
    st.tuples(st.sampled_from(("cpu", "memory")), st.sampled_from(("H100", "A100"))),
)
WARM = st.dictionaries(NAMES, st.floats(0, 1e12) | st.floats(0, 2), max_size=6).map(pack)


def check(round_: Round, result: RoundResult) -> None:
    """A valid plan, and a bound below which is all that the enumerator finds."""
    assert verify(round_, result.plan).violations == ()
    assert "rejected" not in result.detail, result.detail
    try:
        best = best_plan(round_, max_plans=MOST_PLANS)
    except TooManyPlansError:
        return
    assert best.objective <= result.quality.bound + slack(best.objective)
    assert result.quality.objective <= best.objective + slack(best.objective)


@drawn
@given(st.data())
def test_what_is_adopted_of_any_plan_breaks_no_rule(data: st.DataObject) -> None:
    round_ = data.draw(rounds("small"))
    plan = data.draw(any_plan(round_))
    instance = build_instance(round_)
    adopted = adopt(instance, plan)
    judged = verify(round_, make_plan(instance, adopted.assignment))
    assert judged.violations == ()
    assert 0 <= adopted.dropped <= len(plan.actions)


@drawn
@given(st.data())
def test_what_we_planned_is_adopted_whole(data: st.DataObject) -> None:
    """But for jobs that gain nothing by what is planned for them, which have no such option."""
    round_ = data.draw(rounds("tiny"))
    result = planned(round_, pipeline="greedy")
    adopted = adopt(build_instance(round_), result.plan)
    assert adopted.dropped == 0
    again = verify(round_, make_plan(build_instance(round_), adopted.assignment))
    assert again.objective >= result.quality.objective - RELATIVE * max(1.0, abs(result.quality.objective))


@drawn
@given(st.data())
def test_no_proposal_costs_the_round_anything(data: st.DataObject) -> None:
    round_ = data.draw(rounds("tiny"))
    pipeline = data.draw(st.sampled_from(("greedy", "full")))
    SAID["now"] = data.draw(st.builds(Proposal, st.none() | any_plan(round_), st.none() | prices(round_)))
    without = planned(round_, pipeline=pipeline)
    result = planned(round_, pipeline=pipeline, proposers=("says",))
    check(round_, result)
    assert reached(result) >= reached(without) - slack(reached(without))
    assert result.quality.bound <= without.quality.bound + slack(without.quality.bound)


@drawn
@given(st.data())
def test_warm_and_cold_starts_are_valid(data: st.DataObject) -> None:
    round_ = data.draw(rounds("tiny"))
    if data.draw(st.booleans()):
        warm = data.draw(WARM)
    else:
        warm = planned(data.draw(rounds("tiny") | st.just(round_)), pipeline="greedy").warm_start
    previous = data.draw(st.none() | any_plan(round_))
    result = planned(round_, pipeline="greedy", warm_start=warm, previous_plan=previous)
    check(round_, result)
    check(round_, planned(round_, warm_start=warm))
