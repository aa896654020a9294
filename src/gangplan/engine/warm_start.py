"""Prices from one round to the next (decision 33): opaque bytes for the caller, prices by name for us.

The bytes are a tag with the version of the format and compressed JSON: ``[[name, price], ...]``, the parts
of a name as ``model/prices/names.py`` says. Prices are only where a search begins, so that any of them, also
those of another cluster, give a valid bound; goods that are no longer there are passed over, and those that
are new begin at 0.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from gangplan.errors import FieldViolation, InvalidInputError

if TYPE_CHECKING:
    from gangplan.model.prices.lagrangian import PriceSearch
    from gangplan.model.prices.names import Name

TAG = b"gangplan-prices/1\n"
"""What every warm start of this version begins with."""

MOST_BYTES = 1 << 20
"""Largest warm start that is read; with 20 types and 1,000 limited queues it has about 10 kB."""
_MOST_CHARACTERS = 16 << 20
_LARGEST_PRICE = 1e12

STEPS = 40
STRETCH = 0.08
"""Evaluations from the prices of a round before, and how bold the first of them are.

Measured on four rounds of sizes L and XL, with 5 % noise on all weights or on all throughputs: warm prices
begin 0.002 to 0.41 % above the bound of a cold start (250 evaluations); they are within 0.1 % after at most 7
evaluations and after 40 within 0.06 % (L) and 0.003 % (XL). Half as bold it takes up to 14, twice as bold
brings nothing more.
"""

_COLD = 5e-3
"""A walk that brings down the bound by more than this share did not begin near the best prices.

It was 0.35 % at most with that noise, and 1.1 % at least from another cluster's prices (28 pairs of rounds of
sizes M and L, but for two that happened to have the same prices).
"""


def read_warm_start(data: bytes) -> Mapping[Name, float]:
    """Prices and rents by name; empty bytes have none.

    Raises:
        InvalidInputError: the bytes are no warm start, or one of another version; its path is ``warm_start``.
    """
    if not data:
        return {}
    if len(data) > MOST_BYTES:
        raise _refused(f"has {len(data):,} bytes; at most {MOST_BYTES:,} are allowed")
    if not data.startswith(TAG):
        if data.startswith(TAG.split(b"/")[0]):
            raise _refused("is of another version of gangplan; leave it empty for a cold start")
        raise _refused("is not the warm_start of an answer; leave it empty for a cold start")
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(data[len(TAG) :], _MOST_CHARACTERS)
        if not unpacker.eof or unpacker.unused_data:
            raise ValueError("cut short, or too large")
        found = {_name(name): _price(price) for name, price in json.loads(text)}
    except (ValueError, TypeError, RecursionError, zlib.error):
        raise _refused("is damaged; hand it on as the answer had it, or leave it empty") from None
    return found


def write_warm_start(search: PriceSearch) -> bytes:
    """The best prices and rents of a search, those above 0; the same search gives the same bytes."""
    from gangplan.model.prices.names import goods_by_name, limits_by_name

    goods = goods_by_name(search.instance, search.market)
    limits = limits_by_name(search.instance, search.market)
    prices = {name: float(search.price[at]) for name, at in goods.items()}
    prices |= {name: float(search.rent[at]) for name, at in limits.items()}
    return pack({name: price for name, price in prices.items() if 0.0 < price <= _LARGEST_PRICE})


def pack(prices: Mapping[Name, float]) -> bytes:
    """Prices and rents by name as bytes, for :func:`read_warm_start`."""
    listed = [[list(name), prices[name]] for name in sorted(prices, key=repr)]
    return TAG + zlib.compress(json.dumps(listed, separators=(",", ":")).encode())


def improve(
    search: PriceSearch,
    warm: Mapping[Name, float],
    stop: Callable[[], bool],
    *,
    look: int = 0,
    stretch: float = 1.0,
) -> None:
    """Improve prices from a warm start, or from nothing when there is none or it is of no use.

    Warm prices that prove less than a first guess does are dropped; those from which a few small steps still
    bring much are followed by the steps of a cold start. Where the round is nearly the one before, neither
    happens.

    Args:
        search: without prices yet.
        warm: prices and rents by name.
        stop: true ends the walk.
        look: evaluations after which ``stop`` is asked as well; 0: never.
        stretch: how bold the first steps of a cold start are.
    """
    if warm:
        _offer(search, warm)
        first = search.bound
        guess = search.first_guess()
        search.offer(guess, search.rent * 0.0)
        if search.bound >= first:
            search.improve(STEPS, stop, STRETCH, look)
            if first - search.bound <= _COLD * abs(first):
                return
    search.improve(stop=stop, stretch=stretch, look=look)


def _offer(search: PriceSearch, warm: Mapping[Name, float]) -> None:
    from gangplan.model.prices.names import goods_by_name, limits_by_name

    price, rent = search.price * 0.0, search.rent * 0.0
    for names, value in (
        (goods_by_name(search.instance, search.market), price),
        (limits_by_name(search.instance, search.market), rent),
    ):
        for name, at in names.items():
            value[at] = warm.get(name, 0.0)
    search.offer(price, rent)


def _refused(why: str) -> InvalidInputError:
    return InvalidInputError([FieldViolation("warm_start", why)])


def _name(parts: object) -> Name:
    if not isinstance(parts, list) or not all(type(part) in (str, int) for part in parts):
        raise ValueError("no name")
    return tuple(parts)


def _price(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError("no price")
    if not (math.isfinite(value) and 0.0 <= value <= _LARGEST_PRICE):
        raise ValueError("no price")
    return float(value)
