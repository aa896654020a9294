"""Slots and the queue."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from gangplan.errors import OverloadedError
from gangplan.service import admission as module
from gangplan.service.admission import Admission


class Clock:
    """Seconds that pass when nobody has anything to do."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


class _Waiting:
    """A selector that lets a clock go on instead of waiting."""

    def __init__(self, selector: Any, clock: Clock) -> None:
        self._selector, self._clock = selector, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._selector, name)

    def select(self, timeout: float | None = None) -> list[Any]:
        self._clock.now += timeout or 0.0
        return []


@contextmanager
def a_clock() -> Iterator[Clock]:
    with pytest.MonkeyPatch.context() as patched:
        clock = Clock()
        patched.setattr(module, "time", clock)
        yield clock


@contextmanager
def a_loop(clock: Clock) -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop on that clock: an hour of calls takes a second."""
    loop: Any = asyncio.SelectorEventLoop()
    loop._selector, loop.time = _Waiting(loop._selector, clock), clock.monotonic
    yield loop
    loop.close()


@pytest.fixture
def clock() -> Iterator[Clock]:
    with a_clock() as clock:
        yield clock


@pytest.fixture
def loop(clock: Clock) -> Iterator[asyncio.AbstractEventLoop]:
    with a_loop(clock) as loop:
        yield loop


async def test_slots_run_at_once_and_the_next_waits_for_one_to_be_released() -> None:
    admission = Admission(slots=2, queue=1)
    first = await admission.enter()
    await admission.enter()
    third = asyncio.ensure_future(admission.enter())
    await asyncio.sleep(0)
    assert (admission.running, admission.waiting) == (2, 1)
    first.release()
    await third
    assert (admission.running, admission.waiting) == (2, 0)


async def test_a_full_queue_refuses_with_a_time_to_come_back() -> None:
    admission = Admission(slots=1, queue=0)
    await admission.enter()
    with pytest.raises(OverloadedError, match="1 calls are running") as refused:
        await admission.enter()
    assert refused.value.retry_after_seconds > 0


async def test_patience_ends_and_the_place_in_the_queue_is_given_up() -> None:
    admission = Admission(slots=1, queue=1)
    slot = await admission.enter()
    with pytest.raises(OverloadedError, match="no slot became free"):
        await admission.enter(patience=0.01)
    assert admission.waiting == 0
    slot.release()
    assert admission.running == 0


async def test_the_queue_is_first_come_first_served() -> None:
    admission = Admission(slots=1, queue=3)
    slot = await admission.enter()
    order: list[int] = []

    async def take(number: int) -> None:
        taken = await admission.enter()
        order.append(number)
        taken.release()

    waiting = [asyncio.ensure_future(take(number)) for number in range(3)]
    await asyncio.sleep(0)
    slot.release()
    await asyncio.gather(*waiting)
    assert order == [0, 1, 2]
    assert admission.running == 0


async def test_a_caller_who_leaves_the_queue_takes_no_slot_along() -> None:
    admission = Admission(slots=1, queue=2)
    slot = await admission.enter()
    leaver = asyncio.ensure_future(admission.enter())
    stayer = asyncio.ensure_future(admission.enter())
    await asyncio.sleep(0)
    leaver.cancel()
    slot.release()
    taken = await stayer
    assert leaver.cancelled()
    taken.release()
    assert admission.running == 0


async def test_a_caller_who_is_cancelled_as_the_slot_comes_passes_it_on() -> None:
    admission = Admission(slots=1, queue=2)
    slot = await admission.enter()
    leaver = asyncio.ensure_future(admission.enter())
    await asyncio.sleep(0)
    slot.release()  # the slot is now the leaver's, who does not know it yet
    leaver.cancel()
    await asyncio.wait({leaver})
    if not leaver.cancelled():
        leaver.result().release()
    assert admission.running == 0


async def test_a_slot_is_released_once_however_often_it_is_said() -> None:
    admission = Admission(slots=2, queue=0)
    slot = await admission.enter()
    await admission.enter()
    slot.release()
    slot.release()
    assert admission.running == 1


async def test_callers_take_turns_whatever_the_length_of_their_queues() -> None:
    admission = Admission(slots=1, queue=10)
    slot = await admission.enter(caller="greedy")
    order: list[str] = []

    async def take(caller: str) -> None:
        taken = await admission.enter(caller=caller)
        order.append(caller)
        await asyncio.sleep(0)
        taken.release()

    waiting = [asyncio.ensure_future(take(caller)) for caller in ["greedy"] * 4 + ["modest"] * 2]
    await asyncio.sleep(0)
    slot.release()
    await asyncio.gather(*waiting)
    assert order == ["modest", "greedy", "modest", "greedy", "greedy", "greedy"]


async def test_a_full_queue_makes_room_for_who_has_less_in_it() -> None:
    admission = Admission(slots=1, queue=3)
    slot = await admission.enter(caller="greedy")
    greedy = [asyncio.ensure_future(admission.enter(caller="greedy")) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError):
        admission.refuse_when_full("greedy")
    admission.refuse_when_full("modest")
    modest = asyncio.ensure_future(admission.enter(caller="modest"))
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError, match="3 wait"):
        await greedy[-1]
    assert admission.waiting == 3
    second = asyncio.ensure_future(admission.enter(caller="modest"))  # two each would be no fairer
    with pytest.raises(OverloadedError):
        await second
    slot.release()
    (await modest).release()
    for each in greedy[:2]:
        (await each).release()
    assert (admission.running, admission.waiting) == (0, 0)


async def test_calls_about_one_thing_run_one_after_the_other_and_hold_up_nobody_else() -> None:
    admission = Admission(slots=2, queue=3)
    first = await admission.enter(key="s1")
    second = asyncio.ensure_future(admission.enter(key="s1"))
    await asyncio.sleep(0)
    other = await admission.enter(key="s2")
    assert not second.done()
    other.release()
    assert not second.done()
    first.release()
    (await second).release()
    assert (admission.running, admission.waiting) == (0, 0)


async def held(admission: Admission, clock: Clock, seconds: float, kind: str) -> None:
    """Let the admission see how long work of a kind takes."""
    slot = await admission.enter(kind=kind, left=10.0)
    clock.now += seconds
    slot.release()


def test_a_call_whose_slot_would_come_too_late_is_refused_at_once(
    clock: Clock, loop: asyncio.AbstractEventLoop
) -> None:
    async def calls() -> None:
        admission = Admission(slots=1, queue=10)
        await held(admission, clock, 0.2, "large")
        first = await admission.enter(kind="large", left=1.0)
        second = asyncio.ensure_future(admission.enter(kind="large", left=1.0))  # waits for about 0.2 s
        await asyncio.sleep(0)
        assert not second.done()
        began = clock.now
        with pytest.raises(OverloadedError) as refused:  # needs 0.2 s of its 0.25, and the two before it 0.4
            await admission.enter(kind="large", left=0.25)
        assert clock.now == began
        assert refused.value.retry_after_seconds > 0
        assert admission.waiting == 1
        first.release()
        (await second).release()

    loop.run_until_complete(calls())


def test_a_newcomer_does_not_make_others_late(clock: Clock, loop: asyncio.AbstractEventLoop) -> None:
    async def calls() -> None:
        admission = Admission(slots=1, queue=10)
        await held(admission, clock, 0.1, "small")
        first = await admission.enter(caller="greedy", kind="small", left=1.0)
        patient = asyncio.ensure_future(admission.enter(caller="greedy", kind="small", left=0.3))
        await asyncio.sleep(0)
        others = [
            asyncio.ensure_future(admission.enter(caller=f"c{n}", kind="small", left=0.9)) for n in range(6)
        ]
        done, waiting = await asyncio.wait({patient, *others}, timeout=0.02)
        assert done  # it is the others' turn before the patient one's second: all of them would be too many
        assert all(isinstance(each.exception(), OverloadedError) for each in done)
        assert patient not in done
        first.release()
        while waiting:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result().release()

    loop.run_until_complete(calls())


def test_the_slot_of_a_caller_who_has_left_is_about_to_be_free(
    clock: Clock, loop: asyncio.AbstractEventLoop
) -> None:
    async def calls() -> None:
        admission = Admission(slots=1, queue=10)
        await held(admission, clock, 0.05, "small")
        leaves: list[bool] = []
        slot = await admission.enter(kind="large", left=20.0, gone=lambda: bool(leaves))
        with pytest.raises(OverloadedError):
            await admission.enter(kind="small", left=1.0)
        leaves.append(True)
        following = asyncio.ensure_future(admission.enter(kind="small", left=1.0))
        await asyncio.sleep(0.02)
        assert not following.done()
        slot.release()
        (await following).release()

    loop.run_until_complete(calls())


async def test_who_leaves_as_the_slot_comes_gives_it_on() -> None:
    admission = Admission(slots=1, queue=2)
    slot = await admission.enter()
    leaving = asyncio.ensure_future(admission.enter())
    await asyncio.sleep(0)
    slot.release()
    leaving.cancel()
    await asyncio.wait({leaving})
    (await admission.enter(patience=1.0)).release()
    assert (admission.running, admission.waiting) == (0, 0)


async def test_a_known_call_waits_behind_one_of_which_nothing_is_known() -> None:
    """The unknown one may end at any moment: that it may take 60 s says nothing."""
    admission = Admission(slots=1, queue=2)
    (await admission.enter(kind="short", left=1.0)).release()  # now it is known to be short
    unknown = await admission.enter(kind="unknown", left=60.0)
    waiting = asyncio.ensure_future(admission.enter(kind="short", left=1.0))
    await asyncio.sleep(0)
    assert not waiting.done()
    unknown.release()
    (await waiting).release()


async def test_a_call_that_waited_in_vain_gets_the_next_slot_early() -> None:
    admission = Admission(slots=1, queue=3, early=1)
    slot = await admission.enter(caller="a")
    early = await admission.enter(caller="b", patience=0.01)
    assert (admission.running, admission.waiting) == (2, 0)
    with pytest.raises(OverloadedError, match="no slot became free"):  # there is one such call at a time
        await admission.enter(caller="c", patience=0.01)
    following = asyncio.ensure_future(admission.enter(caller="d", patience=20.0))
    await asyncio.sleep(0)
    slot.release()  # that slot is the one that was given early
    await asyncio.sleep(0.01)
    assert (admission.running, admission.waiting) == (1, 1)
    early.release()
    (await following).release()
    assert admission.running == 0


async def test_a_call_about_what_another_is_about_gets_no_slot_early() -> None:
    admission = Admission(slots=1, queue=3, early=1)
    slot = await admission.enter(key="session")
    with pytest.raises(OverloadedError, match="no slot became free"):
        await admission.enter(key="session", patience=0.01)
    slot.release()
    (await admission.enter(key="session")).release()


async def test_a_call_with_too_little_time_to_run_beside_others_must_be_sure_of_its_slot(
    clock: Clock,
) -> None:
    admission = Admission(slots=1, queue=3, early=1)
    slot = await admission.enter(kind="large", left=1.0)
    clock.now += 0.2
    slot.release()  # it takes 0.2 s, and has never taken less
    await admission.enter(kind="large", left=1.0)  # and may take a second
    with pytest.raises(OverloadedError):  # of 0.3 s, 0.18 would be left
        await admission.enter(kind="large", left=0.3)
    for_long = asyncio.ensure_future(admission.enter(kind="large", left=0.9))  # of 0.9 s, 0.7
    await asyncio.sleep(0)
    assert not for_long.done()
    for_long.cancel()


async def test_a_call_that_was_sure_of_its_slot_gets_it_where_another_is_late(clock: Clock) -> None:
    admission = Admission(slots=1, queue=3, early=1)
    slot = await admission.enter(kind="large", left=1.0)
    clock.now += 0.2
    slot.release()
    late = await admission.enter(kind="large", left=0.05)  # sure to end in 0.05 s: and does not
    sure = await admission.enter(kind="large", left=0.3)
    assert admission.running == 2
    late.release()
    sure.release()


@example(rate=3.0, overrun=0.03, seed=1)
@given(
    rate=st.floats(0.5, 10.0),
    overrun=st.sampled_from([0.0, 0.01, 0.03, 0.1]),
    seed=st.integers(0, 2**32),
)
def test_who_is_refused_is_told_at_once(rate: float, overrun: float, seed: int) -> None:
    """Also where nobody can say how long a call will take, and where calls end after their time.

    Later only when as many run early as may; and to make room for others, but nobody here has two calls.
    """
    rng = random.Random(seed)
    with a_clock() as clock, a_loop(clock) as loop:
        admission = Admission(slots=2, queue=16, early=2)
        refused: list[tuple[float, int]] = []
        started: list[float] = []

        async def call(caller: str, kind: str, budget: float, seconds: float) -> None:
            came = clock.now
            try:
                slot = await admission.enter(0.8 * budget, caller=caller, kind=kind, left=budget)
            except OverloadedError:
                refused.append((clock.now - came, admission.running))
                return
            left = budget - (clock.now - came)
            started.append(left / budget)
            late = rng.expovariate(1.0 / overrun) if overrun else 0.0
            await asyncio.sleep(min(seconds, left) + late)
            slot.release()

        async def calls() -> None:
            under_way = []
            for number in range(100):
                await asyncio.sleep(rng.expovariate(rate))
                kind, budget = rng.choice((("S", 0.1), ("S", 1.0), ("M", 0.3), ("M", 1.0), ("M", 2.0)))
                seconds = rng.uniform(0.05, 0.3) if kind == "S" else rng.choice((0.3, 0.6, 2.0))
                work = call(f"c{number}", kind, budget, seconds)
                under_way.append(asyncio.ensure_future(work))
            await asyncio.gather(*under_way)

        loop.run_until_complete(calls())
    event(f"{len(refused) // 20 * 20} or more refused")
    assert all(seconds == 0.0 or running == 4 for seconds, running in refused)
    assert min(started) > 0.19
