"""Order: the action DAG never exceeds capacity at any step (property P4; decision 18).

A plan is a set of stops (EVICT, MIGRATE, and what RESIZE drops) and starts (PLACE, MIGRATE, and what RESIZE
adds). Stops wait for nothing; a start waits for its own job's stop and for the stops of the actions in its
``depends_on``. So every set of starts T is reachable together with any set of stops that contains all that T
waits for, and the use of a node is worst when no other stop has happened:

    use(T) = present use + what T takes - what the stops that T waits for give back.

The worst T is a maximum-weight closure (a start takes its stops along), found exactly, in polynomial time, as
a minimum cut (Picard, *Maximal closure of a graph and applications to combinatorial problems*, Management
Science 22, 1976); starts that wait for the same stops of the node count as one. Whole pinned devices are
simpler: whoever takes one waits for whoever gives it up; parts of one device are a use like any other. What
the jobs that go on over-use already may not get worse (property P25), and a step is the plan's fault only
when something starts in it. Quotas are judged after the plan only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gangplan.domain.job import WHOLE_DEVICE
from gangplan.domain.plan import Action, ActionKind, ForcedReason
from gangplan.model.constraints.capacity import Use, add_use, amount, final_use, limits, milli_of_each
from gangplan.model.verifier.violation import Violation

if TYPE_CHECKING:
    from gangplan.model.verifier.holding import Holding
    from gangplan.model.verifier.reading import Change, Reading

NAME = "order"
RULES = (
    "order.unknown-dependency",
    "order.not-a-stop",
    "order.device",
    "order.device-count",
    "order.cpu",
    "order.memory",
    "order.too-soon",
)
_STOPS = (ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE)
_STARTS = (ActionKind.PLACE, ActionKind.MIGRATE, ActionKind.RESIZE)


def violations(reading: Reading) -> list[Violation]:
    """Dependencies that make no sense, and steps at which a node would hold too much."""
    actions: dict[str, Action] = {}
    for action in reading.plan.actions:
        actions.setdefault(action.id, action)
    found: list[Violation] = []
    unique = len(actions) == len(reading.plan.actions)
    for action in reading.plan.actions:
        if action.depends_on or not unique or action.job in reading.changed:  # all others give no notice
            found += _dependencies(action, actions)
            found += _notice(action, actions, reading)
    # Where nothing stops, no step holds more than the end does.
    stopping = {node for change in reading.changed.values() for _, node in change.stopped}
    awaited: dict[str, set[str]] = {}
    for name, change in reading.changed.items():
        if change.action is not None and any(node in stopping for _, node in change.started):
            stops = {actions[key].job for key in change.action.depends_on if key in actions}
            awaited[name] = stops | {name}
    for change in reading.started_on(stopping):
        assert change.action is not None
        stops = {actions[key].job for key in change.action.depends_on if key in actions}
        awaited[change.job.name] = stops | {change.job.name}
    if awaited:
        found += _devices(reading, awaited)
        found += _amounts(reading, awaited, stopping)
    return found


def _dependencies(action: Action, actions: Mapping[str, Action]) -> list[Violation]:
    found: list[Violation] = []
    for key in action.depends_on:
        if key not in actions:
            message = f"{action.job} waits for action {key!r}, which is not in the plan"
            found.append(Violation("order.unknown-dependency", action.job, "", action.id, message))
        elif key == action.id or actions[key].kind not in _STOPS or action.kind not in _STARTS:
            message = f"{action.job} ({action.kind.value}) waits for {key!r} ({actions[key].kind.value})"
            found.append(Violation("order.not-a-stop", action.job, "", action.id, message))
    return found


def _notice(action: Action, actions: Mapping[str, Action], reading: Reading) -> list[Violation]:
    """A start before the notice of a stop that it waits for, its own included, has ended.

    Stops by choice give notice, and stops for a promise that is due.
    """
    if action.kind not in _STARTS:
        return []
    found: list[Violation] = []
    for key in (*action.depends_on, action.id):
        change = reading.changes.get(actions[key].job) if key in actions else None
        if change is None or change.job.checkpoint_seconds <= 0:
            continue
        if not change.disruptive and change.forced is not ForcedReason.PROMISE_DUE:
            continue
        ends = reading.round.now + change.job.checkpoint_seconds
        if action.not_before is None or action.not_before < ends:
            message = f"{action.job} starts before the notice of {change.job.name} has ended"
            found.append(Violation("order.too-soon", action.job, "", action.id, message))
    return found


def _devices(reading: Reading, awaited: Mapping[str, set[str]]) -> list[Violation]:
    """New holders of a pinned device that do not wait for the old one to give it up."""
    given_up: dict[tuple[str, int], list[str]] = {}
    for name, change in reading.changed.items():
        for (_, node), held in change.stopped.items():
            for device in held.devices:
                given_up.setdefault((node, device), []).append(name)
    found: list[Violation] = []
    if not given_up:
        return found
    parts: set[tuple[str, int]] = set()
    for name, stops in awaited.items():
        change = reading.changes[name]
        missing = set()
        for (group, node), held in change.started.items():
            mine = [(node, device) for device in held.devices if (node, device) in given_up]
            if milli_of_each(change.groups[group]) < WHOLE_DEVICE:
                parts.update(mine)
            else:
                missing |= {(other, node) for key in mine for other in given_up[key] if other not in stops}
        for other, node in sorted(missing):
            message = f"{name} takes devices of {node} from {other} without waiting for it to stop"
            found.append(Violation("order.device", name, node, _id(change), message))
    for node, device in sorted(parts):
        found += _parts(reading, awaited, node, device)
    return found


def _parts(reading: Reading, awaited: Mapping[str, set[str]], node: str, device: int) -> list[Violation]:
    """Steps at which tasks hold more than all of a device that some take a part of."""

    def held(holding: Holding, change: Change) -> int:
        return sum(
            milli_of_each(change.groups[group])
            for (group, where), part in holding.items()
            if where == node and device in part.devices and group in change.groups
        )

    present = sum(held(change.before, change) for change in reading.changes.values() if change.before)
    takes = {name: held(reading.changes[name].started, reading.changes[name]) for name in awaited}
    gives = {name: held(change.stopped, change) for name, change in reading.changed.items()}
    worst, starts = worst_use(present, takes, gives, awaited, WHOLE_DEVICE)
    if worst <= WHOLE_DEVICE or not starts:
        return []
    first = min(starts)
    message = (
        f"device {device} of {node} may hold {worst} of {WHOLE_DEVICE} thousandths on the way, "
        f"when {', '.join(sorted(starts))} start before the rest has stopped"
    )
    return [Violation("order.device", first, node, _id(reading.changes[first]), message)]


def _amounts(reading: Reading, awaited: Mapping[str, set[str]], stopping: set[str]) -> list[Violation]:
    """Steps at which a node where something stops and starts holds too much CPU, memory or devices that only
    count.
    """
    both = {node for name in awaited for _, node in reading.changes[name].started if node in stopping}
    takes: dict[str, dict[str, Use]] = {}
    gives: dict[str, dict[str, Use]] = {}
    forced: dict[str, Use] = {}
    changing = dict(reading.changed)
    changing.update((change.job.name, change) for change in reading.started_on(both))
    for name, change in changing.items():
        for holding, uses in ((change.started, takes), (change.stopped, gives)):
            if not any(node in both for _, node in holding):
                continue
            own: dict[str, Use] = {}
            add_use(own, change, holding, both)
            for node, use in own.items():
                uses.setdefault(node, {})[name] = use
        if change.forced is not None:
            add_use(forced, change, change.before, both)
    final = reading.once(final_use)
    found: list[Violation] = []
    for node in sorted(both):
        for dimension, _, now, allowed in limits(node, reading.facts):
            if amount(final[node], dimension) > allowed:
                continue  # reported as capacity
            present = now + amount(forced.get(node, Use()), dimension)
            adds = {name: amount(use, dimension) for name, use in takes[node].items() if name in awaited}
            if present + sum(adds.values()) <= allowed:
                continue
            drops = {name: amount(use, dimension) for name, use in gives.get(node, {}).items()}
            worst, starts = worst_use(present, adds, drops, awaited, allowed)
            if worst > allowed:
                rule = "device-count" if dimension == "device-count" else dimension
                message = (
                    f"{node} may hold {worst} of {allowed} {dimension} on the way, "
                    f"when {', '.join(sorted(starts))} start before the rest has stopped"
                )
                first = min(starts)
                found.append(Violation(f"order.{rule}", first, node, _id(reading.changes[first]), message))
    return found


def worst_use(
    present: int,
    takes: Mapping[str, int],
    gives: Mapping[str, int],
    awaited: Mapping[str, set[str]],
    allowed: int,
) -> tuple[int, frozenset[str]]:
    """The most that one node holds of one thing at any step at which something has started.

    Args:
        present: held before the plan.
        takes: what each start takes, by job; starts that take nothing do not matter.
        gives: what each stop gives back, by job.
        awaited: jobs whose stop each start waits for, its own included.
        allowed: a step within this does not matter; when ``present`` is within, so is "nothing has started".

    Returns:
        The worst use, and the jobs whose starts make it; ``(0, {})`` when nothing takes anything.
    """
    merged: dict[frozenset[str], list[str]] = {}
    for name, taken in takes.items():
        if taken > 0:
            stops = frozenset(s for s in awaited[name] if gives.get(s, 0) > 0)
            merged.setdefault(stops, []).append(name)
    profit = {stops: sum(takes[name] for name in names) for stops, names in merged.items()}
    if not profit:
        return 0, frozenset()
    worst: tuple[int, frozenset[frozenset[str]]] = (-1, frozenset())
    if present <= allowed:
        gain, chosen = _closure(profit, gives)
        worst = (present + gain, chosen)
    else:
        for first, value in profit.items():
            rest = {stops - first: 0 for stops in profit if stops != first}
            for stops, other in profit.items():
                if stops != first:
                    rest[stops - first] += other
            gain, chosen = _closure(rest, gives)
            use = present + value - sum(gives[s] for s in first) + gain
            if use > worst[0]:
                worst = (use, frozenset({first, *(s for s in profit if s - first in chosen)}))
    return worst[0], frozenset(name for stops in worst[1] for name in merged[stops])


def _closure(
    profit: Mapping[frozenset[str], int], cost: Mapping[str, int]
) -> tuple[int, frozenset[frozenset[str]]]:
    """The most profitable set of starts, each of which takes its stops along at their cost.

    A minimum cut by shortest augmenting paths (Edmonds and Karp, 1972) in the graph source -> start -> stop
    -> sink.
    """
    source, sink = "source", "sink"
    left: dict[object, dict[object, float]] = {source: {}, sink: {}}

    def edge(tail: object, head: object, capacity: float) -> None:
        left.setdefault(tail, {})[head] = capacity
        left.setdefault(head, {}).setdefault(tail, 0)

    total = sum(profit.values())
    for stops, value in profit.items():
        edge(source, ("start", stops), value)
        for stop in stops:
            edge(("start", stops), ("stop", stop), total + 1)
            edge(("stop", stop), sink, cost[stop])
    flow = 0
    while True:
        came: dict[object, object] = {source: source}
        queue = deque[object]([source])
        while queue and sink not in came:
            here = queue.popleft()
            for there, capacity in left[here].items():
                if capacity > 0 and there not in came:
                    came[there] = here
                    queue.append(there)
        if sink not in came:
            chosen = frozenset(stops for stops in profit if ("start", stops) in came)
            return total - flow, chosen
        path: list[tuple[object, object]] = []
        end: object = sink
        while end != source:
            path.append((came[end], end))
            end = came[end]
        pushed = min(int(left[a][b]) for a, b in path)
        for a, b in path:
            left[a][b] -= pushed
            left[b][a] += pushed
        flow += pushed


def _id(change: Change) -> str:
    return change.action.id if change.action else ""
