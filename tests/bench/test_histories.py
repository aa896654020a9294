"""Rows of policies over many rounds, and the table of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangplan.bench import histories, suites
from gangplan.bench.report.sections.histories import section, yardstick
from gangplan.bench.runs import Run, Status
from gangplan.errors import InvalidInputError
from gangplan.planning.histories import small


def run(instance: str, who: str, **options: object) -> Run:
    return Run("histories", "histories", instance, who=who, transport="in_process", options=options)


def test_a_batch_of_small_histories_is_one_row() -> None:
    assert [one.name for one in histories.played_for("small/3/seed2")] == [
        small(seed).name for seed in (6, 7, 8)
    ]
    row = histories.measure(run("small/3/seed2", "fifo", told="unknown"))
    assert (row["status"], row["told"], row["histories"]) == (Status.FEASIBLE.value, "unknown", 3)
    single = [histories.measure(run(f"small/seed{seed}", "fifo")) for seed in (6, 7, 8)]
    assert row["rho_mean"] == pytest.approx(sum(one["rho_mean"] for one in single) / 3)
    assert row["rho_worst"] == max(one["rho_worst"] for one in single)
    assert row["jobs"] == sum(one["jobs"] for one in single)
    assert [each[0] for each in row["each"]] == [one["rho_worst"] for one in single]


def test_the_table_has_a_line_for_each_policy_and_what_it_was_told() -> None:
    rows = []
    for who, told in (("fifo", "exact"), ("fifo", "noisy"), ("shortest-remaining", "exact")):
        asked = run("small/2/seed0", who, told=told)
        rows.append(asked.head() | histories.measure(asked))
    found = section(rows)
    assert found is not None
    assert [line[:4] for line in found.table.lines] == [
        ("small/2", "exact", "fifo", "2"),
        ("small/2", "±30 %", "fifo", "2"),
        ("small/2", "exact", "shortest-remaining", "2"),
    ]
    assert section([]) is None


def test_a_window_is_measured_beside_policies_in_its_own_measures() -> None:
    rows = []
    for who in ("fifo", "window-completion"):
        asked = replace(run("small/1/seed3", who, yardstick=True), time_limit_s=1.0)
        rows.append(asked.head() | histories.measure(asked))
    found = yardstick(rows)
    assert found is not None
    assert [line[1] for line in found.table.lines] == ["fifo", "window-completion"]
    assert rows[1]["window_bound"] <= rows[1]["window_value"] + 1e-6
    assert rows[1]["window_bound"] <= min(row["weighted_rounds"] for row in rows)
    assert yardstick([]) is None


def test_the_suite_plays_200_small_histories_and_two_sizes_as_told_in_three_ways() -> None:
    runs = list(suites.load("histories").runs())
    exact = [
        one
        for one in runs
        if one.options["told"] == "exact" and one.who == "myopic" and "yardstick" not in one.options
    ]
    small_ones = [
        h for one in exact if one.instance.startswith("small") for h in histories.played_for(one.instance)
    ]
    assert len({history.name for history in small_ones}) == 200
    assert {one.instance for one in exact if not one.instance.startswith("small")} == {
        "S/300/100/seed0",
        "M/300/100/seed0",
    }
    assert {str(one.options["told"]) for one in runs} == {"exact", "noisy", "unknown"}


def test_what_was_learned_in_one_history_is_known_in_the_next() -> None:
    row = histories.measure(run("small/3/seed2", "fifo", told="predicted"))
    alone = [histories.measure(run(f"small/seed{seed}", "fifo", told="predicted")) for seed in (6, 7, 8)]
    jobs = [0 if one["prediction"] is None else one["prediction"]["jobs"] for one in alone]
    first = jobs[0]
    assert row["prediction"]["jobs"] == first + row["jobs"] - alone[0]["jobs"] > sum(jobs)
    assert 0.0 < row["prediction"]["pinball"] < 1.0
    assert histories.measure(run("small/seed6", "fifo", told="exact"))["prediction"] is None


def test_a_preset_stands_for_the_histories_policy() -> None:
    plain = histories.measure(run("small/seed6", "myopic", told="unknown", steps="greedy"))
    asked = run("small/seed6", "myopic", told="unknown", steps="greedy", preset="soonest-end")
    under = histories.measure(asked)
    assert under["completion_mean"] != plain["completion_mean"]
    found = section([asked.head() | under])
    assert found is not None
    assert found.table.lines[0][2] == "myopic, soonest-end"
    with pytest.raises(InvalidInputError, match="nothing"):
        histories.measure(run("small/seed6", "myopic", preset="nothing"))


def test_the_suite_of_durations_tells_in_four_ways() -> None:
    runs = list(suites.load("durations").runs())
    assert {str(one.options["told"]) for one in runs} == {"exact", "noisy", "predicted", "unknown"}
    assert {one.instance for one in runs} == {"small/40/seed0", "S/100/100/seed0", "S/100/100/seed1"}
