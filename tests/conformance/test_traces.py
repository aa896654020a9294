"""What every reader of traces keeps to, on a small file in its format: the published examples, or alike."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gangplan.adapters import traces
from gangplan.errors import TraceError
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.lines import Trace, gathered, line_of, load, write_records
from gangplan.planning.trace.records import End, Header, JobRecord

ITP = """job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration
a,100,3249,bert,1175,32,1,1075
b,200,48266,gpt2,3000,64,8,3604
"""
ELASTICFLOW = """job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort
0,0,77215,resnet50,4426,256,1,3930,0
1,2811,94898,resnet50,9179,256,2,4830,1
"""
CHRONUS = """job_id,user,num_gpu,submit_time,iterations,model_name,duration,interval,expect_time_list,\
expect_value_list,best_effort,job_type
0,vc_a,1,5601,5530,mobilenet,96,5,159-189-229,10-8-5,0,soft
1,vc_b,4,7505,760,alexnet,106,6,235,10,0,strict
2,vc_b,2,7600,760,alexnet,106,6,7600,10,1,best
"""
GAVEL = """LM (batch size 10)\tpython3 main.py --data %s\tlm\t--steps\t1\t1000\t1\t2\t-1.000000\t0
ResNet-18 (batch size 32)\tpython3 "x.py\tcv\t--num_steps\t0\t2000\t4\t1\t1.5\t55.5
"""
GAVEL_SEVEN = """LM (batch size 10)\tpython3 main.py\t-step\t1\t14612\t0.000000\t1
LM (batch size 10)\tpython3 main.py\t-step\t1\t1462\t11.5\t8
"""
SHOCKWAVE = """LM (batch size 10)\tpython3 a\tlm\t--steps\t1\t1000\t1\tgns\t1\t-1.000000\t1418\t0
LM (batch size 10)\tpython3 a\tlm\t--steps\t1\t1000\t2\tstatic\t1\t-1.000000\t141\t5
"""
MURI = """job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,interval,iteration_time,\
resource_time_0,resource_time_1,resource_time_2,priority
0,8,0,10956,gpt2,4,5095000,91000,437,0.6,419,49,0
1,1,1534000,1463,vgg16,16,281000,28000,214,82,75,66,1
"""
TIRESIAS = """job_id,num_gpu,submit_time,iterations,model_name,duration,interval
0,1,0,606,vgg19,164,30
1,8,30,133,vgg11,147,23
"""
HYDRA = """,job_name,norm_job_submit_time,ddl,A100,V100,GTX2080Ti
0,x1,0,inf,1020.0,1540.0,2595.0
1,x2,0,9000.5,5384.0,8235.0,10278.0
"""
POLLUX = """name,time,application,num_replicas,batch_size
cifar10-0,107,cifar10,6,2048
bert-1,110.5,bert,2,320
"""
DLRM = """instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,\
memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time
i0,HN,app_0,12,12,1,1,25,25,120.0,120.0,640.0,800.0,8,,,
i1,CN,app_0,64,64,0,0,25,25,320.5,320.5,640.0,800.0,-1,10,12,512
"""
ACME = """job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,\
start_time,end_time,fail_time,stop_time,duration,queue,gpu_time
d1,u1,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,\
2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0
d2,u1,1,0,32,,,Eval,CANCELLED,2023-05-17 11:28:42+08:00,,,,,,,
"""
ACME_CONVERTED = """job_id,arrival_time,num_iteration,iteration_computing_time,iteration_networking_time,\
gpu_workers,ps,gpu_per_worker,cpu_per_gpu_worker,cpu_per_ps_worker,tensorsizes,profiled_network
0,0.0,208,0.5,0.25,8,0,8.0,15.0,15.0,10.0,500
1,313.0,156,0.5,0.25,1,0,2.0,15.0,15.0,10.0,500
"""
HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0
1425512,uVMrF,vchbv,16,64,2,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0
1425513,uVMrF,vchbv,0,16,1,CANCELLED,2020-06-09 18:41:27,None,None,,
"""
SLURM = """JobID|User|Account|Partition|State|Submit|Start|End|Elapsed|ReqTRES|AllocTRES|NNodes|Priority
10|ann|lab|gpu|COMPLETED|2026-01-01T00:00:00|2026-01-01T00:10:00|2026-01-03T04:10:00|2-04:00:00|\
cpu=8,gres/gpu=4,mem=64G,node=1|billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=1|1|120
11_7|bob|lab|gpu|CANCELLED by 1000|2026-01-01T00:00:01|2026-01-01T00:10:00|2026-01-01T00:10:30|00:00:30|\
cpu=64,gres/gpu=16,mem=1T,node=2|cpu=64,gres/gpu=16,mem=1T,node=2|2|3
12|bob|lab|cpu|PENDING|2026-01-01T00:00:02|Unknown|Unknown|00:00:00|cpu=3,mem=4000M,node=1||1|1
"""
PHILLY_TABLE = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-10-09 06:13:03,2951.0,4,11804.0,6214e9

"""
PHILLY: list[dict[str, Any]] = [
    {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": "application_1506638472019_14199",
        "attempts": [
            {
                "start_time": "2017-10-07 01:12:09",
                "end_time": "2017-10-07 01:13:23",
                "detail": [{"ip": "m47", "gpus": [f"gpu{n}" for n in range(8)]}],
            },
            {
                "start_time": "2017-10-07 01:13:30",
                "end_time": "2017-10-09 06:53:12",
                "detail": [{"ip": ip, "gpus": [f"gpu{n}" for n in range(8)]} for ip in ("m412", "m413")],
            },
        ],
        "submitted_time": "2017-10-07 01:11:39",
        "user": "ce2f4c",
    },
    {
        "status": "Killed",
        "vc": "a",
        "jobid": "running",
        "attempts": [
            {
                "start_time": "2017-10-07 01:12:09",
                "end_time": None,
                "detail": [{"ip": "m1", "gpus": ["gpu0"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}],
            }
        ],
        "submitted_time": "2017-10-07 01:11:39",
        "user": "u",
    },
]
STEP = "local_bsz,step_time,sync_time"
OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,\
deletion_time,scheduled_time
p0,12000,16384,1,460,V100M16|V100M32|V100M32,LS,Running,0,12902960,5
p1,6000,12288,8,1000,,BE,Pending,9,12,
"""
PAI = {
    "pai_task_table.csv": "j0,ps,1.0,Terminated,100.0,200.0,600.0,29.296875,,\n"
    "j1,tensorflow,1.0,Failed,110.0,150.0,600.0,29.3,200.0,V100\n"
    "j0,worker,2.0,Terminated,110.0,210.0,400.0,10.0,50.0,MISC\n",
    "pai_job_table.csv": "j0,i0,u0,Terminated,90.0,210.0\nj1,i1,u1,Failed,105.0,150.0\n",
    "pai_group_tag_table.csv": "i1,u1,V100,g1,bert\n",
}
STEPS = {
    "v100": {
        "('LM (batch size 10)', 1)": {"null": 2.5, "('LM (batch size 10)', 1)": [1.5, 1.25]},
        "('LM (batch size 10)', 2)": {"null": 4.0},
    },
    "v100_unconsolidated": {"('LM (batch size 10)', 2)": {"null": 1.0}},
}


@dataclass(frozen=True)
class Case:
    """A reader, its files by name (a folder is a mapping), and how many jobs and measurements they have."""

    reader: str
    files: dict[str, Any]
    jobs: int = 2
    measurements: int = 0
    table: str = ""
    """The file of comma-separated values with a header among them; empty: none."""


CASES = {
    "itp": Case("itp", {"c.csv": ITP}, table="c.csv"),
    "elasticflow": Case(
        "elasticflow",
        {
            "e.csv": ELASTICFLOW,
            "throughputs_T4": {"bert.csv": "global_batch_size,1,2,4\n64,6.5,8.5,\n128,3,nan,0.0\n"},
        },
        measurements=6,
        table="e.csv",
    ),
    "chronus": Case(
        "chronus",
        {"t.csv": CHRONUS, "model_info.json": json.dumps({"alexnet": {"2": {"1": 1.0, "2": 0.75}}})},
        jobs=3,
        measurements=2,
        table="t.csv",
    ),
    "gavel": Case("gavel", {"g.trace": GAVEL, "steps.json": json.dumps(STEPS)}, measurements=4),
    "gavel of seven fields": Case("gavel", {"g.trace": GAVEL_SEVEN}),
    "shockwave": Case("shockwave", {"s.trace": SHOCKWAVE, "steps.json": json.dumps(STEPS)}, measurements=4),
    "muri": Case("muri", {"m.csv": MURI}, table="m.csv"),
    "tiresias": Case("tiresias", {"t.csv": TIRESIAS}, table="t.csv"),
    "hydra": Case("hydra", {"h.csv": HYDRA}, table="h.csv"),
    "pollux": Case(
        "pollux",
        {
            "w.csv": POLLUX,
            "profiles": {
                "cifar10": {
                    "placements.csv": f"placement,{STEP}\n1,128,0.5,0.0\n12,128,0.75,0.2\n",
                    "scalability.csv": f"num_nodes,num_replicas,{STEP}\n6,6,4,1.5,1.1\n",
                    "validation-2048.csv": "progress,iteration,metric,grad_sqr,grad_var\n10,9,0.5,1e3,2e4\n",
                }
            },
        },
        measurements=4,
        table="w.csv",
    ),
    "sia": Case(
        "sia",
        {
            "w.csv": POLLUX,
            "profiles": {
                "bert": {
                    "placements-dgx-ext.csv": "local_bsz,step_time,sync_time,placement\n4,0.25,0.1,044\n"
                }
            },
        },
        measurements=1,
        table="w.csv",
    ),
    "dlrm": Case("dlrm", {"d.csv": DLRM}, table="d.csv"),
    "acme": Case("acme", {"trace_kalos.csv": ACME}, table="trace_kalos.csv"),
    "acme converted": Case("acme", {"k.csv": ACME_CONVERTED}, table="k.csv"),
    "helios": Case("helios", {"cluster_log.csv": HELIOS}, jobs=3, table="cluster_log.csv"),
    "slurm": Case("slurm", {"sacct.txt": SLURM}, jobs=3),
    "philly": Case("philly", {"cluster_job_log": json.dumps(PHILLY, indent=4)}),
    "philly derived": Case("philly", {"philly.csv": PHILLY_TABLE}, table="philly.csv"),
    "openb": Case("openb", {"pods.csv": OPENB}, table="pods.csv"),
    "pai": Case("pai", {"pai": PAI}),
}
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
TABLES = {name: case for name, case in CASES.items() if case.table}
EVERY_TABLE = pytest.mark.parametrize("case", TABLES.values(), ids=TABLES)


def put(files: dict[str, Any], folder: Path) -> list[Path]:
    """Write files; returns those at the top."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        if isinstance(content, dict):
            put(content, folder / name)
        else:
            (folder / name).write_bytes(content.encode())
    return [folder / name for name in files]


def read(case: Case, folder: Path, ledger: Ledger | None = None) -> Trace:
    return gathered(traces.records(case.reader, put(case.files, folder), ledger or Ledger()))


def changed(case: Case, change: Callable[[str], str]) -> Case:
    """The case with its table changed."""
    return Case(case.reader, case.files | {case.table: change(case.files[case.table])}, table=case.table)


def test_every_reader_has_a_case_here() -> None:
    assert {case.reader for case in CASES.values()} == set(traces.names())
    assert len(traces.names()) >= 17


@EVERY
def test_it_says_where_it_is_from_and_counts(case: Case, tmp_path: Path) -> None:
    found = read(case, tmp_path)
    assert (len(found.jobs), len(found.measurements)) == (case.jobs, case.measurements)
    assert found.end == End(jobs=case.jobs, measurements=case.measurements)
    header = found.header
    assert (header.reader, header.format) == (case.reader, "gangplan-trace/v1")
    assert header.files == tuple(case.files)
    assert header.source.startswith("https://")
    assert header.licence
    assert header.raw_units
    assert traces.describe()[case.reader] == traces.reader(case.reader).ABOUT
    assert traces.reader(case.reader).__doc__


@EVERY
def test_what_is_written_is_read_again(case: Case, tmp_path: Path) -> None:
    found = read(case, tmp_path)
    for name in ("t.jsonl", "t.jsonl.gz"):
        write_records(traces.records(case.reader, put(case.files, tmp_path), Ledger()), tmp_path / name)
        assert load(tmp_path / name) == found
    assert (tmp_path / "t.jsonl").read_bytes() == gzip.decompress((tmp_path / "t.jsonl.gz").read_bytes())


@EVERY
def test_no_column_is_lost(case: Case, tmp_path: Path) -> None:
    """Every cell of the source stands in the raw record, as it was written there."""
    said = "".join(line_of(record) for record in [*read(case, tmp_path).jobs])
    for path in put(case.files, tmp_path):
        if path.suffix in (".csv", ".trace", ".txt"):
            delimiter = {".csv": ",", ".trace": "\t", ".txt": "|"}[path.suffix]
            header, *lines = path.read_text().splitlines()
            if path.suffix == ".trace":
                lines = [header, *lines]
            for job, line in zip(read(case, tmp_path).jobs, filter(None, lines), strict=True):
                assert list(job.raw.values()) == line.split(delimiter)
                if path.suffix != ".trace":
                    assert list(job.raw) == header.split(delimiter)
        elif path.name == "cluster_job_log":
            assert [job.raw for job in read(case, tmp_path).jobs] == PHILLY
        elif path.name == "pai":
            for table, text in PAI.items():
                assert table.removesuffix(".csv") in said
                for line in text.splitlines():
                    assert all(json.dumps(cell) in said for cell in line.split(","))


@EVERY
def test_each_job_names_its_line(case: Case, tmp_path: Path) -> None:
    jobs = read(case, tmp_path).jobs
    assert all(job.line > 0 for job in jobs)
    first = 1 if case.reader in ("gavel", "shockwave") else 2
    assert case.reader == "pai" or jobs[0].line == first


@EVERY_TABLE
def test_line_ends_byte_order_marks_and_compression_change_nothing(case: Case, tmp_path: Path) -> None:
    plain = read(case, tmp_path)
    for change in (
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.rstrip("\n"),
        lambda text: f"{text}\n\n",
        lambda text: f"\ufeff{text}",
    ):
        found = read(changed(case, change), tmp_path)
        assert [job.raw for job in found.jobs] == [job.raw for job in plain.jobs]
        assert found.jobs == plain.jobs
    packed = tmp_path / f"{case.table}.gz"
    packed.write_bytes(gzip.compress(case.files[case.table].encode()))
    again = gathered(traces.records(case.reader, [packed], Ledger()))
    assert [job.raw for job in again.jobs] == [job.raw for job in plain.jobs]


@EVERY_TABLE
def test_a_column_that_is_missing_is_named(case: Case, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r":1: lacks the columns .*; it has nothing, at_all"):
        read(
            changed(case, lambda _: "nothing,at_all\n1,2\n".replace(",", ", ", 1).replace(", ", ",")),
            tmp_path,
        )


@EVERY_TABLE
def test_a_wrong_line_is_named_and_may_be_skipped(case: Case, tmp_path: Path) -> None:
    wrong = changed(
        case, lambda text: f"{text.rstrip()}\n{'x,' * text.split(chr(10), 1)[0].count(',')}x\nshort\n"
    )
    number = len(case.files[case.table].rstrip().splitlines()) + 1
    with pytest.raises(TraceError) as caught:
        read(wrong, tmp_path)
    said = str(caught.value)
    assert f"{case.table}:{number}: " in said
    assert "not 'x'" in said
    assert f"{case.table}:{number + 1}: has 1 fields, not " in said
    ledger = Ledger(skip_wrong=True)
    found = read(wrong, tmp_path, ledger)
    assert len(found.jobs) == case.jobs + 0 * number if case.jobs else True
    assert found.end.left_out == {"lines that are wrong": 2}
    assert ledger.wrong


@EVERY_TABLE
def test_a_job_that_is_there_twice_is_refused(case: Case, tmp_path: Path) -> None:
    if case.reader == "philly":
        pytest.skip("the derived table has no ids, and repeated rows")
    twice = changed(case, lambda text: f"{text.rstrip()}\n{text.rstrip().splitlines()[-1]}\n")
    with pytest.raises(TraceError, match="is there already"):
        read(twice, tmp_path)


@EVERY
def test_a_file_that_is_not_there_is_said(case: Case, tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        gathered(traces.records(case.reader, [tmp_path / "away.csv"], Ledger()))


def test_a_reader_that_is_not_there_is_said() -> None:
    with pytest.raises(TraceError, match=r"there is no reader 'nobody'; there are: acme, chronus"):
        next(traces.records("nobody", [], Ledger()))


def test_records_come_one_by_one(tmp_path: Path) -> None:
    """A reader does not wait for the end of its file."""
    found = traces.records("tiresias", put({"t.csv": TIRESIAS}, tmp_path), Ledger())
    assert isinstance(next(found), Header)
    assert isinstance(next(found), JobRecord)
