"""``gangplan rounds`` on what a service has captured, and captured rounds where others take files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gangplan.client import Client
from gangplan.client.transport import InProcessTransport
from gangplan.planning.scenario import expand, load
from gangplan.service.capture.recorder import Recorder
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.planner import EnginePlanner

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Two captured rounds."""
    folder = tmp_path_factory.mktemp("captured")
    options = ServerOptions(slots=1, capture=str(folder))
    placement = Placement(EnginePlanner(1), options, recorder=Recorder.of(options))
    with Client(transport=InProcessTransport(placement)) as client:
        for name in ("gang", "quota"):
            client.plan_round(expand(load(SCENARIOS / f"{name}.yaml")), time_budget=60.0)
    return folder


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.capture"))


def test_list_and_a_damaged_file_beside(gangplan, folder, tmp_path):
    place = tmp_path / "rounds"
    place.mkdir()
    for path in files(folder):
        (place / path.name).write_bytes(path.read_bytes())
    (place / "x.capture").write_bytes(files(folder)[0].read_bytes()[:100])
    done = gangplan("rounds", "list", place, "-o", "json")
    assert done.returncode == 0
    rows = json.loads(done.stdout)
    assert [row["reasons"] for row in rows] == [["share"], ["share"]]
    assert [row["limit"] for row in rows] == ["NONE", "NONE"]
    assert all(0 < row["elapsed_s"] < row["allowed_s"] == 60.0 for row in rows)
    assert "damaged" in done.stderr
    assert "x.capture" in done.stderr
    assert json.loads(gangplan("rounds", "list", place, "--reason", "slow", "-o", "json").stdout) == []
    assert rows[0]["id"] in gangplan("rounds", "list", place).stdout


def test_show(gangplan, folder):
    done = gangplan("rounds", "show", files(folder)[0])
    assert done.returncode == 0
    assert "kept for share" in done.stdout
    assert "OPTIMAL, verified" in done.stdout
    document = json.loads(gangplan("rounds", "show", files(folder)[0], "-o", "json").stdout)
    assert document["request"]["jobs"] or document["request"]["jobClasses"]
    assert document["versions"]["gangplan"]


def test_replay_gives_the_same_plans(gangplan, folder):
    done = gangplan("rounds", "replay", folder, "-o", "json")
    assert done.returncode == 0, done.stderr
    assert [row["outcome"] for row in json.loads(done.stdout)] == ["SAME", "SAME"]


def test_diff(gangplan, folder):
    first, second = files(folder)
    found = json.loads(gangplan("rounds", "diff", first, second, "-o", "json").stdout)
    assert any("only in the first" in line for line in found["round"])
    assert any(line.startswith("objective") for line in found["answer"])
    assert found["versions"] == {}
    same = gangplan("rounds", "diff", first, first).stdout
    assert same.splitlines() == ["round: 0 differences", "answer: 0 differences", "versions: 0 differences"]


def test_export_and_all_that_takes_what_is_exported(gangplan, folder, tmp_path):
    source = files(folder)[1]
    done = gangplan(
        *("rounds", "export", source, "--round", "r.json", "--plan", "p.json"),
        *("--mps", "r.mps", "--lp", "r.lp", "--scenario", "r.yaml"),
    )
    assert done.returncode == 0, done.stderr
    assert gangplan("check", "r.json", "p.json").returncode == 0
    assert gangplan("check", source, source).returncode == 0
    objective = json.loads((tmp_path / "p.json").read_text())["quality"]["objective"]
    for file in ("r.yaml", source):
        solved = json.loads(gangplan("solve", file, "-o", "json").stdout)
        assert solved["quality"]["objective"] == pytest.approx(objective)
    from gangplan_solvers.model_files import read_model

    mps, lp = (read_model(tmp_path / name) for name in ("r.mps", "r.lp"))
    assert mps.program.columns == lp.program.columns > 0


def test_export_of_nothing_and_of_what_is_no_captured_round(gangplan, folder, tmp_path):
    asked_for_nothing = gangplan("rounds", "export", files(folder)[0])
    assert asked_for_nothing.returncode == 2
    assert "--scenario" in asked_for_nothing.stderr
    (tmp_path / "x.capture").write_bytes(b"no")
    for verb in ("show", "export", "replay"):
        words = ("--round", "r.json") if verb == "export" else ()
        done = gangplan("rounds", verb, tmp_path / "x.capture", *words)
        assert done.returncode == 3
        assert "damaged" in done.stderr


def test_captured_rounds_are_measured_as_a_suite(gangplan, folder):
    listed = gangplan("bench", "run", "--captured", folder, "--list")
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.count("captured/") == 2
    done = gangplan(
        "bench", "run", "--captured", files(folder)[0], "--time-limit", "20s", "-o", "json", timeout=110
    )
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert row["status"] == "OPTIMAL"
    assert row["verified"]


def test_questions_about_jobs(gangplan):
    full = SCENARIOS / "full-cluster.yaml"
    done = gangplan("explain", full, "--job", "waiting-1")
    assert done.returncode == 0, done.stderr
    assert "in its way: job:a" in done.stdout
    done = gangplan("recommend", full, "--job", "waiting-1", "-o", "json")
    assert json.loads(done.stdout)["recommendations"][0]["evicted"] == ["a"]
    assert gangplan("recommend", full, "--job", "waiting-1", "--without-evictions").returncode == 4
    done = gangplan("shares", SCENARIOS / "fairness-queues.yaml")
    assert "75.0 %" in done.stdout
    assert gangplan("explain", full, "--job", "nobody").returncode == 3
