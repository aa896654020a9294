"""A service under load: what is counted as what, and one short run of all of it."""

from __future__ import annotations

import importlib.util
import random
from itertools import pairwise
from typing import Any

import pytest

from gangplan.bench.load import drive as driving
from gangplan.bench.load import figures
from gangplan.bench.load.drive import Outcome
from gangplan.bench.load.measure import FIRST_RATE, _capacity
from gangplan.bench.load.mix import INSTANCES, Ask, arrivals, one_by_one
from gangplan.bench.problems import problems
from gangplan.bench.report import markdown
from gangplan.bench.report.sections.load import section
from gangplan.bench.runs import Run
from gangplan.bench.selection import Selection


def outcome(
    seconds: float, code: str = "OK", *, budget: float = 0.3, size: str = "M", **more: Any
) -> Outcome:
    return Outcome(Ask(0.0, 0, size, 0, budget), seconds, code, **{"verified": code == "OK", **more})


def test_what_is_late_rejected_or_lost() -> None:
    on_time, late = outcome(0.349), outcome(0.351)
    rejected = outcome(0.01, "RESOURCE_EXHAUSTED", retry_after=0.5)
    slowly = outcome(0.06, "RESOURCE_EXHAUSTED", retry_after=0.5)
    silent = outcome(0.01, "RESOURCE_EXHAUSTED")  # without word of when to come again
    gone, unverified = outcome(1.3, "DEADLINE_EXCEEDED"), outcome(0.2, verified=False)
    found = figures.row([on_time, late, rejected, slowly, silent, gone, unverified], 10.0)
    assert (found["answered"], found["late"]) == (3, 1)
    assert (found["rejected"], found["rejected_late"], found["lost"]) == (2, 1, 3)
    assert found["latest_s"] == pytest.approx(0.051)
    assert found["rps"] == pytest.approx(0.7)


def test_quality_is_that_of_m_rounds_with_300_ms() -> None:
    outcomes = [outcome(0.2, gap_of_gain=gap) for gap in (0.0, 0.1, 0.2, 0.21)]
    outcomes += [outcome(0.2, gap_of_gain=1.0, size="S"), outcome(0.2, gap_of_gain=1.0, budget=1.0)]
    assert figures.quality(outcomes) == (3, 4)
    assert figures.reach_by_instance(outcomes) == {0: 0.75}


def test_a_rate_is_borne_unless_luck_does_not_explain_what_it_misses() -> None:
    good, bad = outcome(0.2, gap_of_gain=0.1), outcome(0.2, gap_of_gain=0.3)
    rejected = outcome(0.01, "RESOURCE_EXHAUSTED", retry_after=1.0)
    assert figures.holds([good] * 3 + [bad])  # in a third of all cases, where 90 % do
    assert not figures.holds([good] * 4 + [bad] * 4)
    assert figures.holds([good] * 4 + [bad] * 4, alone={0: 0.6})  # no worse than with nobody else about
    assert figures.holds([good] * 20 + [rejected])
    assert not figures.holds([good] * 20 + [rejected] * 3)
    assert not figures.holds([good] * 20 + [outcome(0.4, gap_of_gain=0.1)])  # late
    assert not figures.holds([good] * 20 + [outcome(1.3, "DEADLINE_EXCEEDED")])  # lost
    assert figures.at_least(2, [0.5, 0.5, 0.5]) == pytest.approx(0.5)
    assert (figures.at_least(0, [0.3]), figures.at_least(2, [0.3])) == (pytest.approx(1.0), 0.0)


def test_the_capacity_is_the_highest_rate_that_is_borne() -> None:
    asked: list[float] = []

    def borne(rate: float) -> bool:
        asked.append(rate)
        return rate <= 5.2

    assert _capacity(borne) == 5.0
    assert asked == [1.0, 2.0, 4.0, 8.0, 6.0, 5.0, 5.5]
    assert _capacity(lambda _: False) == FIRST_RATE / 2


def test_one_by_one_no_call_meets_another() -> None:
    asks = one_by_one()
    assert {ask.instance for ask in asks} == set(range(INSTANCES))
    assert all(later.at - ask.at > ask.budget for ask, later in pairwise(asks))


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(1, 101)]
    assert [figures.percentile(values, share) for share in (0.5, 0.99, 0.999)] == [50.0, 99.0, 100.0]
    assert figures.percentile([], 0.5) is None


def test_memory_that_grows_all_the_time_is_told() -> None:
    assert figures.growth([100, 200, 200, 200, 200, 210, 205, 200]) <= 10
    assert figures.growth([10 * number for number in range(40)]) == 200


def test_arrivals_wait_for_nobody() -> None:
    asks = arrivals(50.0, 100.0, 64, random.Random(1))
    assert len(asks) == pytest.approx(5_000, rel=0.1)
    assert [ask.at for ask in asks] == sorted(ask.at for ask in asks)
    assert {ask.caller for ask in asks} == set(range(64))
    assert asks == arrivals(50.0, 100.0, 64, random.Random(1))


def test_minutes_are_for_loads_only() -> None:
    (run,) = Selection(suite="service", minutes=2.0).runs()
    assert run.options["minutes"] == 2.0
    assert all("minutes" not in other.options for other in Selection(suite="smoke", minutes=2.0).runs())


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    from gangplan.bench.load.measure import measure

    options = {"minutes": 0.1, "callers": 8, "slots": 1, "capacity": 3.0}
    run = Run("service", "load", "mixed/seed0", options=options)
    with pytest.MonkeyPatch.context() as patched:  # what a busy machine makes late is late, and is not lost
        patched.setattr(driving, "AFTER_BUDGET_SECONDS", 60.0)
        return [run.head() | row for row in measure(run)]


def test_a_short_load_has_a_row_for_each_load_and_size(rows: list[dict[str, Any]]) -> None:
    assert [(row["load"], row["size"]) for row in rows] == [
        (load, size) for load in (0.5, 1.0, 2.0) for size in ("S", "M")
    ]
    assert sum(row["asked"] for row in rows) > 10
    assert sum(row["answered"] for row in rows) > 0
    for row in rows:
        assert row["answered"] + row["rejected"] == row["asked"], row["lost_because"]
        assert row["lost"] == 0
        assert row["rss_bytes"] > 50 * 2**20
    found = section(rows)
    assert found is not None
    assert len(found.table.lines) == len(rows)
    assert "## Under load" in markdown.document(rows)
    assert problems(rows) == [
        f"mixed/seed0 by gangplan with auto, {row['name']}: {sentence}"
        for row in rows
        for sentence in row["missed"]
    ]


@pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="the extra `report` is not installed"
)
def test_the_picture_has_a_line_for_each_size(rows: list[dict[str, Any]]) -> None:
    from gangplan.bench.report.pictures import pictures

    [(title, svg)] = pictures(rows)
    assert "load" in title
    assert svg.startswith("<svg")


def test_a_round_on_a_session_beside_a_whole_one() -> None:
    from gangplan.bench.load import deltas

    run = Run(
        "deltas", "deltas", "S/steady/50/seed0", options={"rounds": 1, "change": 0.05, "most_share": 0.0}
    )
    [row] = deltas.measure(run)
    assert set(row["whole"]) == set(row["delta"]) == {"outside", "instance", "facts"}
    assert row["overhead_share"] == pytest.approx(sum(row["delta"].values()) / sum(row["whole"].values()))
    assert len(row["missed"]) == 1  # nothing is free
    assert row["answer_gap"] >= 0.0
