"""The benchmark driver: the smoke run as a process, its gates, and rounds made of a prototype's arrays."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.verifier.verify import verify

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NUMBERS = (
    "seed columns rows nonzeros jobs nodes devices keep_and_fill_s first_s exact_s build_s solve_s wall_s "
    "objective bound gap gap_of_gain keep_and_fill_gap first_gap unbound_gangs taken_back peak_rss_bytes "
    "sum_rss_bytes"
).split()


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / "run.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=280,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    file = tmp_path_factory.mktemp("bench") / "rows.jsonl"
    return bench("--smoke", "-o", str(file)), file


@pytest.fixture
def rows(smoke: tuple[subprocess.CompletedProcess[str], Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in smoke[0].stdout.splitlines()]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import run

    return run


@pytest.mark.timeout(300)
def test_the_smoke_run_yields_a_proven_row_for_each_instance_and_solver(
    smoke: tuple[subprocess.CompletedProcess[str], Path], rows: list[dict[str, Any]]
) -> None:
    done, file = smoke
    assert done.returncode == 0, done.stderr
    assert {(row["instance"], row["solver"]) for row in rows} == {
        (f"S/steady/{occupancy}/seed0", solver) for occupancy in (50, 85) for solver in ("highs", "cpsat")
    }
    for row in rows:
        assert all(isinstance(row[name], int | float) for name in NUMBERS), row
        assert row["pipeline"] == "full"
        assert row["solver_version"].startswith(row["solver"])
        assert (row["verified"], row["permuted_same"], row["reason"]) == (True, True, "OPTIMAL")
        assert row["proved"]
        assert row["exact_objective"] == row["objective"]
        assert 0.0 <= row["gap"] <= 1e-6
        assert 0.0 < row["keep_and_fill_s"] < row["first_s"] < row["exact_s"] < row["wall_s"]
        assert row["sum_rss_bytes"] > row["peak_rss_bytes"] > 20_000_000
        assert len(row["calibration_s"]) == 2
        assert row["machine"]["cpu"]
        assert sum(row["seconds_by_phase"].values()) > row["wall_s"]  # they add up to the total beside them
    assert [json.loads(line) for line in file.read_text().splitlines()] == rows
    assert "| S/steady/85 | cpsat | 1 | 1 | 1 | 60 | " in done.stderr


@pytest.mark.timeout(300)
def test_a_second_run_takes_what_is_there_and_a_line_cut_off_is_run_again(
    smoke: tuple[subprocess.CompletedProcess[str], Path], rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "rows.jsonl"
    lines = smoke[1].read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-1]) + lines[-1][:40])
    done = bench("--smoke", "-o", str(file), "--report", str(tmp_path / "table.md"))
    assert done.returncode == 0, done.stderr
    again = [json.loads(line) for line in done.stdout.splitlines()]
    if again[-1]["code"] != rows[-1]["code"]:
        pytest.skip("somebody edited the code between the two runs, so rightly nothing was taken over")
    assert again[:-1] == rows[:-1]
    assert again[-1]["wall_s"] != rows[-1]["wall_s"]
    assert done.stderr.splitlines() == [f"4/4 {rows[-1]['instance']} gangplan {rows[-1]['solver']}"]
    assert (tmp_path / "table.md").read_text().startswith("# generated, 20")


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("verified", True, ""),
        ("verified", False, "is not verified"),
        ("permuted_same", False, "another plan when its lists are permuted"),
        ("reason", "FEASIBLE", "is FEASIBLE"),
        ("exact_objective", 1 + 2e-6, "above the bound"),
        ("exact_objective", 1 - 2e-6, "proves"),
        ("bound", 1 - 3e-6, "above the bound"),
        ("error", "exit code 1: it broke", "failed: exit code 1"),
    ],
)
def test_the_gates_close(run: Any, rows: list[dict[str, Any]], field: str, value: Any, said: str) -> None:
    changed = copy.deepcopy(rows)
    changed[1][field] = changed[1][field] * value if isinstance(value, float) else value
    wrong = run.problems(changed, must_be_optimal=True)
    assert any(said in line for line in wrong) if said else not wrong
    assert all(rows[1]["instance"] in line for line in wrong)


@pytest.mark.timeout(300)
def test_a_prototype_that_contradicts_is_told_only_where_nothing_runs(
    run: Any, rows: list[dict[str, Any]]
) -> None:
    mine = rows[0] | {"suite": "prototypes", "running": 0, "objective_in_their_unit": 100.0}
    other = {name: mine[name] for name in ("suite", "instance", "solver", "seed")}
    other |= {"who": "prototype-same", "proved": True, "objective": 100.001}
    assert "the prototype 100.001" in run.problems([mine, other], must_be_optimal=False)[0]
    assert not run.problems([mine, other | {"objective": 100.00001}], must_be_optimal=False)
    assert not run.problems([mine | {"running": 3}, other], must_be_optimal=False)


def test_a_name_that_nothing_has_and_a_folder_that_is_not_there_are_refused(tmp_path: Path) -> None:
    assert bench("--only", "Q/*").returncode == 2
    done = bench("--openb", str(tmp_path / "nowhere"))
    assert done.returncode == 2
    assert "is not a folder" in done.stderr


@pytest.mark.timeout(300)
def test_a_trace_in_the_openb_form_is_imported_planned_and_tabled(tmp_path: Path) -> None:
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,4,T4\nn2,64000,262144,0,\n"
    )
    (tmp_path / "openb_pod_list_default.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
        "p1,4000,1024,1,500,\np2,4000,1024,4,1000,T4\np3,4000,1024,2,1000,T4\np4,4000,1024,0,0,\n"
    )
    one = ("--only", "openb/gpu_node/default", "--seeds", "0", "--solver", "highs")
    done = bench("--openb", str(tmp_path), *one, "--report", str(tmp_path / "new" / "table.md"))
    assert done.returncode == 0, done.stderr
    (row,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (row["devices"], row["devices_allocated"], row["devices_requested"]) == (4, 4, 7)
    assert (row["jobs"], row["jobs_placed"], row["time_limit_s"]) == (4, 2, 10.0)
    assert row["source"] == tmp_path.name
    assert (
        "| openb/gpu_node/default | highs | 1 | 1 | 1 | 2 | 4 | 4 |"
        in (tmp_path / "new" / "table.md").read_text()
    )


def tiny() -> dict[str, np.ndarray]:
    """One spine: two racks of two 8-device nodes of type 0, one rack of two 4-device nodes of type 3.

    Job 0 (1 device, weight 2) waits, job 1 (16, elastic to 32, weight 4, deadline) waits, job 2 (4, weight 1)
    runs on type 3.
    """
    return {
        "rtype": np.array([0, 0, 3]),
        "rspine": np.array([0, 0, 0]),
        "nrack": np.array([0, 0, 1, 1, 2, 2]),
        "ncap": np.array([8, 8, 8, 8, 4, 4]),
        "speed": np.array([1.0, 0.55, 0.32, 0.16]),
        "npr": np.array(2),
        "req": np.array([1, 16, 4]),
        "minc": np.array([1, 8, 4]),
        "maxc": np.array([1, 32, 4]),
        "base": np.array([[1.0, 0, 0, 0.25], [2.0, 0, 0, 0], [0, 0, 0, 0.5]]),
        "alpha": np.array([0.9, 0.5, 1.0]),
        "comm": np.array([0.5, 0.2, 0.1]),
        "w": np.array([2.0, 4.0, 1.0]),
        "tenant": np.array([0, 0, 1]),
        "quota": np.array([20.7, 8.0]),
        "hasdl": np.array([False, True, False]),
        "dlneed": np.array([0.5, 0.9, 0.5]),
        "sw": np.array([0.2, 0.2, 0.4]),
        "rj": np.array([2]),
        "rn": np.array([4]),
        "rg": np.array([4]),
    }


@pytest.fixture
def prototype_instances(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import prototype_instances

    return prototype_instances


def test_a_prototype_instance_becomes_the_round_that_its_arrays_say(prototype_instances: Any) -> None:
    converted = prototype_instances.convert(tiny())
    round_ = converted.round
    assert converted.unit == 2.0
    assert [queue.device_limit for queue in round_.queues] == [20, 8]
    assert [job.component.task_groups[0].allowed_counts for job in round_.jobs] == [(1,), (8, 16, 32), (4,)]
    cells = dict(round_.profiles[1].throughput)
    assert cells == pytest.approx(
        {
            ("type-0", 16, "node"): 8.0,  # the reference: 2 * 16^0.5, though no node is so large
            ("type-0", 8, "node"): 2 * 8**0.5,
            ("type-0", 16, "rack"): 8.0 * (1 - 0.02 * 0.2),
            ("type-0", 16, "spine"): 8.0 * (1 - 0.05 - 0.25 * 0.2),
            ("type-0", 32, "spine"): 2 * 32**0.5 * (1 - 0.05 - 0.25 * 0.2),  # a rack has two nodes
        }
    )
    running = round_.jobs[2].running
    assert running is not None
    assert [(place.node, place.tasks, place.devices) for place in running.placements] == [
        ("node-00004", 4, (0, 1, 2, 3))
    ]


def test_what_a_prototype_instance_is_worth_follows_by_hand(prototype_instances: Any) -> None:
    """Job 0 at full speed: 2. Job 1 with 16 devices in one rack: 64 * 0.996, and its deadline (0.9) is met,
    which is worth half of 64; its tenant may not hold 32. Job 2 stays, at the speed of its only type: 4.
    """
    converted = prototype_instances.convert(tiny())
    result = plan_round(
        converted.round, PlanParameters(time_budget_seconds=60.0, pipeline="full", solver="highs")
    )
    verification = verify(converted.round, result.plan)
    assert verification.valid
    assert verification.objective * converted.unit == pytest.approx(2.0 + 64 * 0.996 + 32.0 + 4.0, rel=1e-9)
    assert {action.job: action.kind.value for action in result.plan.actions} == {
        "job-00000": "PLACE",
        "job-00001": "PLACE",
        "job-00002": "KEEP",
    }


def test_what_a_stop_costs_is_what_the_prototype_charges(prototype_instances: Any) -> None:
    """A stop of job 2 costs lost * devices / horizon in our unit, and half of sw w req in the prototype's."""
    converted = prototype_instances.convert(tiny())
    round_, job = converted.round, converted.round.jobs[2]
    assert job.running is not None
    assert job.running.checkpoint_age_seconds is not None
    cost = job.running.checkpoint_age_seconds * 4 / round_.horizon_seconds
    assert cost * converted.unit == pytest.approx(0.5 * 0.4 * 1.0 * 4)
