"""What queues hold after a plan, by the verifier's own count."""

from __future__ import annotations

import math
from collections.abc import Mapping

from gangplan.domain.round import Round
from gangplan.model.verifier.outcome import Outcome


def held_by_guaranteed(round_: Round, outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    """Devices that the subtree of every queue with a guarantee holds, by name; a part counts as a part."""
    parents = {queue.name: queue.parent for queue in round_.queues}
    found: dict[str, list[float]] = {q.name: [] for q in round_.queues if q.device_guarantee}
    if not found:
        return {}
    for outcome in outcomes.values():
        here, seen = outcome.job.queue, set[str]()
        while outcome.devices and here is not None and here not in seen:
            seen.add(here)
            if here in found:
                found[here].append(outcome.devices)
            here = parents.get(here)
    return {name: math.fsum(devices) for name, devices in found.items()}


def met(round_: Round, held: Mapping[str, float]) -> dict[str, float]:
    """What of that is within each queue's guarantee."""
    return {
        q.name: min(held[q.name], float(q.device_guarantee or 0)) for q in round_.queues if q.name in held
    }
