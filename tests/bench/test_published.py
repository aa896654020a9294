"""Published figures: a small trace of their form becomes rows, and what is missing is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from gangplan.bench import suites
from gangplan.bench.published.measure import measure, settings
from gangplan.bench.report.sections.published import section
from gangplan.bench.runs import Run
from gangplan.bench.selection import Selection
from gangplan.errors import InvalidInputError

JOBS = """job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration
0,100,3600,m,1100,64,1,3600
1,100,3600,m,4000,64,1,3600
2,160,600,m,400,64,4,300
"""
SPEEDS = """global_batch_size,1,2,4
64,1.0,2.0,4.0
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Three jobs in ElasticFlow's form, and one model's table."""
    folder = tmp_path / "elasticflow_profiles"
    (folder / "traces").mkdir(parents=True)
    (folder / "throughputs_T4").mkdir()
    (folder / "traces" / "elasticVpollux_e.csv").write_text(JOBS)
    (folder / "throughputs_T4" / "m.csv").write_text(SPEEDS)
    return tmp_path


def a_run(instance: str, who: str, data: Path) -> Run:
    return Run("published", "published", instance, who=who, source=str(data))


def test_a_setting_becomes_a_row_for_each_figure(data: Path) -> None:
    """On 64 GPUs, job 0 needs four of its own to end by 1,100 (900 s); on the one it asks for it is late.

    Job 1 has 3,900 s for 3,600, job 2, on the four it asks for, 240 s for 150: both are met either way.
    """
    row = measure(a_run("elasticflow/60s/0s", "elasticflow", data))[0]
    assert (row["policy"], row["measure"], row["published"]) == ("elasticflow", "deadlines_met", 0.728)
    assert row["ours"] == 1.0
    assert row["ratio"] == pytest.approx(1 / 0.728)
    assert "rounds of 60 s, restarts of 0 s" in row["setting"]
    rigid = measure(a_run("elasticflow/60s/0s", "tiresias", data))[0]
    assert rigid["ours"] == pytest.approx(2 / 3)
    other = measure(a_run("elasticflow/60s/0s", "fifo", data))[0]
    assert (other["published"], other["ratio"]) == (None, None)
    table = section([one | {"kind": "published"} for one in (row, rigid, other)])
    assert table is not None
    assert [line[4:] for line in table.table.lines] == [
        ("0.728", "1", "1.374"),
        ("0.287", "0.6667", "2.323"),
        ("", "0.6667", ""),
    ]


def test_what_is_not_there_is_said(data: Path) -> None:
    for instance in ("nobody/1", "elasticflow/soon", "shockwave/jobs7"):
        with pytest.raises(InvalidInputError, match=r"there is|there are|instances are"):
            measure(a_run(instance, "fifo", data))


def test_the_suite_s_instances_are_of_settings_and_need_a_folder(tmp_path: Path) -> None:
    runs = list(suites.load("published").runs())
    assert {run.instance.split("/")[0] for run in runs} == set(settings())
    assert {run.source for run in Selection(suite="published", data=tmp_path).runs()} == {str(tmp_path)}
    with pytest.raises(InvalidInputError, match="--data"):
        list(Selection(suite="published").runs())
