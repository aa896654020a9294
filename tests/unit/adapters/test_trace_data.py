"""The published traces, where they are at hand: their counts agree with the table that describes them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gangplan.adapters import traces
from gangplan.planning.trace.describe import Description, describe
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord

_OTHER_FOLDERS = {"itp_elasticflow": "itp", "elasticflow_profiles": "elasticflow"}
_TABLES = {
    "gavel": "gavel/simulation_throughputs.json",
    "shockwave": "shockwave/tacc_throughputs.json",
    "chronus": "chronus/model_info.json",
}


def root() -> Path:
    given = os.environ.get("GANGPLAN_DATA")
    folder = Path(given) if given else Path(__file__).parents[4] / "shared" / "data"
    if not (folder / "README.md").is_file():
        pytest.skip("the published traces are not here: set GANGPLAN_DATA to the folder that describes them")
    return folder


@cache
def described() -> dict[str, list[str]]:
    """The rows of the table of traces, by file."""
    text = (root() / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_]+/[^`]+)` \| ([\d,]+) \|(.*)\|$", text, re.MULTILINE)
    return {file: [jobs, *(cell.strip() for cell in rest.split("|"))] for file, jobs, rest in rows}


@cache
def imported(file: str) -> Description:
    """The trace as its reader reads it, with the table of throughputs that it comes with."""
    folder = file.split("/", 1)[0]
    name = "philly" if file.endswith("philly.csv") else _OTHER_FOLDERS.get(folder, folder)
    paths = [root() / file]
    if name in _TABLES:
        paths.append(root() / _TABLES[name])
    return describe(traces.records(name, paths, Ledger()))


def files() -> list[str]:
    try:
        return sorted(described())
    except pytest.skip.Exception:
        return []


def test_the_table_is_read() -> None:
    assert len(described()) >= 75
    folders = {file.split("/", 1)[0] for file in described()}
    assert folders >= {"gavel", "pollux", "sia", "chronus", "muri", "tiresias", "acme", "hydra", "shockwave"}


@pytest.mark.parametrize("file", files())
def test_counts_sizes_and_spans_agree(file: str) -> None:
    jobs, sizes, _, _, span, *_ = described()[file]
    found = imported(file)
    without = found.left_out.get("jobs that ask for no GPU", 0)
    assert set(found.left_out) <= {"jobs that ask for no GPU"}
    total = found.jobs + without
    assert total == int(jobs.replace(",", ""))
    assert found.span_days == pytest.approx(float(span), abs=0.006)
    percents = Counter({size: 100 * count / total for size, count in found.gpus.items()})
    percents[0.0] += 100 * without / total
    for size, percent in re.findall(r"(\d+):([\d.]+)", sizes):
        assert percents[float(size)] == pytest.approx(float(percent), abs=0.051)
    if "rest" not in sizes:
        assert sum(share > 0 for share in percents.values()) == len(re.findall(r"\d+:", sizes))


@pytest.mark.parametrize("file", [file for file in files() if described()[file][2] != "-"])
def test_durations_agree(file: str) -> None:
    """Medians and 99th percentiles, by any of the usual ways to take them: within a neighbour's distance."""
    _, _, p50, p99, *_ = described()[file]
    durations = sorted(seconds for job in jobs_of(file) if (seconds := duration(job)) is not None)
    for part, said in ((0.5, p50), (0.99, p99)):
        place = part * (len(durations) - 1)
        low = durations[max(0, int(place) - 1)]
        high = durations[min(len(durations) - 1, int(place) + 2)]
        assert low - 1 <= float(said.replace(",", "")) <= high + 1


def jobs_of(file: str) -> Iterator[JobRecord]:
    folder = file.split("/", 1)[0]
    name = "philly" if file.endswith("philly.csv") else _OTHER_FOLDERS.get(folder, folder)
    paths = [root() / file, *([root() / _TABLES[name]] if name == "gavel" else [])]
    return (record for record in traces.records(name, paths, Ledger()) if isinstance(record, JobRecord))


def duration(job: JobRecord) -> float | None:
    """As the table has it: Hydra's on V100."""
    return job.duration_by_type.get("V100", job.duration_s)


@pytest.mark.parametrize(
    ("name", "paths", "counts"),
    [
        ("dlrm", ["alibaba_dlrm_v2025/disaggregated_DLRM_trace.csv"], (23_871, 0)),
        ("itp", ["itp_elasticflow/raw/cluster08.csv"], (13_047, 0)),
        ("gavel", ["gavel/simulation_throughputs.json"], (0, 10_830)),
        ("shockwave", ["shockwave/tacc_throughputs.json"], (0, 10_830)),
        ("chronus", ["chronus/model_info.json"], (0, 50)),
        (
            "elasticflow",
            ["elasticflow_profiles/throughputs_A100", "elasticflow_profiles/throughputs_T4"],
            None,
        ),
        ("pollux", ["pollux/profiles"], None),
        ("sia", ["sia/profiles"], None),
    ],
)
def test_the_other_files_are_read_too(name: str, paths: list[str], counts: tuple[int, int] | None) -> None:
    ledger = Ledger()
    for _ in traces.records(name, [root() / path for path in paths], ledger):
        pass
    assert not ledger.left_out
    if counts is not None:
        assert (ledger.jobs, ledger.measurements) == counts
    else:
        assert ledger.measurements == cells([root() / path for path in paths])


def cells(folders: list[Path]) -> int:
    """Rows of tables of step times, cells of tables of throughputs; counted without the reader."""
    count = 0
    for folder in folders:
        for table in folder.rglob("*.csv"):
            header, *lines = [line for line in table.read_text().splitlines() if line.strip()]
            count += len(lines) * (header.count(",") if folder.name.startswith("throughputs") else 1)
    return count


def test_instances_of_dlrm() -> None:
    jobs = [
        record
        for record in traces.records(
            "dlrm", [root() / "alibaba_dlrm_v2025/disaggregated_DLRM_trace.csv"], Ledger()
        )
        if isinstance(record, JobRecord)
    ]
    assert Counter(job.groups[0].name for job in jobs) == {"CN": 16_485, "HN": 7_386}
    assert sum(job.older for job in jobs) == 7_280
    assert sum(job.open_ended for job in jobs) == 8_878
    assert len({job.model for job in jobs}) == 156
    assert {job.max_per_node for job in jobs} == {None, 2, 4, 8, 10, 16}


@pytest.mark.parametrize(
    ("variant", "pods", "none", "part", "one", "many", "asked"),
    [
        ("cpu0", 7064, 0, 3078, 3911, 75, 6086.8),
        ("default", 8152, 1088, 3078, 3911, 75, 6086.8),
        ("gpushare100", 8152, 1088, 7064, 0, 0, 3952.7),
        ("gpushare80", 8152, 1088, 6279, 768, 17, 4408.2),
        ("multigpu50", 9061, 1088, 3078, 3911, 984, 11358.8),
    ],
)
def test_pods_of_openb(
    variant: str, pods: int, none: int, part: int, one: int, many: int, asked: float
) -> None:
    path = root() / f"alibaba_openb_v2023/openb_pod_list_{variant}.csv"
    jobs = [r for r in traces.records("openb", [path], Ledger()) if isinstance(r, JobRecord)]
    assert len(jobs) == pods
    kinds = Counter(
        "none" if job.gpus == 0 else "part" if job.gpus < 1 else "one" if job.gpus == 1 else "many"
        for job in jobs
    )
    assert [kinds[kind] for kind in ("none", "part", "one", "many")] == [none, part, one, many]
    assert sum(job.gpus for job in jobs) == pytest.approx(asked, abs=0.06)
    if variant == "default":
        assert sum(job.status == "waiting" for job in jobs) == 897
        assert sum(job.open_ended or (job.end_s or 0) == 12_902_960 for job in jobs) == 34


def test_deadlines_of_chronus() -> None:
    found = imported("chronus/trace_job_Philly_MIX2.csv")
    total = sum(found.deadlines.values())
    assert found.deadlines["soft"] / found.jobs == pytest.approx(0.6, abs=0.01)
    assert found.deadlines["strict"] / found.jobs == pytest.approx(0.3, abs=0.01)
    assert found.jobs - total == pytest.approx(0.1 * found.jobs, abs=0.01 * found.jobs)
    strict = imported("chronus/trace_job_Philly_SLO.csv")
    assert strict.deadlines == {"strict": strict.jobs}


def test_gpu_hours_of_philly() -> None:
    assert imported("pollux/philly.csv").gpu_hours == pytest.approx(978_078, abs=1)
    assert imported("pollux/philly.csv").queues == 15
