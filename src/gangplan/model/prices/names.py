"""The goods of a market by name: what keeps its meaning from one round to the next."""

from __future__ import annotations

from gangplan.model.instance.instance import Instance
from gangplan.model.prices.market import Market

Name = tuple[str | int, ...]
"""``("block", type, devices)``, ``("group", type, devices of a node, nodes)``, ``("cpu", type)``,
``("memory", type)``; of limits ``("limit", queue, type)``, the type empty where all count."""

_DIMENSIONS = ("cpu", "memory")


def goods_by_name(instance: Instance, market: Market) -> dict[Name, int]:
    """Position of every good in the price array."""
    types = instance.speeds.type_names
    found: dict[Name, int] = {}
    for t, type_name in enumerate(types):
        for at in range(int(market.size_start[t]), int(market.size_start[t + 1])):
            found["block", type_name, int(market.size_of[at])] = int(market.size_good[at])
        for dimension, good in zip(_DIMENSIONS, market.host_good[t].tolist(), strict=True):
            if good >= 0:
                found[dimension, type_name] = int(good)
    for kind in range(len(market.kind_type)):
        type_name, devices = types[int(market.kind_type[kind])], int(market.kind_devices[kind])
        for at in range(int(market.group_start[kind]), int(market.group_start[kind + 1])):
            found["group", type_name, devices, int(market.group_of[at])] = int(market.group_good[at])
    return found


def limits_by_name(instance: Instance, market: Market) -> dict[Name, int]:
    """Position of every device limit in the rent array: queue by queue, the limit on all types first."""
    queues = instance.limits.queues
    names: list[Name] = []
    for name in instance.limits.names:
        if queues[name].device_limit is not None:
            names.append(("limit", name, ""))
        names += [("limit", name, type_name) for type_name in sorted(queues[name].device_limit_by_type)]
    if len(names) != len(market.limited):
        raise AssertionError(f"{len(names)} limits have names, and {len(market.limited)} have rents")
    return {name: at for at, name in enumerate(names)}
