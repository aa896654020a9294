"""Places for one job, ranked: all else stays as it is but for those that must leave. Every place is verified.

A place is worth what the plan that takes it, and does nothing else, is worth more than what all others are
worth when the job does not run: costs of stops and of moves are in it, and so is what the place takes away
from the worth of what is left free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gangplan.domain.plan import Plan, Verdict
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.practice import compile_loops
from gangplan.errors import FieldViolation, InvalidInputError, NoVerifiedPlanError
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.packing.adopt import as_assigned
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import keep_only, ways_to_place
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.terms import residual
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.verify import verify
from gangplan.model.words.explain import explain

DEFAULT_LIMIT, MOST = 10, 100
_LOOKED_AT = 3
"""So many times the places that are asked for are verified: the model's values may be a little off."""
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class Place:
    """One place for a job.

    Attributes:
        plan: the whole plan that takes it and does nothing else, verified.
        value: what it is worth, GPU-equivalents.
        value_by_term: sums to ``value``.
        throughput: work units per second there.
        scope: narrowest level that holds all its tasks.
        evicted: names of jobs that must leave, sorted.
        present: it is where the job runs now.
        message: why it is worth less than the best, or what makes it the best.
    """

    plan: Plan
    value: float
    value_by_term: Mapping[str, float]
    throughput: float
    scope: str
    evicted: tuple[str, ...]
    present: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Recommended:
    """Places for one job.

    Attributes:
        places: best first.
        verdict: why there is none; None: there is one.
        value_without: what all others are worth when the job does not run, GPU-equivalents.
        cut_short: time ran out before all were looked at.
    """

    places: tuple[Place, ...]
    verdict: Verdict | None
    value_without: float
    cut_short: bool


def recommend(
    round_: Round,
    job: str,
    *,
    budget: Budget | None = None,
    limit: int = DEFAULT_LIMIT,
    evictions: bool = True,
    beside: Plan | None = None,
) -> Recommended:
    """Rank the places for a job.

    Args:
        round_: a valid round.
        job: its name.
        budget: when to be done; None: no limit.
        limit: most places to name.
        evictions: also places that others have to leave.
        beside: a plan, beside all else of which a place is looked for; None: all that runs goes on, and
            nothing else starts.

    Raises:
        InvalidInputError: there is no such job, or ``beside`` breaks a rule.
    """
    if budget is None:
        compile_loops()
        budget = Budget(None)
    known_job(round_, job)
    instance = build_instance(round_)
    j = instance.job_index[job]
    judge = Judge(instance, round_facts(round_), budget)
    if beside is None:
        start = keep_only(instance)
        floor = judge.consider("beside", start)
        if floor is None:
            raise NoVerifiedPlanError("; ".join(map(str, judge.rejected)))
    else:
        start, floor = adopted(judge, beside)
    places = _Places(judge, j, start, floor)
    found = places.ranked(limit, evictions=evictions)
    verdict = None
    if not found:
        verdicts = explain(instance, places.others, finished=True)
        verdict = next((each for each in verdicts if each.job == job), None)
    return Recommended(found, verdict, places.value_without, budget.exhausted)


def known_job(round_: Round, job: str) -> None:
    """Check that a job is there, before anything is done for it.

    Raises:
        InvalidInputError: it is not.
    """
    if all(one.name != job for one in round_.jobs):
        raise InvalidInputError([FieldViolation("job", f"no job is named {job!r}")])


def adopted(judge: Judge, plan: Plan) -> tuple[Assignment, Candidate]:
    """Somebody's plan, exactly, by index and verified.

    Raises:
        InvalidInputError: it breaks a rule.
    """
    found = verify(judge.instance.round, plan, judge.facts)
    if not found.valid:
        why = f"breaks a rule: {found.violations[0]}"
        raise InvalidInputError([FieldViolation("plan", why)])
    assignment = as_assigned(judge.instance, plan)
    candidate = None if assignment is None else judge.consider("plan", assignment)
    if assignment is None or candidate is None:
        why = "; ".join(map(str, judge.rejected)) or "places a job as none of its options does"
        raise InvalidInputError([FieldViolation("plan", why)])
    return assignment, candidate


class _Places:
    """All places of one job beside what others do.

    Args:
        judge: of the round.
        j: the job.
        start: what is done, with the job as it is.
        floor: the same, verified.
    """

    def __init__(self, judge: Judge, j: int, start: Assignment, floor: Candidate) -> None:
        self.judge, self.instance, self.j = judge, judge.instance, j
        self.name = self.instance.jobs[j].name
        self.start, self.floor = start, floor
        self.others = Assignment(
            kept=start.kept - {j}, placed={i: placed for i, placed in start.placed.items() if i != j}
        )
        worth = floor.verification.worth.get(self.name, {})
        self.without = {
            term: value - worth.get(term, 0.0) for term, value in floor.verification.objective_by_term.items()
        }
        if self.j in start.kept or self.j in start.placed:
            self.without[residual.NAME] = self._left_free()
        self.value_without = sum(self.without.values())

    def ranked(self, limit: int, *, evictions: bool) -> tuple[Place, ...]:
        """The best places, most worth first; of those worth the same, those that stop fewer."""
        found: dict[object, Place] = {}

        def keep(candidate: Candidate | None) -> None:
            place = None if candidate is None else self._place(candidate)
            if place is not None:
                action = place.plan.actions
                key = next(one.placements for one in action if one.job == self.name)
                known = found.get(key)
                if known is None or known.value < place.value:
                    found[key] = place

        if self.j in self.start.kept or self.j in self.start.placed:
            keep(self.floor)
        for placed in self._free(_LOOKED_AT * limit):
            keep(self._try(self.others, placed))
        if evictions:
            for others, placed in self._with_evictions(limit):
                keep(self._try(others, placed))
        places = sorted(
            found.values(), key=lambda place: (-round(place.value, 9), len(place.evicted), repr(place.plan))
        )
        return _worded(places[:limit])

    def _left_free(self) -> float:
        """What is left free is worth when the job, which has a place, has none, GPU-equivalents."""
        round_, plan = self.instance.round, self.floor.plan
        if not residual.weight(round_):
            return 0.0
        jobs = tuple(one for one in round_.jobs if one.name != self.name)
        others = replace(plan, actions=tuple(one for one in plan.actions if one.job != self.name))
        return verify(replace(round_, jobs=jobs), others).objective_by_term[residual.NAME]

    def _options(self) -> list[int]:
        """The job's options, best first, as far as it may start at all."""
        instance = self.instance
        if self.name in instance.gated and instance.jobs[self.j].running is None:
            return []
        job_class = instance.classes[int(instance.class_of_job[self.j])]
        options = np.arange(job_class.start, job_class.stop)
        ahead: list[int] = options[np.argsort(-instance.gain[options], kind="stable")].tolist()
        return ahead

    def _free(self, most: int) -> list[Placed]:
        """Places that nobody holds, best option first, of every option the tightest first, in turns."""
        occupancy = self._occupancy(self.others)
        allowed = [k for k in self._options() if self._allowed(occupancy, k)]
        by_option = [list(_some(ways_to_place(occupancy, k, Fit.BEST), most)) for k in allowed]
        found: list[Placed] = []
        for turn in range(most):
            found += [places[turn] for places in by_option if turn < len(places)]
        found.sort(key=lambda placed: -self.instance.gain[placed.option])
        return found[:most]

    def _allowed(self, occupancy: Occupancy, k: int) -> bool:
        job_class = self.instance.classes[int(self.instance.option_class[k])]
        return occupancy.members_allowed(job_class, self.instance.option_at(k)) > 0

    def _occupancy(self, assignment: Assignment) -> Occupancy:
        return occupancy_of(self.instance, assignment)

    def _try(self, others: Assignment, placed: Placed) -> Candidate | None:
        if self.judge.budget.exhausted:
            return None
        return self.judge.consider("place", replace(others, placed={**others.placed, self.j: placed}))

    def _with_evictions(self, most: int) -> Iterator[tuple[Assignment, Placed]]:
        """Places that some have to leave: for each option, who is least worth first, and nobody in vain."""
        left = most
        for k in self._options():
            if left <= 0 or self.judge.budget.exhausted:
                return
            found = make_room(self.instance, self.others, k, self._may_leave(), self.judge.budget)
            if found is not None and found[2]:
                left -= 1
                yield found[0], found[1]

    def _may_leave(self) -> list[int]:
        """Running jobs that may be stopped for another's good, least worth first."""
        instance = self.instance
        may = [
            i
            for i in self.others.kept
            if instance.jobs[i].running is not None
            and not instance.classes[int(instance.class_of_job[i])].must_run
        ]
        return by_worth(instance, may)

    def _place(self, candidate: Candidate) -> Place | None:
        """What a plan means for the job; None where it does not run."""
        verification = candidate.verification
        action = candidate.action_of.get(self.name)
        if action is None or not action.placements:
            return None
        by_term = {
            term: value - self.without.get(term, 0.0)
            for term, value in verification.objective_by_term.items()
        }
        running = self.instance.jobs[self.j].running
        before = {self.instance.jobs[i].name for i in self.others.kept}
        after = {one.job for one in candidate.plan.actions if one.placements}
        return Place(
            plan=candidate.plan,
            value=sum(by_term.values()),
            value_by_term=by_term,
            throughput=action.throughput,
            scope=action.scope,
            evicted=tuple(sorted(before - after)),
            present=running is not None
            and sorted(running.placements, key=repr) == sorted(action.placements, key=repr),
        )


def occupancy_of(instance: Instance, assignment: Assignment) -> Occupancy:
    """What is free beside an assignment."""
    occupancy = Occupancy(instance, sorted({int(instance.class_of_job[i]) for i in assignment.kept}))
    for i, placed in sorted(assignment.placed.items()):
        occupancy.take_placed(i, placed)
    return occupancy


def by_worth(instance: Instance, jobs: list[int]) -> list[int]:
    """Jobs that run, least worth for each device first, ties by name."""
    classes = instance.class_of_job[jobs]
    held = np.maximum(instance.keeps.devices[classes, -1], 1)
    order = np.lexsort((np.array(jobs), instance.keep_gain[classes] / held))
    return [jobs[i] for i in order.tolist()]


def make_room(
    instance: Instance, others: Assignment, k: int, may_leave: list[int], budget: Budget
) -> tuple[Assignment, Placed, tuple[int, ...]] | None:
    """Stop jobs until option ``k`` finds a place, none of them in vain: with any one back it would find none.

    Args:
        instance: the round as arrays.
        others: what is done beside.
        k: the option.
        may_leave: who may be stopped, in the order in which it is tried.
        budget: when to give up.

    Returns:
        What is left beside, the place, and who was stopped; None when there is no room even without all of
        them, or when time ran out.
    """

    def without(gone: set[int]) -> Assignment:
        placed = {i: place for i, place in others.placed.items() if i not in gone}
        return Assignment(kept=others.kept - gone, placed=placed)

    def place(gone: set[int]) -> Placed | None:
        occupancy = occupancy_of(instance, without(gone))
        job_class = instance.classes[int(instance.option_class[k])]
        if occupancy.members_allowed(job_class, instance.option_at(k)) < 1:
            return None
        return next(ways_to_place(occupancy, k, Fit.BEST), None)

    low, high = 0, len(may_leave)
    if place(set(may_leave)) is None:
        return None
    while low < high:  # the fewest of the least worth
        if budget.exhausted:
            return None
        middle = (low + high) // 2
        if place(set(may_leave[:middle])) is None:
            low = middle + 1
        else:
            high = middle
    gone = set(may_leave[:low])
    for i in reversed(may_leave[:low]):
        if budget.exhausted:
            return None
        if place(gone - {i}) is not None:
            gone.discard(i)
    found = place(gone)
    return None if found is None else (without(gone), found, tuple(sorted(gone)))


def _some(places: Iterator[Placed], most: int) -> Iterator[Placed]:
    for _, placed in zip(range(most), places, strict=False):
        yield placed


def _worded(places: list[Place]) -> tuple[Place, ...]:
    """With why each is worth less than the best."""
    if not places:
        return ()
    best = places[0]
    return (
        replace(best, message=_best(best)),
        *(replace(place, message=_less(place, best)) for place in places[1:]),
    )


def _best(place: Place) -> str:
    parts = _parts(place.value_by_term)
    leaves = f"; {', '.join(place.evicted)} must leave" if place.evicted else ""
    return f"worth {place.value:.3f}: {parts or 'nothing counts'}{leaves}"


def _less(place: Place, best: Place) -> str:
    less = best.value - place.value
    differences = {
        term: value - best.value_by_term.get(term, 0.0) for term, value in place.value_by_term.items()
    }
    leaves = f"; {', '.join(place.evicted)} must leave" if place.evicted else ""
    if less <= _SAME:
        return f"worth as much as the best{leaves}"
    return f"worth {less:.3f} less: {_parts(differences)}{leaves}"


def _parts(by_term: Mapping[str, float]) -> str:
    """What counts, largest first."""
    some = [(term, value) for term, value in by_term.items() if abs(value) > _SAME]
    some.sort(key=lambda item: (-abs(item[1]), item[0]))
    return ", ".join(f"{term} {value:+.3f}" for term, value in some)
