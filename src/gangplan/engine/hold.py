"""Holding who is done soon, so that what is planned around them pays.

A bundle is judged over the shortest horizon of its members (decision 13): one job that ends in the next round
but one, moved to make room, and nothing in it pays, however much a large gang gains by it for days. The
programme cannot see that, since it spreads every cost over the job's own horizon. So candidates are looked at
as they come. A few disruptions that do not pay are taken back at once, or put back where time is short. Where
most of them would pay if only their bundle lasted longer, the plan is looked at without those of its running
jobs that end before and without what makes room only for who ends before; and they are held where they are,
so that whatever is planned next is planned around them.

Where there is no time to find out one by one who drags bundles down, all who are done soon are held at once.
A bundle that does not pay over the plan that keeps everything may still pay over what would be left without
it, as when it is taken back at the end; where that seems so, it is seen at once.

Measured on ``XL/steady/85/seed2``: a bundle of 214 disruptions and 972 starts, which did not pay for two of
them; with these two held the prices' plan is worth .003 % less, and all of it pays.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from gangplan.domain.plan import Action
from gangplan.engine.bundles import Bundle, Weighed, is_chosen, weigh_all
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.leave_out import leave_out
from gangplan.engine.put_back import put_back
from gangplan.engine.take_back import TAKING_BACK, TakenBack, disruptions, may_pay, take_back
from gangplan.model.packing.assignment import Assignment, worth
from gangplan.model.packing.price_greedy import price_greedy
from gangplan.model.prices.branching import staying
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.prices.prices import Prices
from gangplan.model.verifier.left import left_at
from gangplan.model.verifier.outcome import Status

_PASSES = 4
_STEPS = 80
_STRETCH = 0.05
_LONGER = 1.2
"""Held is who is done before this many times the horizon over which the bundle would break even."""
_LEAVING_OUT = 2
"""Most times that something is left out of one plan."""
_CHEAP = 20_000
"""Options up to which it is seen at once whether bundles pay over what is left without them: 4 ms at M."""
_MINOR = 0.25
"""Share of a plan's disruptions up to which those that do not pay are taken back, not planned around."""


@dataclass(slots=True)
class Holding:
    """Who is held where it is, and the best plan in which every bundle pays.

    Attributes:
        judge: of the round.
        floor: the plan that keeps everything, over which bundles are judged.
        brief: once a plan does not pay, all running jobs are held that are done within this share of the
            round's horizon.
        classes: running jobs that are held, as classes.
        best: the best candidate in which every bundle pays.
        taken_back: what candidates looked at are without what does not pay, where that was taken back.
    """

    judge: Judge
    floor: Candidate
    brief: float = 0.0
    classes: set[int] = field(default_factory=set)
    best: Candidate = field(init=False)
    taken_back: dict[Candidate, TakenBack] = field(init=False, default_factory=dict, repr=False)
    _pays: dict[Candidate, bool] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.best = self.floor

    @property
    def needed(self) -> bool:
        """Whether the best plan of all has a bundle that does not pay."""
        return self.judge.best is not self.best

    def knows(self, assignment: Assignment) -> bool:
        """Whether it was looked at already, and does not pay."""
        return any(assignment == candidate.assignment for candidate, pays in self._pays.items() if not pays)

    def consider(self, name: str, assignment: Assignment) -> Candidate | None:
        """Have a plan judged, and look at its bundles where it could be the best."""
        candidate = self.judge.consider(name, assignment)
        if candidate is not None:
            self.look(candidate)
        return candidate

    def look(self, candidate: Candidate, passes: int = _LEAVING_OUT) -> bool:
        """Whether every bundle of ``candidate`` pays, or all but a few, which are taken back.

        Where most do not, those who are done soon are held, and the plan without them is looked at.

        Args:
            candidate: a plan.
            passes: most times that something is left out of it.
        """
        if candidate.value <= self.best.value:
            return True
        if candidate not in self._pays:
            self._pays[candidate] = self._look(candidate, passes)
        return self._pays[candidate]

    def _look(self, candidate: Candidate, passes: int) -> bool:
        judge, floor = self.judge, self.floor
        weighed = weigh_all(judge, candidate, floor)
        vain = [(bundle, each) for bundle, each in weighed if not each.pays]
        if not vain:
            self.best = candidate
            return True
        chosen = sum(is_chosen(action) for bundle, _ in vain for action in bundle)
        minor, in_time = chosen <= _MINOR * disruptions(candidate), judge.has_time_for(TAKING_BACK)
        cheap = len(judge.instance.option) <= _CHEAP
        if in_time and (minor or (cheap and may_pay(judge, candidate, floor, vain))):
            taken = self.taken_back[candidate] = take_back(judge, candidate, floor)
            return self._found(taken.candidate)
        if minor:
            paying = [bundle for bundle, each in weighed if each.pays]
            return self._found(put_back(judge, candidate, floor, [bundle for bundle, _ in vain], paying))
        soon = [action for bundle, each in vain for action in self._soon(candidate, bundle, each)]
        instance = judge.instance
        self.classes |= {int(instance.class_of_job[instance.job_index[action.job]]) for action in soon}
        self.classes |= self._brief
        if soon and passes and judge.has_time_to_leave_out:
            left = leave_out(judge, candidate, floor, soon)
            if left is not None:
                self.look(left, passes - 1)
        return False

    def _found(self, candidate: Candidate | None) -> bool:
        """Take note of a plan in which all pays; whether there is one."""
        if candidate is not None and candidate.value > self.best.value:
            self.best = candidate
        return candidate is not None

    @property
    def _brief(self) -> set[int]:
        """Running classes that are done within the share :attr:`brief` of the round's horizon."""
        instance, facts = self.judge.instance, self.judge.facts
        most = self.brief * instance.round.horizon_seconds
        running = np.flatnonzero(instance.kept) if most else np.zeros(0, dtype=np.int64)
        names = [instance.jobs[j].name for j in instance.first[running].tolist()]
        soon = [facts.jobs[name].horizon < most for name in names]
        return set(itertools.compress(running.tolist(), soon))

    def _soon(self, candidate: Candidate, bundle: Bundle, weighed: Weighed) -> list[Action]:
        """The disruptions of ``bundle`` without which it may pay.

        Of jobs that are done soon, and those in whose place all are done soon.
        """
        round_ = self.judge.instance.round
        enough = math.inf
        if weighed.earned > 0.0:
            enough = _LONGER * weighed.cost / weighed.earned * round_.round_seconds
        if enough >= round_.horizon_seconds:  # however long it lasts, it does not pay
            return []
        return [
            action
            for action in bundle
            if is_chosen(action)
            and enough
            >= min(self.judge.facts.jobs[action.job].horizon, self._served_until(candidate, action))
        ]

    def _served_until(self, candidate: Candidate, disruption: Action) -> float:
        """Seconds until the last start that ``disruption`` makes room for is done; endless without any."""
        outcomes = candidate.verification.outcomes
        quantile = self.judge.instance.round.policy.fairness_quantile
        last = 0.0
        for outcome in [outcomes[name] for name in disruption.beneficiaries]:
            work = left_at(outcome.job, quantile)
            if outcome.status is not Status.STARTED or not work or outcome.throughput <= 0.0:
                return math.inf
            last = max(last, work / outcome.throughput)
        return last or math.inf

    def prices(self, prices: Prices) -> Prices:
        """``prices`` at which those who are held stay."""
        return prices.held(self.classes) if self.classes else prices


def plan_around(holding: Holding, search: PriceSearch, candidate: Candidate | None, *, name: str) -> None:
    """Plan again at prices with all held who must be, until every bundle of the plan pays.

    Args:
        holding: who is held; added to.
        search: prices from which to start; left as they are.
        candidate: the plan that was just looked at.
        name: of the candidates.
    """
    judge = holding.judge
    held: set[int] = set()
    for _ in range(_PASSES):
        more = holding.classes - held
        if candidate is None or candidate.value <= holding.best.value or not more:
            return
        if judge.hurried:  # to take back in the time that is left is better than to plan once more
            return
        held |= more
        search = staying(search, sorted(more))
        search.improve(_STEPS, lambda: judge.hurried, _STRETCH)
        assignment = price_greedy(judge.instance, search.prices())
        judge.count("held_evaluations", search.evaluations)
        if worth(judge.instance, assignment) <= holding.best.value:
            return
        candidate = holding.consider(name, assignment)
