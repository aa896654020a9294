"""Bundles: disruptions by choice with all that needs them, and what each is worth (decisions 13 and 14).

A bundle is a set of disruptions by choice and of the starts that need them. Spread costs cannot price an
exchange job by job, so each bundle is judged as a whole: its gain per round, over the shortest horizon of its
members, against every cost counted once (decision 13).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gangplan.domain.job import Job
from gangplan.domain.plan import Action, ActionKind
from gangplan.domain.round import Round
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.successors import Successors
from gangplan.model.packing.occupancy import Occupancy
from gangplan.model.terms import rates, switching
from gangplan.model.verifier.facts import JobFacts
from gangplan.model.verifier.left import left_at
from gangplan.model.verifier.outcome import Outcome, Status

TOLERANCE = 1e-9
"""A gain up to this is none."""
AHEAD = 4.0
"""By how much more what a job is worth may be misjudged in a round that follows an outlook under fairness
between jobs: a target's worth carries rho, which changes as jobs are served, faster than any throughput.
On ``scenarios/rush-hour.yaml`` a gang and eight single jobs stopped each other 57 times without it and 11
times with it (``benchmarks/results/2026-11-30-policies.md``)."""

_DISRUPTIONS = (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)

Bundle = tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Weighed:
    """What a bundle is worth over a plan that keeps everything.

    Attributes:
        gain: earnings over the horizon less the cost, in GPU-equivalent rounds.
        earned: more value per round.
        cost: of all stops and starts, once, in GPU-equivalent rounds.
        horizon: seconds.
    """

    gain: float
    earned: float
    cost: float
    horizon: float

    @property
    def pays(self) -> bool:
        """Whether there is a gain."""
        return self.gain > TOLERANCE


def bundles(judge: Judge, candidate: Candidate, floor: Candidate, *, by_quota: bool = True) -> list[Bundle]:
    """Disruptions by choice with everything that needs their place or (``by_quota``) quota, in order of ids.

    Who starts in ``floor`` too, elsewhere, needs nobody's place: with it goes whoever took that other place.
    """
    actions = {action.id: action for action in candidate.plan.actions}
    by_job = {job: action.id for job, action in candidate.action_of.items()}
    chosen = {action.id for action in candidate.plan.actions if is_chosen(action)}
    if not chosen:
        return []
    parent = {key: key for key in actions}

    def root(key: str) -> str:
        while parent[key] != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for action in candidate.plan.actions:
        for other in action.depends_on:
            if other in chosen:
                parent[root(action.id)] = root(other)
        if action.id in chosen:
            for name in action.beneficiaries:
                if name in by_job:
                    parent[root(by_job[name])] = root(action.id)
    for members in _sharing_quota(judge, candidate) if by_quota else ():
        for action in members[1:]:
            parent[root(action.id)] = root(members[0].id)
    disrupted = {root(key) for key in chosen}
    names = [job.name for job in judge.instance.jobs]
    successors = Successors(floor.assignment.placed, candidate.assignment.placed)
    for j in successors.elsewhere:
        mine = by_job[names[j]]
        if root(mine) in disrupted:
            for successor in successors.of(j):
                parent[root(by_job[names[successor]])] = root(mine)
    grouped: dict[str, list[Action]] = defaultdict(list)
    for key in sorted(actions):
        grouped[root(key)].append(actions[key])
    return [tuple(group) for group in grouped.values() if any(action.id in chosen for action in group)]


def _sharing_quota(judge: Judge, candidate: Candidate) -> list[list[Action]]:
    """For every limit that would be broken if all stops were taken back: the changes in that queue."""
    instance = judge.instance
    if not instance.limits.limited:
        return []
    kept_classes = [c for c, job_class in enumerate(instance.classes) if job_class.kept]
    everybody = Occupancy(instance, kept_classes)
    for j, placed in candidate.assignment.placed.items():
        if j not in instance.placements:
            job_class = instance.classes[int(instance.class_of_job[j])]
            everybody.take_quota(job_class, instance.option_at(placed.option), 1)
        else:
            everybody.take_growth(j, placed)
    changes: dict[int, list[Action]] = defaultdict(list)
    broken = everybody.broken_queues()
    for action in candidate.plan.actions:
        queue = instance.classes[int(instance.class_of_job[instance.job_index[action.job]])].queue
        if action.kind is not ActionKind.KEEP and queue >= 0:
            for ancestor in instance.limits.ancestors[queue]:
                if ancestor in broken:
                    changes[ancestor].append(action)
    return [members for _, members in sorted(changes.items())]


def weigh_all(judge: Judge, candidate: Candidate, floor: Candidate) -> list[tuple[Bundle, Weighed]]:
    """All bundles of ``candidate``, and what they are worth."""
    with looking(judge):
        return [
            (bundle, weigh(judge, candidate, floor, jobs_of(bundle)))
            for bundle in bundles(judge, candidate, floor)
        ]


def poor(judge: Judge, candidate: Candidate, floor: Candidate) -> list[tuple[Bundle, Weighed]]:
    """The bundles of ``candidate`` that do not pay."""
    return [(bundle, each) for bundle, each in weigh_all(judge, candidate, floor) if not each.pays]


@contextmanager
def looking(judge: Judge) -> Iterator[None]:
    """Count one look at the bundles of a candidate, and time and work within under ``bundles``."""
    judge.count("looks", 1)
    with judge.budget.phase("bundles"):
        yield


def weigh(judge: Judge, candidate: Candidate, floor: Candidate, jobs: Collection[str]) -> Weighed:
    """What ``jobs`` earn over ``floor`` in their shortest horizon, less costs.

    What they earn and pay in ``floor`` too, as those do that start there, counts for nothing. What they earn
    differently is taken to be off by ``policy.hysteresis`` of it on both sides, to their disadvantage: a gain
    within the error of the throughputs is none (decision 14). In a round that follows an outlook under
    fairness between jobs the error counts :data:`AHEAD` times.

    A start that is soon done need not shorten the horizon of all: where every disruption is for somebody else
    too, the others do without it what they do, and its place stays free. So starts are left out, the soonest
    done first, if the rest is worth more so.
    """
    facts, round_ = judge.facts, judge.instance.round
    length = round_.round_seconds
    policy, a_stop = round_.policy, switching.weight(round_)
    doubted = doubt(round_)
    earned = cost = 0.0
    horizon = round_.horizon_seconds
    starts: list[tuple[float, str, float, float]] = []
    names = sorted(jobs)
    all_after = [candidate.verification.outcomes[name] for name in names]
    all_before = [floor.verification.outcomes[name] for name in names]
    earning = rates([*all_after, *all_before], facts)
    earn_after, earn_before = earning[: len(names)], earning[len(names) :]
    for name, after, before, mine_after, mine_before in zip(
        names, all_after, all_before, earn_after, earn_before, strict=True
    ):
        mine = facts.jobs[name]
        gain = mine_after - mine_before
        pays = _lost_device_seconds(mine, after) - _lost_device_seconds(mine, before)
        more = gain - doubted * (abs(mine_after) + abs(mine_before)) if gain else 0.0
        earned += more
        cost += a_stop * pays / length
        if before.status is Status.KEPT:
            horizon = min(horizon, mine.horizon)
        elif gain > 0.0 and after.throughput > 0.0 and (work := left_at(after.job, policy.fairness_quantile)):
            left = work / after.throughput
            starts.append((left, name, more, a_stop * pays / length))
    starts.sort()
    needed_by = _needed_by(candidate, jobs)
    best: Weighed | None = None
    for left, name, more, pays in (*starts, (horizon, "", 0.0, 0.0)):
        within = min(left, horizon)
        rounds = max(within, length) / length
        found = Weighed(earned * rounds - cost, earned, cost, within)
        if best is None or found.gain > best.gain:
            best = found
        mine_too = needed_by.get(name, ())
        if left >= horizon or any(len(others) == 1 for others in mine_too):
            break
        for others in mine_too:
            others.discard(name)
        earned -= more
        cost -= pays
    assert best is not None
    return best


def doubt(round_: Round) -> float:
    """Share of what a job is worth that may be misjudged."""
    policy = round_.policy
    return min(1.0, policy.hysteresis * (AHEAD if round_.outlook and policy.fairness_power else 1.0))


def _needed_by(candidate: Candidate, jobs: Collection[str]) -> dict[str, list[set[str]]]:
    """By job, for each disruption of ``jobs`` that is for its good: all for whose good it is."""
    found: dict[str, list[set[str]]] = defaultdict(list)
    for action in map(candidate.action_of.get, jobs):
        if action and is_chosen(action):
            names = set(action.beneficiaries)
            for name in names:
                found[name].append(names)
    return found


def _lost_device_seconds(mine: JobFacts, outcome: Outcome) -> float:
    """Device time that a stop throws away and a start takes; what is forced is lost whatever is done."""
    restart = outcome.job.restart_seconds
    if outcome.status is Status.EVICTED:
        return 0.0 if outcome.forced else lost_by_a_stop(mine, outcome.job)
    if outcome.status in (Status.WAITING, Status.KEPT):
        return 0.0
    starting = restart * (float(outcome.devices) or mine.size)
    if outcome.forced or outcome.status is Status.STARTED:
        return starting
    return mine.lost_seconds * mine.held + starting


def lost_by_a_stop(mine: JobFacts, job: Job) -> float:
    """Device time that a running job throws away when it is stopped and started again as it was, seconds."""
    return (mine.lost_seconds + job.restart_seconds) * mine.held


def jobs_of(bundle: Bundle) -> frozenset[str]:
    """Names of its jobs."""
    return frozenset(action.job for action in bundle)


def is_chosen(action: Action) -> bool:
    """Whether this is a disruption by choice."""
    return action.kind in _DISRUPTIONS and action.forced is None
