"""The front of a policy's weights: a seeded design, then refinement around what is best so far."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from gangplan.domain.presets import PRESETS
from gangplan.planning.study.ask import Runner
from gangplan.planning.study.figures import FIGURES
from gangplan.planning.study.finished import Finished
from gangplan.planning.study.schema import Bound
from gangplan.planning.study.task import Base, Outcome, Task, setup_of
from gangplan.planning.tune import rules
from gangplan.planning.tune.front import Scores, crowding, front
from gangplan.planning.tune.knobs import Knob

_STEP = 0.2
"""Spread of the first refinement, in parts of each knob's range; halved from one to the next."""
DEFAULT = "default"
"""Name of the policy as it is."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for.

    Attributes:
        figures: two or three, of :data:`~gangplan.planning.study.figures.FIGURES`.
        where: bounds that a choice has to keep to.
        best: figure that is best among what keeps to them; by default the first.
    """

    figures: tuple[str, ...]
    where: Mapping[str, Bound]
    best: str


@dataclass(frozen=True, slots=True)
class Tried:
    """A policy that was played.

    Attributes:
        name: of a preset; else ``weights``.
        weights: what it sets, as a scenario writes it.
        figures: medians over the seeds.
    """

    name: str
    weights: Mapping[str, Any]
    figures: Mapping[str, float | None]

    def score(self, names: Sequence[str]) -> Scores | None:
        """Its place, less is better; None: a figure is missing."""
        values = [self.figures.get(name) for name in names]
        if any(value is None for value in values):
            return None
        return tuple(
            -float(value or 0.0) if FIGURES[name].better > 0 else float(value or 0.0)
            for name, value in zip(names, values, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came of it.

    Attributes:
        tried: all policies, in the order in which they were played.
        front: places of those that no other one beats, best in the first figure first.
        chosen: place of the one that the wish is best served by; None: none keeps to its bounds.
        rules: what each rule of the chosen one (of the policy as it is, where none is) costs.
    """

    tried: tuple[Tried, ...]
    front: tuple[int, ...]
    chosen: int | None
    rules: tuple[tuple[str, Mapping[str, float | None]], ...]


def tune(
    base: Base,
    runner: Runner,
    knobs: Sequence[Knob],
    wish: Wish,
    *,
    points: int,
    refinements: int = 2,
    seeds: int = 1,
    seed: int = 0,
    finished: Finished | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Tuned:
    """The front, the choice and the price of rules. Same arguments, same answer, whoever runs it.

    Args:
        base: what every simulation starts from.
        runner: where they run.
        knobs: what is turned.
        wish: what is asked for.
        points: of the design; each refinement tries half as many.
        refinements: how many.
        seeds: draws of every point.
        seed: of the design and of refinements.
        finished: simulations that need not run again.
        on_progress: called with simulations done and wanted.
    """
    play = _Playing(base, runner, seeds, Finished() if finished is None else finished, on_progress)
    rng = random.Random(f"tune/{seed}")
    policies: list[tuple[str, Mapping[str, Any]]] = [(DEFAULT, {})]
    policies += [(name, {"preset": name}) for name in sorted(PRESETS)]
    places = _design(points, len(knobs), rng)
    known: list[tuple[float, ...] | None] = [None] * len(policies)
    policies += [("weights", _weights(knobs, place)) for place in places]
    known += places
    tried = play.all(policies)
    for number in range(refinements):
        best = [k for k in _front(tried, wish.figures) if known[k] is not None]
        if not best:
            break
        scores = [tried[k].score(wish.figures) or () for k in best]
        room = crowding(scores)
        order = sorted(range(len(best)), key=lambda k: (-room[k], k))
        new = []
        for turn in range(max(1, points // 2)):
            middle = known[best[order[turn % len(order)]]]
            assert middle is not None
            step = _STEP / 2**number
            new.append(tuple(min(1.0, max(0.0, rng.gauss(place, step))) for place in middle))
        tried += play.all([("weights", _weights(knobs, place)) for place in new])
        known += new
    order = _front(tried, wish.figures)
    chosen = _chosen(tried, wish)
    at = tried[0 if chosen is None else chosen]
    return Tuned(tuple(tried), tuple(order), chosen, tuple(_rules(play, base, at)))


def _design(points: int, knobs: int, rng: random.Random) -> list[tuple[float, ...]]:
    """A Latin hypercube: each of ``points`` slices of each knob has one point.

    McKay, Beckman and Conover, *A comparison of three methods for selecting values of input variables*,
    Technometrics 21, 1979.
    """
    columns = []
    for _ in range(knobs):
        slices = list(range(points))
        rng.shuffle(slices)
        columns.append([(k + rng.random()) / points for k in slices])
    return list(zip(*columns, strict=True))


def _weights(knobs: Sequence[Knob], place: Sequence[float]) -> Mapping[str, Any]:
    return {knob.name: knob.at(at) for knob, at in zip(knobs, place, strict=True)}


def _front(tried: Sequence[Tried], names: Sequence[str]) -> list[int]:
    scored = [(k, score) for k, one in enumerate(tried) if (score := one.score(names)) is not None]
    best = [scored[place] for place in front([score for _, score in scored])]
    return [k for k, _ in sorted(best, key=lambda pair: (pair[1], pair[0]))]


def _chosen(tried: Sequence[Tried], wish: Wish) -> int | None:
    rated = []
    for k, one in enumerate(tried):
        score = one.score([wish.best])
        if score is not None and all(bound.kept(one.figures.get(name)) for name, bound in wish.where.items()):
            rated.append((score, k))
    return min(rated)[1] if rated else None


def _rules(play: _Playing, base: Base, at: Tried) -> list[tuple[str, Mapping[str, float | None]]]:
    changes = _changes(at.weights)
    site = setup_of(base, Task((), changes, 0)).site
    found = rules.in_force(site)
    without = play.changed([(rule.name, (*changes, *rule.without)) for rule in found])
    return [
        (rule.name, rules.price(at.figures, figures)) for rule, figures in zip(found, without, strict=True)
    ]


def _changes(weights: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    return ({"policy": {"weights": dict(weights)}},) if weights else ()


class _Playing:
    """Plays policies under all seeds, each once."""

    def __init__(
        self,
        base: Base,
        runner: Runner,
        seeds: int,
        finished: Finished,
        tell: Callable[[int, int], None] | None,
    ) -> None:
        self._base, self._runner, self._seeds, self._finished = base, runner, seeds, finished
        self._tell = tell or (lambda *_: None)
        self._done = 0

    def all(self, policies: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Tried]:
        """What becomes of each policy."""
        figures = self.changed([(name, _changes(weights)) for name, weights in policies])
        return [Tried(name, weights, found) for (name, weights), found in zip(policies, figures, strict=True)]

    def changed(
        self, asked: Sequence[tuple[str, tuple[Mapping[str, Any], ...]]]
    ) -> list[Mapping[str, float | None]]:
        """The medians of the figures after each set of changes; empty where all draws failed."""
        tasks: dict[str, Task] = {}
        keys = []
        for name, changes in asked:
            mine = []
            for seed in range(self._seeds):
                task = Task((("policy", name),), changes, seed)
                key = task.key(self._base)
                mine.append(key)
                if self._finished.get(key) is None:
                    tasks[key] = task
            keys.append(mine)
        wanted = self._done + len(tasks)
        if tasks:
            with closing(self._runner.run(self._base, tasks, None)) as outcomes:
                for key, outcome in outcomes:
                    self._finished.keep(key, tasks[key], outcome)
                    self._done += 1
                    self._tell(self._done, wanted)
        return [self._medians([self._finished.get(key) for key in mine]) for mine in keys]

    @staticmethod
    def _medians(outcomes: Sequence[Outcome | None]) -> Mapping[str, float | None]:
        whole = [one.figures for one in outcomes if one is not None and not one.error]
        found: dict[str, float | None] = {}
        for name in FIGURES if whole else ():
            values = [value for figures in whole if (value := figures.get(name)) is not None]
            found[name] = statistics.median(values) if values else None
        return found
