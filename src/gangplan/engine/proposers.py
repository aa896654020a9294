"""Proposers: outside policies, a learned one say, that hand in a plan or prices for a round.

A proposer is found through an entry point of the group ``gangplan.proposers`` and asked by its name::

    # pyproject.toml of the package that brings it
    [project.entry-points."gangplan.proposers"]
    largest-first = "my_package:LARGEST_FIRST"

    # my_package.py
    from gangplan.domain.job import TaskPlacement
    from gangplan.domain.plan import Action, ActionKind, Plan
    from gangplan.domain.round import Round
    from gangplan.engine.proposers import Proposal

    class LargestFirst:
        def propose(self, round_: Round, seconds: float) -> Proposal:
            waiting = [job for job in round_.jobs if job.running is None]
            largest = max(waiting, key=lambda job: job.component.task_groups[0].count)
            group, node = largest.component.task_groups[0], round_.cluster.nodes[0]
            place = TaskPlacement(group.name, node.name, group.count)
            return Proposal(plan=Plan((Action("1", ActionKind.PLACE, largest.name, (place,)),)))

    LARGEST_FIRST = LargestFirst()

A plan need not say anything of most jobs, nor name devices, scopes, waits or beneficiaries: only job, kind
and tasks by group and node are read. What is proposed is completed, verified, and kept only if it is best.
Whatever a proposer does, the round is answered.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import math
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.runner import Cancellation
from gangplan.errors import UnknownProposerError

ENTRY_POINT_GROUP = "gangplan.proposers"

SHARE = 0.25
"""Share of the budget up to which proposers are waited for, all together, from the start of the round."""
MOST_SECONDS = 60.0
"""How long they are waited for where the round has no time limit."""

_POLL_SECONDS = 0.02

_hanging: dict[str, threading.Thread] = {}
"""The last thread of each proposer that did not answer in time; while it lives, it is not asked again."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a proposer hands in; either part may be missing.

    Attributes:
        plan: what to do with some or all of the jobs.
        device_prices: GPU-equivalents per device by accelerator type, 0 or more.
    """

    plan: Plan | None = None
    device_prices: Mapping[str, float] | None = None


class Proposer(Protocol):
    """An outside policy. It may be asked from several threads at once, for different rounds."""

    def propose(self, round_: Round, seconds: float) -> Proposal:
        """A plan, prices, both or nothing for a round.

        Args:
            round_: the round; not to be changed.
            seconds: time after which nobody waits any more. What Python computes slows the round down.
        """
        ...


@functools.cache
def installed() -> Mapping[str, str]:
    """``module:attribute`` by name; scanned once, since that reads the metadata of every package there is."""
    points = importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)
    return {point.name: point.value for point in sorted(points, key=lambda point: point.name)}


def names() -> tuple[str, ...]:
    """Names of all installed proposers, sorted; nothing of theirs is imported."""
    return tuple(sorted(installed()))


def require(wanted: Iterable[str]) -> None:
    """Check names before anything is planned.

    Raises:
        UnknownProposerError: there is none of some name; the message lists what there is.
    """
    for name in wanted:
        if name not in installed():
            there = ", ".join(names()) or "none is installed"
            raise UnknownProposerError(f"no proposer {name!r}; there are: {there}")


@dataclass(slots=True)
class Asked:
    """Proposers at work on a round.

    Attributes:
        until: reading of the monotonic clock up to which they are waited for.
        cancellation: of the round; nobody is waited for any more once it is given.
        calls: who was asked, in order of the request.
        failures: who could not be asked, one sentence each.
    """

    until: float
    cancellation: Cancellation | None = None
    calls: list[_Call] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def collect(self) -> list[tuple[str, Proposal]]:
        """What came in time, in order of the request; the failures then say what became of the others."""
        found = []
        for call in self.calls:
            self._wait(call.thread)
            if call.thread.is_alive():
                _hanging[call.name] = call.thread
                self.failures.append(f"proposer {call.name!r} did not answer in time")
            elif call.failure:
                self.failures.append(f"proposer {call.name!r} failed: {call.failure}")
            elif call.proposal is not None:
                found.append((call.name, call.proposal))
        self.calls.clear()
        return found

    def _wait(self, thread: threading.Thread) -> None:
        while thread.is_alive() and (left := self.until - time.monotonic()) > 0.0:
            if self.cancellation is not None and self.cancellation.cancelled:
                return
            thread.join(min(left, _POLL_SECONDS))


def ask(
    round_: Round, wanted: Sequence[str], budget: Budget, cancellation: Cancellation | None = None
) -> Asked:
    """Have proposers begin, each in a thread of its own that never keeps the process alive.

    Raises:
        UnknownProposerError: there is none of some name.
    """
    require(wanted)
    seconds = SHARE * budget.remaining if budget.limited else MOST_SECONDS
    asked = Asked(time.monotonic() + seconds, cancellation)
    for name in dict.fromkeys(wanted):
        before = _hanging.get(name)
        if before is not None and before.is_alive():
            asked.failures.append(f"proposer {name!r} was not asked: it is still busy with an earlier round")
            continue
        _hanging.pop(name, None)
        call = _Call(name, round_, seconds)
        asked.calls.append(call)
        call.thread.start()
    return asked


class _Call:
    """One proposer's turn."""

    def __init__(self, name: str, round_: Round, seconds: float) -> None:
        self.name = name
        self.proposal: Proposal | None = None
        self.failure = ""
        self._round, self._seconds = round_, seconds
        self.thread = threading.Thread(target=self._run, name=f"proposer {name}", daemon=True)

    def _run(self) -> None:
        try:
            module, _, attribute = installed()[self.name].partition(":")
            proposer: Proposer = getattr(importlib.import_module(module), attribute)
            self.proposal = _checked(proposer.propose(self._round, self._seconds))
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends here
            self.failure = f"{type(error).__name__}: {error}"


def _checked(proposal: object) -> Proposal:
    """The proposal, if it is one.

    Raises:
        TypeError: it, its plan or its prices are something else.
        ValueError: a price is no number that is 0 or more.
    """
    if not isinstance(proposal, Proposal):
        raise TypeError(f"it handed in a {type(proposal).__name__}, no Proposal")
    plan, prices = proposal.plan, proposal.device_prices
    if plan is not None and not isinstance(plan, Plan):
        raise TypeError(f"its plan is a {type(plan).__name__}")
    if prices is None:
        return proposal
    copied = {str(name): float(price) for name, price in dict(prices).items()}
    if not all(math.isfinite(price) and price >= 0.0 for price in copied.values()):
        raise ValueError("a price is no number that is 0 or more")
    return Proposal(plan, copied)
