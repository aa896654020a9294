"""From what a policy wants each job to have to a plan: who has it already stays, the rest finds its place.

Peers decide on devices, job by job, and leave the places to a second step; this is that step for all of them,
so that every one of their plans keeps our rules and is verified like ours. Nobody is stopped whose place is
free in the end (property P5), and what a job may not have done to it is not done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from gangplan.domain.plan import Plan
from gangplan.model.formulation.nesting import is_nested, present_tasks
from gangplan.model.instance.instance import Instance
from gangplan.model.instance.options import Option
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import place_gangs, stay_where_free
from gangplan.model.packing.in_place import prefer_in_place
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.order import make_plan
from gangplan.model.packing.resize import resize_in_place


@dataclass(frozen=True, slots=True)
class Wish:
    """What a job should have.

    Attributes:
        job: its index in the instance.
        ways: positions of options that would do, the best one first; see :func:`ways_of`. A running job with
            none keeps what it has.
    """

    job: int
    ways: tuple[int, ...]


def kinds_of(option: Option) -> tuple[int, ...]:
    """Accelerator types of an option; of one whose types were merged, all on which it may be."""
    if option.devices_by_type:
        return tuple(kind for kind, _ in option.devices_by_type)
    return tuple(sorted({kind for demand in option.demands for kind in demand.block.types}))


def ways_of(instance: Instance, j: int) -> list[int]:
    """Positions of all options of a job, the fastest first; none where it may not start anywhere."""
    job_class = instance.classes[int(instance.class_of_job[j])]
    some = range(job_class.start, job_class.stop)
    return sorted(some, key=lambda k: (-instance.throughput[k], instance.devices[k], k))


def as_asked(instance: Instance, j: int) -> tuple[int, ...]:
    """Of :func:`ways_of` those with the counts that the job asks for; all, where none has these."""
    asked = tuple(group.count for group in instance.jobs[j].component.task_groups)
    every = ways_of(instance, j)
    return tuple([k for k in every if instance.option_at(k).counts == asked] or every)


@dataclass(slots=True)
class Free:
    """Devices by accelerator type, counted without regard to nodes, in parts.

    Attributes:
        by_kind: shape (types,), what is left.
    """

    by_kind: list[int]

    @classmethod
    def of(cls, instance: Instance) -> Free:
        """All that jobs which may be stopped, and waiting ones, can have between them."""
        nodes = instance.nodes
        some = nodes.open & (nodes.type_of >= 0)
        by_kind = np.zeros(len(instance.speeds.type_names), dtype=np.int64)
        np.add.at(by_kind, nodes.type_of[some], nodes.capacity[some, 0])
        for c in fixed_classes(instance):
            for node, amounts in instance.keep_use[c].items():
                if some[node]:
                    by_kind[nodes.type_of[node]] -= amounts[0]
        return cls(by_kind.tolist())

    def fits(self, option: Option) -> bool:
        """Whether there are enough devices for it."""
        if option.devices_by_type:
            return all(self.by_kind[kind] >= devices for kind, devices in option.devices_by_type)
        return any(self.by_kind[kind] >= option.devices for kind in kinds_of(option)) or not option.devices

    def keep(self, instance: Instance, j: int) -> None:
        """Count as taken what a running job holds."""
        for node, amounts in instance.keep_use[int(instance.class_of_job[j])].items():
            kind = int(instance.nodes.type_of[node])
            if kind >= 0 and instance.nodes.open[node]:
                self.by_kind[kind] -= amounts[0]

    def take(self, option: Option) -> None:
        """Count its devices as taken; of a merged option from the type that has most."""
        if option.devices_by_type:
            for kind, devices in option.devices_by_type:
                self.by_kind[kind] -= devices
        elif option.devices:
            self.by_kind[max(kinds_of(option), key=lambda kind: self.by_kind[kind])] -= option.devices


def fixed_classes(instance: Instance) -> set[int]:
    """Classes of running jobs that stay whatever is wished: they may not be stopped."""
    return {c for c, one in enumerate(instance.classes) if one.kept and (one.must_stay or one.must_run)}


def holds(instance: Instance, j: int, ways: Iterable[int]) -> bool:
    """Whether a job runs with the counts and on the type of one of the options."""
    if j not in instance.placements:
        return False
    tasks = present_tasks(instance, j)
    counts = tuple(sum(each) for each in zip(*tasks.values(), strict=True))
    kinds = {int(instance.nodes.type_of[node]) for node in tasks} - {-1}
    return any(
        instance.option_at(k).counts == counts and kinds <= set(kinds_of(instance.option_at(k))) for k in ways
    )


def choose(instance: Instance, ahead: Sequence[Wish]) -> tuple[list[Wish], list[Wish]]:
    """Of the wishes, first to last, those for which there are devices by count, and the others.

    Each of the chosen keeps those of its ways for which there are; who runs on one of those that have as many
    tasks as the best of them keeps to it.
    """
    free, chosen, others = Free.of(instance), [], []
    fixed = fixed_classes(instance)
    for wish in ahead:
        if int(instance.class_of_job[wish.job]) in fixed:
            continue
        if not wish.ways and wish.job in instance.placements:
            free.keep(instance, wish.job)
            chosen.append(wish)
            continue
        ways = [k for k in wish.ways if free.fits(instance.option_at(k))]
        if not ways:
            others.append(wish)
            continue
        counts = instance.option_at(ways[0]).counts
        ways.sort(
            key=lambda k: instance.option_at(k).counts != counts or not holds(instance, wish.job, (k,))
        )  # stable
        free.take(instance.option_at(ways[0]))
        first = kinds_of(instance.option_at(ways[0])), instance.option_at(ways[0]).counts
        alike = [k for k in ways if (kinds_of(instance.option_at(k)), instance.option_at(k).counts) == first]
        chosen.append(Wish(wish.job, tuple(alike)))
    return chosen, others


def carry_out(instance: Instance, chosen: Sequence[Wish], spare: Sequence[Wish] = ()) -> Plan:
    """The plan that gives the chosen what they wish, as far as nodes allow, and the spare what is left.

    Args:
        instance: of the round.
        chosen: first to last; a running job that is in neither list is stopped if somebody takes its place.
            Where one finds no node for its gang, smaller ones that could stay make way and are placed anew.
        spare: get what is free then, without anybody making way.
    """
    return make_plan(instance, _Carrying(instance).assignment(chosen, spare))


@dataclass(slots=True)
class _Carrying:
    """One round on its way."""

    instance: Instance
    staying: set[int] = field(default_factory=set)
    placed: dict[int, Placed] = field(default_factory=dict)
    occupancy: Occupancy = field(init=False)
    stops_left: float = np.inf

    def assignment(self, chosen: Sequence[Wish], spare: Sequence[Wish]) -> Assignment:
        instance = self.instance
        limit = instance.round.policy.disruption_limit
        wanted = {wish.job: wish for wish in chosen}
        running = [(c, one.jobs[0]) for c, one in enumerate(instance.classes) if one.kept]
        fixed = fixed_classes(instance)
        self.staying = {
            c
            for c, j in running
            if c in fixed or (j in wanted and (not wanted[j].ways or holds(instance, j, wanted[j].ways)))
        }
        leaving = [c for c, _ in running if c not in self.staying]
        if limit is not None and len(leaving) > limit:  # the first of these change, in order of the wishes
            place = {wish.job: n for n, wish in enumerate(chosen)}
            leaving.sort(key=lambda c: (-place.get(instance.classes[c].jobs[0], len(place)), c))
            self.staying |= set(leaving[limit:])
            self.stops_left = 0
        self.occupancy = Occupancy(instance, self.staying)
        for wish in chosen:
            if int(instance.class_of_job[wish.job]) not in self.staying and not self._place(wish):
                self._make_way(wish, wanted)
        for wish in spare:
            c = int(instance.class_of_job[wish.job])
            if c not in self.staying and wish.job not in self.placed and not self._stay(c):
                self._place(wish)
        for c, _ in running:
            if c not in self.staying and instance.classes[c].jobs[0] not in self.placed:
                self._stay(c)
        return settled_down(self.occupancy, self.staying, self.placed)

    def _stay(self, c: int) -> bool:
        if not self.instance.classes[c].kept or not self.occupancy.can_stay(c):
            return False
        self.occupancy.stay(c)
        self.staying.add(c)
        return True

    def _place(self, wish: Wish) -> bool:
        instance, j = self.instance, wish.job
        job_class = instance.classes[int(instance.class_of_job[j])]
        runs = j in instance.placements
        can = instance.jobs[j].capabilities
        if runs and not can.movable:
            return can.resizable and self._resize(wish)
        for k in wish.ways:
            if runs and not can.resizable and not holds(instance, j, (k,)):
                continue
            if not self.occupancy.members_allowed(job_class, instance.option_at(k)):
                continue
            spots = next(place_gangs(self.occupancy, k, 1, Fit.BEST), None)
            if spots is not None:
                self.placed[j] = self.occupancy.placed(k, spots)
                return True
        return False

    def _resize(self, wish: Wish) -> bool:
        """Give a job that may not move its count where it is."""
        instance, j = self.instance, wish.job
        job_class = instance.classes[int(instance.class_of_job[j])]
        for k in wish.ways:
            if not self.occupancy.members_allowed(job_class, instance.option_at(k)):
                continue
            spots = resize_in_place(self.occupancy, j, k)
            if spots is None:
                continue
            if not is_nested(present_tasks(instance, j), dict(spots)):
                continue
            self.placed[j] = Placed(k, spots)
            self.occupancy.take_quota(job_class, instance.option_at(k), 1)
            return True
        return False

    def _make_way(self, wish: Wish, wanted: dict[int, Wish]) -> None:
        """Take smaller ones that could stay off their nodes, place the gang, and then them anew.

        All as it was where that does not help.
        """
        instance = self.instance
        if not wish.ways or self.stops_left == 0 or instance.nodes.parts != 1:
            return
        size = min(int(instance.devices[k]) for k in wish.ways)
        small = sorted(
            (
                c
                for c in self.staying
                if self._may_move(c)
                and instance.classes[c].jobs[0] in wanted
                and 0 < int(instance.keeps.devices[c, -1]) < size
            ),
            key=lambda c: (int(instance.keeps.devices[c, -1]), c),
        )
        before = self.occupancy.free.copy()
        gone: list[int] = []
        done = False
        for c in small:
            self.occupancy.leave(c)
            self.staying.discard(c)
            gone.append(c)
            if self._place(wish):
                done = True
                break
        for c in reversed(gone):
            if self.occupancy.can_stay(c):
                self.occupancy.stay(c)
                self.staying.add(c)
            elif done:
                self._place(wanted[instance.classes[c].jobs[0]])
        assert done or (self.occupancy.free == before).all()

    def _may_move(self, c: int) -> bool:
        job_class = self.instance.classes[c]
        if job_class.must_stay or job_class.must_run:
            return False
        return self.instance.jobs[job_class.jobs[0]].capabilities.movable


def settled_down(occupancy: Occupancy, staying: Collection[int], placed: Mapping[int, Placed]) -> Assignment:
    """Where all are in the end: who got another count has it where it is, where that goes, and nobody leaves
    a place, for the same count elsewhere or for nothing, that is free when all is done (property P5).

    Args:
        occupancy: what is free beside them; changed.
        staying: classes that stay.
        placed: new places.
    """
    instance = occupancy.instance
    kept = frozenset(instance.classes[c].jobs[0] for c in staying)
    assignment = prefer_in_place(occupancy, Assignment(kept, placed))
    left, stay = dict(assignment.placed), set(staying)
    occupancy = Occupancy(instance, stay)
    left = {j: occupancy.take_placed(j, place) for j, place in left.items()}
    again = True
    while again:  # whoever goes back may free another's place
        again = False
        for j in sorted(left.keys() & instance.placements.keys()):
            c = int(instance.class_of_job[j])
            if instance.classes[c].kept and holds(instance, j, (left[j].option,)) and occupancy.can_stay(c):
                occupancy.take_placed(j, left.pop(j), -1)
                occupancy.stay(c)
                stay.add(c)
                again = True
    stay |= stay_where_free(occupancy, stay, left)
    return Assignment(frozenset(instance.classes[c].jobs[0] for c in stay), left)


def wish_as_asked(instance: Instance, jobs: Iterable[int]) -> list[Wish]:
    """A wish for what each job asks for, in the order of ``jobs``; those without a way are left out."""
    found = []
    for j in jobs:
        ways = as_asked(instance, j)
        if ways or j in instance.placements:
            found.append(Wish(j, ways))
    return found
