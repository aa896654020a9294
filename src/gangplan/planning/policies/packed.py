"""Places for all who are to have devices, even if others have to move for it.

Numbers of devices that are powers of two always fit where they are laid out largest first (buddies: Gu et
al., *ElasticFlow*, ASPLOS 2023, section 4.4). So whoever has what it is to have stays where it is, unless
somebody then finds no room; then more and more of those with fewer devices have to wait for their turn, and
stay if their place is still free.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gangplan.domain.plan import Plan
from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment, Placed
from gangplan.model.packing.fill import place_gangs
from gangplan.model.packing.occupancy import Fit, Occupancy
from gangplan.model.packing.order import make_plan
from gangplan.planning.policies.wishes import Wish, carry_out, fixed_classes, holds, settled_down


def carry_out_packed(instance: Instance, wishes: Sequence[Wish]) -> Plan:
    """The plan that gives everybody what it is to have, or as many as it can.

    Who runs, and is not among the wishes, is stopped if somebody takes its place. Who may not be moved, or
    may not have the number that it is to have, keeps what it has.
    """
    if instance.round.policy.disruption_limit is not None:
        return carry_out(instance, wishes)
    settled = {wish.job for wish in wishes if holds(instance, wish.job, wish.ways)}
    fixed = fixed_classes(instance)
    for wish in wishes:
        can = instance.jobs[wish.job].capabilities
        runs = instance.classes[int(instance.class_of_job[wish.job])].kept
        if runs and not (can.movable and (can.resizable or wish.job in settled)):
            fixed.add(int(instance.class_of_job[wish.job]))
    free = [wish for wish in wishes if int(instance.class_of_job[wish.job]) not in fixed]
    free.sort(key=lambda wish: (-_devices(instance, wish), wish.job not in settled))
    stays = [wish for wish in free if wish.job in settled]
    best: tuple[int, Assignment] | None = None
    sizes = sorted({0} | {_devices(instance, wish) for wish in stays})
    for size, in_turn in [*((size, settled) for size in sizes), (sizes[-1], set[int]())]:
        classes = {int(instance.class_of_job[w.job]) for w in stays if _devices(instance, w) > size}
        missing, assignment = _laid_out(instance, free, fixed | classes, in_turn)
        if best is None or missing < best[0]:
            best = missing, assignment
        if not missing:
            break
    assert best is not None
    return make_plan(instance, best[1])


def _devices(instance: Instance, wish: Wish) -> int:
    return int(instance.devices[wish.ways[0]])


def _laid_out(
    instance: Instance, wishes: Sequence[Wish], staying: set[int], in_turn: Collection[int]
) -> tuple[int, Assignment]:
    """How many find no room beside those that stay, and where all are then.

    Args:
        instance: of the round.
        wishes: largest first.
        staying: classes that stay whatever comes.
        in_turn: jobs that stay, too, if their place is still free when it is their turn.
    """
    staying = set(staying)
    occupancy = Occupancy(instance, staying)
    placed: dict[int, Placed] = {}
    missing = 0
    for wish in wishes:
        c = int(instance.class_of_job[wish.job])
        if c in staying:
            continue
        if wish.job in in_turn and occupancy.can_stay(c):
            occupancy.stay(c)
            staying.add(c)
            continue
        for k in wish.ways:
            if not occupancy.members_allowed(instance.classes[c], instance.option_at(k)):
                continue
            spots = next(place_gangs(occupancy, k, 1, Fit.BEST), None)
            if spots is not None:
                placed[wish.job] = occupancy.placed(k, spots)
                break
        else:
            missing += 1
    return missing, settled_down(occupancy, staying, placed)
