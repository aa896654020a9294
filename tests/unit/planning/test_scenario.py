"""Scenario files: every form that may be written, and every mistake with its line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gangplan.cli.inputs import is_scenario
from gangplan.domain.cluster import DeviceReporting, NodeHealth, Resources, TaintEffect
from gangplan.domain.job import TaskPlacement, TaskSplit
from gangplan.domain.round import Round
from gangplan.errors import ScenarioError
from gangplan.planning.scenario import expand, json_schema, load, loads, resolve

HEAD = "gangplan: scenario/v1\naccelerators: {H100: 1.0, T4: 0.25}\n"


def round_of(text: str) -> Round:
    return expand(loads(HEAD + text))


def complaints(text: str) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        loads(text, name="s.yaml")
    return [str(violation) for violation in caught.value.violations]


class TestForms:
    def test_the_smallest_file(self):
        round_ = expand(loads("gangplan: scenario/v1\n"))
        assert round_ == Round(now=1_767_225_600.0)

    def test_alike_nodes_are_one_entry_with_a_count(self):
        nodes = round_of(
            'nodes: [{name: "n{}", count: 3, type: H100, gpus: 8, cpu: 96, memory: 1Ti}]'
        ).cluster.nodes
        assert [node.name for node in nodes] == ["n1", "n2", "n3"]
        assert {node.resources for node in nodes} == {Resources(96_000, 2**40)}
        assert {node.usable_device_count for node in nodes} == {8}

    def test_numbers_are_padded_on_demand(self):
        nodes = round_of('nodes: [{name: "n{:03}", count: 2, cpu: 1}]').cluster.nodes
        assert [node.name for node in nodes] == ["n001", "n002"]

    def test_domains_nest_and_numbers_run_on_over_all_parents(self):
        topology = round_of(
            """
topology:
  levels: [spine, rack]
  domains:
    - {name: "s{}", count: 2, domains: [{name: "r{}", count: 2}]}
    - {name: lone, level: rack}
"""
        ).cluster.topology
        assert topology.levels == ("spine", "rack")
        assert [(domain.name, domain.level, domain.parent) for domain in topology.domains] == [
            ("s1", "spine", None),
            ("s2", "spine", None),
            ("r1", "rack", "s1"),
            ("r2", "rack", "s1"),
            ("r3", "rack", "s2"),
            ("r4", "rack", "s2"),
            ("lone", "rack", None),
        ]

    @pytest.mark.parametrize(
        ("domain", "wanted"),
        [("r2", ["r2"] * 2), ("[r1, r3]", ["r1", "r1", "r3", "r3"]), ('"r[12]"', ["r1", "r1", "r2", "r2"])],
    )
    def test_a_group_has_count_nodes_in_each_of_its_domains(self, domain, wanted):
        nodes = round_of(
            f"""
topology: {{levels: [rack], domains: [{{name: "r{{}}", count: 3}}]}}
nodes: [{{name: "n{{}}", count: 2, domain: {domain}, cpu: 1}}]
"""
        ).cluster.nodes
        assert [node.domain for node in nodes] == wanted
        assert len({node.name for node in nodes}) == len(wanted)

    def test_everything_about_a_node(self):
        exact, counted = round_of(
            """
settings: {now: 1000}
nodes:
  - name: a
    type: H100
    gpus: 8
    cpu: 96
    memory: 512Gi
    unhealthy_gpus: [1]
    others: {gpus: [2, 3], cpu: 500m, memory: 1Gi}
    labels: {zone: east}
    taints: [{key: k, value: v, effect: NO_EXECUTE}, {key: x}]
    cordoned: true
    drain: 5m
    revision: "7"
  - {name: b, type: T4, gpus: 4, reporting: COUNT_ONLY, unhealthy_gpus: 1, others: {gpus: 2},
     health: UNHEALTHY}
"""
        ).cluster.nodes
        assert exact.usable_devices == {0, 4, 5, 6, 7}
        assert exact.usable_resources == Resources(95_500, 511 * 2**30)
        assert exact.labels == {"zone": "east"}
        assert [taint.effect for taint in exact.taints] == [TaintEffect.NO_EXECUTE, TaintEffect.NO_SCHEDULE]
        assert exact.cordoned
        assert exact.drain_time == 1300.0
        assert exact.revision == "7"
        assert counted.device_reporting is DeviceReporting.COUNT_ONLY
        assert counted.usable_device_count == 1
        assert counted.health is NodeHealth.UNHEALTHY

    def test_a_job_in_short_form_is_a_gang_of_alike_tasks(self):
        (job,) = round_of(
            """
settings: {now: 100000}
queues: [{name: q, limit: 0, limits: {H100: 4}}]
jobs:
  - {name: j, tasks: 8, counts: [4, 8], gpus: 2, cpu: 1500m, memory: 64Gi, types: [H100], split: WHOLE_NODES,
     queue: q, weight: 2, priority: 1, age: 04:00:00, work: 2h, done: 10, deadline: 2-04:00:00, restart: 90s,
     required: node, preferred: node, movable: false}
"""
        ).jobs
        (group,) = job.component.task_groups
        assert (group.count, group.allowed_counts, group.devices_per_task) == (8, (4, 8), 2)
        assert group.resources_per_task == Resources(1500, 64 * 2**30)
        assert group.accelerator_types == ("H100",)
        assert group.split is TaskSplit.WHOLE_NODES
        assert job.submit_time == 100_000.0 - 4 * 3600
        assert job.work_left == 7200.0
        assert job.deadline == 100_000.0 + 52 * 3600
        assert job.restart_seconds == 90.0
        assert (job.weight, job.priority, job.queue) == (2.0, 1, "q")
        assert not job.capabilities.movable
        assert job.capabilities.pausable

    def test_a_range_of_counts_is_every_count(self):
        (job,) = round_of("jobs: [{name: j, tasks: 3, counts: {min: 2, max: 5}, gpus: 1}]").jobs
        assert job.component.task_groups[0].allowed_counts == (2, 3, 4, 5)

    def test_a_class_is_many_alike_jobs(self):
        jobs = round_of('jobs: [{name: "a-{}", count: 2, gpus: 1}, {names: [x, y], cpu: 4}]').jobs
        assert [job.name for job in jobs] == ["a-1", "a-2", "x", "y"]
        assert jobs[0].component == jobs[1].component
        assert jobs[2].component == jobs[3].component

    def test_several_roles(self):
        (job,) = round_of(
            "jobs: [{name: j, groups: [{name: lead, cpu: 2}, {name: work, tasks: 4, gpus: 1}]}]"
        ).jobs
        assert [(group.name, group.count) for group in job.component.task_groups] == [
            ("lead", 1),
            ("work", 4),
        ]

    def test_where_a_job_runs(self):
        short, long, gone = round_of(
            """
settings: {now: 1000}
nodes:
  - {name: a, type: H100, gpus: 8}
  - {name: c, cpu: 8}
jobs:
  - {name: short, tasks: 2, gpus: 2, running: {where: {a: [3, 2, 1, 0]}, since: 10m, checkpoint: 1m}}
  - name: long
    groups: [{name: work, tasks: 2, gpus: 1}, {name: lead, cpu: 2}]
    running: {where: {lead: {c: 1}, work: {a: [4, 5]}}}
  - {name: gone, gpus: 1, running: {where: {away: [0]}}}
"""
        ).jobs
        assert short.running is not None
        assert short.running.placements == (TaskPlacement("worker", "a", 2, (0, 1, 2, 3)),)
        assert (short.running.started_at, short.running.checkpoint_age_seconds) == (400.0, 60.0)
        assert long.running is not None
        assert long.running.placements == (
            TaskPlacement("work", "a", 2, (4, 5)),
            TaskPlacement("lead", "c", 1),
        )
        assert gone.running is not None
        assert gone.running.started_at is None

    def test_profiles_and_policy(self):
        round_ = round_of(
            """
profiles: {p: {H100: {node: {1: 1, 2: 1.9}, cluster: {2: 1.5}}}}
policy: {priority_weights: {1: 2, -1: 0.5}, fairness_power: 2, reference_host: {cpu: 4, memory: 32Gi}}
"""
        )
        (profile,) = round_.profiles
        assert profile.throughput == {
            ("H100", 1, "node"): 1.0,
            ("H100", 2, "node"): 1.9,
            ("H100", 2, "cluster"): 1.5,
        }
        assert round_.policy.priority_weights == {1: 2.0, -1: 0.5}
        assert round_.policy.reference_host == Resources(4000, 32 * 2**30)

    def test_later_rounds_see_later_arrivals(self):
        scenario = loads(
            HEAD
            + "at: [0, 1h]\nsettings: {now: 0}\njobs: [{name: a, gpus: 1}, {name: b, gpus: 1, arrives: 30m}]"
        )
        assert [job.name for job in expand(scenario).jobs] == ["a"]
        later = expand(scenario, at=1)
        assert later.now == 3600.0
        assert [(job.name, job.submit_time) for job in later.jobs] == [("a", None), ("b", 1800.0)]
        with pytest.raises(ScenarioError, match="there is no round 2: the scenario has 2"):
            expand(scenario, at=2)

    def test_a_generated_source_brings_the_whole_round(self):
        from gangplan.planning.generate import generate

        scenario = loads(
            "gangplan: scenario/v1\nsource: {format: generated, size: S, seed: 4, occupancy: 0.85}\n"
        )
        assert expand(scenario) == generate("S", seed=4, occupancy=0.85)

    def test_a_trace_is_read_beside_the_file(self, tmp_path: Path):
        (tmp_path / "pods.csv").write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,1000,64,1,1000\n")
        file = tmp_path / "s.yaml"
        file.write_text(
            HEAD
            + "source: {format: openb, pods: pods.csv}\n"
            + "nodes: [{name: n, type: H100, gpus: 1, cpu: 1, memory: 64Mi}]\n"
        )
        scenario = load(file)
        round_ = expand(scenario, folder=tmp_path)
        assert [job.name for job in round_.jobs] == ["p1"]
        assert [node.name for node in round_.cluster.nodes] == ["n"]
        assert resolve(scenario, folder=tmp_path).source is None

    @pytest.mark.parametrize(
        ("written", "seconds"),
        [
            ("90", 90),
            ("90.5", 90.5),
            ("5m", 300),
            ("1h30m", 5400),
            ("2d4h", 187_200),
            ("2-04:00:00", 187_200),
            ("2-04:30", 189_000),
            ("2-04", 187_200),
            ("04:00:00", 14_400),
            ("04:30", 270),
            ("1 day, 3 hours", 97_200),
        ],
    )
    def test_durations(self, written, seconds):
        quoted = written if written[:2] == "90" else json.dumps(written)
        for text in (written, quoted):
            (job,) = round_of(f"jobs:\n  - name: j\n    gpus: 1\n    restart: {text}\n").jobs
            assert job.restart_seconds == seconds

    def test_a_number_in_quotes_is_no_duration_since_slurm_would_take_it_for_minutes(self):
        with pytest.raises(ScenarioError, match="'90' is not a duration"):
            round_of("jobs: [{name: j, gpus: 1, restart: '90'}]")

    @pytest.mark.parametrize(
        ("written", "milli"), [("96", 96_000), ("0.5", 500), ("500m", 500), ("0.1", 100), ("1k", 1_000_000)]
    )
    def test_cpus(self, written, milli):
        (job,) = round_of(f"jobs: [{{name: j, cpu: {written}}}]").jobs
        assert job.component.task_groups[0].resources_per_task.cpu_milli == milli

    @pytest.mark.parametrize(
        ("written", "size"),
        [
            ("1024", 1024),
            ("80Gi", 80 * 2**30),
            ("80G", 80 * 10**9),
            ("1.5Gi", 3 * 2**29),
            ("512Mi", 2**29),
            ("2Ti", 2**41),
            ("1e9", 10**9),
            ("64Ki", 2**16),
            ("80GiB", 80 * 2**30),
        ],
    )
    def test_memory(self, written, size):
        (job,) = round_of(f"jobs: [{{name: j, memory: {written}}}]").jobs
        assert job.component.task_groups[0].resources_per_task.memory_bytes == size

    @pytest.mark.parametrize(
        ("written", "now"),
        [
            ("2026-01-01T00:00:00Z", 1_767_225_600.0),
            ("2026-01-01T01:00:00+01:00", 1_767_225_600.0),
            ("12.5", 12.5),
        ],
    )
    def test_instants(self, written, now):
        assert round_of(f"settings: {{now: {written}}}").now == now

    def test_comments_before_the_first_line_and_anchors_are_fine(self):
        text = "# a header\n\n" + HEAD + "jobs:\n  - &one {name: a, gpus: 1}\n  - {<<: *one, name: b}\n"
        assert [job.name for job in expand(loads(text)).jobs] == ["a", "b"]


ERRORS = {
    "not the first line": ("title: x\ngangplan: scenario/v1\n", ["s.yaml:1: a scenario's first line is"]),
    "another version": ("gangplan: scenario/v2\n", ["s.yaml:1: a scenario's first line is"]),
    "nothing": ("", ["s.yaml:1: a scenario's first line is"]),
    "no yaml": ("gangplan: scenario/v1\njobs: [\n", ["s.yaml:3: is not YAML"]),
    "two documents": ("gangplan: scenario/v1\n---\na: 1\n", ["s.yaml:2: is not YAML"]),
    "a key twice": (
        HEAD + "jobs:\n  - name: a\n    gpus: 1\n    gpus: 2\n",
        ["s.yaml:6: 'gpus' is written twice, first in line 5: keep one"],
    ),
    "a part twice": (HEAD + "title: a\ntitle: b\n", ["s.yaml:4: 'title' is written twice, first in line 3"]),
    "an unknown tag": (HEAD + "title: !!python/object:os.system x\n", ["s.yaml:3: is not YAML"]),
    "an unknown field": (
        HEAD + "jobs:\n  - {name: a, gpus: 1}\n  - name: b\n    gpu_count: 8\n",
        ["s.yaml:6: jobs[1].gpu_count: unknown field; no field is named 'gpu_count'"],
    ),
    "a misspelt field": (
        HEAD + "jobs: [{name: a, gpus: 1, prioritty: 2}]\n",
        [
            "s.yaml:3: jobs[0].prioritty: unknown field; no field is named 'prioritty'; ",
            "did you mean 'priority'?",
        ],
    ),
    "a misspelt part": (HEAD + "node: []\n", ["s.yaml:3: node: unknown field", "did you mean 'nodes'?"]),
    "a misspelt field in a group": (
        HEAD + "jobs: [{name: a, groups: [{name: g, gpu: 1}]}]\n",
        ["s.yaml:3: jobs[0].groups[0].gpu: unknown field", "did you mean 'gpus'?"],
    ),
    "a number for a name": (
        HEAD + "jobs: [{name: 12, gpus: 1}]\n",
        ["s.yaml:3: jobs[0].name: is a text: write it in quotes, '12'"],
    ),
    "a name with a blank": (HEAD + "jobs: [{name: a b, gpus: 1}]\n", ["jobs[0].name", "without white space"]),
    "a text for a number": (
        HEAD + 'jobs: [{name: a, gpus: "8"}]\n',
        ["jobs[0].gpus: should be a valid integer"],
    ),
    "a negative number": (
        HEAD + "jobs: [{name: a, gpus: -1}]\n",
        ["jobs[0].gpus", "greater than or equal to 0"],
    ),
    "not a number": (HEAD + "jobs: [{name: a, gpus: 1, weight: .nan}]\n", ["jobs[0].weight"]),
    "an infinite number": (HEAD + "jobs: [{name: a, gpus: 1, weight: .inf}]\n", ["jobs[0].weight"]),
    "a negative duration": (HEAD + "jobs: [{name: a, gpus: 1, restart: -5m}]\n", ["jobs[0].restart"]),
    "no duration": (
        HEAD + "jobs: [{name: a, gpus: 1, restart: soon}]\n",
        ["jobs[0].restart: 'soon' is not a duration: write seconds, or a text such as 90m or 2-04:00:00"],
    ),
    "no quantity": (HEAD + "jobs: [{name: a, memory: 80Gx}]\n", ["jobs[0].memory: '80Gx' is not a quantity"]),
    "a broken exponent": (HEAD + "jobs: [{name: a, memory: 1e3Gi}]\n", ["jobs[0].memory", "not a quantity"]),
    "no memory": (HEAD + "jobs: [{name: a, memory: .nan}]\n", ["jobs[0].memory", "not a finite number"]),
    "a part of a byte": (
        HEAD + "jobs: [{name: a, memory: 500m}]\n",
        ["jobs[0].memory", "whole number of bytes"],
    ),
    "too fine a cpu": (HEAD + "jobs: [{name: a, cpu: 0.0001}]\n", ["jobs[0].cpu", "thousandths of a CPU"]),
    "no instant": (HEAD + "settings: {now: 2026-01-01}\n", ["settings.now: '2026-01-01' is not an instant"]),
    "an instant without its zone": (HEAD + "settings: {now: 2026-01-01T00:00:00}\n", ["settings.now"]),
    "a round without length": (HEAD + "settings: {round: 0}\n", ["settings.round", "greater than 0"]),
    "a bool in words": (
        HEAD + "nodes: [{name: n, cpu: 1, cordoned: yes}]\n",
        ["nodes[0].cordoned: write true or false"],
    ),
    "an unknown word": (
        HEAD + "jobs: [{name: a, gpus: 1, split: HALF}]\n",
        ["jobs[0].split", "'FREE' or 'WHOLE_NODES'"],
    ),
    "a minimum above its maximum": (
        HEAD + "jobs:\n  - {name: a, gpus: 1, tasks: 4,\n     counts: {min: 8, max: 4}}\n",
        ["s.yaml:5: jobs[0].counts: the minimum 8 is above the maximum 4"],
    ),
    "tasks outside their counts": (
        HEAD + "jobs: [{name: a, gpus: 1, tasks: 3, counts: [2, 4]}]\n",
        ["jobs[0].counts"],
    ),
    "a task that asks for nothing": (HEAD + "jobs: [{name: a}]\n", ["jobs[0]: a task that asks for nothing"]),
    "tasks beside groups": (
        HEAD + "jobs: [{name: a, gpus: 1, groups: [{name: g, gpus: 1}]}]\n",
        ["jobs[0]: with `groups`, write `gpus` in each group"],
    ),
    "neither name nor names": (HEAD + "jobs: [{gpus: 1}]\n", ["jobs[0]: give it either `name` or `names`"]),
    "both name and names": (HEAD + "jobs: [{gpus: 1, name: a, names: [b]}]\n", ["jobs[0]: give it either"]),
    "a count without numbers": (
        HEAD + "jobs: [{name: a, count: 2, gpus: 1}]\n",
        ["jobs[0].name: 2 of them need numbers: write the name with one {}, e.g. a-{}"],
    ),
    "a strange pattern": (
        HEAD + 'jobs: [{name: "a{0}", gpus: 1}]\n',
        ["jobs[0].name: a number's place is written {}"],
    ),
    "a job twice": (
        HEAD + "jobs:\n  - {name: a, gpus: 1}\n  - {name: a, gpus: 1}\n",
        ["s.yaml:5: jobs[1].name: job 'a' is there already"],
    ),
    "a job twice by its number": (
        HEAD + 'jobs: [{name: "a{}", count: 2, gpus: 1}, {names: [a2], gpus: 1}]\n',
        ["jobs[1].names: job 'a2' is there already"],
    ),
    "a node twice": (
        HEAD + "nodes: [{name: n, cpu: 1}, {name: n, cpu: 1}]\n",
        ["nodes[1].name: node 'n' is there"],
    ),
    "a node with nothing": (HEAD + "nodes: [{name: n}]\n", ["nodes[0]: a node has something"]),
    "devices without a type": (
        HEAD + "nodes: [{name: n, gpus: 8}]\n",
        ["nodes[0].gpus: name the accelerator `type`"],
    ),
    "a type without devices": (HEAD + "nodes: [{name: n, type: T4}]\n", ["nodes[0]: say how many `gpus`"]),
    "an unknown type": (
        HEAD + "nodes: [{name: n, type: H10, gpus: 8}]\n",
        ["nodes[0].type: no accelerator type is named 'H10'; did you mean 'H100'?"],
    ),
    "a device that is not there": (
        HEAD + "nodes: [{name: n, type: T4, gpus: 2, unhealthy_gpus: [2]}]\n",
        ["nodes[0].unhealthy_gpus: device 2 is not there: the node's go from 0 to 1"],
    ),
    "a number of devices on an EXACT node": (
        HEAD + "nodes: [{name: n, type: T4, gpus: 2, others: {gpus: 1}}]\n",
        ["nodes[0].others.gpus: on EXACT nodes list the device indices"],
    ),
    "device indices on a COUNT_ONLY node": (
        HEAD + "nodes: [{name: n, type: T4, gpus: 2, reporting: COUNT_ONLY, unhealthy_gpus: [0]}]\n",
        ["nodes[0].unhealthy_gpus: COUNT_ONLY nodes have no device indices"],
    ),
    "an unknown domain": (
        HEAD + "topology: {levels: [rack], domains: [{name: r1}]}\nnodes: [{name: n, cpu: 1, domain: r2}]\n",
        ["s.yaml:4: nodes[0].domain: no domain is named 'r2'; there is 'r1'"],
    ),
    "a domain twice": (
        HEAD + "topology: {levels: [rack], domains: [{name: r}, {name: r}]}\n",
        ["topology.domains[1].name: domain 'r' is there already"],
    ),
    "a level that is always there": (
        HEAD + "topology: {levels: [node]}\n",
        ["topology.levels[0]: 'node' is always"],
    ),
    "a level twice": (HEAD + "topology: {levels: [a, a]}\n", ["topology.levels[1]: 'a' is listed twice"]),
    "a domain outside in": (
        HEAD + "topology: {levels: [a, b], domains: [{name: x, level: b, domains: [{name: y, level: a}]}]}\n",
        ["topology.domains[0].domains[0].level: level 'a' is not inside 'b'"],
    ),
    "a domain below the innermost level": (
        HEAD + "topology: {levels: [a], domains: [{name: x, domains: [{name: y}]}]}\n",
        ["topology.domains[0].domains[0]: there is no level below 'a'"],
    ),
    "an unknown level": (
        HEAD + "jobs: [{name: a, gpus: 1, required: rack}]\n",
        ["jobs[0].required: no level is named"],
    ),
    "an unknown queue": (
        HEAD + "jobs: [{name: a, gpus: 1, queue: q}]\n",
        ["jobs[0].queue: no queue is named 'q'"],
    ),
    "a queue above itself": (
        HEAD + "queues: [{name: a, parent: b}, {name: b, parent: a}]\n",
        ["queues[0].parent: queue 'a' is above itself", "queues[1].parent: queue 'b' is above itself"],
    ),
    "an unknown profile": (
        HEAD + "jobs: [{name: a, gpus: 1, profile: p}]\n",
        ["jobs[0].profile: no profile is named"],
    ),
    "a profile for no tasks": (
        HEAD + "profiles: {p: {T4: {node: {0: 1.0}}}}\n",
        ["profiles.p.T4.node[0]: 0 tasks"],
    ),
    "a profile of an unknown level": (
        HEAD + "profiles: {p: {T4: {pod: {1: 1.0}}}}\n",
        ["profiles.p.T4.pod: no level"],
    ),
    "a running class": (
        HEAD + 'jobs: [{name: "a{}", count: 2, gpus: 1, running: {where: {n: [0]}}}]\n',
        ["jobs[0].running: what runs is one job"],
    ),
    "two jobs on a device": (
        HEAD
        + "nodes: [{name: n, type: T4, gpus: 2}]\njobs:\n"
        + "  - {name: a, gpus: 1, running: {where: {n: [0]}}}\n"
        + "  - {name: b, gpus: 1, running: {where: {n: [0]}}}\n",
        ["s.yaml:6: jobs[1].running.where.n: device 0 of 'n' is held by job 'a' already"],
    ),
    "a broken number of devices": (
        HEAD
        + "nodes: [{name: n, type: T4, gpus: 4}]\n"
        + "jobs: [{name: a, gpus: 2, running: {where: {n: [0, 1, 2]}}}]\n",
        ["jobs[0].running.where.n: 3 devices are no whole number of tasks of 2"],
    ),
    "a count-only node asked for indices": (
        HEAD
        + "nodes: [{name: n, type: T4, gpus: 4, reporting: COUNT_ONLY}]\n"
        + "jobs: [{name: a, gpus: 1, running: {where: {n: [0]}}}]\n",
        ["s.yaml:4: jobs[0].running.where.n: COUNT_ONLY nodes have no device indices"],
    ),
    "a group that is not there": (
        HEAD
        + "jobs: [{name: a, groups: [{name: g, gpus: 1}, {name: h, gpus: 1}], running: {where: {n: [0]}}}]\n",
        ["jobs[0].running.where.n: write group: {node: devices} with the groups g, h"],
    ),
    "a run longer than its age": (
        HEAD + "jobs: [{name: a, gpus: 1, age: 1m, running: {where: {n: [0]}, since: 2m}}]\n",
        ["jobs[0].running.since: it cannot run for longer than its `age`"],
    ),
    "an arrival that runs": (
        HEAD + "jobs: [{name: a, gpus: 1, arrives: 1m, running: {where: {n: [0]}}}]\n",
        ["jobs[0].running: a job that has yet to arrive does not run"],
    ),
    "moments that go back": (HEAD + "at: [1h, 5m]\n", ["at[1]: moments must grow"]),
    "parts beside a generated round": (
        HEAD + "source: {format: generated, size: S}\n",
        ["s.yaml:2: accelerators: a generated source brings the whole round"],
    ),
    "an unknown source": (HEAD + "source: {format: csv}\n", ["s.yaml:3: source"]),
    "a source of nothing": (
        HEAD + "source: {format: openb}\n",
        ["s.yaml:3: source: name `nodes`, `pods` or both"],
    ),
    "an expectation without an argument": (
        HEAD + "expected: {objective: 1}\n",
        ["s.yaml:3: expected.argument: is missing"],
    ),
    "an expectation of a stranger": (
        HEAD
        + "expected: {objective: 1, argument: 'an argument that is just about long enough',"
        + " jobs: {x: WAIT}}\n",
        ["expected.jobs.x: no job is named 'x'"],
    ),
    "too many nodes": (HEAD + 'nodes: [{name: "n{}", count: 99999999, cpu: 1}]\n', ["nodes[0].count"]),
    "too many in all": (
        HEAD
        + "topology: {levels: [a], domains: "
        + "[{name: 'x{}', count: 1000000, domains: [{name: 'y{}', count: 1000000}]}]}\n",
        ["more than the 2000000"],
    ),
    "too deep": (HEAD + "title: " + "[" * 500 + "]" * 500 + "\n", ["nested deeper than 100"]),
    "much too deep": (HEAD + "title: " + "[" * 50_000 + "\n", ["is not YAML"]),
    "a value within itself": (HEAD + "jobs: &a [*a]\n", ["nested deeper than 100"]),
    "a swelling file": (
        HEAD
        + "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "".join(
            f"{y}: &{y} [{', '.join(['*' + x] * 10)}]\n" for x, y in zip("abcdefgh", "bcdefghi", strict=True)
        ),
        ["more than 4000000 values"],
    ),
    "a control character": (HEAD + "title: a\x01b\n", ["s.yaml:3: is not YAML"]),
}


@pytest.mark.parametrize("what", ERRORS)
def test_mistakes_are_named_with_line_path_and_remedy(what):
    text, parts = ERRORS[what]
    said = "\n".join(complaints(text))
    for part in parts:
        assert part in said


def test_all_mistakes_are_named_at_once():
    said = complaints(
        HEAD + "jobs:\n  - {name: a, gpus: -1}\n  - {name: b, gpu: 1}\nnodes:\n  - {name: n, cpu: x}\n"
    )
    assert [line.split(":")[1] for line in said] == ["7", "4", "5"]
    said = complaints(
        HEAD
        + "jobs:\n  - {name: a}\n  - {name: b, gpus: 1, queue: q}\nnodes:\n  - {name: n, type: X, gpus: 1}\n"
    )
    assert [line.split(":")[1] for line in said] == ["7", "4", "5"]


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path):
    with pytest.raises(ScenarioError, match=r"away\.yaml: cannot be read: No such file"):
        load(tmp_path / "away.yaml")
    broken = tmp_path / "broken.yaml"
    broken.write_bytes(b"gangplan: scenario/v1\ntitle: \xff\n")
    with pytest.raises(ScenarioError, match=r"broken\.yaml:2: is not UTF-8"):
        load(broken)


def test_a_file_may_begin_with_the_mark_of_byte_order(tmp_path: Path):
    text = "gangplan: scenario/v1\nnodes: [{name: a, gpus: 1, type: T}]\naccelerators: {T: 1}\n"
    plain, marked = tmp_path / "plain.yaml", tmp_path / "marked.yaml"
    plain.write_text(text, encoding="utf-8")
    marked.write_text(text, encoding="utf-8-sig")
    assert is_scenario(marked)
    assert load(marked) == load(plain)


def test_expand_checks_what_was_made_by_hand():
    scenario = loads(HEAD + "jobs: [{name: a, gpus: 1}]\n")
    twice = scenario.model_copy(update={"jobs": [*scenario.jobs, *scenario.jobs]})
    with pytest.raises(ScenarioError, match=r"jobs\[1\]\.name: job 'a' is there already"):
        expand(twice)


def test_the_json_schema_describes_every_part():
    schema = json_schema()
    assert set(schema["properties"]) >= {
        "gangplan",
        "nodes",
        "jobs",
        "topology",
        "queues",
        "policy",
        "expected",
    }
    assert schema["additionalProperties"] is False
    job = schema["$defs"]["JobClass"]["properties"]
    assert "2-04:00:00" in json.dumps(job["deadline"])
    assert "80Gi" in json.dumps(job["memory"])
    json.dumps(schema)


def test_reading_a_scenario_loads_no_wire_and_no_solver():
    code = (
        "import sys; from gangplan.planning.scenario import loads, expand;"
        "expand(loads('gangplan: scenario/v1'));"
        "heavy = {'grpc', 'google', 'ortools', 'highspy', 'pulp', 'gangplan.service'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
