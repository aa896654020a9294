"""No action without proved gain: take back every disruption that is not worth its cost (decision 14).

A bundle is a set of disruptions by choice and of the starts that need them. Spread costs cannot price an
exchange job by job, so each bundle is judged as a whole: its gain per round, over the shortest horizon of its
members, against every cost counted once (decision 13). Ties go to fewer actions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from gangplan.domain.plan import Action, ActionKind
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.stages import holds_a_floor
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import fill, stay_where_free
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.terms import rate
from gangplan.model.verifier.facts import JobFacts
from gangplan.model.verifier.outcome import Outcome, Status

_DISRUPTIONS = (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)
_TOLERANCE = 1e-9
_PASSES = 4
_ONE_MORE = 0.7
"""Verifications (the first, which prepares the others, is the slowest) that one more revert takes."""
_FOR_THE_REST = 3.0
"""Verifications for which there must be time before one more part is taken back: all may have to be."""
_PARTS = 12
"""Most parts of a bundle that are taken back one by one."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What was taken back.

    Attributes:
        candidate: the plan without it.
        bundles: how many bundles.
        actions: how many disruptions.
    """

    candidate: Candidate
    bundles: int
    actions: int


def take_back(judge: Judge, candidate: Candidate, floor: Candidate) -> TakenBack:
    """Take back the bundles of ``candidate`` without proved gain over ``floor``, which keeps everything.

    Where that cannot be done, or not in time, the answer is ``floor``.
    """
    bundles = actions = 0
    paying: set[frozenset[str]] = set()
    for last in (*([False] * _PASSES), True):
        poor = [
            bundle
            for bundle in _bundles(judge, candidate, floor)
            if _jobs(bundle) not in paying
            and _gain(judge, candidate, floor, _jobs(bundle)) <= _TOLERANCE
            and not holds_a_floor(judge, candidate, bundle)
        ]
        if not poor:
            break
        if not last and (thinned := _thin(judge, candidate, floor, poor)) is not None:
            actions += _disruptions(candidate) - _disruptions(thinned)
            bundles += 1
            candidate = thinned
            continue
        reverted = None
        if not last and judge.has_time_for(_ONE_MORE):
            reverted = _revert_all(judge, candidate, poor, paying)
        candidate, done = reverted or (floor, poor)
        bundles += len(done)
        actions += sum(1 for bundle in done for action in bundle if _is_chosen(action))
    if candidate.value < floor.value and not _disruptions(candidate):
        candidate = floor  # what was taken back left less than keeping everything does
    return TakenBack(candidate, bundles, actions)


def _disruptions(candidate: Candidate) -> int:
    return sum(1 for action in candidate.plan.actions if _is_chosen(action))


def _thin(
    judge: Judge, candidate: Candidate, floor: Candidate, poor: list[tuple[Action, ...]]
) -> Candidate | None:
    """Take back parts of poor bundles that share a quota at most, until the rest pays; None: it never does.

    One exchange that does not pay, or whose jobs soon end, would else drag down every other that its queue
    has room for. Parts that do not pay alone go first, then those of the shortest horizon.
    """
    parts = []
    mixed = set().union(*(_jobs(bundle) for bundle in poor))
    for part in _bundles(judge, candidate, floor, by_quota=False):
        jobs = _jobs(part)
        if jobs <= mixed:
            pays = _gain(judge, candidate, floor, jobs) > _TOLERANCE
            horizon = min(judge.facts.jobs[action.job].horizon for action in part if _is_chosen(action))
            parts.append((pays, horizon, part))
    if len(parts) <= len(poor):
        return None
    parts.sort(key=lambda each: each[:2])
    for _, _, part in parts[: min(_PARTS, len(parts) - 1)]:
        if not judge.has_time_for(_FOR_THE_REST):
            return None
        alone = _revert(judge, candidate, list(part))
        if alone is None:
            continue
        candidate = alone
        left = [bundle for bundle in _bundles(judge, candidate, floor) if _jobs(bundle) & mixed]
        if all(_gain(judge, candidate, floor, _jobs(bundle)) > _TOLERANCE for bundle in left):
            return candidate
    return None


def _jobs(bundle: tuple[Action, ...]) -> frozenset[str]:
    return frozenset(action.job for action in bundle)


def _is_chosen(action: Action) -> bool:
    """Whether this is a disruption by choice."""
    return action.kind in _DISRUPTIONS and action.forced is None


def _revert_all(
    judge: Judge, candidate: Candidate, poor: list[tuple[Action, ...]], paying: set[frozenset[str]]
) -> tuple[Candidate, list[tuple[Action, ...]]] | None:
    """Revert all poor bundles at once, else one by one; None when one that does not pay cannot be reverted.

    What reverting would leave is a verified plan: where that one earns less, the bundle pays after all
    (others start in room that it made), stays, and is added to ``paying``.
    """
    together = _revert(judge, candidate, [action for bundle in poor for action in bundle])
    if together is not None and not _earns_more(judge, candidate, together):
        return together, poor
    done = []
    stuck = False
    for bundle in poor:
        if judge.hurried:
            return None
        alone = together if len(poor) == 1 else _revert(judge, candidate, list(bundle))
        if alone is None:
            stuck = True
        elif _earns_more(judge, candidate, alone):
            paying.add(_jobs(bundle))
        else:
            candidate = alone
            done.append(bundle)
    return None if stuck and not done else (candidate, done)


def _earns_more(judge: Judge, candidate: Candidate, other: Candidate) -> bool:
    """Whether ``candidate`` earns more than ``other`` on the jobs that fare differently, costs once."""
    theirs = other.verification.outcomes
    differing = [
        name
        for name, mine in candidate.verification.outcomes.items()
        if mine is not theirs[name] and mine != theirs[name]
    ]
    return _gain(judge, candidate, other, differing) > _TOLERANCE


def _bundles(
    judge: Judge, candidate: Candidate, floor: Candidate, *, by_quota: bool = True
) -> list[tuple[Action, ...]]:
    """Disruptions by choice with everything that needs their place or (``by_quota``) quota, in order of ids.

    Who starts in ``floor`` too, elsewhere, needs nobody's place: with it goes whoever took that other place.
    """
    actions = {action.id: action for action in candidate.plan.actions}
    by_job = {action.job: action.id for action in candidate.plan.actions}
    chosen = {action.id for action in candidate.plan.actions if _is_chosen(action)}
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
    successors = _Successors(candidate, floor)
    for j in successors.elsewhere:
        mine = by_job[names[j]]
        if root(mine) in disrupted:
            for successor in successors.of(j):
                parent[root(by_job[names[successor]])] = root(mine)
    grouped: dict[str, list[Action]] = defaultdict(list)
    for key in sorted(actions):
        grouped[root(key)].append(actions[key])
    return [tuple(group) for group in grouped.values() if any(action.id in chosen for action in group)]


class _Successors:
    """Who is in ``candidate`` where a job is in ``floor`` that starts in both, elsewhere.

    Attributes:
        elsewhere: those jobs, ascending.
    """

    def __init__(self, candidate: Candidate, floor: Candidate) -> None:
        self._before, after = floor.assignment.placed, candidate.assignment.placed
        self._coming: dict[int, list[int]] = defaultdict(list)
        self.elsewhere: list[int] = []
        for j, placed in sorted(after.items()):
            known = self._before.get(j)
            if known is None or known.spots != placed.spots:
                for node, _ in placed.spots:
                    self._coming[node].append(j)
                if known is not None:
                    self.elsewhere.append(j)

    def of(self, j: int) -> list[int]:
        """Who takes the place of ``j``.

        Where that is another such job, it is asked for its place in turn, until it is one that ``floor``
        starts nowhere.
        """
        asked, seen = [j], {j}
        while asked:
            spots = [node for i in asked for node, _ in self._before[i].spots]
            there = {k for node in spots for k in self._coming.get(node, ())} - seen
            gaining = sorted(k for k in there if k not in self._before)
            if gaining:
                return gaining
            seen |= there
            asked = sorted(there)
        return []


def _sharing_quota(judge: Judge, candidate: Candidate) -> list[list[Action]]:
    """For every limit that would be broken if all stops were taken back: the changes in that queue."""
    instance = judge.instance
    if not any(
        queue.device_limit is not None or queue.device_limit_by_type for queue in instance.round.queues
    ):
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
            for ancestor in instance.queue_ancestors[queue]:
                if ancestor in broken:
                    changes[ancestor].append(action)
    return [members for _, members in sorted(changes.items())]


def _gain(judge: Judge, candidate: Candidate, floor: Candidate, jobs: Iterable[str]) -> float:
    """What ``jobs`` earn over ``floor`` in their shortest horizon, less costs, in GPU-equivalent rounds.

    What they earn and pay in ``floor`` too, as those do that start there, counts for nothing. What they earn
    differently is taken to be off by ``policy.hysteresis`` of it on both sides, to their disadvantage: a gain
    within the error of the throughputs is none (decision 14).
    """
    facts, round_ = judge.facts, judge.instance.round
    length = round_.round_seconds
    policy = round_.policy
    earned = cost = 0.0
    horizon = round_.horizon_seconds
    for name in sorted(jobs):
        after = candidate.verification.outcomes[name]
        before = floor.verification.outcomes[name]
        mine = facts.jobs[name]
        mine_after, mine_before = _rate(judge, after), _rate(judge, before)
        gain = mine_after - mine_before
        earned += gain
        if gain:
            earned -= policy.hysteresis * (abs(mine_after) + abs(mine_before))
        cost += _lost_device_seconds(mine, after) - _lost_device_seconds(mine, before)
        if before.status is Status.KEPT:
            horizon = min(horizon, mine.horizon)
        elif gain and after.throughput > 0.0 and after.job.work_left:
            horizon = min(horizon, after.job.work_left / after.throughput)
    return earned * max(horizon, length) / length - policy.switching_weight * cost / length


def _lost_device_seconds(mine: JobFacts, outcome: Outcome) -> float:
    """Device time that a stop throws away and a start takes; what is forced is lost whatever is done."""
    restart = outcome.job.restart_seconds
    if outcome.status is Status.EVICTED:
        return 0.0 if outcome.forced else (mine.lost_seconds + restart) * mine.held
    if outcome.status in (Status.WAITING, Status.KEPT):
        return 0.0
    starting = restart * (float(outcome.devices) or mine.size)
    if outcome.forced or outcome.status is Status.STARTED:
        return starting
    return mine.lost_seconds * mine.held + starting


def _rate(judge: Judge, outcome: Outcome) -> float:
    """Value per round, switching aside."""
    if outcome.status is Status.WAITING:
        return 0.0
    return rate(outcome, judge.facts)


def _make_room_in_quotas(occupancy: Occupancy, placed: dict[int, Placed]) -> None:
    """Take starts out of ``placed`` and ``occupancy`` until no quota holds too much, least dense first."""
    instance = occupancy.instance
    broken = occupancy.broken_queues()
    starts = [j for j in placed if broken and j not in instance.placements]
    starts.sort(key=lambda j: instance.gain[placed[j].option] / max(1, instance.devices[placed[j].option]))
    for j in starts:
        queue = instance.classes[int(instance.class_of_job[j])].queue
        if not broken:
            break
        if queue >= 0 and broken.intersection(instance.queue_ancestors[queue]):
            occupancy.take_placed(j, placed.pop(j), -1)
            broken = occupancy.broken_queues()


def _revert(judge: Judge, candidate: Candidate, bundle: list[Action]) -> Candidate | None:
    """Everybody in ``bundle`` stays where it is, or goes on waiting; then fill what that leaves free.

    Where a quota has no room for who stays, the least dense starts under it wait too.
    """
    instance = judge.instance
    members = {instance.job_index[action.job] for action in bundle}
    staying = candidate.assignment.kept | {j for j in members if j in instance.placements}
    placed = {j: where for j, where in candidate.assignment.placed.items() if j not in members}
    kept_classes = {int(instance.class_of_job[j]) for j in staying}
    occupancy = Occupancy(instance, kept_classes)
    for j, where in placed.items():
        placed[j] = occupancy.take_placed(j, where)
    _make_room_in_quotas(occupancy, placed)
    kept_classes |= stay_where_free(occupancy, kept_classes, placed)
    kept = frozenset(instance.classes[c].jobs[0] for c in kept_classes)
    filled = fill(occupancy, Assignment(kept, placed, candidate.assignment.unbound), Fit.BEST)
    return judge.consider("take_back", filled)
