"""What blocks of whole nodes are worth while they are left free, from the gangs that came (decision 27).

Gangs that cannot run on parts of nodes arrive one by one, and nobody knows when. For every kind of block
(type and size of its nodes, how many, in one domain of which level) they are counted, earlier ones less by
half every :data:`HALF_LIFE_SECONDS`; so is the time watched, and arrivals over time is the rate. With m gangs
expected within a round, ``r = ceil(m)`` blocks are wanted free, and one of them is worth

    v = n E[min(N, r)] / r    GPU-equivalents in a round, N Poisson with mean m,

the n devices of a block as often as a gang comes that starts on it at once: the newsvendor's expected sales
(Porteus, *Foundations of Stochastic Inventory Theory*, 2002, section 1.2), shared evenly. What a wait for the
block would cost beyond the round is not in it; ``policy.residual_weight`` is the factor for that.
"""

from __future__ import annotations

import math
from collections import defaultdict

from gangplan.domain.outlook import FreeBlocks, Outlook
from gangplan.model.instance.instance import Instance
from gangplan.model.lookahead.reserve import whole_node_gang

HALF_LIFE_SECONDS = 43_200.0
MOST = 16
"""Blocks of a kind that are wanted free, at most."""
_LEAST = 1e-3
"""Arrivals below which a kind is forgotten."""

_Kind = tuple[str, int, int, str | None]
"""Accelerator type, devices of a node, nodes, level."""


def free_blocks(instance: Instance, last: Outlook | None) -> tuple[tuple[FreeBlocks, ...], float]:
    """The kinds of blocks that are asked for, and for how long arrivals were watched.

    Of one shape of nodes those of a single node, and of the others the kind that is worth most. Nothing is
    counted where the policy gives no weight to it.

    Args:
        instance: the round.
        last: the outlook of an earlier round; None: gangs of the last round's length are counted.
    """
    round_ = instance.round
    if round_.policy.residual_weight <= 0.0:
        return (), 0.0
    since = round_.now - round_.round_seconds if last is None else last.made_at
    elapsed = max(0.0, round_.now - since)
    fade = 0.5 ** (elapsed / HALF_LIFE_SECONDS)
    watched = elapsed + (0.0 if last is None else fade * last.watched_seconds)
    arrivals: dict[_Kind, float] = defaultdict(float)
    for entry in () if last is None else last.free_blocks:
        kind = (entry.accelerator_type, entry.node_devices, entry.nodes, entry.level)
        arrivals[kind] += fade * entry.arrivals
    for j, job in enumerate(instance.jobs):
        if job.submit_time is not None and since < job.submit_time <= round_.now:
            asked = _kind(instance, j)
            if asked is not None:
                arrivals[asked] += 1.0
    found = [
        _worth(kind, number, number / watched * round_.round_seconds)
        for kind, number in arrivals.items()
        if number > _LEAST and watched > 0.0
    ]
    return _fewest(found), watched


def _fewest(found: list[FreeBlocks]) -> tuple[FreeBlocks, ...]:
    """Of each shape of nodes the single ones, and the others that are worth most."""
    best: dict[tuple[str, int, bool], FreeBlocks] = {}
    for entry in found:
        key = (entry.accelerator_type, entry.node_devices, entry.nodes > 1)
        if key not in best or _rank(entry) > _rank(best[key]):
            best[key] = entry
    return tuple(best[key] for key in sorted(best))


def _rank(entry: FreeBlocks) -> tuple[float, int, str]:
    return entry.number * entry.worth, entry.nodes, entry.level or ""


def _worth(kind: _Kind, arrivals: float, expected: float) -> FreeBlocks:
    """The block with ``expected`` gangs in the coming round."""
    accelerator_type, node_devices, nodes, level = kind
    number = min(MOST, max(1, math.ceil(expected)))
    return FreeBlocks(
        accelerator_type=accelerator_type,
        node_devices=node_devices,
        nodes=nodes,
        level=level,
        number=number,
        worth=node_devices * nodes * expected_sales(expected, number) / number,
        arrivals=arrivals,
    )


def expected_sales(mean: float, number: int) -> float:
    """E[min(N, number)] of a Poisson N: the sum over i below ``number`` of P(N > i)."""
    total, at_most, term = 0.0, 0.0, math.exp(-mean)
    for i in range(number):
        at_most += term
        total += max(0.0, 1.0 - at_most)
        term *= mean / (i + 1)
    return total


def _kind(instance: Instance, job: int) -> _Kind | None:
    """The block that a gang needs, on its fastest option; None where parts of nodes do."""
    option = whole_node_gang(instance, job)
    if option is None:
        return None
    demand, nodes = option.demands[0], instance.nodes
    type_ = demand.block.types[0]
    whole = int(nodes.built_in[nodes.type_of == type_].max(initial=0))
    if demand.block.demand[0] != whole * nodes.parts:
        return None
    scopes = instance.round.cluster.topology.scopes
    single = demand.multiplicity == 1
    level = None if single or option.scope == 0 else scopes[option.scope]
    return instance.speeds.type_names[type_], whole, demand.multiplicity, level
