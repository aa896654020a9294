"""Disruption: what may be done to running jobs by choice, and how often (decisions 9 and 17).

A job that is not pausable is not evicted, one that is not movable is not migrated, and one that is not
resizable keeps its counts, whatever the action is called. Before its next safe point, within its minimum run
time, and after as many disruptions as one job may suffer in an hour, nothing is done to a job at all
(decision 14): the model takes it for one that can do nothing. Voluntary evictions, moves and resizes together
stay within ``policy.disruption_limit``. Forced actions count nowhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gangplan.model.formulation.rows import Rows
from gangplan.model.verifier.gates import undisturbed
from gangplan.model.verifier.outcome import Status
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.model.formulation.layout import Layout
    from gangplan.model.verifier.reading import Change, Reading

NAME = "disruption"
RULES = (
    "disruption.limit",
    "disruption.not-pausable",
    "disruption.not-movable",
    "disruption.not-resizable",
    "disruption.safe-point",
    "disruption.minimum-run-time",
    "disruption.job-hour",
)
_WHY = {
    "safe-point": "is disturbed before its next safe point",
    "minimum-run-time": "is disturbed within its minimum run time",
    "job-hour": "is disturbed once more than one job may be in an hour",
}


def violations(reading: Reading) -> list[Violation]:
    """Disruptions that a job forbids, or that are too many."""
    found: list[Violation] = []
    disruptions = 0
    for name, change in reading.changed.items():
        if not change.disruptive:
            continue
        disruptions += 1
        action = change.action.id if change.action else ""
        can = change.job.capabilities
        if change.status is Status.EVICTED and not can.pausable:
            found.append(_on("not-pausable", name, action, "is evicted but not pausable"))
        if change.status is Status.MOVED and not can.movable:
            found.append(_on("not-movable", name, action, "is moved but not movable"))
        if change.status is not Status.EVICTED and not can.resizable and _resized(change):
            found.append(_on("not-resizable", name, action, "changes its counts but is not resizable"))
        found += [_on(rule, name, action, _WHY[rule]) for rule in undisturbed(change.job, reading.round)]
    limit = reading.round.policy.disruption_limit
    if limit is not None and disruptions > limit:
        message = f"{disruptions} voluntary disruptions; the limit is {limit}"
        found.append(Violation("disruption.limit", message=message))
    return found


def _on(rule: str, job: str, action: str, what: str) -> Violation:
    return Violation(f"disruption.{rule}", job, "", action, f"{job} {what}")


def _resized(change: Change) -> bool:
    counts = dict(change.outcome.counts)
    for (group, _), held in change.before.items():
        counts[group] = counts.get(group, 0) - held.tasks
    return any(counts.values())


def rows(layout: Layout) -> Rows:
    """At most so many voluntary evictions, moves and resizes: all other running jobs stay."""
    found = Rows()
    limit = layout.instance.round.policy.disruption_limit
    if limit is not None:
        kept = [int(column) for column in layout.keep_column if column >= 0]
        found.add([(column, 1.0) for column in kept], lower=float(len(kept) - limit))
    return found
