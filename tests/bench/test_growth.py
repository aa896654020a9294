"""Growth exponents: by hand, measured, and gated; a phase with a loop over all pairs shuts the gate."""

import dataclasses
import time
from pathlib import Path
from typing import Any

import pytest

from gangplan.bench import growing
from gangplan.bench.growth import exponents, markdown
from gangplan.bench.interpreted import interpreted
from gangplan.bench.lines import Lines
from gangplan.bench.runs import Kind, Run
from gangplan.bench.suites import Growth
from gangplan.engine import price_thread
from gangplan.engine import round as pipeline
from gangplan.engine.bundles import poor
from gangplan.engine.hold import Holding
from gangplan.model.packing import choose, occupancy
from gangplan.model.prices import walk

GROWTH = Growth(between=("XL", "XXL"), base="options", limit=1.1, least=100)
SMALL = Growth(between=("S", "M"), base="options", limit=1.35, least=20_000)
RUN = Run(
    suite="by-hand",
    kind=Kind.GROWTH.value,
    instance="S/steady/50/seed0",
    solver="highs",
    pipeline="full",
    transport="in_process",
    node_limit=1,
    options={"steps": ["fruitless=1", "sift=0", "enough=0", "programmes=500:1"]},
)


@pytest.fixture
def rows(row: Any) -> list[dict[str, Any]]:
    """From 1,000 options to 10,000: ``steps`` of the fill grow tenfold, ``pairs`` a hundredfold."""

    def one(size: str, seed: int, options: float, steps: float, pairs: float) -> dict[str, Any]:
        return row(
            instance=f"{size}/steady/50/seed{seed}",
            work={
                "size": {"options": options},
                "fill": {"steps": steps, "pairs": pairs, "zero": 0.0},
                "outcome": {"unbound_gangs": pairs},
            },
            seconds_by_phase={"solve": options / 1000, "total": 1.0},
        )

    small = [one("XL", seed, 1000.0, 50.0 + seed, 7.0) for seed in (-1, 0, 1)]
    return [*small, one("XXL", 0, 10_000.0, 500.0, 700.0)]


def named(found: Any) -> dict[str, Any]:
    return {f"{one.phase} {one.counter}": one for one in found}


def test_exponents_by_hand_and_what_is_too_steep(rows: Any) -> None:
    found = exponents(rows, GROWTH)
    by_name = named(found)
    assert by_name["fill steps"].exponent == pytest.approx(1.0)
    assert by_name["fill pairs"].exponent == pytest.approx(2.0)
    assert by_name["fill pairs"].refused == "pairs of fill at 50 % grows with the power 2.00, above 1.1"
    assert not by_name["fill steps"].refused
    assert by_name["fill zero"].exponent is None
    assert by_name["solve seconds"].exponent == pytest.approx(1.0)
    assert by_name["solve seconds"].limit is None
    assert "| 50 % | fill | pairs | 7 | 700 | **2.00** | 1.1 |" in markdown(found, GROWTH)


def test_an_outcome_is_no_work_and_a_small_counter_says_nothing_but_both_stand_in_the_table(
    rows: Any,
) -> None:
    by_name = named(exponents(rows, GROWTH.model_copy(update={"least": 1_000})))
    for name in ("outcome unbound_gangs", "fill pairs"):
        assert by_name[name].limit is None
        assert by_name[name].exponent == pytest.approx(2.0)
    assert by_name["size options"].limit == 1.1


def test_what_grew_from_nothing_and_what_one_size_alone_has_shut_the_gate(rows: Any) -> None:
    rows[3]["work"]["fill"]["zero"] = 5_000.0
    rows[3]["work"]["relax"] = {"lines": 9_000.0}
    by_name = named(exponents(rows, GROWTH))
    assert "power inf" in by_name["fill zero"].refused
    assert "only one of the two sizes has it" in by_name["relax lines"].refused


@pytest.mark.parametrize("phase", sorted(growing.LUCK))
def test_what_hangs_on_luck_gates_where_both_sizes_did_it(rows: Any, phase: str) -> None:
    rows[3]["work"][phase] = {"lines": 9_000.0}
    assert not named(exponents(rows, GROWTH))[f"{phase} lines"].refused
    for row in rows[:3]:
        row["work"][phase] = {"lines": 50.0}
    assert f"lines of {phase} at 50 % grows" in named(exponents(rows, GROWTH))[f"{phase} lines"].refused


def test_a_counter_may_have_a_limit_of_its_own(rows: Any) -> None:
    loose = GROWTH.model_copy(update={"limits": {"fill pairs": 2.5}})
    assert not any(one.refused for one in exponents(rows, loose))


def test_without_answers_at_a_size_nothing_is_said(rows: Any) -> None:
    with pytest.raises(ValueError, match="options of XL and XXL at 50 %"):
        exponents(rows[:3], GROWTH)
    with pytest.raises(ValueError, match="no row was answered"):
        exponents([], GROWTH)
    with pytest.raises(ValueError, match="XL/steady/50/seed0: TIMEOUT"):
        exponents([rows[0] | {"instance": "XL/steady/50/seed0", "status": "TIMEOUT"}, *rows[1:]], GROWTH)


def test_lines_count_by_phase_and_the_inner_phase_counts_alone() -> None:
    def loop(times: int) -> None:
        for _ in range(times):
            pass

    lines = Lines()
    with lines.counting("outer"):
        loop(10)
        with lines.phase("inner"):
            loop(1_000)
    assert 1_000 <= lines.by_phase["inner"] < 2_100
    assert 10 <= lines.by_phase["outer"] < 60


def test_compiled_loops_are_python_while_they_are_counted_and_only_those_asked_for() -> None:
    packing, prices = choose.first_on, walk.outward
    with interpreted("gangplan.model.packing"):
        assert choose.first_on is occupancy.first_on is packing.py_func
        assert walk.outward is prices
    assert choose.first_on is occupancy.first_on is packing


def measured(size: str, **changed: Any) -> dict[str, Any]:
    run = dataclasses.replace(RUN, instance=f"{size}/steady/50/seed0", **changed)
    return run.head() | growing.measure(run)


def test_every_phase_of_a_round_is_counted_and_twice_the_same() -> None:
    row = measured("S")
    assert row["status"] == "FEASIBLE", row["error"]
    assert not row["seconds_by_phase"].keys() - {"total", "relax"} - row["work"].keys()
    assert row["work"]["relax"]["iterations"] > 0
    assert row["work"]["programme_1"]["columns"] > 0
    assert all(row["work"][phase]["lines"] > 0 for phase in ("read", "fill", "prices", "verify", "write"))
    assert measured("S")["work"] == row["work"]


def test_waiting_for_prices_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    soon = measured("S", pipeline="greedy")
    improve = price_thread.improve

    def late(*arguments: Any, **named: Any) -> Any:
        time.sleep(0.3)
        return improve(*arguments, **named)

    monkeypatch.setattr(price_thread, "improve", late)
    assert measured("S", pipeline="greedy")["work"] == soon["work"]


def test_looks_at_bundles_count_by_the_look(monkeypatch: pytest.MonkeyPatch) -> None:
    once = measured("S", pipeline="greedy")
    looks = once["work"]["outcome"]["looks"]
    assert looks >= 1
    look = Holding.look
    monkeypatch.setattr(
        Holding, "look", lambda self, it: (poor(self.judge, it, self.floor), look(self, it))[1]
    )
    twice = measured("S", pipeline="greedy")
    assert twice["work"]["outcome"]["looks"] > looks
    assert twice["work"]["bundles"]["lines"] < 1.5 * once["work"]["bundles"]["lines"]


def test_a_loop_over_all_pairs_shuts_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = [measured(size, pipeline="greedy") for size in ("S", "M")]
    assert not [one.refused for one in exponents(honest, SMALL) if one.refused]
    fill = pipeline.keep_and_fill

    def slow(instance: Any) -> Any:
        for _ in range(10 * len(instance.jobs) ** 2):
            pass
        return fill(instance)

    monkeypatch.setattr(pipeline, "keep_and_fill", slow)
    slowed = [measured(size, pipeline="greedy") for size in ("S", "M")]
    refused = [one.refused for one in exponents(slowed, SMALL)]
    assert any(sentence.startswith("lines of fill at 50 % grows") for sentence in refused)


def test_the_command_measures_fits_and_gates(bench: Any, tmp_path: Path) -> None:
    suite = tmp_path / "small.toml"
    text = """
        kind = "growth"
        [growth]
        between = ["S", "M"]
        base = "options"
        limit = {limit}
        [[group]]
        sizes = ["S", "M"]
        seeds = [0]
        pipelines = ["greedy"]
        transport = "in_process"
        time_limit_s = 30.0
        """
    suite.write_text(text.format(limit=3.0))
    words = ("gate", "--suite", suite, "-o", tmp_path / "rows.jsonl")
    done = bench(*words)
    assert done.returncode == 0, done.stderr
    assert "| 50 % | size | options | " in done.stdout
    assert " | 1.00 | 3 |" in done.stdout
    suite.write_text(text.format(limit=0.5))
    shut = bench(*words)
    assert shut.returncode == 1
    assert "options of size at 50 % grows with the power 1.00, above 0.5" in shut.stderr
