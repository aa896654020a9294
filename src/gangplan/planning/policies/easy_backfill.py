"""First come, first served with EASY backfill."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from gangplan.domain.plan import Plan, RoundResult
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.instance.options import Option
from gangplan.planning.policies.line import line_of, staying
from gangplan.planning.policies.protocol import How
from gangplan.planning.policies.rates import left_or_guessed
from gangplan.planning.policies.wishes import Free, Wish, carry_out, kinds_of

NAME = "easy-backfill"
ABOUT = "first come, first served; who does not delay the first in line may pass it by"


@dataclass(slots=True)
class EasyBackfill:
    """The EASY scheduler (Lifka, *The ANL/IBM SP scheduling system*, JSSPP 1995).

    The first in line that finds no room gets a reservation: the time at which those who run will have ended
    that it needs, and the devices that are then to spare beside it. Who comes behind starts if it will have
    ended by then, or if it takes no more than those. By type, on the type where the head's time comes first;
    of durations that nobody knows it takes :func:`~gangplan.planning.policies.rates.left_or_guessed`.
    """

    name: str = NAME
    _steady: tuple[float, float] = field(default=(math.nan, math.nan), compare=False)

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        """See :meth:`RoundPolicy.decide`."""
        del before
        instance = build_instance(round_)
        stay, free = staying(instance, Free.of(instance))
        line = line_of(instance)
        starting: list[Wish] = []
        while line and (way := _first_fit(instance, line[0], free)) >= 0:
            free.take(instance.option_at(way))
            starting.append(line.pop(0))
        if line:
            kind, shadow, spare = _reservation(instance, line[0], [*starting, *stay], free)
            for wish in line[1:]:
                way = _passing(instance, wish, free, kind, shadow, spare)
                if way >= 0:
                    option = instance.option_at(way)
                    free.take(option)
                    if kind in kinds_of(option) and _seconds(instance, wish.job, way) > shadow:
                        spare -= option.devices
                    starting.append(Wish(wish.job, (way,)))
        open_to_some = starting or any(_first_fit(instance, wish, free) >= 0 for wish in line)
        self._steady = round_.now, round_.now if open_to_some else math.inf
        return carry_out(instance, [*stay, *starting])

    def steady_until(self, round_: Round) -> float:
        """For ever where nobody in line finds room; who finds it and is held back may pass at any time."""
        now, until = self._steady
        return until if now == round_.now else round_.now


def _first_fit(instance: Instance, wish: Wish, free: Free) -> int:
    return next((k for k in wish.ways if free.fits(instance.option_at(k))), -1)


def _devices(option: Option) -> tuple[tuple[int, int], ...]:
    """Type and devices; of an option whose types were merged, each of them."""
    return option.devices_by_type or tuple((kind, option.devices) for kind in kinds_of(option))


def _seconds(instance: Instance, j: int, k: int) -> float:
    rate = float(instance.throughput[k])
    restart = instance.jobs[j].restart_seconds
    return restart + left_or_guessed(instance, j) / rate if rate > 0 else float("inf")


def _reservation(instance: Instance, head: Wish, ahead: list[Wish], free: Free) -> tuple[int, float, int]:
    """Type, seconds until the head may start there, and the devices to spare then; -1 and 0 where never."""
    ends: list[tuple[float, int, int]] = []
    for wish in ahead:
        c = int(instance.class_of_job[wish.job])
        if wish.job in instance.placements:
            rate = float(instance.keeps.throughput[c])
            left = left_or_guessed(instance, wish.job) / rate if rate > 0 else float("inf")
            for kind, devices in enumerate(instance.keeps.devices[c, :-1].tolist()):
                if devices:
                    ends.append((left, kind, devices))
        else:
            way = wish.ways[0]
            for kind, devices in _devices(instance.option_at(way))[:1]:
                ends.append((_seconds(instance, wish.job, way), kind, devices))
    best = (-1, float("inf"), 0)
    for k in head.ways:
        for kind, needed in _devices(instance.option_at(k)):
            there, at = free.by_kind[kind], 0.0
            for end, where, devices in sorted(ends):
                if there >= needed:
                    break
                if where == kind:
                    there, at = there + devices, end
            if there >= needed and at < best[1]:
                best = kind, at, there - needed
    return best


def _passing(instance: Instance, wish: Wish, free: Free, kind: int, shadow: float, spare: int) -> int:
    """The first way by which a job may pass the head; -1: none."""
    for k in wish.ways:
        option = instance.option_at(k)
        if not free.fits(option):
            continue
        if kind not in kinds_of(option):
            return k
        if _seconds(instance, wish.job, k) <= shadow or option.devices <= spare:
            return k
    return -1


def make(how: How) -> EasyBackfill:
    """The policy."""
    del how
    return EasyBackfill()
