"""Tuning: the front is one, the design is even, the choice keeps its bounds, and rules have a price."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.errors import InvalidInputError
from gangplan.planning import histories
from gangplan.planning.sources import of_history
from gangplan.planning.study import schema
from gangplan.planning.study.schema import Bound
from gangplan.planning.study.task import Base, Outcome, Task, setup_of
from gangplan.planning.tune import rules
from gangplan.planning.tune.front import crowding, dominates, front
from gangplan.planning.tune.knobs import Knob, knobs
from gangplan.planning.tune.search import Wish, tune

scores = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)), max_size=12)


@given(scores)
def test_the_front_is_all_that_nobody_beats(found: list[tuple[int, int, int]]) -> None:
    points = [tuple(map(float, one)) for one in found]
    best = front(points)
    for k, point in enumerate(points):
        if k in best:
            assert not any(dominates(other, point) for other in points)
        else:
            assert any(dominates(points[j], point) or points[j] == point for j in best)
    assert len({points[k] for k in best}) == len(best)


def test_points_with_room_around_them_come_first() -> None:
    room = crowding([(0.0, 4.0), (1.0, 2.0), (1.5, 1.5), (4.0, 0.0)])
    assert room[0] == room[3] == float("inf")
    assert room[1] == pytest.approx(1.5 / 4 + 2.5 / 4)
    assert room[2] == pytest.approx(3.0 / 4 + 2.0 / 4)


def test_a_range_is_written_after_its_weight() -> None:
    assert [knob.name for knob in knobs([])] == ["fairness_power", "deadline_weight", "switching_weight"]
    assert knobs(["hysteresis=0.1:0.2"]) == (Knob("hysteresis", 0.1, 0.2),)
    for word in ("fairness_powr", "hysteresis=2:1", "hysteresis=a:b"):
        with pytest.raises(InvalidInputError):
            knobs([word])


class Formula:
    """Plays nothing: figures are a formula of the weights, so that the front is known."""

    about = "a formula"

    def __init__(self) -> None:
        self.played: list[Task] = []

    def run(
        self, base: Base, tasks: Mapping[str, Task], seconds: float | None
    ) -> Iterator[tuple[str, Outcome]]:
        for key, task in tasks.items():
            self.played.append(task)
            policy = setup_of(base, task).site.policy
            x, y = policy.fairness_power, policy.deadline_weight
            figures = {"completion_mean": 10 * x + (y - 1) ** 2, "deadlines_met": x / 2 - (y - 1) ** 2}
            figures |= {"delay_gpu_hours": 5 * x, "lost_gpu_hours": 0.0}
            yield key, Outcome(figures, {}, 0.0)


def base_of(site: Policy | None = None) -> Base:
    history = histories.small(0)
    if site is not None:
        queue = Queue("q", device_limit=4)
        history = replace(history, template=replace(history.template, policy=site, queues=(queue,)))
    part = schema.Base(generated="small/seed0", policy="myopic")
    return Base.made(part, "nothing", (of_history(history),))


def test_the_front_nears_the_known_one_and_the_choice_keeps_its_bounds() -> None:
    """Less completion costs deadlines along deadline_weight 1; half of them need fairness_power 1."""
    wish = Wish(
        ("completion_mean", "deadlines_met"), {"deadlines_met": Bound(at_least=0.5)}, "completion_mean"
    )
    turned = knobs(["fairness_power", "deadline_weight"])
    runner = Formula()
    found = tune(base_of(), runner, turned, wish, points=16, refinements=3, seed=1)
    assert found.chosen is not None
    chosen = found.tried[found.chosen]
    assert chosen.figures["deadlines_met"] >= 0.5  # type: ignore[operator]
    rough = tune(base_of(), Formula(), turned, wish, points=16, refinements=0, seed=1)
    before = [rough.tried[k].figures for k in rough.front]
    after = [found.tried[k].figures for k in found.front]

    def area(front: list[Mapping[str, float | None]]) -> float:
        """What the front beats within completion 30 and deadlines -20: larger is nearer."""
        corners = sorted((one["completion_mean"] or 0.0, one["deadlines_met"] or 0.0) for one in front)
        ends = [time for time, _ in corners[1:]] + [30.0]
        parts = ((end - time) * (met + 20.0) for (time, met), end in zip(corners, ends, strict=True))
        return sum(parts)

    assert area(after) > area(before)
    assert len({task.key(base_of()) for task in runner.played}) == len(runner.played)
    design = [one.weights["fairness_power"] for one in found.tried if one.name == "weights"][:16]
    assert sorted(int(value * 8 - 1e-9) for value in design) == list(range(16))
    assert tune(base_of(), Formula(), turned, wish, points=16, refinements=3, seed=1) == found
    other = tune(base_of(), Formula(), turned, wish, points=16, refinements=3, seed=2)
    assert [one.weights for one in other.tried] != [one.weights for one in found.tried]


def test_a_wish_that_nothing_grants_is_told() -> None:
    wish = Wish(("completion_mean", "deadlines_met"), {"deadlines_met": Bound(at_least=9)}, "completion_mean")
    assert tune(base_of(), Formula(), knobs([]), wish, points=2, refinements=0).chosen is None


def test_a_rule_costs_what_is_longer_with_it() -> None:
    policy = Policy(fairness_power=2.0, minimum_run_seconds=600.0, disruption_limit=3)
    base = base_of(policy)
    names = [rule.name for rule in rules.in_force(base.sources[0].site)]
    assert {"fairness between jobs", "minimum run", "limit on disruptions of a round", "limit of q"} <= set(
        names
    )
    assert "longest run" not in names
    for rule in rules.in_force(base.sources[0].site):
        site = setup_of(base, Task((), rule.without, 0)).site
        assert rule.name not in {one.name for one in rules.in_force(site)}
    wish = Wish(
        ("completion_mean", "deadlines_met"), {"completion_mean": Bound(at_most=-1)}, "completion_mean"
    )
    found = tune(base, Formula(), knobs([]), wish, points=2, refinements=0)
    assert dict(found.rules)["fairness between jobs"]["delay_gpu_hours"] == pytest.approx(10.0)
    assert dict(found.rules)["minimum run"]["delay_gpu_hours"] == 0.0
