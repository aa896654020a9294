"""``gangplan bench run`` as a process: a row for each run, over gRPC, resumable, judged."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

Smoke = tuple["subprocess.CompletedProcess[str]", Path]
pytestmark = pytest.mark.timeout(300)
NUMBERS = (
    "seed jobs nodes devices keep_and_fill_s first_s exact_s build_s solve_s wall_s outside_s encode_s "
    "call_s objective bound absolute_gap gap gap_of_gain keep_and_fill_gap first_gap first_gap_of_gain "
    "to_1_percent_s primal_integral_s peak_rss_bytes sum_rss_bytes request_bytes answer_bytes late_s"
).split()
GAPS = {f"{name}{then}" for name in ("absolute", "relative", "of_gain") for then in ("", "_then")}


def test_the_smoke_run_yields_a_proven_row_for_each_instance_and_solver(
    smoke: Smoke, rows: list[dict[str, Any]]
) -> None:
    assert smoke[0].returncode == 0, smoke[0].stderr
    assert {(row["instance"], row["solver"]) for row in rows} == {
        (f"S/steady/{occupancy}/seed0", solver) for occupancy in (50, 85) for solver in ("highs", "cpsat")
    }
    for row in rows:
        assert all(isinstance(row[name], int | float) for name in NUMBERS), row
        assert (row["status"], row["transport"]) == ("OPTIMAL", "grpc")
        assert row["pipeline_taken"] == "full"
        assert row["solver_version"].startswith(row["solver"])
        assert (row["verified"], row["permuted_same"], row["reason"], row["violations"]) == (
            True,
            True,
            "OPTIMAL",
            [],
        )
        assert row["exact_objective"] == row["objective"] == pytest.approx(row["value"], rel=1e-9)
        assert 0.0 <= row["gap"] <= 1e-6


def test_times_of_a_row_are_in_order_and_add_up(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        first, floor = row["first_s"], row["keep_and_fill_s"]  # either is first, as the machine is quick
        assert 0.0 < min(first, floor) < max(first, floor) < row["exact_s"] < row["wall_s"] + 1e-3
        assert row["wall_s"] == pytest.approx(row["call_s"] + row["parse_s"])
        assert 0.0 < row["outside_s"] < row["wall_s"]
        phases = dict(row["seconds_by_phase"])
        assert phases.pop("total") + row["outside_s"] == pytest.approx(row["wall_s"], rel=0.02)
        assert row["sum_rss_bytes"] > row["peak_rss_bytes"] > 20_000_000
        assert len(row["calibration_s"]) == len(row["load"]) == 2
        assert row["machine"]["cpu"]
        assert row["versions"]["highspy"]


def test_gaps_fall_with_time_and_the_last_is_that_of_the_end(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        assert list(row["gaps_at"]) == ["0.1", "0.5", "1", "5"]
        assert all(set(gaps) == GAPS for gaps in row["gaps_at"].values())
        known = [gaps["relative"] for gaps in row["gaps_at"].values() if gaps["relative"] is not None]
        assert known == sorted(known, reverse=True)
        assert row["gaps_at"]["5"]["relative"] == pytest.approx(row["gap"])
        assert row["gaps_at"]["5"]["of_gain"] == pytest.approx(row["gap_of_gain"])
        assert [point[0] for point in row["curve"]] == sorted(point[0] for point in row["curve"])


def test_the_instance_s_name_is_that_of_decision_45(rows: list[dict[str, Any]]) -> None:
    assert rows[0]["instance"] == "S/steady/50/seed0"


def test_a_second_run_takes_what_is_there_and_a_line_cut_off_is_measured_again(
    smoke: Smoke, rows: list[dict[str, Any]], bench: Any, tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    lines = smoke[1].read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-1]) + lines[-1][:40])
    done = bench("run", "-o", file)
    assert done.returncode == 0, done.stderr
    written = file.read_text().splitlines()
    again = json.loads(written[-1])
    if again["code"] != rows[-1]["code"]:
        pytest.skip("somebody edited the code between the two runs, so rightly nothing was taken over")
    assert written[:3] == [line.strip() for line in lines[:3]]
    assert (again["instance"], again["solver"]) == (rows[-1]["instance"], rows[-1]["solver"])
    assert again["wall_s"] != rows[-1]["wall_s"]
    assert [line.endswith("(was there)") for line in done.stderr.splitlines()] == [True] * 3 + [False]


ONE = ("run", "--only", "S/steady/50/*", "--solver", "cpsat", "--seeds", "0", "--time-limit", "20s")


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_without_a_file_rows_go_to_standard_output_and_nothing_else_does(bench: Any, form: str) -> None:
    text = bench(*ONE, "-o", form).stdout
    (row,) = json.loads(text) if form == "json" else [json.loads(line) for line in text.splitlines()]
    assert (row["solver"], row["time_limit_s"]) == ("cpsat", 20.0)
    asked = "instance pipeline solver seed first_s wall_s objective bound gap gap_of_gain verified"
    assert {*asked.split(), "peak_rss_bytes"} <= set(row)


def test_people_get_tables(bench: Any) -> None:
    assert bench(*ONE).stdout.startswith("# ")


def test_the_list_measures_nothing(bench: Any) -> None:
    done = bench("run", "--suite", "targets", "--only", "L", "--seeds", "0-2", "--list")
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        f"targets L/steady/{occupancy}/seed{seed} 1.2 s" for occupancy in (50, 85) for seed in range(3)
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--only", "Q/*"), "no run of 'smoke' matches Q/*"),
        (("--suite", "nowhere"), "no suite 'nowhere'; there are:"),
        (("--suite", "openb", "--data", "/no/such/folder"), "is not a folder"),
        (("--suite", "openb"), "name it with --data DIR"),
        (("--suite", "prototypes"), "needs the prototypes"),
        (("--solver", "abacus"), "no solver 'abacus'"),
        (("--pipeline", "none"), "'none' is none of auto, full and greedy"),
        (("--model", "/no/such.mps"), "no such file"),
        (("-o", "rows.csv"), "neither .jsonl nor .json"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(
    bench: Any, words: tuple[str, ...], said: str
) -> None:
    done = bench("run", *words)
    assert done.returncode == 3
    assert said in done.stderr


def test_a_trace_in_the_openb_form_is_imported_planned_and_tabled(bench: Any, tmp_path: Path) -> None:
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,4,T4\nn2,64000,262144,0,\n"
    )
    (tmp_path / "openb_pod_list_default.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
        "p1,4000,1024,1,500,\np2,4000,1024,4,1000,T4\np3,4000,1024,2,1000,T4\np4,4000,1024,0,0,\n"
    )
    file = tmp_path / "rows.json"
    words = ("--suite", "openb", "--data", tmp_path, "--only", "openb/gpu_node/*", "--seeds", "0")
    done = bench("run", *words, "--solver", "highs", "-o", file)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(file.read_text())
    assert (row["devices"], row["devices_allocated"], row["devices_requested"]) == (4, 4, 7)
    assert (row["jobs"], row["jobs_placed"], row["time_limit_s"], row["status"]) == (4, 2, 10.0, "OPTIMAL")
    assert "| openb/gpu_node/default | gangplan | highs | full | 10 | 1 | 1 |" in bench("report", file).stdout
