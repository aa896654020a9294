"""The openb importer: classes with members' names, traps of the format, the real trace when at hand."""

import os
from collections import Counter
from pathlib import Path

import pytest

from gangplan.adapters.traces.openb import Fractional, Imported, find_lists, import_openb
from gangplan.errors import ScenarioError
from gangplan.planning.scenario import dumps, expand, loads

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
n0,32000,262144,0,
n1,96000,393216,8,G2
n2,8000,61440,2,P100
n3,96000,393216,8,G2
"""
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,12000,16384,1,1000,,LS,Running,0,12537496,0
p1,6000,12288,1,460,,LS,Running,427061,12902960,427061
p2,12000,16384,1,1000,,BE,Pending,9,12,
p3,88000,327680,8,1000,G2,LS,Running,1,2,1
p4,12500,57344,0,0,,LS,Running,1,2,1
p5,14000,0,1,1000,V100M16|V100M32|V100M32,LS,Running,1,2,1
p6,14000,0,1,1000,V100M32|V100M16,LS,Running,1,2,1
"""
FIVE = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli
p0,12000,16384,1,1000
p1,6000,12288,4,1000
"""


def files(folder: Path, nodes: str = NODES, pods: str = PODS) -> tuple[Path, Path]:
    paths = folder / "openb_node_list_all_node.csv", folder / "openb_pod_list_default.csv"
    paths[0].write_text(nodes)
    paths[1].write_text(pods)
    return paths


def whole(folder: Path, nodes: str = NODES, pods: str = PODS) -> Imported:
    return import_openb(*files(folder, nodes, pods), Fractional.WHOLE)


def complaints(folder: Path, nodes: str = NODES, pods: str = PODS) -> str:
    with pytest.raises(ScenarioError) as caught:
        whole(folder, nodes, pods)
    return "\n".join(str(violation) for violation in caught.value.violations)


def test_alike_nodes_and_alike_pods_are_put_together_under_their_names(tmp_path):
    scenario = whole(tmp_path).scenario
    assert [(group.names, group.type, group.gpus, group.cpu) for group in scenario.nodes] == [
        (["n0"], None, 0, 32_000),
        (["n1", "n3"], "G2", 8, 96_000),
        (["n2"], "P100", 2, 8_000),
    ]
    assert scenario.nodes[1].memory == 393_216 * 2**20
    assert [(job.names, job.gpus, job.types) for job in scenario.jobs] == [
        (["p0", "p2"], 1, []),
        (["p1"], 1, []),
        (["p3"], 8, ["G2"]),
        (["p4"], 0, []),
        (["p5", "p6"], 1, ["V100M16", "V100M32"]),
    ]


def test_models_named_only_by_pods_are_in_the_catalogue_and_all_have_the_same_speed(tmp_path):
    accelerators = whole(tmp_path).scenario.accelerators
    assert {name: entry.speed for name, entry in accelerators.items()} == {
        "G2": 1.0,
        "P100": 1.0,
        "V100M16": 1.0,
        "V100M32": 1.0,
    }
    speeds = import_openb(*files(tmp_path), Fractional.WHOLE, speeds={"P100": 0.3}).scenario.accelerators
    assert speeds["P100"].speed == 0.3


def test_all_pods_wait_at_once_with_equal_weight(tmp_path):
    round_ = expand(whole(tmp_path).scenario)
    assert {(job.weight, job.submit_time, job.running, job.priority) for job in round_.jobs} == {
        (1.0, None, None, 0)
    }
    assert [job.name for job in round_.jobs] == ["p0", "p2", "p1", "p3", "p4", "p5", "p6"]
    eight = next(job for job in round_.jobs if job.name == "p3").component.task_groups[0]
    assert (eight.count, eight.devices_per_task) == (1, 8)


def test_the_summary_counts_what_was_read_and_what_was_left_out(tmp_path):
    summary = whole(tmp_path).summary
    assert (summary.nodes, summary.cpu_only_nodes, summary.node_groups, summary.devices) == (4, 1, 3, 18)
    assert summary.devices_by_type == {"G2": 16, "P100": 2}
    assert (summary.pods, summary.classes, summary.devices_requested) == (7, 5, 13)
    assert (
        summary.cpu_only_pods,
        summary.fractional_pods,
        summary.one_gpu_pods,
        summary.multi_gpu_pods,
    ) == (1, 1, 4, 1)
    assert summary.left_out == {"times of pods: all wait at once": 7}
    assert summary.lines()[0] == "4 nodes in 3 shapes, 1 without GPUs"


def test_parts_of_a_gpu_are_refused_by_name_unless_told_otherwise(tmp_path):
    more = PODS + "".join(
        f"q{number},1000,64,1,{number}50\n".replace("\n", ",,,,,,\n") for number in range(1, 5)
    )
    nodes, pods = files(tmp_path, pods=more)
    with pytest.raises(ScenarioError) as caught:
        import_openb(nodes, pods)
    said = str(caught.value)
    assert "5 of 11 pods ask for part of a GPU (p1, q1, q2, ...)" in said
    assert "--fractional whole" in said
    job = next(job for job in whole(tmp_path).scenario.jobs if job.names == ["p1"])
    assert job.gpus == 1


def test_a_share_and_a_whole_one_of_the_same_size_are_one_class(tmp_path):
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,64,1,500\nb,1000,64,1,1000\n"
    imported = whole(tmp_path, pods=pods)
    assert [job.names for job in imported.scenario.jobs] == [["a", "b"]]
    assert imported.summary.fractional_pods == 1


def test_files_with_five_columns_and_byte_order_marks_and_crlf_are_read(tmp_path):
    nodes, pods = files(tmp_path, pods=FIVE)
    pods.write_bytes(b"\xef\xbb\xbf" + FIVE.replace("\n", "\r\n").encode())
    imported = import_openb(nodes, pods)
    assert [job.gpus for job in imported.scenario.jobs] == [1, 4]
    assert imported.summary.left_out == {}


def test_one_list_alone(tmp_path):
    nodes, pods = files(tmp_path, pods=FIVE)
    assert import_openb(nodes, None).scenario.jobs == []
    assert import_openb(None, pods).scenario.nodes == []


def test_what_cannot_be_placed_is_left_out_and_counted(tmp_path):
    imported = whole(
        tmp_path,
        nodes=NODES + "n4,0,0,0,\nn5,1000,64,0,G2\n",
        pods=FIVE + "p2,0,0,0,0\np3,1000,64,0,0\n",
    )
    assert imported.summary.left_out == {
        "nodes that have nothing": 1,
        "models of nodes without GPUs": 1,
        "pods that ask for nothing": 1,
    }
    assert imported.summary.pods == 3
    assert imported.summary.nodes == 5


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x,abc,1,1,1000", "list_default.csv:4: cpu_milli: 'abc' is not a whole number from 0 on"),
        ("x,-1,1,1,1000", ":4: cpu_milli: '-1' is not a whole number"),
        ("x,1.5,1,1,1000", ":4: cpu_milli: '1.5' is not a whole number"),
        ("x,1,99999999999999999999,1,1000", ":4: memory_mib"),
        ("x,1,1,1,0", ":4: gpu_milli: 0 is not a share of each of 1 GPUs"),
        ("x,1,1,2,500", ":4: gpu_milli: 500 is not a share of each of 2 GPUs"),
        ("x,1,1,1,1001", ":4: gpu_milli: 1001"),
        ("x,1,1,5000,1000", ":4: num_gpu: 5000 GPUs for one pod are too many"),
        (",1,1,1,1000", ":4: name: '' is not a name"),
        ("a b,1,1,1,1000", ":4: name: 'a b' is not a name"),
        ("p0,1,1,1,1000", ":4: name: 'p0' is there already"),
        ("x,1,1,1", ":4: has 4 fields, not 5"),
        ("x,1,1,1,1000,G2", ":4: has 6 fields, not 5"),
        ('"x,1,1,1,1000', "is not a table of comma-separated values"),
    ],
)
def test_a_wrong_pod_is_named_with_its_line(tmp_path, line, said):
    assert said in complaints(tmp_path, pods=FIVE + line + "\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("x,1,1,8,", "list_all_node.csv:6: model: is empty, yet the node has 8 GPUs"),
        ("x,1,1,9999,G2", ":6: gpu: 9999 GPUs on one node are too many"),
        ("n1,1,1,8,G2", ":6: sn: 'n1' is there already"),
    ],
)
def test_a_wrong_node_is_named_with_its_line(tmp_path, line, said):
    assert said in complaints(tmp_path, nodes=NODES + line + "\n")


def test_all_wrong_lines_are_named_but_not_without_end(tmp_path):
    said = complaints(tmp_path, nodes=NODES + "x,a,1,1,\n", pods=FIVE + "y,a,b,1,1000\n")
    assert said.count("\n") == 3
    said = complaints(tmp_path, pods=FIVE + "".join(f"y{number},a,1,1,1000\n" for number in range(500)))
    assert "has more wrong lines; reading stops here" in said
    assert said.count("\n") < 60


def test_missing_columns_and_files(tmp_path):
    assert "lacks the columns gpu, model; it has sn, cpu_milli, memory_mib" in complaints(
        tmp_path, nodes="sn,cpu_milli,memory_mib\nn,1,1\n"
    )
    assert "lacks the columns" in complaints(tmp_path, nodes="")
    with pytest.raises(ScenarioError, match="cannot be read: No such file"):
        import_openb(tmp_path / "away.csv", None)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="is not a table"):
        import_openb(tmp_path / "binary.csv", None)


def test_a_folder_is_searched_for_its_lists(tmp_path):
    nodes, pods = files(tmp_path)
    assert find_lists(tmp_path) == (nodes, pods)
    with pytest.raises(ScenarioError, match=r"gpu_node\.csv: is not there; there are: all_node"):
        find_lists(tmp_path, nodes="gpu_node")
    with pytest.raises(ScenarioError, match=r"gpuspec33\.csv: is not there; there are: default"):
        find_lists(tmp_path, pods="gpuspec33")
    only_gpus = nodes.rename(tmp_path / "openb_node_list_gpu_node.csv")
    assert find_lists(tmp_path) == (only_gpus, pods)
    with pytest.raises(ScenarioError, match=r"the folder has no openb_node_list_\*\.csv"):
        find_lists(tmp_path / "away")


def test_what_is_imported_can_be_written_and_read(tmp_path):
    scenario = whole(tmp_path).scenario
    assert loads(dumps(scenario, header="from a test")) == scenario


def data() -> Path:
    root = os.environ.get("GANGPLAN_DATA")
    folder = Path(root) if root else Path(__file__).parents[4] / "shared" / "data"
    if not (folder / "alibaba_openb_v2023").is_dir():
        pytest.skip(
            "the openb trace is not here: set GANGPLAN_DATA to the folder that holds alibaba_openb_v2023"
        )
    return folder / "alibaba_openb_v2023"


def test_the_published_trace_has_its_published_numbers():
    imported = import_openb(*find_lists(data()), Fractional.WHOLE)
    summary = imported.summary
    assert (summary.nodes, summary.cpu_only_nodes, summary.devices) == (1523, 310, 6212)
    assert summary.devices_by_type == {
        "G2": 4392,
        "T4": 842,
        "G3": 312,
        "P100": 265,
        "V100M32": 204,
        "V100M16": 195,
        "A10": 2,
    }
    assert (summary.pods, summary.cpu_only_pods) == (8152, 1088)
    assert (summary.fractional_pods, summary.one_gpu_pods, summary.multi_gpu_pods) == (3078, 3911, 75)
    assert (summary.classes, summary.node_groups) == (112, 27)
    assert sum(node.cpu * len(node.names or ()) for node in imported.scenario.nodes) == 125_514_000
    assert loads(dumps(imported.scenario)) == imported.scenario
    round_ = expand(imported.scenario)
    assert len({job.name for job in round_.jobs}) == 8152
    assert sum(node.device_count for node in round_.cluster.nodes) == 6212


@pytest.mark.parametrize(
    ("pods", "count", "constrained"),
    [("gpuspec33", 8152, 2388), ("gpuspec10", 8152, 732), ("multigpu50", 9061, 0), ("cpu0", 7064, 0)],
)
def test_the_other_pod_lists_are_read_too(pods, count, constrained):
    imported = import_openb(*find_lists(data(), nodes="gpu_node", pods=pods), Fractional.WHOLE)
    assert imported.summary.nodes == 1213
    assert imported.summary.pods == count
    by_types = Counter[bool]()
    for job in imported.scenario.jobs:
        by_types[bool(job.types)] += len(job.names or ())
    assert by_types[True] == constrained


def test_without_the_option_the_published_trace_is_refused():
    with pytest.raises(ScenarioError, match=r"3,078 of 8,152 pods ask for part of a GPU \(openb-pod-0001, "):
        import_openb(*find_lists(data()))


def test_parts_of_a_gpu_are_given_as_parts(tmp_path: Path) -> None:
    imported = import_openb(*files(tmp_path), Fractional.SHARE)
    shared = [job for job in imported.scenario.jobs if job.gpu_milli is not None]
    assert shared
    assert all(job.gpus == 1 for job in shared)
    assert imported.summary.fractional_pods == sum(len(list(job.numbered_names())) for job in shared)
    assert "given their parts" in "\n".join(imported.summary.lines())
