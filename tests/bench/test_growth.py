"""Growth exponents: by hand, and gated."""

from pathlib import Path
from typing import Any

import pytest

from gangplan.bench.growth import exponents, markdown
from gangplan.bench.suites import Growth

GROWTH = Growth(between=("XL", "XXL"), base="options", limit=1.1)


@pytest.fixture
def rows(row: Any) -> list[dict[str, Any]]:
    """From 1,000 options to 10,000: ``steps`` grows tenfold, ``pairs`` a hundredfold."""

    def one(size: str, seed: int, options: float, steps: float, pairs: float) -> dict[str, Any]:
        counters = {"options": options, "steps": steps, "pairs": pairs, "solver_seconds": 1.0, "zero": 0.0}
        return row(
            instance=f"{size}/steady/50/seed{seed}",
            statistics=counters,
            seconds_by_phase={"solve": options / 1000, "total": 1.0},
        )

    small = [one("XL", seed, 1000.0, 50.0 + seed, 7.0) for seed in (-1, 0, 1)]
    return [*small, one("XXL", 0, 10_000.0, 500.0, 700.0)]


def test_exponents_by_hand_and_what_is_too_steep(rows: Any) -> None:
    found = {one.name: one for one in exponents(rows, GROWTH)}
    assert found["steps"].exponent == pytest.approx(1.0)
    assert found["pairs"].exponent == pytest.approx(2.0)
    assert found["pairs"].too_steep
    assert not found["steps"].too_steep
    assert found["zero"].exponent is None
    assert "solver_seconds" not in found
    assert found["seconds in solve"].exponent == pytest.approx(1.0)
    assert found["seconds in solve"].limit is None
    assert "| 50 % | pairs | 7 | 700 | **2.00** | 1.1 |" in markdown(list(found.values()), GROWTH)


def test_a_counter_may_have_a_limit_of_its_own(rows: Any) -> None:
    loose = GROWTH.model_copy(update={"limits": {"pairs": 2.5}})
    assert not any(one.too_steep for one in exponents(rows, loose))


def test_without_answers_at_a_size_nothing_is_said(rows: Any) -> None:
    with pytest.raises(ValueError, match="options of XL and XXL at 50 %"):
        exponents(rows[:3], GROWTH)
    with pytest.raises(ValueError, match="no row was answered"):
        exponents([one | {"status": "TIMEOUT"} for one in rows], GROWTH)


def test_the_command_measures_fits_and_gates(bench: Any, tmp_path: Path) -> None:
    suite = tmp_path / "small.toml"
    text = """
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
    assert "| 50 % | options | " in done.stdout
    assert " | 1.00 | 3 |" in done.stdout
    suite.write_text(text.format(limit=0.5))
    shut = bench(*words)
    assert shut.returncode == 1
    assert "options grows with the power 1.00 at 50 %, above 0.5" in shut.stderr
