"""``gangplan bench profile``: phases, counters, functions, and a file for viewers."""

import pstats
from pathlib import Path
from typing import Any

from gangplan.bench.profiler import profile
from gangplan.engine.parameters import PlanParameters
from gangplan.planning.generate import generate_named


def test_functions_with_the_most_time_come_first() -> None:
    parameters = PlanParameters(time_budget_seconds=20.0, pipeline="greedy")
    round_ = generate_named("S/steady/50/seed0")
    own = profile(round_, parameters, top=5, by="own").functions
    assert [one.own_s for one in own] == sorted((one.own_s for one in own), reverse=True)
    everything = profile(round_, parameters, top=200, by="all").functions
    assert [one.all_s for one in everything] == sorted((one.all_s for one in everything), reverse=True)
    assert any(one.name.startswith("gangplan/engine/round.py:") for one in everything[:5])


def test_the_command_shows_phases_and_writes_the_profile(bench: Any, tmp_path: Path) -> None:
    file = tmp_path / "new" / "s.pstats"
    done = bench("profile", "S/steady/50/seed0", "--pipeline", "greedy", "--top", "40", "-o", file)
    assert done.returncode == 0, done.stderr
    for said in ("S/steady/50/seed0: ", "instance", "verify", "total", "options", "gangplan/"):
        assert said in done.stdout
    assert pstats.Stats(str(file)).total_calls > 1000  # type: ignore[attr-defined]


def test_a_name_that_nothing_has_is_refused(bench: Any) -> None:
    done = bench("profile", "Q/steady/50/seed0")
    assert done.returncode == 3
    assert "SIZE/START/OCCUPANCY/seedN" in done.stderr
    assert bench("profile", "S/steady/50/seed0", "--sort", "size").returncode == 2
