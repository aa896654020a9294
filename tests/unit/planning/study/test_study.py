"""Studies: the file, its changes, the questions, and what makes an answer one that can be relied on."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gangplan.errors import InvalidInputError
from gangplan.planning import study as studies
from gangplan.planning.study.ask import ask
from gangplan.planning.study.finished import Finished
from gangplan.planning.study.questions import words
from gangplan.planning.study.reader import Given
from gangplan.planning.study.runners.local import Local
from gangplan.planning.study.task import Base, Outcome, Task, evaluate, setup_of
from gangplan.planning.study.verdict import Kept, least_draws, tail, verdict

SITE = """\
gangplan: scenario/v1
accelerators: {fast: {speed: 1.0, price: 3.0}, slow: {speed: 0.5, price: 1.0}}
topology: {levels: [leaf], domains: [{name: "leaf-{}", count: 2}]}
nodes:
  - {name: "f-{}", count: 1, domain: "leaf-*", type: fast, gpus: 1}
queues: [{name: q, limit: 8}]
jobs:
  - {name: "j-{}", count: 6, gpus: 1, work: 1h, deadline: 2h, queue: q}
"""
"""Six jobs of an hour on two devices: a device does two of them in time, so that three are needed."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site.yaml").write_text(SITE)
    return tmp_path


def read(folder: Path, text: str) -> Given:
    return studies.loads("gangplan: study/v1\n" + text, folder=folder)


class Here:
    """Plays in this process, in an order of its own."""

    about = "here"

    def __init__(self, *, backwards: bool = False) -> None:
        self.backwards, self.played = backwards, 0

    def run(
        self, base: Base, tasks: Mapping[str, Task], seconds: float | None
    ) -> Iterator[tuple[str, Outcome]]:
        for key in reversed(tasks) if self.backwards else tasks:
            self.played += 1
            yield key, evaluate(base, tasks[key])


SMALLEST = """\
base: {scenario: site.yaml}
axes: {nodes: {from: 1, to: 8}}
changes: [{nodes: {group: "f-{}", count: $nodes}}]
find: {smallest: nodes, where: {deadlines_met: {at_least: 1.0}}}
"""


def test_the_smallest_is_found_by_bisection_with_its_neighbour_as_a_witness(folder: Path) -> None:
    """Two hours hold two jobs on each device: six jobs need three, and the two below meet four of six."""
    here = Here()
    found = ask(read(folder, SMALLEST), here)
    assert found.findings[0]["value"] == 3
    assert found.findings[0]["not"] == 2
    assert here.played < 8
    by_value = {dict(point.point)["nodes"]: point for point in found.points}
    assert by_value[2].median("deadlines_met") == pytest.approx(4 / 6)
    assert by_value[3].median("cost") == pytest.approx(3 * 3.0 * 2)
    assert found.answer[0].startswith("Smallest nodes: 3 (100 %")


def test_the_largest_load_that_still_does_is_its_mirror(folder: Path) -> None:
    text = """\
base: {scenario: site.yaml}
axes: {more: {from: 0, to: 4}, gone: [1, 2, 3]}
changes:
  - nodes: {group: "f-{}", more: $more}
  - nodes: {group: "f-{}", more: -1}
  - quota: {queue: q, limit: $gone}
find: {largest: gone, where: {busy: {at_most: 0.9}}}
"""
    found = ask(read(folder, text), Here())
    assert [finding["at"] for finding in found.findings] == [{"more": more} for more in range(5)]
    assert found.findings[4]["value"] == 3
    assert found.findings[0]["value"] is None


def test_what_no_value_does_is_said(folder: Path) -> None:
    found = ask(read(folder, SMALLEST.replace("to: 8", "to: 2")), Here())
    assert found.findings[0]["value"] is None
    assert found.answer[0].startswith("No nodes up to 2 will do: deadlines met at least 100 % is not met")


def test_the_cheapest_mix_is_the_least_of_all_that_keep_to_the_bounds(folder: Path) -> None:
    """On a slow device a job of an hour takes two: three fast ones do, or two and two slow (4 + 2)."""
    text = """\
base: {scenario: site.yaml}
axes: {fast: [2, 3], slow: [0, 1, 2]}
changes:
  - nodes: {group: "f-{}", count: $fast}
  - add: {nodes: {name: "s-{}", count: 2, domain: leaf-1, type: slow, gpus: 1}}
  - nodes: {group: "s-{}", count: $slow}
find: {least: price_per_hour, where: {deadlines_met: {at_least: 1}}}
"""
    found = ask(read(folder, text), Here())
    assert found.findings[0]["point"] == {"fast": 2, "slow": 2}
    assert found.findings[0]["value"] == pytest.approx(8.0)
    assert found.findings[0]["kept"] == 4  # three fast ones whatever is beside, too


def test_losing_a_leaf_is_compared_with_what_there_is(folder: Path) -> None:
    text = """\
base: {scenario: site.yaml}
axes: {losing: [null, leaf-1, f-2]}
changes: [{lose: $losing}]
find: {compare: losing}
show: [makespan, deadlines_met]
"""
    found = ask(read(folder, text), Here())
    assert found.findings[0]["figures"]["makespan"] == {
        "before": 3 * 3600.0,
        "after": 6 * 3600.0,
        "difference": 3 * 3600.0,
        "low": 3 * 3600.0,
        "high": 3 * 3600.0,
    }
    assert found.findings[0]["figures"] == found.findings[1]["figures"]
    assert found.answer[0] == (
        "losing leaf-1 instead of as it is: first submission to last end +3h00m (3h00m to 6h00m); "
        "deadlines met -33.3 points (66.7 % to 33.3 %)."
    )


DRAWN = SMALLEST.replace("{from: 1, to: 8}", "[1, 3, 5]") + "seeds: 5\ndraw: resample\n"


def test_the_answer_hangs_neither_on_the_order_nor_on_where_it_runs(folder: Path) -> None:
    given = read(folder, DRAWN)
    here = ask(given, Here()).document()
    there = ask(given, Here(backwards=True)).document()
    processes = ask(given, Local(2)).document()
    for document in (here, there, processes):
        del document["run"]
    assert here == there == processes


def test_what_is_finished_is_not_played_again(folder: Path, tmp_path: Path) -> None:
    given, kept = read(folder, DRAWN), tmp_path / "finished.jsonl"
    first = ask(given, Here(), Finished(kept))
    lines = kept.read_text().splitlines()
    assert len(lines) == first.played
    kept.write_text("\n".join(lines[:3]) + "\n" + lines[3][:40])  # cut off
    here = Here()
    again = ask(given, here, Finished(kept))
    assert here.played == first.played - 3
    assert (again.answer, again.reused) == (first.answer, 3)
    other = read(
        folder, DRAWN.replace("base: {scenario: site.yaml}", "base: {scenario: site.yaml, rounds: 9}")
    )
    assert ask(other, Here(), Finished(kept)).reused == 0
    assert json.loads(kept.read_text().splitlines()[0])["seed"] == 0


def test_another_files_lines_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n")
    with pytest.raises(InvalidInputError, match=r"x.jsonl:1: is no finished simulation"):
        Finished(tmp_path / "x.jsonl")


def test_draws_have_the_same_jobs_at_every_point(folder: Path) -> None:
    given = read(folder, DRAWN)
    outcomes = [evaluate(given.base, given.task((("nodes", n),), seed)) for n in (2, 3) for seed in (0, 1)]
    held = [outcome.figures["useful_gpu_hours"] for outcome in outcomes]
    assert held[:2] == held[2:]


def test_a_sign_test_says_how_sure_it_is(folder: Path) -> None:
    bound = read(folder, SMALLEST).study.find
    assert bound is not None
    good, bad = Outcome({"deadlines_met": 1.0}, {}, 0.0), Outcome({"deadlines_met": 0.5}, {}, 0.0)
    said = verdict([good] * 5, bound.where, 0.95)
    assert (said.kept, said.confidence) == (Kept.YES, 1 - 1 / 32)
    assert verdict([good] * 4 + [bad], bound.where, 0.95).kept is Kept.OPEN
    assert verdict([bad] * 5, bound.where, 0.95).kept is Kept.NO
    assert verdict([Outcome({}, {}, 0.0, "failed")], bound.where, 0.95).kept is Kept.NO
    assert tail(8, 10) == pytest.approx(56 / 1024)
    assert least_draws(0.95) == 5


def test_more_load_is_the_same_jobs_in_less_time(folder: Path) -> None:
    text = "base: {scenario: site.yaml}\naxes: {load: [1, 2.0]}\nchanges: [{load: $load}]\n"
    (folder / "site.yaml").write_text(SITE.replace("gpus: 1, work", "every: 4h, gpus: 1, work"))
    found = ask(read(folder, text), Here())
    assert [point.median("makespan") for point in found.points] == [21 * 3600.0, 11 * 3600.0]
    assert [point.median("deadlines_met") for point in found.points] == [1 / 6, 1 / 6]


THREE_DRAWS = """\
axes: {n: [1]}
changes: [{load: $n}]
seeds: 3
draw: resample
find: {smallest: n, where: {busy: {at_least: 1}}}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("axes: {n: [1]}\nchanges: [{nodes: {group: 'f-{}', count: 1}}]", "no change has $n in it"),
        ("axes: {n: [1]}\nchanges: [{nodes: {group: 'f-{}', count: $m}}]", "no axis is named 'm'"),
        ("axes: {n: [1]}\nchanges: [{node: $n}]", "no edit is named 'node'"),
        ("axes: {n: [1]}\nchanges: [{nodes: {group: 'g-{}', count: $n}}]", "no node is named like 'g-{}'"),
        ("axes: {n: [leaf-9]}\nchanges: [{lose: $n}]", "no domain or node is named 'leaf-9'"),
        ("axes: {n: [one]}\nchanges: [{nodes: {group: 'f-{}', count: $n}}]", "changes[0].nodes.count"),
        ("axes: {n: [0]}\nchanges: [{nodes: {group: 'f-{}', count: $n}}]", "no device would be left"),
        ("axes: {n: [1]}\nchanges: [{load: $n}]\nseeds: 3", "nothing is drawn"),
        (
            "axes: {n: [1]}\nchanges: [{load: $n}]\nfind: {smallest: m, where: {busy: {at_least: 1}}}",
            "no axis",
        ),
        ("axes: {n: [1]}\nchanges: [{load: $n}]\nfind: {least: costs}", "did you mean 'cost'?"),
        (
            "axes: {n: [2, 1]}\nchanges: [{load: $n}]\nfind: {smallest: n, where: {busy: {at_least: 1}}}",
            "rise",
        ),
        (THREE_DRAWS, "no answer of 3 draws has confidence 0.95: draw 5, or 1"),
        ("axes: {n: [1]}\nchanges: [{policy: $n}]", "changes[0].policy"),
        ("axes: {n: [nobody]}\nchanges: [{policy: $n}]", "no policy 'nobody'"),
        ("axes: {n: [1]}\nchanges: [{quota: {queue: p, limit: $n}}]", "no queue is named 'p'"),
        ("axes: {n: [1]}\nchanges: [{load: $n}]\nnonsense: 1", "unknown field"),
    ],
)
def test_what_cannot_be_asked_is_said_with_its_place(folder: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read(folder, "base: {scenario: site.yaml}\n" + text)
    assert said in str(caught.value)
    assert str(caught.value).count("study:") >= 1


def test_a_policy_and_its_weights_are_changed_beside_what_is_written(folder: Path) -> None:
    text = """\
base: {scenario: site.yaml}
axes: {weight: [0.0, 2.0]}
changes: [{policy: {decides: myopic, weights: {deadline_weight: $weight, preset: interactive}}}]
"""
    given = read(folder, text)
    setup = setup_of(given.base, given.task((("weight", 2.0),), 0))
    assert (setup.policy, setup.site.policy.deadline_weight) == ("myopic", 2.0)
    assert setup.site.policy.size_exponent == 0.0


TRACE = """\
{"kind":"header","format":"gangplan-trace/v1","name":"four"}
{"kind":"job","id":"a","submit_s":0.0,"groups":[{"tasks":2}],"duration_s":3600.0,"deadline_s":4000.0}
{"kind":"job","id":"b","submit_s":60.0,"groups":[{}],"duration_s":600.0,"deadline_s":2000.0}
{"kind":"job","id":"c","submit_s":120.0,"groups":[{"tasks":4}],"duration_s":600.0,"deadline_s":9000.0}
{"kind":"job","id":"d","submit_s":180.0,"groups":[{}],"duration_s":600.0}
{"kind":"end","jobs":4}
"""


def test_jobs_that_a_smaller_cluster_cannot_hold_count_as_missed(folder: Path) -> None:
    """Else a cluster would meet more deadlines by being too small for them."""
    (folder / "t.jsonl").write_text(TRACE)
    (folder / "empty.yaml").write_text(SITE[: SITE.index("jobs:")])
    text = """\
base: {trace: t.jsonl, cluster: empty.yaml, replay: {restart: 0s}}
axes: {nodes: [2, 4]}
changes: [{nodes: {group: "f-{}", count: $nodes}}]
"""
    few, many = ask(read(folder, text), Here()).points
    assert (few.median("jobs"), many.median("jobs")) == (4, 4)
    assert (few.median("unfinished"), many.median("unfinished")) == (1, 0)
    assert (few.median("deadlines_met"), many.median("deadlines_met")) == (1 / 3, 1.0)
    assert few.outcomes[0].left_out == {"jobs larger than all GPUs of any one type": 1}
    windows = text.replace("replay: {restart: 0s}", "replay: {most_jobs: 2}") + "seeds: 2\ndraw: windows\n"
    drawn = ask(read(folder, windows), Here()).points[1]
    assert drawn.values("useful_gpu_hours") == pytest.approx([2 + 1 / 6, 4 / 6 + 1 / 6])


def test_a_study_of_no_job_is_refused_when_it_is_read(folder: Path) -> None:
    (folder / "t.jsonl").write_text(TRACE)
    (folder / "empty.yaml").write_text(SITE[: SITE.index("jobs:")])
    text = """\
base: {trace: t.jsonl, cluster: empty.yaml, replay: {queue: nosuch}}
draw: resample
axes: {nodes: [2, 4]}
changes: [{nodes: {group: "f-{}", count: $nodes}}]
"""
    with pytest.raises(InvalidInputError, match="no queue of the trace is named 'nosuch'"):
        read(folder, text)
    with pytest.raises(InvalidInputError, match="passes over 4 jobs, and the trace has 4"):
        read(folder, text.replace("queue: nosuch", "skip: 4"))


def test_the_examples_are_studies() -> None:
    house = Path(__file__).parents[4]
    found = [
        studies.load(path)
        for path in sorted((house / "scenarios/studies").glob("*.yaml"))
        if "site" not in path.name
    ]
    assert len(found) >= 3
    assert all(given.points() for given in found)


def test_the_schema_knows_every_edit_and_lets_axes_stand_for_values() -> None:
    schema = studies.json_schema()
    changes = schema["properties"]["changes"]["items"]["oneOf"]
    keys = list(itertools.chain.from_iterable(change["required"] for change in changes))
    assert {"nodes", "add", "lose", "type", "load", "jobs", "policy", "quota"} <= set(keys)
    assert json.dumps(schema)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("lost_gpu_hours", -0.04, "0.0 h"),
        ("lost_gpu_hours", -1.24, "-1.2 h"),
        ("completion_mean", 87.0, "+87s"),
        ("completion_mean", -0.2, "0s"),
        ("deadlines_met", 0.0476, "+4.76 points"),
        ("rho_worst", None, "-"),
    ],
)
def test_a_difference_has_a_sign_while_anything_is_left_of_it(
    name: str, value: float | None, said: str
) -> None:
    assert words.difference(name, value) == said
