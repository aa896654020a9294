"""Rounds made of a prototype's arrays: what they say, and what they are worth; and the prototypes' rows."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangplan.bench.prototypes import instances as prototype_instances
from gangplan.bench.prototypes import side
from gangplan.bench.runs import Run
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.verifier.verify import verify


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


def test_a_prototype_instance_becomes_the_round_that_its_arrays_say() -> None:
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


def test_what_a_prototype_instance_is_worth_follows_by_hand() -> None:
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


def test_what_a_stop_costs_is_what_the_prototype_charges() -> None:
    """A stop of job 2 costs lost * devices / horizon in our unit, and half of sw w req in the prototype's."""
    converted = prototype_instances.convert(tiny())
    round_, job = converted.round, converted.round.jobs[2]
    assert job.running is not None
    assert job.running.checkpoint_age_seconds is not None
    cost = job.running.checkpoint_age_seconds * 4 / round_.horizon_seconds
    assert cost * converted.unit == pytest.approx(0.5 * 0.4 * 1.0 * 4)


def test_a_pipeline_s_events_become_a_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found 90 after 0.1 s and 99 after 0.5 s, in the end 99.5 of 100."""
    answer: dict[str, Any] = {
        "objective": 99.5,
        "bound": 100.0,
        "wall_s": 1.4,
        "events": [[0.1, 90.0], [0.5, 99.0]],
        "columns": 700,
        "unbound_gangs": 1,
        "seconds_by_phase": {"solve": 1.0},
        "peak_rss_bytes": 10**8,
    }
    monkeypatch.setattr(side, "_process", lambda *_: answer)
    run = Run("targets", "rounds", "L/steady/50/seed0", who="prototype-pipeline", time_limit_s=1.2)
    row = side.measure(run)
    assert (row["first_s"], row["first_gap"]) == (0.1, pytest.approx(0.1))
    assert row["to_1_percent_s"] == 0.5
    assert row["gaps_at"]["1"]["relative"] == pytest.approx(0.01)
    assert "of_gain" not in row["gaps_at"]["1"]
    assert (row["status"], row["gap"]) == ("FEASIBLE", pytest.approx(0.005))


def test_prototypes_that_fail_say_how(tmp_path: Path) -> None:
    (tmp_path / "gen.py").write_text("raise ValueError('no such art')\n")
    run = Run("t", "rounds", "S/steady/50/seed0", who="prototype-pipeline", source=str(tmp_path))
    run = Run(**{**run.head(), "options": {"python": sys.executable}})
    with pytest.raises(RuntimeError, match=r"no such art|No module named"):
        side.measure(run)


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_the_prototypes_themselves_yield_a_row(bench: Any, tmp_path: Path) -> None:
    folder = os.environ.get("GANGPLAN_PROTOTYPES", "")
    if not folder:
        pytest.skip("GANGPLAN_PROTOTYPES names no folder with the prototypes")
    python = os.environ.get("GANGPLAN_PROTOTYPES_PYTHON", sys.executable)
    words = ("--suite", "targets", "--only", "S/steady/50/seed0", "--prototypes-python", python)
    done = bench("run", *words, "--prototypes", folder, "-o", tmp_path / "rows.jsonl", timeout=800)
    assert done.returncode == 0, done.stderr
