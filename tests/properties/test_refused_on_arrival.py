"""Who is refused on arrival: random arrivals whose work takes as long as its kind took before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gangplan.errors import OverloadedError
from gangplan.service import admission as admission_module
from gangplan.service.admission import Admission, Slot

HELD = {"small": 0.125, "large": 1.0}
"""Seconds that work of each kind takes; a kind that is not here is not known."""


@dataclass
class Arrival:
    """A call: when it comes, whose it is, what it is, and how long it has."""

    after: float
    caller: str
    key: str
    kind: str
    left: float
    started: float | None = None
    refused: OverloadedError | None = None
    free_then: bool = False
    refused_at_once: bool = field(default=False)


ARRIVALS = st.lists(
    st.builds(
        Arrival,
        after=st.sampled_from([0.0, 0.0, 0.0625, 0.25]),
        caller=st.sampled_from("ab"),
        key=st.sampled_from(["", "", "s"]),
        kind=st.sampled_from([*HELD, "new"]),
        left=st.sampled_from([0.25, 0.5, 2.0, 30.0]),
    ),
    min_size=1,
    max_size=10,
)


class Clock:
    """Time that goes on when it is told to, in place of the module's ``time``."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


async def settled() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


async def known(clock: Clock, admission: Admission, kinds: Sequence[str]) -> None:
    """Let the admission see how long work of some kinds takes."""
    for kind in kinds:
        slot = await admission.enter(kind=kind, left=100.0)
        clock.now += HELD[kind]
        slot.release()


async def played(arrivals: Sequence[Arrival], slots: int, *, judge: bool) -> None:
    """Let calls come, wait, run and go, by a clock of their own.

    Args:
        arrivals: in order; what becomes of each is written into it.
        slots: calls that run at a time.
        judge: whether calls may be refused by what they are expected to take.
    """
    clock, admission = Clock(), Admission(slots, 100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission_module, "time", clock)
        await known(clock, admission, list(HELD))
        ends: list[tuple[float, int, Slot]] = []
        calls: list[tuple[Arrival, asyncio.Task[Slot]]] = []

        async def seen(at_once: Arrival | None = None) -> None:
            await settled()
            for arrival, task in calls:
                if arrival.started is None and arrival.refused is None and task.done():
                    error = task.exception()
                    if error is None:
                        arrival.started = clock.now
                        ends.append((clock.now + HELD.get(arrival.kind, 0.5), len(ends), task.result()))
                    else:
                        assert isinstance(error, OverloadedError)
                        arrival.refused, arrival.refused_at_once = error, at_once is not None
            ends.sort(key=lambda each: each[:2])

        async def go_on_until(moment: float) -> None:
            while ends and ends[0][0] <= moment:
                clock.now, _, slot = ends.pop(0)
                slot.release()
                await seen()
            clock.now = max(clock.now, moment)

        for arrival in arrivals:
            await go_on_until(clock.now + arrival.after)
            busy = any(
                other.key and other.key == arrival.key for other, task in calls if _runs(other, ends, task)
            )
            arrival.free_then = admission.running < slots and not busy
            more: dict[str, Any] = {"kind": arrival.kind, "left": arrival.left} if judge else {}
            task = asyncio.ensure_future(admission.enter(caller=arrival.caller, key=arrival.key, **more))
            calls.append((arrival, task))
            await seen(arrival)
        while ends:
            await go_on_until(ends[0][0])
        for _, task in calls:
            assert task.done()


def _runs(arrival: Arrival, ends: Sequence[tuple[float, int, Slot]], task: asyncio.Task[Slot]) -> bool:
    return arrival.started is not None and any(slot is task.result() for _, _, slot in ends)


@given(ARRIVALS, st.integers(1, 3))
def test_nobody_is_refused_while_a_slot_is_free(arrivals: list[Arrival], slots: int) -> None:
    asyncio.run(played(arrivals, slots, judge=True))
    for arrival in arrivals:
        if arrival.free_then:
            assert arrival.started is not None, arrival


@given(ARRIVALS, st.integers(1, 3))
def test_nothing_is_refused_when_everything_starts_within_its_patience(
    arrivals: list[Arrival], slots: int
) -> None:
    """Where all would be served in time by the same order without a judge, the judge refuses nobody."""
    for arrival in arrivals:
        arrival.kind = "small" if arrival.kind == "new" else arrival.kind
    freely = [Arrival(each.after, each.caller, each.key, each.kind, each.left) for each in arrivals]
    asyncio.run(played(freely, slots, judge=False))
    at, in_time = 1000.0 + sum(HELD.values()), True
    for each in freely:
        at += each.after
        assert each.started is not None
        needed = min(HELD[each.kind], 0.6 * each.left)
        in_time = in_time and each.started - at <= each.left - needed
    if in_time:
        asyncio.run(played(arrivals, slots, judge=True))
        assert [each.started for each in arrivals] == [each.started for each in freely]


async def test_work_that_nothing_is_known_of_is_held_against_nobody() -> None:
    """A fresh service: a large round runs, of a kind that was never seen, and small ones may wait for it."""
    admission = Admission(slots=1, queue=10)
    slot = await admission.enter(kind="new", left=60.0)
    waiting = asyncio.ensure_future(admission.enter(kind="new", left=0.5))
    await settled()
    assert not waiting.done()
    slot.release()
    (await waiting).release()


async def test_one_slow_round_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, admission = Clock(), Admission(slots=1, queue=10)
    monkeypatch.setattr(admission_module, "time", clock)
    for seconds in [8.0, *[0.125] * 20]:
        slot = await admission.enter(kind="small", left=100.0)
        clock.now += seconds
        slot.release()
    slot = await admission.enter(kind="small", left=100.0)
    following = asyncio.ensure_future(admission.enter(kind="small", left=1.5))
    await settled()
    assert not following.done()
    slot.release()
    (await following).release()


async def test_who_is_refused_is_told_what_would_be_late(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, admission = Clock(), Admission(slots=1, queue=10)
    monkeypatch.setattr(admission_module, "time", clock)
    await known(clock, admission, ["large"])
    slot = await admission.enter(kind="large", left=10.0)
    with pytest.raises(
        OverloadedError, match=r"a slot is expected in 1 s, and the call can wait 0\.2 s; 1 calls"
    ):
        await admission.enter(kind="large", left=0.5)
    slot.release()
