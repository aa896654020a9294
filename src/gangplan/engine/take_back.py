"""No action without proved gain: take back every disruption that is not worth its cost (decision 14).

Bundles are judged as ``bundles`` says; ties go to fewer actions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gangplan.domain.plan import Action
from gangplan.engine.bundles import Bundle, Weighed, bundles, is_chosen, jobs_of, looking, weigh
from gangplan.engine.judge import Candidate, Judge
from gangplan.engine.put_back import put_back
from gangplan.engine.stages import holds_a_floor
from gangplan.model.packing.assignment import Assignment, Placed, worth
from gangplan.model.packing.fill import fill, stay_where_free
from gangplan.model.packing.occupancy import Fit, Occupancy

_PASSES = 4
_ONE_MORE = 0.7
"""Verifications (the first, which prepares the others, is the slowest) that one more revert takes."""
_FOR_THE_REST = 3.0
"""Verifications for which there must be time before one more part is taken back: all may have to be."""
TAKING_BACK = 1.5
"""Verifications for which there must be time before anything is taken back: what looks and a revert took at
XL and XXL. Where there is less, it is only put back."""
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

    Where that cannot be done, or not in time, they are put back as ``floor`` has them; where not even that is
    possible, the answer is ``floor``.
    """
    reverted_bundles = actions = 0
    paying: set[frozenset[str]] = set()
    for last in (*([False] * _PASSES), True):
        poor, others = _split(judge, candidate, floor, paying)
        if not poor:
            break
        if not last and (thinned := _thin(judge, candidate, floor, poor)) is not None:
            actions += disruptions(candidate) - disruptions(thinned)
            reverted_bundles += 1
            candidate = thinned
            continue
        reverted = None
        if not last and judge.has_time_for(_ONE_MORE):
            reverted = _revert_all(judge, candidate, poor, paying)
        reverted_bundles += len(poor if reverted is None else reverted[1])
        actions += sum(is_chosen(a) for bundle in (reverted or (None, poor))[1] for a in bundle)
        if reverted is None:
            candidate = put_back(judge, candidate, floor, poor, others) or floor
            break
        candidate = reverted[0]
    if candidate.value < floor.value and not disruptions(candidate):
        candidate = floor  # what was taken back left less than keeping everything does
    return TakenBack(candidate, reverted_bundles, actions)


def _split(
    judge: Judge, candidate: Candidate, floor: Candidate, paying: Collection[frozenset[str]]
) -> tuple[list[Bundle], list[Bundle]]:
    """The bundles without proved gain, and the others: those that pay, or hold a floor."""
    poor: list[Bundle] = []
    others: list[Bundle] = []
    with looking(judge):
        for bundle in bundles(judge, candidate, floor):
            jobs = jobs_of(bundle)
            stays = (
                jobs in paying
                or weigh(judge, candidate, floor, jobs).pays
                or holds_a_floor(judge, candidate, bundle)
            )
            (others if stays else poor).append(bundle)
    return poor, others


def disruptions(candidate: Candidate) -> int:
    """How many actions are disruptions by choice."""
    return sum(1 for action in candidate.plan.actions if is_chosen(action))


def _thin(judge: Judge, candidate: Candidate, floor: Candidate, poor: list[Bundle]) -> Candidate | None:
    """Take back parts of poor bundles that share a quota at most, until the rest pays; None: it never does.

    One exchange that does not pay, or whose jobs soon end, would else drag down every other that its queue
    has room for. Parts that do not pay alone go first, then those of the shortest horizon. A part stays where
    what would be left without it earns less.
    """
    if not judge.has_time_for(_FOR_THE_REST):
        return None
    parts = []
    mixed = set().union(*(jobs_of(bundle) for bundle in poor))
    with looking(judge):
        for part in bundles(judge, candidate, floor, by_quota=False):
            jobs = jobs_of(part)
            if jobs <= mixed:
                pays = weigh(judge, candidate, floor, jobs).pays
                horizon = min(judge.facts.jobs[action.job].horizon for action in part if is_chosen(action))
                parts.append((pays, horizon, part))
    if len(parts) <= len(poor):
        return None
    parts.sort(key=lambda each: each[:2])
    for _, _, part in parts[: min(_PARTS, len(parts) - 1)]:
        if not judge.has_time_for(_FOR_THE_REST):
            return None
        alone = _revert(judge, candidate, list(part))
        if alone is None or _earns_more(judge, candidate, alone):
            continue
        candidate = alone
        with looking(judge):
            left = [bundle for bundle in bundles(judge, candidate, floor) if jobs_of(bundle) & mixed]
            pays = all(weigh(judge, candidate, floor, jobs_of(bundle)).pays for bundle in left)
        if pays:
            return candidate
    return None


def _revert_all(
    judge: Judge, candidate: Candidate, poor: list[Bundle], paying: set[frozenset[str]]
) -> tuple[Candidate, list[Bundle]] | None:
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
            return None if together is None else (together, poor)
        alone = together if len(poor) == 1 else _revert(judge, candidate, list(bundle))
        if alone is None:
            stuck = True
        elif _earns_more(judge, candidate, alone):
            paying.add(jobs_of(bundle))
        else:
            candidate = alone
            done.append(bundle)
    return None if stuck and not done else (candidate, done)


def _earns_more(judge: Judge, candidate: Candidate, other: Candidate) -> bool:
    """Whether ``candidate`` earns more than ``other`` on the jobs that fare differently, costs once."""
    mine, theirs = candidate.verification.outcomes, other.verification.outcomes
    before, after = other.action_of, candidate.action_of
    with looking(judge):
        # The same action, or none, means the same for its job in any plan of the round.
        acting = [name for name in {**before, **after} if before.get(name) is not after.get(name)]
        differing = [name for name in acting if mine[name] != theirs[name]]
        return weigh(judge, candidate, other, differing).pays


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
        if queue >= 0 and broken.intersection(instance.limits.ancestors[queue]):
            occupancy.take_placed(j, placed.pop(j), -1)
            broken = occupancy.broken_queues()


def may_pay(
    judge: Judge, candidate: Candidate, floor: Candidate, vain: Sequence[tuple[Bundle, Weighed]]
) -> bool:
    """Whether bundles that do not pay over ``floor`` may pay over what would be left without them.

    That can be worth much less than ``floor``, since others hold what starts there; nothing is verified.

    Args:
        judge: of the round.
        candidate: a plan.
        floor: the plan that keeps everything.
        vain: the bundles of ``candidate`` that do not pay over it, and what they are worth.
    """
    without = _reverted(judge, candidate, [action for bundle, _ in vain for action in bundle])
    rounds = max(each.horizon for _, each in vain) / judge.instance.round.round_seconds
    less = floor.value - worth(judge.instance, without)
    return sum(each.gain for _, each in vain) + rounds * less > 0.0


def _revert(judge: Judge, candidate: Candidate, bundle: list[Action]) -> Candidate | None:
    return judge.consider("take_back", _reverted(judge, candidate, bundle))


def _reverted(judge: Judge, candidate: Candidate, bundle: list[Action]) -> Assignment:
    """Everybody in ``bundle`` stays where it is, or goes on waiting; then fill what that leaves free.

    Where a quota has no room for who stays, the least dense starts under it wait too.
    """
    instance = judge.instance
    judge.count("reverts", 1)
    with judge.budget.phase("revert"):
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
        return fill(occupancy, Assignment(kept, placed, candidate.assignment.unbound), Fit.BEST)
