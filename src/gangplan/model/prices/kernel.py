"""The compiled loops of the price search: what everybody would choose at given prices.

Three maximisations, each exact for its part (formulation, section 2, step 1): every class takes its best
option; every node keeps the best set of its running jobs beside what its free devices are worth (a knapsack
over devices in use); every cell (alike nodes in one domain) decides which of its nodes and gangs stay and how
many idle nodes it offers as groups (a knapsack over idle nodes). Compiled once with numba and cached; no
lock of the interpreter is held while they run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gangplan.model.compiled import compiled
from gangplan.model.prices.market import Market
from gangplan.model.program import BoolArray, FloatArray, IntArray

NEVER = -1e18
"""Worth of what cannot be."""


class Wishes(NamedTuple):
    """What classes want: the instance's option arrays.

    Attributes:
        gain: shape (options,).
        option: shape (options,), distinct option.
        start: shape (classes + 1,), options of each class.
        members: shape (classes,).
        must_run: shape (classes,).
        keep_gain: shape (classes,); of use where ``kept``.
        kept: shape (classes,).
    """

    gain: FloatArray
    option: IntArray
    start: IntArray
    members: IntArray
    must_run: BoolArray
    keep_gain: FloatArray
    kept: BoolArray


class Choice(NamedTuple):
    """What everybody chooses at given prices; filled by :func:`evaluate`.

    Attributes:
        cost: shape (distinct,), price of what each distinct option takes.
        way: shape (demands,), which types serve each demand at the least price.
        best: shape (classes,), position of the best option; -1: none.
        best_profit: shape (classes,), its gain less its price.
        margin: shape (classes,), what keeping gains over ``best_profit``, tolls paid.
        kept: shape (classes,), the share of a running job that its nodes want to stay.
        stays: shape (classes,), whether all of them do.
        stays_item: shape (items,).
        stays_gang: shape (gangs,).
        node_value, node_used: shape (nodes,), best worth with somebody staying, and devices in use.
        supply: shape (goods,), what nodes and cells offer.
        demand: shape (goods,), what the chosen options take.
        held: shape (limits,), devices that count under each limit.
    """

    cost: FloatArray
    way: IntArray
    best: IntArray
    best_profit: FloatArray
    margin: FloatArray
    kept: FloatArray
    stays: BoolArray
    stays_item: BoolArray
    stays_gang: BoolArray
    node_value: FloatArray
    node_used: IntArray
    supply: FloatArray
    demand: FloatArray
    held: FloatArray


@compiled
def evaluate(market: Market, wishes: Wishes, price: FloatArray, rent: FloatArray, choice: Choice) -> float:
    """The dual value at ``price`` (goods,) and ``rent`` (limits,), without the offset; fills ``choice``."""
    _price_options(market, price, choice)
    total = _choose_options(market, wishes, rent, choice)
    for limit in range(len(rent)):
        total += rent[limit] * market.limited[limit]
    _margins(market, wishes, rent, choice)
    classes = len(wishes.members)
    for c in range(classes):
        choice.kept[c] = 0.0
        if market.fixed[c]:
            choice.kept[c] = 1.0
            total += choice.margin[c]
    for i in range(len(market.loose)):
        c = market.loose[i]
        if choice.margin[c] >= 0.0:
            choice.kept[c] = 1.0
            total += choice.margin[c]
    choice.supply[:] = 0.0
    total += _settle_nodes(market, price, _worth(market, price), choice)
    for i in range(len(market.item_class)):
        if choice.stays_item[i]:
            choice.kept[market.item_class[i]] += market.item_share[i]
    for g in range(len(market.gang_class)):
        if choice.stays_gang[g]:
            choice.kept[market.gang_class[g]] = 1.0
    for c in range(classes):
        choice.stays[c] = choice.kept[c] > 1.0 - 1e-9
    _count(market, wishes, choice)
    return total


@compiled
def _price_options(market: Market, price: FloatArray, choice: Choice) -> None:
    """The cheapest types for every demand, and what each distinct option costs."""
    for o in range(len(market.part_start) - 1):
        total = 0.0
        for d in range(market.part_start[o], market.part_start[o + 1]):
            least, chosen = np.inf, -1
            for w in range(market.way_start[d], market.way_start[d + 1]):
                amount = 0.0
                for i in range(market.take_start[w], market.take_start[w + 1]):
                    amount += price[market.take_good[i]] * market.take_amount[i]
                if amount < least:
                    least, chosen = amount, w
            total += least
            choice.way[d] = chosen
        choice.cost[o] = total


@compiled
def _choose_options(market: Market, wishes: Wishes, rent: FloatArray, choice: Choice) -> float:
    """The best option of every class; their worth in all, jobs that must stay left out."""
    types = market.option_devices.shape[1] - 1
    toll = np.zeros(types + 1)
    total = 0.0
    for c in range(len(wishes.members)):
        toll[:] = 0.0
        taxed = False
        for i in range(market.class_limit_start[c], market.class_limit_start[c + 1]):
            limit = market.class_limit[i]
            if rent[limit] > 0.0:
                taxed = True
                toll[market.limit_type[limit]] += rent[limit]  # -1 is the last column: every type
        top, chosen = (NEVER if wishes.must_run[c] else 0.0), -1
        for k in range(wishes.start[c], wishes.start[c + 1]):
            o = wishes.option[k]
            profit = wishes.gain[k] - choice.cost[o]
            if taxed:
                for t in range(types + 1):
                    profit -= toll[t] * market.option_devices[o, t]
            if profit > top:
                top, chosen = profit, k
        choice.best[c] = chosen
        choice.best_profit[c] = 0.0 if market.fixed[c] else top
        if not market.fixed[c]:
            total += top * wishes.members[c]
    return total


@compiled
def _margins(market: Market, wishes: Wishes, rent: FloatArray, choice: Choice) -> None:
    for c in range(len(wishes.members)):
        if not wishes.kept[c]:
            continue
        value = wishes.keep_gain[c] - choice.best_profit[c]
        for i in range(market.kept_limit_start[c], market.kept_limit_start[c + 1]):
            value -= rent[market.kept_limit[i]] * market.kept_devices[i]
        choice.margin[c] = value


@compiled
def _worth(market: Market, price: FloatArray) -> FloatArray:
    """What so many free devices of a node are worth, shape (types, most devices + 1)."""
    widest = 0
    for n in range(len(market.node_free)):
        widest = max(widest, market.node_free[n])
    types = len(market.size_start) - 1
    worth = np.zeros((types, widest + 1))
    for t in range(types):
        for free in range(widest + 1):
            for i in range(market.size_start[t], market.size_start[t + 1]):
                worth[t, free] += price[market.size_good[i]] * (free // market.size_of[i])
    return worth


@compiled
def _settle_nodes(market: Market, price: FloatArray, worth: FloatArray, choice: Choice) -> float:
    """Who stays on every node and in every cell; their worth in all. Fills the supply."""
    total = 0.0
    nodes = len(market.node_type)
    for n in range(nodes):
        t = market.node_type[n]
        for r in range(2):
            good = market.host_good[t, r]
            if good >= 0:
                total += price[good] * market.node_host[n, r]
                choice.supply[good] += market.node_host[n, r]
    total += _keep_on_nodes(market, price, worth, choice)
    total += _settle_cells(market, price, worth, choice)
    for n in range(nodes):
        left = market.node_free[n] - choice.node_used[n]
        t = market.node_type[n]
        for i in range(market.size_start[t], market.size_start[t + 1]):
            choice.supply[market.size_good[i]] += left // market.size_of[i]
        for i in range(market.item_start[n], market.item_start[n + 1]):
            for r in range(2):
                if choice.stays_item[i] and market.host_good[t, r] >= 0:
                    choice.supply[market.host_good[t, r]] -= market.item_host[i, r]
    return total


@compiled
def _keep_on_nodes(market: Market, price: FloatArray, worth: FloatArray, choice: Choice) -> float:
    """The best set of running jobs for every node; nodes of cells only prepare their choice."""
    total = 0.0
    nodes = len(market.node_type)
    most = 1
    for n in range(nodes):
        most = max(most, market.item_start[n + 1] - market.item_start[n])
    reach = np.empty(worth.shape[1])
    took = np.zeros((most, worth.shape[1]), np.bool_)
    for n in range(nodes):
        t, free = market.node_type[n], market.node_free[n]
        begin, end = market.item_start[n], market.item_start[n + 1]
        choice.node_used[n] = 0
        choice.node_value[n] = NEVER
        if begin == end:
            if market.node_cell[n] < 0:
                total += worth[t, free]
            continue
        reach[:] = NEVER
        reach[0] = 0.0
        for i in range(begin, end):
            devices = market.item_devices[i]
            value = choice.margin[market.item_class[i]] * market.item_share[i]
            for r in range(2):
                if market.host_good[t, r] >= 0:
                    value -= price[market.host_good[t, r]] * market.item_host[i, r]
            for x in range(free, -1, -1):
                took[i - begin, x] = False
                if x >= devices and reach[x - devices] + value > reach[x]:
                    reach[x] = reach[x - devices] + value
                    took[i - begin, x] = True
        top, held = NEVER, 0
        for x in range(1, free + 1):
            value = reach[x] + worth[t, free - x]
            if value > top:
                top, held = value, x
        choice.node_value[n] = top
        if market.node_cell[n] < 0:
            if top < worth[t, free]:
                top, held = worth[t, free], 0
            total += top
        choice.node_used[n] = held
        x = held
        for i in range(end - 1, begin - 1, -1):
            choice.stays_item[i] = held > 0 and took[i - begin, x]
            if choice.stays_item[i]:
                x -= market.item_devices[i]
    return total


@compiled
def _settle_cells(market: Market, price: FloatArray, worth: FloatArray, choice: Choice) -> float:
    """Which touched nodes and gangs of every cell stay, and how many idle nodes make groups."""
    total = 0.0
    cells = len(market.cell_kind)
    largest, things = 0, 0
    for k in range(cells):
        if not market.cell_large[k]:
            size = market.cell_start[k + 1] - market.cell_start[k]
            things = max(things, size + market.gang_start[k + 1] - market.gang_start[k])
            for g in range(market.gang_start[k], market.gang_start[k + 1]):
                size += market.gang_node_start[g + 1] - market.gang_node_start[g]
            largest = max(largest, size)
    table = np.empty(largest + 1)
    kept = np.zeros((things + 1, largest + 1), np.bool_)
    for k in range(cells):
        if market.cell_large[k]:
            total += _settle_large_cell(market, price, worth, choice, k)
        else:
            total += _settle_cell(market, price, worth, choice, k, table, kept)
    return total


@compiled
def _gang_gain(market: Market, price: FloatArray, choice: Choice, kind: int, g: int) -> float:
    """What keeping a gang gains over its class's best option."""
    value = choice.margin[market.gang_class[g]]
    for r in range(2):
        good = market.host_good[market.kind_type[kind], r]
        if good >= 0:
            value -= price[good] * market.gang_host[g, r]
    return float(value)


@compiled
def _settle_gang(market: Market, choice: Choice, kind: int, g: int, stays: bool) -> None:  # noqa: FBT001
    choice.stays_gang[g] = stays
    for i in range(market.gang_node_start[g], market.gang_node_start[g + 1]):
        choice.node_used[market.gang_node[i]] = market.kind_devices[kind] if stays else 0
    for r in range(2):
        good = market.host_good[market.kind_type[kind], r]
        if stays and good >= 0:
            choice.supply[good] -= market.gang_host[g, r]


@compiled
def _empty(market: Market, choice: Choice, n: int) -> None:
    """Nobody stays on node ``n``."""
    choice.node_used[n] = 0
    for i in range(market.item_start[n], market.item_start[n + 1]):
        choice.stays_item[i] = False


@compiled
def _settle_cell(
    market: Market,
    price: FloatArray,
    worth: FloatArray,
    choice: Choice,
    k: int,
    table: FloatArray,
    kept: BoolArray,
) -> float:
    kind = market.cell_kind[k]
    idle = worth[market.kind_type[kind], market.kind_devices[kind]]
    begin, end = market.cell_start[k], market.cell_start[k + 1]
    first, last = market.gang_start[k], market.gang_start[k + 1]
    total = 0.0
    untouched, things, reachable = 0, 0, 0
    table[0] = 0.0
    for j in range(begin, end):
        n = market.cell_node[j]
        total += idle
        if market.item_start[n] == market.item_start[n + 1]:
            untouched += 1
            continue
        gain = choice.node_value[n] - idle
        reachable += 1
        table[reachable] = NEVER
        for w in range(reachable, -1, -1):
            stay = table[w] + gain
            leave = table[w - 1] if w >= 1 else NEVER
            kept[things, w] = stay >= leave
            table[w] = max(stay, leave)
        things += 1
    for g in range(first, last):
        nodes = market.gang_node_start[g + 1] - market.gang_node_start[g]
        total += nodes * idle
        gain = _gang_gain(market, price, choice, kind, g) - nodes * idle
        table[reachable + 1 : reachable + nodes + 1] = NEVER
        reachable += nodes
        for w in range(reachable, -1, -1):
            stay = table[w] + gain
            leave = table[w - nodes] if w >= nodes else NEVER
            kept[things, w] = stay >= leave
            table[w] = max(stay, leave)
        things += 1
    top, left = NEVER, 0
    for w in range(reachable + 1):
        value = table[w]
        for i in range(market.group_start[kind], market.group_start[kind + 1]):
            value += price[market.group_good[i]] * ((untouched + w) // market.group_of[i])
        if value > top:
            top, left = value, w
    for i in range(market.group_start[kind], market.group_start[kind + 1]):
        choice.supply[market.group_good[i]] += (untouched + left) // market.group_of[i]
    w = left
    for g in range(last - 1, first - 1, -1):
        things -= 1
        _settle_gang(market, choice, kind, g, kept[things, w])
        if not kept[things, w]:
            w -= market.gang_node_start[g + 1] - market.gang_node_start[g]
    for j in range(end - 1, begin - 1, -1):
        n = market.cell_node[j]
        if market.item_start[n] == market.item_start[n + 1]:
            continue
        things -= 1
        if not kept[things, w]:
            _empty(market, choice, n)
            w -= 1
    return float(total + top)


@compiled
def _settle_large_cell(market: Market, price: FloatArray, worth: FloatArray, choice: Choice, k: int) -> float:
    """As a cell, but groups may be parts: every node decides on its own, which can only be worth more."""
    kind = market.cell_kind[k]
    each = worth[market.kind_type[kind], market.kind_devices[kind]]
    for i in range(market.group_start[kind], market.group_start[kind + 1]):
        each += price[market.group_good[i]] / market.group_of[i]
    total = 0.0
    idle = 0
    for j in range(market.cell_start[k], market.cell_start[k + 1]):
        n = market.cell_node[j]
        if choice.node_value[n] > each:
            total += choice.node_value[n]
        else:
            _empty(market, choice, n)
            total += each
            idle += 1
    for g in range(market.gang_start[k], market.gang_start[k + 1]):
        nodes = market.gang_node_start[g + 1] - market.gang_node_start[g]
        gain = _gang_gain(market, price, choice, kind, g)
        stays = gain > nodes * each
        _settle_gang(market, choice, kind, g, stays)
        total += gain if stays else nodes * each
        if not stays:
            idle += nodes
    for i in range(market.group_start[kind], market.group_start[kind + 1]):
        choice.supply[market.group_good[i]] += idle / market.group_of[i]
    return total


@compiled
def _count(market: Market, wishes: Wishes, choice: Choice) -> None:
    """What the chosen options take, and the devices that count under every limit."""
    choice.demand[:] = 0.0
    choice.held[:] = 0.0
    for c in range(len(wishes.members)):
        kept = choice.kept[c]
        if kept > 0.0:
            for i in range(market.kept_limit_start[c], market.kept_limit_start[c + 1]):
                choice.held[market.kept_limit[i]] += kept * market.kept_devices[i]
        number = wishes.members[c] - kept
        if choice.best[c] < 0 or number <= 0.0:
            continue
        o = wishes.option[choice.best[c]]
        for i in range(market.class_limit_start[c], market.class_limit_start[c + 1]):
            limit = market.class_limit[i]
            choice.held[limit] += number * market.option_devices[o, market.limit_type[limit]]
        for d in range(market.part_start[o], market.part_start[o + 1]):
            w = choice.way[d]
            for i in range(market.take_start[w], market.take_start[w + 1]):
                choice.demand[market.take_good[i]] += number * market.take_amount[i]
