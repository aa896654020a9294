"""Slots and the queue."""

from __future__ import annotations

import asyncio

import pytest

from gangplan.errors import OverloadedError
from gangplan.service.admission import Admission


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
