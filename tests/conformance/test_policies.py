"""Every policy of the folder: verified plans, the same ones again, none for who is not there, and an end."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from gangplan.domain.plan import Plan, RoundResult
from gangplan.planning import histories, policies
from gangplan.planning.rounds.history import Failure, History
from gangplan.planning.rounds.loop import Played, RoundRecord, Settings, play
from gangplan.planning.rounds.told import Telling, Told

NAMES = policies.names()
ALIKE = (
    "gangplan-cost",
    "gangplan-fill",
    "gangplan-interactive",
    "gangplan-makespan",
    "gangplan-soonest-end",
    "myopic",
)
"""Those that plan as others do, under other weights: they are tried on one history only, to save time."""
PLANNERS = tuple(name for name in NAMES if name not in ALIKE)
SEEDS = (1, 4)


def a_history(seed: int) -> History:
    """A small one, of which one node fails for a time."""
    history = histories.small(seed)
    start, length = history.template.now, history.template.round_seconds
    node = min(node.name for node in history.template.cluster.nodes)
    return replace(history, failures=(Failure(node, start + 2.5 * length, start + 4.2 * length),))


def played(name: str, history: History, told: Told = Told.EXACT, **keywords: object) -> Played:
    how = policies.How(pipeline="greedy")
    return play(history, policies.make(name, how), Settings(Telling(told), 400), **keywords)  # type: ignore[arg-type]


@pytest.mark.parametrize("told", [Told.EXACT, Told.UNKNOWN], ids=lambda told: told.value)
@pytest.mark.parametrize("name", NAMES)
def test_its_plans_keep_the_rules_and_everybody_ends(name: str, told: Told) -> None:
    """The loop verifies every plan and raises on one that breaks a rule."""
    for seed in SEEDS[: 1 if name in ALIKE else 2]:
        assert played(name, a_history(seed), told).finished


@pytest.mark.parametrize("name", PLANNERS)
def test_it_decides_the_same_whatever_the_order_of_the_lists(name: str) -> None:
    history = a_history(SEEDS[0])
    arrivals, nodes = list(history.arrivals), list(history.template.cluster.nodes)
    random.Random(3).shuffle(arrivals)
    random.Random(5).shuffle(nodes)
    cluster = replace(history.template.cluster, nodes=tuple(nodes))
    shuffled = replace(history, arrivals=tuple(arrivals), template=replace(history.template, cluster=cluster))
    assert dict(played(name, shuffled).state.jobs) == dict(played(name, history).state.jobs)


@pytest.mark.parametrize("name", PLANNERS)
def test_it_plans_for_nobody_who_is_not_there_and_for_nobody_at_all(name: str) -> None:
    seen: list[RoundRecord] = []
    played(name, a_history(SEEDS[1]), on_round=seen.append)
    for record in seen:
        assert {action.job for action in record.plan.actions} <= {job.name for job in record.round.jobs}
    policy = policies.make(name, policies.How(pipeline="greedy"))
    answer = policy.decide(replace(seen[0].round, jobs=()), None)
    plan = answer.plan if isinstance(answer, RoundResult) else answer
    assert plan == Plan(tier_floors=plan.tier_floors)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_name_and_says_in_a_line_what_it_does(name: str) -> None:
    assert policies.make(name).name == name
    assert 10 < len(policies.describe()[name]) < 120
