"""In what two rounds differ, and in what two answers: sentences, sorted, each about one named thing."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gangplan.domain.job import Job
from gangplan.domain.plan import Action, ActionKind, Plan, RoundResult
from gangplan.domain.round import Round

_NAMED = ("accelerators", "queues", "jobs", "profiles")
_SINGLE = ("now", "round_seconds", "horizon_seconds", "policy")
_STATE = ("claims", "reservations", "outlook")
SAME_VALUE = 1e-9
"""Values closer than this, relative, are the same."""


def round_differences(before: Round, after: Round) -> tuple[str, ...]:
    """What is there in only one of two rounds, and which fields of the rest differ."""
    found: list[str] = []
    for name in _SINGLE:
        found += _fields(f"{name}", getattr(before, name), getattr(after, name))
    found += _fields("levels", before.cluster.topology.levels, after.cluster.topology.levels)
    found += _named("domain", before.cluster.topology.domains, after.cluster.topology.domains)
    found += _named("node", before.cluster.nodes, after.cluster.nodes)
    for name in _NAMED:
        found += _named(name.removesuffix("s"), getattr(before, name), getattr(after, name))
    found += [f"{name} differ" for name in _STATE if getattr(before, name) != getattr(after, name)]
    return tuple(found)


def plan_differences(before: Plan, after: Plan) -> tuple[str, ...]:
    """The jobs with which two plans do something else, by name."""
    mine, yours = ({action.job: action for action in plan.actions} for plan in (before, after))
    return tuple(
        f"job {job}: {_said(mine.get(job))} / {_said(yours.get(job))}"
        for job in sorted({*mine, *yours})
        if not _same(mine.get(job), yours.get(job))
    )


def answer_differences(before: RoundResult, after: RoundResult) -> tuple[str, ...]:
    """In what two answers differ: what is done, what it is worth, and why others wait."""
    found = list(plan_differences(before.plan, after.plan))
    for name in ("objective", "bound"):
        a, b = getattr(before.quality, name), getattr(after.quality, name)
        if not same_value(a, b):
            found.append(f"{name}: {a:.9g} / {b:.9g}")
    for name in ("reason", "limit"):
        a, b = getattr(before, name), getattr(after, name)
        if a is not b:
            found.append(f"{name}: {a.value} / {b.value}")
    mine, yours = ({each.job: each for each in result.verdicts} for result in (before, after))
    for job in sorted({*mine, *yours}):
        a, b = mine.get(job), yours.get(job)
        if a is not None and b is not None and (a.kind, a.code) != (b.kind, b.code):
            found.append(f"job {job} waits: {a.kind.value} {a.code} / {b.kind.value} {b.code}")
    return tuple(found)


def same_value(a: float, b: float) -> bool:
    """Whether two values are the same but for rounding."""
    return a == b or math.isclose(a, b, rel_tol=SAME_VALUE, abs_tol=SAME_VALUE)


def _same(a: Action | None, b: Action | None) -> bool:
    """Whether two actions do the same, whatever they are called and are said to be worth."""
    if a is None or b is None:
        return a is b
    return (a.kind, sorted(a.placements, key=repr), a.depends_on, a.beneficiaries, a.not_before) == (
        b.kind,
        sorted(b.placements, key=repr),
        b.depends_on,
        b.beneficiaries,
        b.not_before,
    )


def _said(action: Action | None) -> str:
    if action is None:
        return "waits"
    if action.kind is ActionKind.EVICT:
        return "EVICT"
    places = ", ".join(
        f"{place.node}[{','.join(map(str, place.devices))}]" if place.devices else place.node
        for place in action.placements
    )
    return f"{action.kind.value} {places}"


def _named(kind: str, before: Iterable[Any], after: Iterable[Any]) -> Iterator[str]:
    mine, yours = ({each.name: each for each in some} for some in (before, after))
    for name in sorted({*mine, *yours}):
        if name not in yours:
            yield f"{kind} {name}: only in the first"
        elif name not in mine:
            yield f"{kind} {name}: only in the second"
        else:
            yield from _fields(f"{kind} {name}", mine[name], yours[name])


def _fields(subject: str, before: Any, after: Any) -> Iterator[str]:
    """The fields of two values that differ, one sentence together."""
    if before == after:
        return
    if not dataclasses.is_dataclass(before) or type(before) is not type(after):
        yield f"{subject}: {_short(before)} / {_short(after)}"
        return
    if isinstance(before, Job) and isinstance(after, Job):
        before, after = _in_order(before), _in_order(after)
    parts = [
        f"{field.name} {_short(a)} / {_short(b)}"
        for field in dataclasses.fields(before)
        if (a := getattr(before, field.name)) != (b := getattr(after, field.name))
    ]
    if parts:
        yield f"{subject}: {'; '.join(parts)}"


def _in_order(job: Job) -> Job:
    """With its places in one order, which means nothing."""
    if job.running is None:
        return job
    placements = tuple(sorted(job.running.placements, key=repr))
    return dataclasses.replace(job, running=dataclasses.replace(job.running, placements=placements))


def _short(value: Any) -> str:
    """A value in at most some words."""
    text = str(dict(value)) if isinstance(value, Mapping) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
