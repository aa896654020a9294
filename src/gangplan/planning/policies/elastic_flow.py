"""ElasticFlow: admission by deadlines, then devices where they cost least."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gangplan.domain.plan import RoundResult, Verdict, VerdictKind
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.planning.policies.memory import remembered, remembering
from gangplan.planning.policies.minimum_share import Allotment, Room, Scalable, shares
from gangplan.planning.policies.packed import carry_out_packed
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.wishes import Wish, fixed_classes, ways_of

NAME = "elasticflow"
ABOUT = "jobs that can meet their deadlines with the fewest devices for it, then more where it costs least"

DECLINED = "DECLINED"
"""Code of the verdict of a job that was not admitted."""


@dataclass(slots=True)
class ElasticFlow:
    """Admits a job when all admitted ones still meet their deadlines with it; grows jobs while there is room.

    Gu et al., *ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep Learning* (ASPLOS
    2023, section 4). Each admitted job gets its minimum satisfactory share
    (:mod:`~gangplan.planning.policies.minimum_share`). So while restarts have made one of them late, nobody
    is admitted. What is free then goes out level by level: first to
    those that have nothing, then to the job whose device time, from now to its end, grows least by it. Levels
    of a job are the numbers of devices that it may have, up to where one more level is no longer faster.

    A job that is not admitted is dropped there. Here, where all jobs end, it comes back once its deadline is
    over, as do those that missed theirs, and shares with the jobs without a deadline what others leave: the
    paper's best-effort jobs. So do jobs of which nobody knows how much work they have.

    The paper's cluster has one accelerator type; where there are several, a level is as fast as on the
    slowest of those on which the job may have it. Who may not be stopped keeps what it has and is not
    reckoned with.

    Attributes:
        name: of the policy.
        together: those that have come since the last round are admitted all or none, as in the public code.
    """

    name: str = NAME
    together: bool = True
    _steady: tuple[float, float] = field(default=(math.nan, math.nan), compare=False)

    def decide(self, round_: Round, before: RoundResult | None) -> RoundResult:
        """See :meth:`RoundPolicy.decide`."""
        instance = build_instance(round_)
        made = _Round(instance, before)
        made.admit(together=self.together)
        made.grow()
        self._steady = round_.now, made.until
        wishes = [Wish(j, made.ways[j][devices]) for j, devices in made.wanted().items()]
        plan = carry_out_packed(instance, wishes)
        placed = {action.job for action in plan.actions}
        answer = remembering(plan, made.memory, NAME)
        return replace(answer, verdicts=made.verdicts(placed))

    def steady_until(self, round_: Round) -> float:
        """Until a share is to change, or a deadline of who was declined is over."""
        now, until = self._steady
        return until if now == round_.now else round_.now


class _Round:
    """One round's decision."""

    def __init__(self, instance: Instance, before: RoundResult | None) -> None:
        self._instance, self._now = instance, instance.round.now
        nodes, parts = instance.nodes, instance.nodes.parts
        free = int(nodes.capacity[nodes.open, 0].sum())
        fixed = fixed_classes(instance)
        free -= sum(amounts[0] for c in fixed for amounts in instance.keep_use[c].values())
        self._room = Room(self._now, instance.round.round_seconds, free // parts)
        memory = remembered(before, NAME)
        self._admitted = set(memory.get("admitted", ()))
        self._declined = set(memory.get("declined", ()))
        self.ways: dict[int, Mapping[int, tuple[int, ...]]] = {}
        self._jobs: dict[int, Scalable] = {}
        for j in range(len(instance.jobs)):
            if int(instance.class_of_job[j]) not in fixed:
                self._look_at(j)
        self._shares: dict[int, Allotment] = {}
        self._loose: dict[int, int] = {}

    def _look_at(self, j: int) -> None:
        """The job's levels, and of each the options that will do."""
        instance, job = self._instance, self._instance.jobs[j]
        parts = instance.nodes.parts
        by_level: dict[int, list[int]] = {}
        for k in ways_of(instance, j):
            if instance.throughput[k] > 0:
                by_level.setdefault(-(-int(instance.devices[k]) // parts), []).append(k)
        ladder: list[tuple[int, float]] = []
        for level, some in sorted(by_level.items()):
            rate = min(float(instance.throughput[k]) for k in _one_per_type(instance, some))
            if level > self._room.capacity or (ladder and rate <= ladder[-1][1]):
                break
            ladder.append((level, rate))
        if not ladder or ladder[0][0] == 0:
            return
        self.ways[j] = {level: tuple(by_level[level]) for level, _ in ladder}
        due = math.inf if job.deadline is None or job.work_left is None else job.deadline
        left = max(job.work_left or math.inf, 1e-9)
        levels, rates = zip(*ladder, strict=True)
        self._jobs[j] = Scalable(levels, rates, left, due if due > self._now else math.inf)

    def admit(self, *, together: bool) -> None:
        """Take in who is new, first come, first served, and give all who are in their shares."""
        jobs = self._instance.jobs
        name = [job.name for job in jobs]
        due = [j for j, job in self._jobs.items() if math.isfinite(job.deadline)]
        taken = [j for j in due if name[j] in self._admitted]
        new = [j for j in due if name[j] not in self._admitted | self._declined]
        new.sort(key=lambda j: (jobs[j].submit_time or 0.0, name[j]))
        for some in [new] if together else [[j] for j in new]:
            late = self._late([*taken, *some])
            admitted = [j for j in some if not late or jobs[j].running is not None]
            self._declined |= {name[j] for j in some if j not in admitted}
            self._admitted |= {name[j] for j in admitted}
            taken += admitted
        taken.sort(key=lambda j: (self._jobs[j].deadline, name[j]))
        self._shares = dict(zip(taken, shares(self._room, [self._jobs[j] for j in taken]), strict=True))
        self._loose = {
            j: 0 for j in self._jobs if j not in self._shares and not math.isfinite(self._jobs[j].deadline)
        }

    def _late(self, some: Sequence[int]) -> bool:
        """Whether any of these jobs would miss its deadline."""
        room = Room(self._now, self._room.slot, self._room.capacity)
        return any(share.late for share in shares(room, [self._jobs[j] for j in some]))

    def grow(self) -> None:
        """Give out what is free now, level by level; the least costly level is looked for lazily."""
        free = self._room.capacity - sum(share.now for share in self._shares.values())
        heap = [(self._cost(j), j, free) for j in (*self._shares, *self._loose)]
        heapq.heapify(heap)
        while heap and free:
            cost, j, seen = heapq.heappop(heap)
            more = self._step(j)
            if cost == _NEVER or more > free:
                continue
            if seen != free:  # others have grown since
                cost = self._cost(j)
                if heap and cost > heap[0][0]:
                    heapq.heappush(heap, (cost, j, free))
                    continue
                if cost == _NEVER:
                    continue
            self._grow(j)
            free -= more
            heapq.heappush(heap, (self._cost(j), j, free))

    def _level(self, j: int) -> int:
        """Position of the job's level now; -1: it has nothing."""
        devices = self._shares[j].now if j in self._shares else self._loose[j]
        return self._jobs[j].levels.index(devices) if devices else -1

    def _step(self, j: int) -> int:
        """Devices that the next level takes more."""
        at, levels = self._level(j), self._jobs[j].levels
        return levels[min(at + 1, len(levels) - 1)] - (levels[at] if at >= 0 else 0)

    def _cost(self, j: int) -> tuple[int, float, float]:
        """What the next level costs: device-seconds for each of its devices; who has nothing comes first."""
        at, job = self._level(j), self._jobs[j]
        if at + 1 == len(job.levels):
            return _NEVER
        came = self._instance.jobs[j].submit_time or 0.0
        if j in self._shares:
            if at < 0:
                return (0, job.deadline, came)
            larger = self._larger(j, at + 1)
            grown = larger.device_seconds - self._shares[j].device_seconds
            return _NEVER if larger.late > self._shares[j].late else (2, grown / self._step(j), came)
        if at < 0:
            return (1, came, came)
        if not math.isfinite(job.left):
            return (3, -job.rates[at + 1] / job.rates[at], came)
        levels, rates = job.levels, job.rates
        grown = job.left * (levels[at + 1] / rates[at + 1] - levels[at] / rates[at])
        return (2, grown / self._step(j), came)

    def _larger(self, j: int, level: int) -> Allotment:
        """The job's share with so many devices now, and for the rest as few as will do."""
        self._room.take(self._shares[j], -1)
        larger = self._room.least(self._jobs[j], level)
        self._room.take(self._shares[j])
        return larger

    def _grow(self, j: int) -> None:
        at = self._level(j) + 1
        if j in self._shares:
            larger = self._larger(j, at)
            self._room.take(self._shares[j], -1)
            self._room.take(larger)
            self._shares[j] = larger
            return
        more, room = self._step(j), self._room
        until = room.begins[1] if len(room.begins) > 1 else room.now + room.slot
        self._loose[j] += more
        room.take(Allotment((room.now,), (more,), until, until, late=False))

    def wanted(self) -> dict[int, int]:
        """Devices of everybody who is to have some, in the order of deadlines."""
        given = {j: share.now for j, share in self._shares.items()} | self._loose
        return {j: devices for j, devices in given.items() if devices}

    @property
    def until(self) -> float:
        """Until when nothing is to change."""
        times = [share.changes for share in self._shares.values()]
        times += [job.deadline for j, job in self._jobs.items() if j not in self._shares]
        return min(times, default=math.inf)

    @property
    def memory(self) -> dict[str, list[str]]:
        """Who was admitted and who was declined, of those who are there."""
        there = {job.name for job in self._instance.jobs}
        return {"admitted": sorted(self._admitted & there), "declined": sorted(self._declined & there)}

    def verdicts(self, placed: Collection[str]) -> tuple[Verdict, ...]:
        """Why who waits does: declined, or not yet its time, or no node has room."""
        found = []
        for j, job in self._jobs.items():
            name = self._instance.jobs[j].name
            if name in self._declined and math.isfinite(job.deadline):
                said = "all that is admitted and this could not meet their deadlines"
                found.append(Verdict(name, VerdictKind.HELD_BY_POLICY, DECLINED, said))
            elif j in self._shares and name not in placed:
                share = self._shares[j]
                kind, code, said = (
                    VerdictKind.NOT_CHOSEN,
                    "LATER_START",
                    "meets its deadline later, too",
                )
                if share.now:
                    kind, code, said = VerdictKind.NO_FIT_NOW, "NO_NODES", "no nodes have room for its share"
                found.append(Verdict(name, kind, code, said, earliest_start=share.starts))
        return tuple(sorted(found, key=lambda verdict: verdict.job))


_NEVER = (9, math.inf, math.inf)


def _one_per_type(instance: Instance, some: Sequence[int]) -> list[int]:
    """Of options with as many devices the fastest on each of their types."""
    best: dict[object, int] = {}
    for k in some:  # the fastest come first
        best.setdefault(instance.option_at(k).devices_by_type, k)
    return list(best.values())


def make(how: How) -> ElasticFlow:
    """The policy."""
    del how
    return ElasticFlow()
