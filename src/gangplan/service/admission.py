"""Bounded concurrency: a few calls run, a few wait, the rest are told when to come back."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from gangplan.errors import OverloadedError

_LEAST_RETRY_SECONDS = 0.1
_UNKNOWN_SECONDS = 1.0  # until a slot comes free, as callers are told before any call has ended
_MEMORY = 0.8  # share of the past in the running mean of how long a slot is held

_NEEDED_SHARE = 0.6
"""Share of its time that a call keeps for its work when that is known to take as long."""
_COMPANY = 2.0
"""Times the least time that work of its kind has taken, which a call must have left to start early."""
_KINDS = 256
"""Kinds of work that are known, those seen last."""


@dataclass(slots=True, eq=False)
class _Turn:
    """A call that waits or runs.

    Attributes:
        caller: who calls.
        key: what it is about.
        kind: of work; None: nothing is known of it.
        hold: seconds that it is expected to hold its slot; None: unknown.
        gives_up: ``time.monotonic()`` until which it waits.
        ends: ``time.monotonic()`` at which it gives its slot back at the latest.
        since: ``time.monotonic()`` at which it got its slot.
        gone: whether its caller has left, so that its work ends as soon as it can.
        ready: done when it has its slot.
    """

    caller: str
    key: str
    kind: Hashable = None
    hold: float | None = None
    gives_up: float = math.inf
    ends: float = math.inf
    since: float = 0.0
    gone: Callable[[], bool] = lambda: False
    ready: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Admission:
    """Hands out slots. Lives on one event loop.

    A slot goes to the caller with the fewest calls running, among those to the one that was served longest
    ago, and to that caller's first call; so one with a hundred calls and one with a single call take turns.
    A full queue makes room for a caller that has fewer calls in it: the last call of the one with the most is
    refused. Calls with the same key run one after the other.

    How long each kind of work holds its slot is remembered. A call that would get its slot too late by that,
    or make one do so that would not otherwise, is refused when it comes and not when its patience ends. Of
    what nothing is known is held against nobody.

    Work may take longer than it did, and then a call that was let in has waited in vain. It gets the next
    slot before that is free, while ``early`` allows: who is refused is told when it comes. So many calls more
    run for a while, and no slot is handed out until there are no more than there should be. A call that would
    have too little time left to run beside others is let in only where its slot is sure to come in time. If
    the call that has that slot is late itself, it runs beside others all the same.

    Args:
        slots: calls that may run at a time.
        queue: calls that may wait.
        early: calls that may run beyond the slots when their patience is over.
    """

    def __init__(self, slots: int, queue: int, early: int = 0) -> None:
        self._slots = slots
        self._queue = queue
        self._early = early
        self._waiting: list[_Turn] = []
        self._running: Counter[str] = Counter()
        self._turns: set[_Turn] = set()
        self._work: OrderedDict[Hashable, float] = OrderedDict()
        self._least: dict[Hashable, float] = {}
        self._keys: set[str] = set()
        self._served: dict[str, int] = {}
        self._number = 0
        self._held_seconds: float | None = None  # of all calls lately; None: none has ended

    @property
    def running(self) -> int:
        """Slots in use."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """Calls in the queue."""
        return len(self._waiting)

    def refuse_when_full(self, caller: str = "") -> None:
        """Refuse a call for which there is neither a slot nor a place in the queue.

        Raises:
            OverloadedError: both are full, and nobody has to make room.
        """
        if self.running >= self._slots and self._is_full() and self._greediest(caller) is None:
            raise self._too_many()

    async def enter(
        self,
        patience: float | None = None,
        *,
        caller: str = "",
        key: str = "",
        kind: Hashable = None,
        left: float | None = None,
        gone: Callable[[], bool] = lambda: False,
    ) -> Slot:
        """Wait for a slot.

        Args:
            patience: longest wait in seconds; None: as long as it takes.
            caller: who calls.
            key: what the call is about; empty: nothing that others may be about, too.
            kind: calls of one kind take about as long; None: nothing is known of it.
            left: seconds until the call must be answered; what its work takes, or most of it, is kept for
                that. None: no limit.
            gone: whether the caller has left: then the slot is about to be free.

        Raises:
            OverloadedError: the queue is full, a slot would come too late, or patience ran out and others
                have got their slots early.
        """
        turn = _Turn(caller, key, kind, hold=None if kind is None else self._work.get(kind), gone=gone)
        now = time.monotonic()
        if left is not None:
            turn.ends = now + left
            if turn.hold is not None:
                needed = min(turn.hold, _NEEDED_SHARE * left)
                patience = left - needed if patience is None else min(patience, left - needed)
        if patience is not None:
            turn.gives_up = now + patience
        self._waiting.append(turn)
        self._hand_out()
        if not turn.ready.done():
            if len(self._waiting) > self._queue:
                self._make_room(turn)
            elif turn.hold is not None:
                self._refuse_the_late(turn)
        in_time = True
        try:
            await asyncio.wait_for(turn.ready, patience)
        except TimeoutError:
            in_time = False
        except asyncio.CancelledError:
            if turn.ready.done() and not turn.ready.cancelled() and turn.ready.exception() is None:
                self._release(turn)  # the slot came at the very moment the caller left
            self._leave_queue(turn)
            raise
        if not in_time:
            self._leave_queue(turn)
            if not self._may_start_early(turn):
                message = f"no slot became free within {patience:.3g} s; {self.running} calls are running"
                raise OverloadedError(message, self.retry_after_seconds)
            self._start(turn)
        return Slot(self, turn)

    @property
    def retry_after_seconds(self) -> float:
        """An estimate of when a slot is free for a call that comes now."""
        rounds = (len(self._waiting) + 1) / self._slots
        held = _UNKNOWN_SECONDS if self._held_seconds is None else self._held_seconds
        return max(_LEAST_RETRY_SECONDS, rounds * held)

    def _is_full(self) -> bool:
        return len(self._waiting) >= self._queue

    def _refuse_the_late(self, turn: _Turn) -> None:
        """Refuse ``turn`` where it would start too late, or others would because of it.

        Where the caller of those others is the one with the most calls in the queue, it is they that go.
        """
        now = time.monotonic()
        starts = self._starts(now, self._waiting)
        if self._early and not self._bears_company(turn):  # it cannot start early: it must be sure
            starts[turn] = max(starts[turn], self._starts(now, self._waiting, surely=True)[turn])
        late = [each for each in self._waiting if starts[each] > each.gives_up]
        if turn not in late and late:
            alone = self._starts(now, [each for each in self._waiting if each is not turn])
            late = [each for each in late if alone[each] <= each.gives_up]
        if not late:
            return
        greediest = self._greediest(turn.caller)
        if turn not in late and any(each.caller != greediest for each in late):
            late = [turn]
        state = f"{self.running} calls are running and {len(self._waiting) - 1} others wait"
        for each in late if turn not in late else [turn]:
            if starts[each] > each.gives_up:
                slot = f"a slot is expected in {max(0.0, starts[each] - now):.3g} s"
                message = f"{slot}, and the call can wait {max(0.0, each.gives_up - now):.3g} s; {state}"
            else:
                message = f"a call that waits already would be late because of this one; {state}"
            self._waiting.remove(each)
            each.ready.set_exception(OverloadedError(message, self.retry_after_seconds))

    def _starts(self, now: float, calls: Sequence[_Turn], *, surely: bool = False) -> dict[_Turn, float]:
        """When each of the calls that wait would get its slot; of one that gives up before: when it could.

        Plays on as :meth:`_hand_out` does: slots come free when their work is done as it was lately, or
        ``surely``, when it must be, and go to whose turn it is then.
        """
        order = itertools.count()
        ends = [(each.ends if surely else self._end(each, now), next(order), each) for each in self._turns]
        heapq.heapify(ends)
        waiting, running, served = list(calls), Counter(self._running), dict(self._served)
        keys, number, at = set(self._keys), self._number, now
        starts: dict[_Turn, float] = {}
        while waiting:
            ready = [each for each in waiting if not each.key or each.key not in keys]
            if ready and len(ends) < self._slots:
                turn = min(ready, key=lambda each: (running[each.caller], served.get(each.caller, 0)))
                waiting.remove(turn)
                starts[turn] = at
                if at > turn.gives_up:
                    continue
                number += 1
                served[turn.caller] = number
                running[turn.caller] += 1
                keys.add(turn.key)
                end = math.inf if surely else at + (self._expected(turn) or 0.0)
                heapq.heappush(ends, (max(at, min(end, turn.ends)), next(order), turn))
                continue
            at, _, over = heapq.heappop(ends)
            running[over.caller] -= 1
            keys.discard(over.key)
            if not running[over.caller] and all(each.caller != over.caller for each in waiting):
                served.pop(over.caller, None)
        return starts

    def _expected(self, turn: _Turn) -> float | None:
        """Seconds that a call holds its slot; None: nothing is known of any."""
        return self._held_seconds if turn.hold is None else turn.hold

    def _end(self, turn: _Turn, now: float) -> float:
        """When a call that runs is expected to give its slot back.

        One that takes longer than expected is expected to take as much longer again, and no longer than it
        may; one of which nothing is known may end at any moment.
        """
        held = self._expected(turn)
        if held is None or turn.gone():
            return now
        expected = turn.since + held
        return max(now, min(expected if expected >= now else 2.0 * now - expected, turn.ends))

    def _too_many(self) -> OverloadedError:
        message = f"{self.running} calls are running and {len(self._waiting)} wait, the most allowed"
        return OverloadedError(message, self.retry_after_seconds)

    def _greediest(self, caller: str) -> str | None:
        """Who has to make room for ``caller``; None: nobody has more calls in the queue than it would."""
        counts = Counter(turn.caller for turn in self._waiting)
        if not counts:
            return None
        other, most = counts.most_common(1)[0]
        return other if most > counts[caller] + 1 else None

    def _make_room(self, turn: _Turn) -> None:
        """Refuse the last call of the greediest caller, or ``turn``."""
        self._waiting.remove(turn)
        error = self._too_many()
        greediest = self._greediest(turn.caller)
        if greediest is None:
            turn.ready.set_exception(error)
            return
        last = next(other for other in reversed(self._waiting) if other.caller == greediest)
        self._waiting.remove(last)
        last.ready.set_exception(error)
        self._waiting.append(turn)

    def _leave_queue(self, turn: _Turn) -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)

    def _hand_out(self) -> None:
        """Give free slots to those whose turn it is."""
        while self.running < self._slots:
            ready = [turn for turn in self._waiting if not turn.key or turn.key not in self._keys]
            if not ready:
                return
            turn = min(ready, key=lambda each: (self._running[each.caller], self._served.get(each.caller, 0)))
            self._waiting.remove(turn)
            if turn.ready.done():
                continue
            self._start(turn)
            turn.ready.set_result(None)

    def _start(self, turn: _Turn) -> None:
        self._number += 1
        self._served[turn.caller] = self._number
        self._running[turn.caller] += 1
        turn.since = time.monotonic()
        self._turns.add(turn)
        if turn.key:
            self._keys.add(turn.key)

    def _may_start_early(self, turn: _Turn) -> bool:
        """Whether a call whose patience is over may have the next slot before it is free."""
        free = self.running < self._slots + self._early
        return free and not (turn.key and turn.key in self._keys)

    def _bears_company(self, turn: _Turn) -> bool:
        """Whether a call has the time to run beside more than there should be once its patience is over."""
        return turn.ends - turn.gives_up >= _COMPANY * self._least.get(turn.kind, 0.0)

    def _release(self, turn: _Turn, held_seconds: float | None = None) -> None:
        if held_seconds is not None:
            before = held_seconds if self._held_seconds is None else self._held_seconds
            self._held_seconds = _MEMORY * before + (1 - _MEMORY) * held_seconds
            self._note(turn.kind, held_seconds, done=not turn.gone())
        self._turns.discard(turn)
        self._running[turn.caller] -= 1
        if not self._running[turn.caller]:
            del self._running[turn.caller]
            if all(other.caller != turn.caller for other in self._waiting):
                self._served.pop(turn.caller, None)  # who comes back later is a newcomer
        self._keys.discard(turn.key)
        self._hand_out()

    def _note(self, kind: Hashable, seconds: float, *, done: bool) -> None:
        """Work of a kind held its slot so long: what was longer lately counts for more.

        ``done``: it was not broken off.
        """
        if kind is None:
            return
        before = self._work.get(kind, seconds)
        self._work[kind] = max(seconds, _MEMORY * before + (1 - _MEMORY) * seconds)
        self._work.move_to_end(kind)
        if done:
            self._least[kind] = min(seconds, self._least.get(kind, seconds))
        if len(self._work) > _KINDS:
            forgotten, _ = self._work.popitem(last=False)
            self._least.pop(forgotten, None)


class Slot:
    """The right to run; :meth:`release` gives it back, once."""

    def __init__(self, admission: Admission, turn: _Turn) -> None:
        self._admission: Admission | None = admission
        self._turn = turn
        self._since = time.monotonic()

    def release(self) -> None:
        """Give the slot to the next in the queue."""
        admission, self._admission = self._admission, None
        if admission is not None:
            admission._release(self._turn, time.monotonic() - self._since)
