"""What each reader makes of its format's examples; the files are those of the conformance suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.test_traces import CASES, PHILLY, Case, put, read

from gangplan.adapters import traces
from gangplan.adapters.traces import json_array
from gangplan.errors import TraceError
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.lines import Trace, gathered
from gangplan.planning.trace.records import DeadlineValue, Group, JobRecord


def jobs(name: str, folder: Path) -> list[JobRecord]:
    return list(read(CASES[name], folder).jobs)


def told(job: JobRecord) -> dict[str, Any]:
    """What differs from the defaults, raw columns and line left out."""
    return job.model_dump(exclude_defaults=True, exclude={"raw", "line"})


def test_itp(tmp_path: Path) -> None:
    assert told(jobs("itp", tmp_path)[1]) == {
        "id": "b",
        "submit_s": 200.0,
        "groups": ({"tasks": 8},),
        "duration_s": 3604.0,
        "work": 48266.0,
        "work_unit": "iterations",
        "model": "gpt2",
        "batch_size": 64.0,
        "deadline_s": 3000.0,
    }


def test_elasticflow(tmp_path: Path) -> None:
    trace = read(CASES["elasticflow"], tmp_path)
    assert [job.deadline_s for job in trace.jobs] == [4426.0, None]
    assert trace.jobs[0].deadline_kind == "strict"
    cells = {(m.batch_size, m.gpus): m.throughput for m in trace.measurements}
    assert cells == {(64, 1): 6.5, (64, 2): 8.5, (64, 4): 0, (128, 1): 3, (128, 2): 0, (128, 4): 0}
    assert {(m.accelerator, m.model, m.unit) for m in trace.measurements} == {("T4", "bert", "iterations")}


def test_chronus(tmp_path: Path) -> None:
    soft, strict, best = jobs("chronus", tmp_path)
    assert (soft.deadline_kind, soft.deadline_s) == ("soft", 5760.0)
    assert soft.deadline_values[2] == DeadlineValue(by_s=5830.0, value=5.0)
    assert (strict.deadline_kind, strict.deadline_s, strict.deadline_values) == ("strict", 7740.0, ())
    assert (best.deadline_kind, best.deadline_s) == ("target", None)
    assert [job.queue for job in (soft, strict)] == ["vc_a", "vc_b"]
    none = Case("chronus", {"t.csv": CASES["chronus"].files["t.csv"].replace("vc_b,4", "vc_b,0")})
    assert read(none, tmp_path).end.left_out == {"jobs that ask for no GPU": 1}


def test_gavel(tmp_path: Path) -> None:
    trace = read(CASES["gavel"], tmp_path)
    one, four = trace.jobs
    assert (one.id, one.work, one.work_unit, one.weight) == ("g-00001", 1000.0, "steps", 2.0)
    assert (one.duration_s, one.traced_type) == (400.0, "v100")  # 1000 steps at 2.5 a second
    assert (four.gpus, four.duration_s, four.deadline_factor, four.submit_s) == (4.0, None, 1.5, 55.5)
    alone, shared, _, spread = trace.measurements
    assert (alone.table, alone.throughput, alone.spread) == ("throughput", 2.5, False)
    assert (shared.table, shared.throughput, shared.other_throughput) == ("shared", 1.5, 1.25)
    assert (spread.accelerator, spread.gpus, spread.spread) == ("v100", 2, True)
    assert [job.submit_s for job in jobs("gavel of seven fields", tmp_path)] == [0.0, 11.5]


def test_shockwave(tmp_path: Path) -> None:
    first, second = jobs("shockwave", tmp_path)
    assert (first.batch_mode, first.duration_s, first.work) == ("gns", 1418.0, 1000.0)
    assert (second.batch_mode, second.gpus, second.submit_s) == ("static", 2.0, 5.0)


def test_muri_counts_in_milliseconds(tmp_path: Path) -> None:
    first, second = jobs("muri", tmp_path)
    assert (first.duration_s, first.gpus, first.priority) == (5095.0, 8.0, 0)
    assert (second.submit_s, second.priority) == (1534.0, 1)


def test_tiresias(tmp_path: Path) -> None:
    assert [(job.submit_s, job.gpus, job.duration_s) for job in jobs("tiresias", tmp_path)] == [
        (0.0, 1.0, 164.0),
        (30.0, 8.0, 147.0),
    ]


def test_hydra(tmp_path: Path) -> None:
    without, with_deadline = jobs("hydra", tmp_path)
    assert without.duration_by_type == {"A100": 1020.0, "V100": 1540.0, "GTX2080Ti": 2595.0}
    assert (without.deadline_s, with_deadline.deadline_s) == (None, 9000.5)


def test_pollux_and_sia(tmp_path: Path) -> None:
    trace = read(CASES["pollux"], tmp_path)
    assert [(job.work, job.work_unit, job.gpus) for job in trace.jobs] == [
        (100, "epochs", 6),
        (2, "epochs", 2),
    ]
    one, three, six, epoch = trace.measurements
    assert (one.throughput, one.placement, one.nodes) == (256.0, "1", 1)
    assert (three.throughput, three.gpus, three.nodes, three.sync_s) == (512.0, 3, 2, 0.2)
    assert (six.table, six.throughput, six.nodes) == ("scalability", 16.0, 6)
    assert (epoch.table, epoch.batch_size, epoch.epoch) == ("validation", 2048.0, 1)
    (sia,) = read(CASES["sia"], tmp_path / "sia").measurements
    assert (sia.accelerator, sia.placement, sia.gpus, sia.nodes) == ("dgx-ext", "044", 8, 2)
    assert sia.throughput == 128.0


def test_dlrm(tmp_path: Path) -> None:
    older, created = jobs("dlrm", tmp_path)
    assert (older.older, older.open_ended, older.status, older.max_per_node) == (True, True, "running", 8)
    assert older.groups == (Group(name="HN", cpu_milli=12_000, memory_bytes=120 * 2**30),)
    assert (created.older, created.duration_s, created.max_per_node, created.gpus) == (False, 500.0, None, 0)
    assert created.groups[0].memory_bytes == 320.5 * 2**30


def test_acme(tmp_path: Path) -> None:
    large, small = jobs("acme", tmp_path)
    assert large.groups == (Group(tasks=8, gpus_per_task=8, cpu_milli=120_000, memory_bytes=1000 * 2**30),)
    assert (large.status, large.submit_s, large.start_s) == ("failed", 1684321258.0, 1684321268.0)
    assert (small.groups[0].gpus_per_task, small.groups[0].cpu_milli, small.duration_s) == (0, 32_000, None)
    assert small.submit_s == 1684321258.0 + 27 * 60 + 44 - 8 * 3600
    converted = jobs("acme converted", tmp_path)
    assert [(job.gpus, job.duration_s, len(job.groups)) for job in converted] == [
        (64, 104.0, 1),
        (2, 78.0, 1),
    ]


def test_helios(tmp_path: Path) -> None:
    one, two_nodes, cpu = jobs("helios", tmp_path)
    assert (one.queue, one.user, one.status, one.duration_s) == ("vcJkd", "uXBbc", "completed", 36848.0)
    assert two_nodes.groups == (Group(tasks=2, gpus_per_task=8, cpu_milli=32_000),)
    assert (cpu.gpus, cpu.start_s, cpu.duration_s) == (0, None, None)


def test_slurm(tmp_path: Path) -> None:
    done, cancelled, pending = jobs("slurm", tmp_path)
    assert (done.traced_type, done.duration_s, done.priority) == ("a100", 187_200.0, 120)
    assert done.groups == (Group(gpus_per_task=4, cpu_milli=8000, memory_bytes=64 * 2**30),)
    assert done.end_s is not None
    assert done.start_s is not None
    assert done.end_s - done.start_s == done.duration_s
    assert cancelled.groups == (Group(tasks=2, gpus_per_task=8, cpu_milli=32_000, memory_bytes=2**39),)
    assert (cancelled.id, cancelled.status, cancelled.duration_s) == ("11_7", "cancelled", 30.0)
    assert (pending.status, pending.duration_s, pending.gpus) == ("waiting", None, 0)
    assert pending.groups[0].memory_bytes == 4000 * 2**20


@pytest.mark.parametrize(
    ("line", "left_out"),
    [
        ("10.batch||lab||COMPLETED|2026-01-01T00:00:00||||cpu=1|cpu=1|1|", "steps of jobs"),
        ("10|ann|lab|gpu|FAILED|2026-01-01T00:00:00||||cpu=1|cpu=1|1|1", "further runs of a job"),
        ("13|ann|lab|gpu|FAILED|2026-01-01T00:00:00|||||billing=1|1|1", "jobs that ask for nothing"),
    ],
)
def test_what_slurm_lists_besides_is_counted(tmp_path: Path, line: str, left_out: str) -> None:
    case = Case("slurm", {"s.txt": f"{CASES['slurm'].files['sacct.txt']}{line}\n"})
    assert read(case, tmp_path).end.left_out == {left_out: 1}


@pytest.mark.parametrize("tres", ["gres/gpu=many", "cpu", "mem=lots"])
def test_resources_that_are_none_are_refused(tmp_path: Path, tres: str) -> None:
    line = f"14|ann|lab|gpu|FAILED|2026-01-01T00:00:00|||||{tres}|1|1"
    case = Case("slurm", {"s.txt": f"{CASES['slurm'].files['sacct.txt']}{line}\n"})
    with pytest.raises(TraceError, match=r"s\.txt:5: ReqTRES, AllocTRES: "):
        read(case, tmp_path)


def test_accounting_without_resources_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="has neither a column ReqTRES nor AllocTRES"):
        read(Case("slurm", {"s.txt": "JobID|Submit\n1|2026-01-01T00:00:00\n"}), tmp_path)


def test_philly(tmp_path: Path) -> None:
    done, running = jobs("philly", tmp_path)
    assert done.groups == (Group(tasks=2, gpus_per_task=8),)
    assert done.duration_s == 74 + (2 * 86_400 + 5 * 3600 + 39 * 60 + 42)
    assert (done.status, done.queue, done.user) == ("completed", "ee9e8c", "ce2f4c")
    assert done.start_s == done.submit_s + 30
    assert (running.status, running.open_ended, running.duration_s, running.gpus) == (
        "running",
        True,
        None,
        3,
    )
    derived = jobs("philly derived", tmp_path)
    assert [(job.id, job.gpus, job.queue) for job in derived] == [
        ("philly-000002", 1, "11cb48"),
        ("philly-000003", 4, "6214e9"),
    ]
    assert derived[0].submit_s - derived[1].submit_s == 48 * 60 + 52


@pytest.mark.parametrize(
    ("change", "left_out"),
    [
        ({"attempts": []}, "jobs whose GPUs are not recorded (never scheduled)"),
        ({"submitted_time": "None"}, "jobs without a submission time"),
    ],
)
def test_philly_counts_what_has_no_size_or_time(
    tmp_path: Path, change: dict[str, Any], left_out: str
) -> None:
    case = Case("philly", {"log": json.dumps([PHILLY[0] | change, PHILLY[1]])})
    assert read(case, tmp_path).end.left_out == {left_out: 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", r":1: is no JSON array"),
        ("[1,\n2", r":2: the array is cut off"),
        ("[1,\n\n{]", r":3: is no JSON: "),
        ("", r":1: the array is cut off"),
    ],
)
def test_an_array_that_is_none_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "a").write_text(text)
    with pytest.raises(TraceError, match=said):
        list(json_array.elements(tmp_path / "a"))


@pytest.mark.parametrize("chunk", [1, 2, 7, 1000])
def test_an_array_is_read_the_same_whatever_the_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    content = [1.5, "a]b,[", {"x": [1, 2, {"y": None}]}, -20, [], True]
    (tmp_path / "a").write_text(json.dumps(content, indent=1))
    monkeypatch.setattr(json_array, "_CHUNK", chunk)
    assert [element for _, element in json_array.elements(tmp_path / "a")] == content
    (tmp_path / "a").write_text("[]")
    assert list(json_array.elements(tmp_path / "a")) == []


def test_pai(tmp_path: Path) -> None:
    found = {job.id: job for job in jobs("pai", tmp_path)}
    parts, whole = found["j0"], found["j1"]
    assert [group.name for group in parts.groups] == ["ps", "worker"]
    assert parts.groups[1] == Group(
        name="worker", tasks=2, gpu_milli=500, cpu_milli=4000, memory_bytes=10 * 2**30
    )
    assert (parts.gpus, parts.submit_s, parts.start_s, parts.duration_s) == (1.0, 90.0, 100.0, 110.0)
    assert (parts.traced_type, parts.gpu_types, parts.user) == ("MISC", (), "u0")
    assert (whole.gpus, whole.gpu_types, whole.model, whole.status) == (2.0, ("V100",), "bert", "failed")


def test_pai_without_the_other_tables(tmp_path: Path) -> None:
    case = Case("pai", {"pai": {"pai_task_table.csv": CASES["pai"].files["pai"]["pai_task_table.csv"]}})
    found = {job.id: job for job in read(case, tmp_path).jobs}
    assert (found["j0"].submit_s, found["j1"].submit_s, found["j0"].user) == (100.0, 110.0, "")


def test_openb_pods(tmp_path: Path) -> None:
    part, whole = jobs("openb", tmp_path)
    assert part.groups == (Group(gpu_milli=460, cpu_milli=12_000, memory_bytes=2**34),)
    assert (part.gpu_types, part.duration_s, part.open_ended) == (("V100M16", "V100M32"), 12902955.0, True)
    assert (whole.status, whole.duration_s, whole.gpus) == ("waiting", None, 8)


def test_files_of_different_kinds_in_any_order(tmp_path: Path) -> None:
    case = CASES["gavel"]

    def read_in(order: slice) -> Trace:
        return gathered(traces.records("gavel", put(case.files, tmp_path)[order], Ledger()))

    assert read_in(slice(None)).jobs == read_in(slice(None, None, -1)).jobs


@pytest.mark.parametrize("name", ["pollux", "sia"])
def test_a_folder_with_nothing_that_is_read_is_refused(tmp_path: Path, name: str) -> None:
    """An empty trace was written, and called done, of a folder of workloads where one of profiles is read."""
    (tmp_path / "workloads").mkdir()
    (tmp_path / "workloads" / "workload-1.csv").write_text("name,time\n")
    with pytest.raises(TraceError, match=f"holds nothing that {name} reads"):
        list(traces.records(name, [tmp_path / "workloads"], Ledger()))
