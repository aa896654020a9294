"""The gate closes on a counter that grew, and says which."""

from pathlib import Path
from typing import Any

import pytest

from gangplan.bench import gate
from gangplan.bench.gate import Gates, compare
from gangplan.errors import InvalidInputError

SUITE = "[[group]]\nsizes = ['S']\nseeds = [0]\npipelines = ['greedy']\ntransport = 'in_process'\n"
COMMITTED = Gates(0.02, 2.0, {"S/steady/50/seed0": {"columns": 1000.0, "candidates": 3.0}})


def measured(**counters: float) -> dict[str, dict[str, float]]:
    return {"S/steady/50/seed0": {"columns": 1000.0, "candidates": 3.0} | counters}


@pytest.mark.parametrize("counters", [{}, {"columns": 1020.0}, {"candidates": 5.0}, {"columns": 10.0}])
def test_within_the_tolerance_it_stays_open(counters: dict[str, float]) -> None:
    assert compare(COMMITTED, measured(**counters)) == []


@pytest.mark.parametrize(
    ("counters", "said"),
    [
        ({"columns": 1021.0}, "columns grew from 1000 to 1021, above 1020"),
        ({"candidates": 6.0}, "candidates grew from 3 to 6, above 5"),
        ({"pivots": 1.0}, "pivots is a new counter"),
    ],
)
def test_a_raised_counter_shuts_it(counters: dict[str, float], said: str) -> None:
    (finding,) = compare(COMMITTED, measured(**counters))
    assert str(finding).startswith("S/steady/50/seed0: ")
    assert said in finding.message


def test_what_is_on_one_side_only_shuts_it() -> None:
    assert "was not measured" in compare(COMMITTED, {})[0].message
    assert "is not committed" in compare(Gates(0.02, 2.0, {}), measured())[0].message
    fewer = {"S/steady/50/seed0": {"columns": 1000.0}}
    assert "candidates is committed but is no counter any more" in compare(COMMITTED, fewer)[0].message


def test_a_run_cut_off_by_a_limit_shuts_it() -> None:
    stopped = {"S/steady/50/seed0": {gate.STOPPED: 1.0}}
    assert "no counter repeats" in compare(COMMITTED, stopped)[0].message


def test_good_news_is_told() -> None:
    (finding,) = gate.shrunk(COMMITTED, measured(columns=500.0))
    assert finding.message == "columns fell from 1000 to 500"


def test_figures_survive_their_file(tmp_path: Path) -> None:
    file = tmp_path / "new" / "gates.toml"
    gate.write(file, COMMITTED)
    assert gate.read(file) == COMMITTED


@pytest.mark.parametrize("text", ["", "tolerance = 'much'\nallowance = 1\n[runs]\n", "[["])
def test_a_file_at_fault_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "gates.toml").write_text(text)
    with pytest.raises(InvalidInputError, match="--update"):
        gate.read(tmp_path / "gates.toml")


def test_the_command_writes_opens_and_shuts(bench: Any, tmp_path: Path) -> None:
    suite, file = tmp_path / "mine.toml", tmp_path / "gates.toml"
    suite.write_text(SUITE)
    words = ("gate", "--suite", suite, "--gates", file)
    missing = bench(*words)
    assert missing.returncode == 3
    assert "--update" in missing.stderr
    assert bench(*words, "--update").returncode == 0
    opened = bench(*words)
    assert (opened.returncode, opened.stdout) == (0, "")
    committed = gate.read(file)
    (name,) = committed.counters
    lower = {counter: figure * 0.5 for counter, figure in committed.counters[name].items()}
    gate.write(file, Gates(committed.tolerance, committed.allowance, {name: lower}))
    shut = bench(*words)
    assert shut.returncode == 1
    assert f"{name}: options grew from" in shut.stdout
    assert "--update" in shut.stderr


def test_a_gate_of_nothing_does_not_pass(bench: Any) -> None:
    done = bench("gate", "--only", "Q/*")
    assert done.returncode == 2
    assert "no run of 'gate' matches Q/*" in done.stderr


def test_the_committed_figures_name_the_runs_of_the_suite() -> None:
    from gangplan.bench import suites
    from gangplan.bench.runs import named

    committed = gate.read(Path(__file__).parents[2] / "benchmarks/gates.toml")
    assert set(committed.counters) == {named(run) for run in suites.load("gate").runs()}
    assert all(gate.STOPPED not in counters for counters in committed.counters.values())
    assert 0 < committed.tolerance <= 0.05
