"""The raw enumerator: the truth for tiny rounds (decision 39).

It shares nothing with the model. It lists raw assignments of tasks (and, in ``raw`` mode, devices) of each
job to nodes, joins them to plans, and lets the verifier judge; what is allowed and what a plan is worth it
does not know itself.

What it leaves out, and why the best plan is not among that:

1. *Assignments that are no good alone.* Each assignment of one job is first judged with all other jobs gone.
   Rules on capacity, eligibility, gangs, topology and quota only get harder to keep when more jobs hold
   something, what is tolerated (property P25) depends on the round and not on the plan, and what a job's
   capabilities forbid depends on the job alone. So an assignment that breaks such a rule alone breaks it in
   every plan, and a partial plan that breaks one breaks it however it is completed.
2. *Plans that cannot be better.* The objective is a sum over jobs of a value that depends on the job's own
   assignment, and what blocks that are left free are worth, which is at most that of all that are wanted. So
   the sum of the best values of the undecided jobs and of those blocks bounds what a partial plan can become.
   (The sum is checked against the verifier's own objective on every complete plan.)
3. *Device indices* (not in ``raw`` mode). Rules and values see the indices of a node only through: usable or
   not, held by one job at most, and nested or not in what the job holds. So with the numbers of tasks by node
   fixed, usable indices that nobody keeps are interchangeable, and it is enough to look at one choice: a job
   whose numbers are those it has keeps its devices; one whose numbers are nested keeps or extends them (a
   RESIZE is allowed wherever a MIGRATE with the same numbers is, and costs the same); any other takes the
   lowest free ones. That argument needs every device to be held by one job at most now, but for parts; other
   rounds are enumerated raw. Of which device a part is, is enumerated always.

``depends_on`` and ``beneficiaries`` are the simplest correct ones: every start waits for every stop, every
eviction is for the good of all that gain, every move or resize for its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gangplan.domain.cluster import DeviceReporting, Node
from gangplan.domain.job import Job, TaskGroup, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, ForcedReason, Plan
from gangplan.domain.round import Round
from gangplan.errors import TooManyPlansError
from gangplan.model.terms import residual
from gangplan.model.verifier.facts import RoundFacts, round_facts
from gangplan.model.verifier.guarantees import held_by_guaranteed, met
from gangplan.model.verifier.outcome import Status
from gangplan.model.verifier.verify import Verification, verify

TOLERANCE = 1e-9
"""Values closer than this are equal; the plan with fewer disruptions wins then."""

_KINDS = {
    Status.KEPT: ActionKind.KEEP,
    Status.STARTED: ActionKind.PLACE,
    Status.MOVED: ActionKind.MIGRATE,
    Status.RESIZED: ActionKind.RESIZE,
    Status.EVICTED: ActionKind.EVICT,
}
_STOPS = (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)
_STARTS = (ActionKind.PLACE, ActionKind.MIGRATE, ActionKind.RESIZE)
_PROBES = 2
"""Judgements that an assignment of one job takes: what it is, and whether it is good."""
_LATER = ("order.", "justification.", "disruption.limit", "claim.")
"""Rules that only a complete plan can be judged by."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best plan of a round.

    Attributes:
        plan: a best plan; of several, one with fewest disruptions among those looked at.
        verification: what the verifier says of it; never a violation.
        judged: plans and partial plans that were judged.
    """

    plan: Plan
    verification: Verification
    judged: int

    @property
    def objective(self) -> float:
        """The optimum, GPU-equivalents."""
        return self.verification.objective


@dataclass(frozen=True, slots=True)
class _Choice:
    """One assignment of one job: tasks by (group, node), with devices in raw mode; nothing: it does not
    run.
    """

    placements: tuple[TaskPlacement, ...]
    kind: ActionKind | None
    scope: str
    throughput: float
    gains: bool
    value: float


def best_plan(round_: Round, *, raw: bool = False, max_plans: int = 100_000) -> Best:
    """The best plan of ``round_``, by looking at all.

    Args:
        round_: a tiny round: three nodes and four jobs are plenty.
        raw: also enumerate device indices.
        max_plans: plans and partial plans that may be judged.

    Raises:
        TooManyPlansError: there are more than ``max_plans``.
    """
    # A claim is on certain devices, and so is a promise.
    raw = raw or bool(round_.claims) or bool(round_.reservations) or _held_twice(round_)
    return _Enumeration(round_, raw=raw, max_plans=max_plans).best()


def best_guaranteed(round_: Round, *, max_plans: int = 20_000) -> Best:
    """The plan that meets most of what queues are guaranteed, and of those the best, by looking at all.

    What is met is the sum over queues of min(devices guaranteed, devices held). Of the queues, each may have
    more or less of its own in another plan that meets as much.

    Raises:
        TooManyPlansError: there are more than ``max_plans``.
    """
    raw = bool(round_.claims) or bool(round_.reservations) or _held_twice(round_)
    return _Guaranteed(round_, raw=raw, max_plans=max_plans).best()


def _held_twice(round_: Round) -> bool:
    held = [
        (placement.node, device)
        for job in round_.jobs
        if job.running
        for placement in job.running.placements
        for device in placement.devices
        if not placement.shares
    ]
    return len(held) != len(set(held))


class _Enumeration:
    """A depth-first search over jobs."""

    def __init__(self, round_: Round, *, raw: bool, max_plans: int) -> None:
        self.round = round_
        self.raw = raw
        self.left = self.max_plans = max_plans
        self.facts: RoundFacts = round_facts(round_)
        self.gone = {job.name: self._gone(job) for job in round_.jobs}
        self.floor = _by_jobs(self._judge({}))
        free = () if round_.outlook is None else round_.outlook.free_blocks
        self.most_left = residual.weight(round_) * sum(entry.number * entry.worth for entry in free)
        self.found: tuple[float, int, Plan, Verification] | None = None

    def best(self) -> Best:
        choices = self._all_choices()
        order = sorted(choices, key=lambda name: (choices[name][-1].value - choices[name][0].value, name))
        ahead = [0.0]
        for name in reversed(order):
            ahead.append(ahead[-1] + choices[name][0].value)
        self._descend(order, choices, ahead[::-1], {}, self.floor)
        assert self.found is not None, "keeping everything is always a plan"
        return Best(self.found[2], self.found[3], self.max_plans - self.left)

    def _descend(
        self,
        order: Sequence[str],
        choices: Mapping[str, Sequence[_Choice]],
        ahead: Sequence[float],
        decided: dict[str, _Choice],
        value: float,
    ) -> None:
        depth = len(decided)
        if depth == len(order):
            self._judge_whole(decided, value)
            return
        name = order[depth]
        for choice in choices[name]:
            reach = value + choice.value + ahead[depth + 1]
            if self.found is not None and reach + self.most_left < self.found[0] - TOLERANCE:
                return  # choices come best first
            decided[name] = choice
            if depth + 1 == len(order) or not _broken(self._judge(decided), decided):
                self._descend(order, choices, ahead, decided, value + choice.value)
            del decided[name]

    def _judge_whole(self, decided: Mapping[str, _Choice], value: float) -> None:
        plan = self._plan(decided)
        verification = self._verify(plan)
        if verification.violations:
            return
        assert math.isclose(value, _by_jobs(verification), rel_tol=1e-9, abs_tol=1e-9), (
            "the objective is no sum"
        )
        value = verification.objective
        disruptions = sum(action.forced is None and action.kind in _STOPS for action in plan.actions)
        if (
            self.found is None
            or value > self.found[0] + TOLERANCE
            or (value >= self.found[0] - TOLERANCE and disruptions < self.found[1])
        ):
            self.found = (value, disruptions, plan, verification)

    # Choices

    def _gone(self, job: Job) -> _Choice:
        kind = ActionKind.EVICT if job.running else None
        return _Choice((), kind, "", 0.0, gains=False, value=0.0)

    def _all_choices(self) -> dict[str, list[_Choice]]:
        """All assignments of each job that are good alone, best first; to wait or be evicted is one of them.

        Raises:
            TooManyPlansError: there are too many to judge each alone; none is judged then.
        """
        ways: dict[str, list[tuple[TaskPlacement, ...]]] = {}
        left = self.left // _PROBES
        for job in self.round.jobs:
            ways[job.name] = list(itertools.islice(self._ways(job), left + 1))
            left -= len(ways[job.name])
            if left < 0:
                raise self._too_many()
        return {job.name: self._choices(job, ways[job.name]) for job in self.round.jobs}

    def _ways(self, job: Job) -> Iterator[tuple[TaskPlacement, ...]]:
        """Different assignments of ``job`` to nodes that are there: nothing, what it has, and all others."""
        seen: set[object] = set()
        present = _sorted(job.running.placements) if job.running else None
        everything = itertools.chain([()], [present] if present else [], self._assignments(job))
        for placements in everything:
            apart = self.raw or _takes_part(job)
            key = placements if apart else tuple((p.group, p.node, p.tasks) for p in placements)
            if key in seen or any(p.node not in self.facts.nodes for p in placements):
                continue
            seen.add(key)
            yield placements

    def _choices(self, job: Job, ways: Sequence[tuple[TaskPlacement, ...]]) -> list[_Choice]:
        """Those of ``ways`` that are good alone, best first."""
        probed = (self._probe(job, placements) for placements in ways)
        found = [choice for choice in probed if choice is not None]
        return sorted(found, key=lambda choice: -choice.value)

    def _probe(self, job: Job, placements: tuple[TaskPlacement, ...]) -> _Choice | None:
        """The choice, priced and named by two judgements; None when it is no good even alone."""
        first = _Choice(
            placements, ActionKind.EVICT if not placements else ActionKind.PLACE, "", 0.0, False, 0.0
        )
        outcome = self._judge({job.name: first} if placements or job.running else {}).outcomes[job.name]
        kind = _KINDS.get(outcome.status)
        if kind is ActionKind.KEEP and job.name in self.facts.forced:
            kind = ActionKind.MIGRATE
        counts: dict[str, int] = {}
        for placement in job.running.placements if job.running else ():
            counts[placement.group] = counts.get(placement.group, 0) + placement.tasks
        grows = any(count > counts.get(group, 0) for group, count in outcome.counts.items())
        choice = _Choice(
            placements,
            kind,
            outcome.scope,
            outcome.throughput,
            gains=kind in (ActionKind.PLACE, ActionKind.MIGRATE) or (kind is ActionKind.RESIZE and grows),
            value=0.0,
        )
        judged = self._judge({job.name: choice})
        if _broken(judged, {job.name: choice}):
            return None
        return replace(choice, value=_by_jobs(judged) - self.floor)

    def _assignments(self, job: Job) -> Iterator[tuple[TaskPlacement, ...]]:
        """Every way to put every allowed count of every group on nodes."""
        groups = job.component.task_groups
        for parts in itertools.product(*(tuple(self._spreads(group)) for group in groups)):
            if not self.raw and not _takes_part(job):
                yield _sorted(itertools.chain.from_iterable(parts))
                continue
            placements = tuple(itertools.chain.from_iterable(parts))
            per_task = {group.name: group.devices_per_task for group in groups}
            part = {g.name: () if g.device_share is None else (g.device_share,) for g in groups}
            for devices in itertools.product(
                *(_subsets(self.facts.nodes[p.node], p.tasks * per_task[p.group]) for p in placements)
            ):
                yield _sorted(
                    replace(placement, devices=held, shares=part[placement.group] * len(held))
                    for placement, held in zip(placements, devices, strict=True)
                )

    def _spreads(self, group: TaskGroup) -> Iterator[tuple[TaskPlacement, ...]]:
        """Every way to put every allowed count of one group on nodes; no node can have more devices than it
        has.
        """
        nodes = self.round.cluster.nodes
        most = [
            node.device_count // group.devices_per_task if group.devices_per_task else None for node in nodes
        ]
        for count in group.allowed_counts:
            rooms = [range(min(count, count if room is None else room) + 1) for room in most]
            for tasks in itertools.product(*rooms):
                if sum(tasks) == count:
                    yield tuple(
                        TaskPlacement(group.name, node.name, here)
                        for node, here in zip(nodes, tasks, strict=True)
                        if here
                    )

    # Plans

    def _judge(self, decided: Mapping[str, _Choice]) -> Verification:
        """Judge a partial plan: undecided jobs do not run."""
        return self._verify(self._plan({**self.gone, **decided}))

    def _verify(self, plan: Plan) -> Verification:
        if self.left == 0:
            raise self._too_many()
        self.left -= 1
        return verify(self.round, plan, self.facts)

    def _too_many(self) -> TooManyPlansError:
        return TooManyPlansError(f"more than {self.max_plans} plans; make the round smaller")

    def _plan(self, decided: Mapping[str, _Choice]) -> Plan:
        chosen = [(job, decided[job.name]) for job in self.round.jobs if decided[job.name].kind is not None]
        placements = self._bind(chosen) if not self.raw else {job.name: c.placements for job, c in chosen}
        ids = {job.name: f"{choice.kind.value.lower()}:{job.name}" for job, choice in chosen if choice.kind}
        stops = [ids[job.name] for job, choice in chosen if choice.kind in _STOPS]
        notices = [
            job.checkpoint_seconds
            for job, choice in chosen
            if choice.kind in _STOPS
            and self.facts.forced.get(job.name, ForcedReason.PROMISE_DUE) is ForcedReason.PROMISE_DUE
        ]
        start = self.round.now + max(notices, default=0.0)
        gainers = [job.name for job, choice in chosen if choice.gains]
        actions: list[Action] = []
        for job, choice in chosen:
            assert choice.kind is not None
            forced = self.facts.forced.get(job.name)
            beneficiaries: tuple[str, ...] = ()
            if forced is None and choice.kind is ActionKind.EVICT:
                beneficiaries = tuple(gainers)
            elif forced is None and choice.kind in _STOPS:
                beneficiaries = (job.name,)
            actions.append(
                Action(
                    id=ids[job.name],
                    kind=choice.kind,
                    job=job.name,
                    placements=placements[job.name],
                    scope=choice.scope,
                    throughput=choice.throughput,
                    depends_on=tuple(stop for stop in stops if stop != ids[job.name])
                    if choice.kind in _STARTS
                    else (),
                    beneficiaries=beneficiaries,
                    forced=forced,
                    not_before=start if choice.kind in _STARTS else None,
                )
            )
        return Plan(tuple(actions))

    def _bind(self, chosen: Sequence[tuple[Job, _Choice]]) -> dict[str, tuple[TaskPlacement, ...]]:
        """Device indices for numbers of tasks: what is kept stays, all else takes the lowest free ones."""
        taken: dict[str, set[int]] = {}
        kept: dict[tuple[str, str, str], tuple[int, ...]] = {}
        for job, choice in chosen:
            if _takes_part(job):
                for placement in choice.placements:
                    taken.setdefault(placement.node, set()).update(placement.devices)
                continue
            for place, devices in self._kept(job, choice).items():
                kept[job.name, *place] = devices
                taken.setdefault(place[1], set()).update(devices)
        bound: dict[str, tuple[TaskPlacement, ...]] = {}
        for job, choice in chosen:
            if _takes_part(job):
                bound[job.name] = choice.placements
                continue
            per_task = {group.name: group.devices_per_task for group in job.component.task_groups}
            placements: list[TaskPlacement] = []
            for placement in choice.placements:
                node = self.facts.nodes[placement.node]
                own = list(kept.get((job.name, placement.group, placement.node), ()))
                if node.device_reporting is DeviceReporting.EXACT:
                    busy = taken.setdefault(node.name, set())
                    needed = placement.tasks * per_task.get(placement.group, 0) - len(own)
                    fresh = sorted(node.usable_devices - busy)[: max(0, needed)]
                    busy.update(fresh)
                    own += fresh
                placements.append(replace(placement, devices=tuple(sorted(own))))
            bound[job.name] = tuple(placements)
        return bound

    def _kept(self, job: Job, choice: _Choice) -> dict[tuple[str, str], tuple[int, ...]]:
        """The devices that a running job keeps, by (group, node): none, unless its numbers are nested."""
        if job.running is None or job.name in self.facts.forced:
            return {}
        per_task = {group.name: group.devices_per_task for group in job.component.task_groups}
        before = {(p.group, p.node): p for p in job.running.placements}
        after = {(p.group, p.node): p.tasks for p in choice.placements}
        for group in per_task:
            places = [key for key in {*before, *after} if key[0] == group]
            change = [after.get(key, 0) - (before[key].tasks if key in before else 0) for key in places]
            if min(change, default=0) < 0 < max(change, default=0):
                return {}
        return {
            key: before[key].devices[: tasks * per_task[key[0]]]
            for key, tasks in after.items()
            if key in before
        }


class _Guaranteed(_Enumeration):
    """The same search; no value bounds what a plan meets, so that nothing is left out for it."""

    most = -1.0

    def best(self) -> Best:
        choices = self._all_choices()
        order = sorted(choices)
        self._descend(order, choices, [math.inf] * (len(order) + 1), {}, self.floor)
        assert self.found is not None, "keeping everything is always a plan"
        return Best(self.found[2], self.found[3], self.max_plans - self.left)

    def _judge_whole(self, decided: Mapping[str, _Choice], value: float) -> None:
        plan = self._plan(decided)
        verification = self._verify(plan)
        if verification.violations:
            return
        count = sum(met(self.round, held_by_guaranteed(self.round, verification.outcomes)).values())
        better = self.found is None or value > self.found[0] + TOLERANCE
        if count > self.most + TOLERANCE or (count >= self.most - TOLERANCE and better):
            self.most, self.found = count, (value, 0, plan, verification)


def _broken(judged: Verification, decided: Mapping[str, _Choice]) -> bool:
    """Whether a partial plan breaks a rule that no completion can mend."""
    return any(
        not violation.rule.startswith(_LATER)
        and (not violation.rule.startswith("disruption.") or violation.job in decided)
        for violation in judged.violations
    )


def _by_jobs(judged: Verification) -> float:
    """What is worth something job by job: without what is left free."""
    return judged.objective - judged.objective_by_term[residual.NAME]


def _takes_part(job: Job) -> bool:
    return any(group.device_share is not None for group in job.component.task_groups)


def _subsets(node: Node, count: int) -> Sequence[tuple[int, ...]]:
    if node.device_reporting is not DeviceReporting.EXACT:
        return [()]
    return list(itertools.combinations(range(node.device_count), count))


def _sorted(placements: Iterator[TaskPlacement] | Sequence[TaskPlacement]) -> tuple[TaskPlacement, ...]:
    return tuple(sorted(placements, key=lambda p: (p.group, p.node, p.devices)))
