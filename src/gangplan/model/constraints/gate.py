"""Gate: a job that is held, not yet due, or waits for another job is not started (decision 11).

Nor is one that may not be paused and could run longer than ``policy.longest_run_seconds``, or that gives
longer notice: the wait of others would have no bound. Nor is an interactive job that has been idle for
longer than its limit, and where it runs it cannot stay.

It may go on as it runs; a move or a resize is a stop and a start, and so is not for it. The programme has no
row for this: a job behind its gate has no option but to stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gangplan.model.verifier.outcome import Status
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.model.verifier.columns import Bools
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.reading import Change, Reading
    from gangplan.model.verifier.starts import Starts

NAME = "gate"
RULES = ("gate.idle", "gate.held", "gate.not-before", "gate.after-jobs", "gate.run-limit")
_STARTS = (Status.STARTED, Status.MOVED, Status.RESIZED)


def violations(reading: Reading) -> list[Violation]:
    """Jobs that are started behind their gate."""
    return reading.judged(_judge, _sound) if reading.facts.gates else []


def _sound(starts: Starts, facts: RoundFacts) -> Bools:
    """Starts of jobs without a gate."""
    del facts
    return ~starts.there.columns.gated[starts.there.job]


def _judge(change: Change, facts: RoundFacts) -> list[Violation]:
    name = change.job.name
    rule = facts.gates.get(name)
    if rule is None or change.status not in _STARTS:
        return []
    action = change.action.id if change.action else ""
    return [Violation(f"gate.{rule}", name, "", action, f"{name} is started, but may not be now ({rule})")]
