"""Prices from one round to the next: by name, compact, refused when damaged, and worth their while."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.engine.warm_start import (
    MOST_BYTES,
    STEPS,
    TAG,
    improve,
    pack,
    read_warm_start,
    write_warm_start,
)
from gangplan.errors import InvalidInputError
from gangplan.model.instance.instance import build_instance
from gangplan.model.prices.lagrangian import STEPS as COLD_STEPS
from gangplan.model.prices.lagrangian import PriceSearch
from gangplan.model.prices.names import goods_by_name, limits_by_name
from gangplan.planning.generate import generate_named
from gangplan.testing.builders import group, job, node, round_of, topology

H, A = "H100", "A100"


def never() -> bool:
    return False


def search_of(round_: Round, data: bytes = b"") -> PriceSearch:
    search = PriceSearch.of(build_instance(round_))
    improve(search, read_warm_start(data), never)
    return search


def mixed(*, limit: int = 6) -> Round:
    """Every kind of good: blocks, groups of nodes, CPU that binds, and limits of queues."""
    pair = group(count=2, gpus=4, cpu=8, split=_whole_nodes())
    return round_of(
        [
            *(node(f"h{n}", H, 4, cpu=16, memory=64, domain="r1" if n < 2 else "r2") for n in range(4)),
            node("a0", A, 8, cpu=64, memory=512),
        ],
        [
            *(job(f"pair-{n}", pair, required="rack") for n in range(3)),
            *(job(f"hungry-{n}", group(gpus=1, cpu=8), queue="lab") for n in range(6)),
            *(job(f"small-{n}", group(gpus=2), queue="lab") for n in range(4)),
        ],
        types={H: 1.0, A: 0.5},
        topology=topology("rack", r1="rack", r2="rack"),
        queues=(Queue("lab", device_limit=limit, device_limit_by_type={A: 2}),),
    )


def _whole_nodes() -> object:
    from gangplan.domain.job import TaskSplit

    return TaskSplit.WHOLE_NODES


def refusal(data: bytes) -> str:
    with pytest.raises(InvalidInputError) as raised:
        read_warm_start(data)
    (violation,) = raised.value.violations
    assert violation.field == "warm_start"
    return violation.description


def test_every_good_and_limit_has_a_name_of_its_own() -> None:
    search = PriceSearch.of(build_instance(mixed()))
    goods, limits = (find(search.instance, search.market) for find in (goods_by_name, limits_by_name))
    assert sorted(goods.values()) == list(range(search.market.goods))
    assert sorted(limits.values()) == list(range(len(search.market.limited)))
    assert {("block", H, 1), ("block", H, 4), ("block", A, 8), ("group", H, 4, 2), ("cpu", H)} <= goods.keys()
    assert set(limits) == {("limit", "lab", ""), ("limit", "lab", A)}
    assert search.market.limited[limits["limit", "lab", A]] == 2
    assert search.market.limited[limits["limit", "lab", ""]] == 6


def test_what_is_written_are_the_best_prices() -> None:
    search = search_of(mixed())
    again = PriceSearch.of(search.instance)
    found = read_warm_start(write_warm_start(search))
    for names, value in (
        (goods_by_name(search.instance, search.market), again.price),
        (limits_by_name(search.instance, search.market), again.rent),
    ):
        for name, at in names.items():
            value[at] = found.get(name, 0.0)
    assert again.value(again.price, again.rent) == search.bound
    assert write_warm_start(search) == write_warm_start(search_of(mixed()))


@given(
    st.dictionaries(
        st.lists(st.text(max_size=4) | st.integers(0, 99), min_size=1, max_size=3).map(tuple),
        st.floats(0, 1e12),
        max_size=5,
    )
)
def test_prices_read_back_as_written(prices: dict[tuple[str | int, ...], float]) -> None:
    assert read_warm_start(pack(prices)) == prices


@given(st.binary(max_size=200), st.sampled_from((b"", TAG)))
def test_any_bytes_are_read_or_refused(data: bytes, tag: bytes) -> None:
    try:
        read_warm_start(tag + data)
    except InvalidInputError:
        assert refusal(tag + data)


@given(st.data())
def test_a_damaged_warm_start_is_refused(data: st.DataObject) -> None:
    whole = pack({("block", H, size): 0.1 + size for size in (1, 2, 4, 8)})
    at = data.draw(st.integers(0, len(whole) - 1))
    other = data.draw(st.integers(1, 255))
    assert refusal(whole[:at] + bytes([whole[at] ^ other]) + whole[at + 1 :])
    if at:
        assert refusal(whole[:at])
    assert "is damaged" in refusal(whole + b"x")


def test_the_reason_says_what_to_do() -> None:
    assert "is not the warm_start of an answer" in refusal(b"state")
    assert "of another version of gangplan" in refusal(TAG.replace(b"/1", b"/2") + b"x")
    assert "at most" in refusal(TAG + b"x" * MOST_BYTES)
    bomb = zlib.compress(b"[" + b" " * (64 << 20) + b"]")
    assert len(bomb) < MOST_BYTES
    assert "is damaged" in refusal(TAG + bomb)
    for document in ([["block", 1]], [[["block"], "dear"]], [[["block"], True]], [[[], -1.0]], {"a": 1}, 3):
        assert "is damaged" in refusal(TAG + zlib.compress(json.dumps(document).encode()))
    for text in (b"[" * 100_000, b'[[["block"], NaN]]', b"\xff"):
        assert "is damaged" in refusal(TAG + zlib.compress(text))
    assert read_warm_start(b"") == {}


def test_goods_come_and_go() -> None:
    data = write_warm_start(search_of(mixed()))
    other = replace(mixed(), queues=(), jobs=(job("only", group(gpus=2)), job("other", group(gpus=8))))
    cold, warm = search_of(other), search_of(other, data)
    assert warm.bound == pytest.approx(cold.bound, rel=0.02)
    strange = pack({("block", "unheard-of", 3): 5.0, ("limit", "gone", ""): 1.0, ("block", H): 2.0})
    assert search_of(mixed(), strange).bound == pytest.approx(search_of(mixed()).bound, rel=0.01)


def test_prices_that_mislead_are_dropped() -> None:
    cold = search_of(mixed())
    absurd = pack(dict.fromkeys(goods_by_name(cold.instance, cold.market), 1e12))
    warm = search_of(mixed(), absurd)
    assert warm.bound == pytest.approx(cold.bound, rel=0.01)


def test_a_round_like_the_one_before_needs_a_sixth_of_the_evaluations() -> None:
    """Five per cent of noise on all weights: within 0.1 % of a cold start."""
    round_ = generate_named("M/steady/85/seed0")
    first = search_of(round_)
    noisy = replace(
        round_,
        jobs=tuple(
            replace(j, weight=j.weight * (0.95 + 0.1 * (n * 7 % 11) / 10)) for n, j in enumerate(round_.jobs)
        ),
    )
    cold, warm = search_of(noisy), search_of(noisy, write_warm_start(first))
    assert warm.evaluations <= STEPS + 15 < COLD_STEPS / 4
    assert cold.evaluations > COLD_STEPS
    assert warm.bound <= cold.bound * 1.001
    assert len(write_warm_start(first)) < 1_000


def test_an_answer_has_what_the_next_request_takes() -> None:
    how = PlanParameters(pipeline="greedy", time_budget_seconds=60.0)
    first = plan_round(mixed(), how)
    second = plan_round(mixed(), replace(how, warm_start=first.warm_start, previous_plan=first.plan))
    assert first.warm_start.startswith(TAG)
    assert second.quality.objective >= first.quality.objective
    assert second.quality.bound <= first.quality.bound * 1.001
    with pytest.raises(InvalidInputError):
        plan_round(mixed(), replace(how, warm_start=b"state"))
