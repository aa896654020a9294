"""Structure: every action makes sense, and every running job has exactly one (decision 17).

Kinds are checked against what a plan really changes: KEEP holds exactly what the job held; RESIZE changes
counts on nested sets of nodes and devices (decision 18); MIGRATE is any other change of a running job, and
the only way to place a job that is forced off; EVICT and PLACE speak for themselves; of RESERVE
``promise`` judges more (decision 19). What an action says of itself (scope, throughput, worth by term,
preconditions) must be what the verifier finds.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gangplan.domain.plan import Action, ActionKind
from gangplan.domain.topology import NODE
from gangplan.model.formulation.rows import INFINITY, Rows
from gangplan.model.terms import worth
from gangplan.model.verifier.outcome import Status
from gangplan.model.verifier.starts import present
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gangplan.model.formulation.layout import Layout
    from gangplan.model.verifier.columns import Bools, Floats
    from gangplan.model.verifier.facts import RoundFacts
    from gangplan.model.verifier.reading import Change, Reading

NAME = "structure"
RULES = (
    "structure.action-id",
    "structure.unknown-job",
    "structure.repeated-job",
    "structure.missing-action",
    "structure.kind",
    "structure.forced",
    "structure.evict-placements",
    "structure.unknown-node",
    "structure.unknown-group",
    "structure.task-count",
    "structure.repeated-placement",
    "structure.device-order",
    "structure.scope",
    "structure.throughput",
    "structure.worth",
    "structure.precondition",
)
TOLERANCE = 1e-6
"""Relative (and absolute) slack of reported figures."""
_SURE = 0.999
"""Part of the slack within which rounding cannot matter."""

_KINDS = {
    Status.KEPT: ActionKind.KEEP,
    Status.STARTED: ActionKind.PLACE,
    Status.MOVED: ActionKind.MIGRATE,
    Status.RESIZED: ActionKind.RESIZE,
    Status.EVICTED: ActionKind.EVICT,
}


def violations(reading: Reading) -> list[Violation]:
    """Actions that make no sense, and running jobs without one."""
    found = list(reading.malformed)
    named = [action.job for action in reading.plan.actions]
    ids = {action.id for action in reading.plan.actions}
    acting = set(named)
    plain = (
        len(ids) == len(acting) == len(named)
        and "" not in ids
        and acting <= reading.facts.once(_names)
        and ActionKind.RESERVE not in {action.kind for action in reading.plan.actions}
    )
    found += _actions(reading) if plain else _one_by_one(reading)
    found += [
        Violation("structure.missing-action", name, message=f"{name} is running and has no action")
        for name in reading.facts.once(_running)
        if name not in acting or (not plain and reading.changes[name].action is None)
    ]
    return found


def _names(facts: RoundFacts) -> frozenset[str]:
    return frozenset([job.name for job in facts.round.jobs])


def _actions(reading: Reading) -> list[Violation]:
    """Actions that make no sense, where every one is for a job of its own."""
    found: list[Violation] = []
    sound = reading.facts.once(_sound)
    for changes in (reading.changed, reading.kept):
        for name, change in changes.items():
            if change.action is not None and sound.get(name) is not change:
                wrong = _action(change.action, change, reading)
                found += wrong
                if not wrong:
                    sound[name] = change
    there = reading.facts.once(present)
    on_one_node: list[tuple[Sequence[Action], Floats]] = []
    if reading.starts is not None:
        on_one_node.append((reading.starts.actions, reading.starts.there.throughput))
    if there.there is not None:
        rows = [there.row[action.job] for action in reading.staying]
        on_one_node.append((reading.staying, there.there.throughput[rows]))
    for actions, throughput in on_one_node:
        for row in np.flatnonzero(~_true(actions, throughput)).tolist():
            found += _action(actions[row], reading.changes[actions[row].job], reading)
    return found


def _true(actions: Sequence[Action], throughput: Floats) -> Bools:
    """Which actions on one node say of themselves what is so, and no more than scope and throughput."""
    plain = [
        action.scope == NODE
        and action.forced is None
        and not action.cost_by_term
        and not action.preconditions
        for action in actions
    ]
    said = np.array([action.throughput for action in actions], dtype=np.float64)
    slack = TOLERANCE * np.maximum(1.0, np.maximum(np.abs(said), np.abs(throughput)))
    return np.array(plain, dtype=np.bool_) & (np.abs(said - throughput) <= slack * _SURE)


def _one_by_one(reading: Reading) -> list[Violation]:
    """Actions that make no sense, whatever they are for."""
    found: list[Violation] = []
    ids: set[str] = set()
    jobs: set[str] = set()
    for action in reading.plan.actions:
        name = action.job
        if not action.id or action.id in ids:
            found.append(_on(action, "action-id", f"action id {action.id!r} is empty or not unique"))
        ids.add(action.id)
        change = reading.changes.get(name)
        if change is None:
            found.append(_on(action, "unknown-job", f"{name!r} is not a job of the round"))
        elif name in jobs:
            found.append(_on(action, "repeated-job", f"{name} has more than one action"))
        elif action.kind is ActionKind.RESERVE:
            if change.action is not None and change.action is not action:
                found.append(_on(action, "repeated-job", f"{name} has more than one action"))
            if action.placements or change.status is not Status.WAITING:
                found.append(_on(action, "kind", f"{name} has RESERVE, but does not just wait"))
        else:
            found += _action(action, change, reading)
        jobs.add(name)
    return found


def _running(facts: RoundFacts) -> list[str]:
    """Names of the running jobs."""
    return [job.name for job in facts.round.jobs if job.running is not None]


def _sound(facts: RoundFacts) -> dict[str, Change]:
    """The change of each job whose action was found sound last, filled by :func:`_actions`.

    Whether an action is sound depends on it, on what it changes and on the round alone, and plans of one
    round share actions: the same action is read as the same change.
    """
    return {}


def _on(action: Action, rule: str, message: str) -> Violation:
    return Violation(f"structure.{rule}", action.job, "", action.id, message)


def _action(action: Action, change: Change, reading: Reading) -> list[Violation]:
    found: list[Violation] = []
    kind = _KINDS.get(change.status)
    if change.forced is not None and change.status is Status.KEPT:
        kind = None
    if action.kind is not kind:
        expected = "no action" if kind is None else kind.value
        found.append(
            _on(action, "kind", f"{action.job} has {action.kind.value}, but what it holds means {expected}")
        )
    if action.forced is not change.forced:
        said = action.forced.value if action.forced else "not forced"
        true = change.forced.value if change.forced else "not forced"
        found.append(_on(action, "forced", f"{action.job} is said to be {said}, but is {true}"))
    if action.kind is ActionKind.EVICT and action.placements:
        found.append(_on(action, "evict-placements", f"{action.job} is evicted and yet has placements"))
    outcome = change.outcome
    if action.scope != outcome.scope:
        found.append(_on(action, "scope", f"{action.job} has scope {outcome.scope!r}, not {action.scope!r}"))
    if not _close(action.throughput, outcome.throughput):
        found.append(
            _on(
                action,
                "throughput",
                f"{action.job} makes {outcome.throughput:g}/s, not {action.throughput:g}/s",
            )
        )
    if action.cost_by_term:
        found += _worth(action, change, reading)
    for read in action.preconditions:
        known = _revision(read.kind, read.name, reading)
        if known is None or known != read.revision:
            found.append(
                _on(
                    action,
                    "precondition",
                    f"{action.job} relies on {read.kind} {read.name!r} at {read.revision!r}",
                )
            )
    return found


def _worth(action: Action, change: Change, reading: Reading) -> list[Violation]:
    true = worth(change.outcome, reading.facts)
    return [
        _on(
            action,
            "worth",
            f"{action.job} is worth {true.get(name, 0.0):g} by {name}, "
            f"not {action.cost_by_term.get(name, 0.0):g}",
        )
        for name in sorted({*true, *action.cost_by_term})
        if not _close(action.cost_by_term.get(name, 0.0), true.get(name, 0.0))
    ]


def _close(said: float, true: float) -> bool:
    return math.isclose(said, true, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _revision(kind: str, name: str, reading: Reading) -> str | None:
    """The present revision of the object that a precondition names; None when there is no such object."""
    if kind.casefold() == "job":
        change = reading.changes.get(name)
        return change.job.revision if change else None
    if kind.casefold() == "node":
        node = reading.nodes.get(name)
        return node.revision if node else None
    return None


def rows(layout: Layout) -> Rows:
    """One option per component: as many choices as a class has members, KEEP among them."""
    instance, found = layout.instance, Rows()
    chosen = np.flatnonzero(layout.option_column >= 0)
    kept = np.flatnonzero(layout.keep_column >= 0)
    members = instance.members.astype(np.float64)
    must_run = instance.must_run
    found.add_grouped(
        np.concatenate([instance.option_class[chosen], kept]),
        np.concatenate([layout.option_column[chosen], layout.keep_column[kept]]),
        np.ones(len(chosen) + len(kept)),
        upper=members,
        lower=np.where(must_run, members, -INFINITY),
    )
    return found
