"""Round files say where they are wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gangplan.errors import InvalidInputError, UnsupportedFieldError
from gangplan.service.files import load_answer, load_message, load_round, save_message
from gangplan.v1.round_pb2 import PlanRoundRequest

DATA = Path(__file__).parent / "data"

ROUND = """\
now: 2026-01-01T00:00:00Z
round_length: 300s
cluster:
  nodes:
    - name: a
      resources: {cpu_milli: 4000}
jobs:
  - name: one
    weight: 2
    components:
      - task_groups:
          - resources_per_task:
              cpu_milli: 500
"""
Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file, and gives its path."""

    def written(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        return path

    return written


def said(path: Path) -> list[str]:
    """What is said against a file, the folder left out."""
    with pytest.raises(InvalidInputError) as raised:
        load_round(path)
    return [str(violation).replace(f"{path.parent}/", "") for violation in raised.value.violations]


def test_a_hand_written_file_is_read(write: Write) -> None:
    round_, _ = load_round(write("round.yaml", ROUND))
    assert round_.now == 1_767_225_600.0
    assert round_.jobs[0].weight == 2.0


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("weight: 2", "weight: -2", ["round.yaml:9: jobs[0].weight: must be from 1e-09 to 1e+09, and is -2"]),
        ("weight: 2", "wait: 2", ["round.yaml:9: jobs[0].wait: no such field; known are after_jobs, "]),
        (
            "weight: 2",
            "priority: high",
            ["round.yaml:9: jobs[0].priority: must be a whole number of 32 bits, and is 'high'"],
        ),
        ("weight: 2", "queue: 2", ["round.yaml:9: jobs[0].queue: must be text, and is 2"]),
        (
            "weight: 2",
            "partitions: [a]",
            ["round.yaml:9: jobs[0].partitions: not supported yet; leave it unset"],
        ),
        ("weight: 2", "weight: 2\n    weight: 3", ["round.yaml:10: is not YAML: duplicate key 'weight'"]),
        (
            "weight: 2",
            "work: {left_known: 1, left_unknown: {}}",
            ["round.yaml:9: jobs[0].work.left_unknown: must not"],
        ),
        ("300s", "5 minutes", ["round.yaml:2: round_length: Couldn't parse duration: 5 minutes"]),
        ("300s", "300", ["round.yaml:2: round_length: "]),
        ("2026-01-01T00:00:00Z", "yesterday", ["round.yaml:1: now: Failed to parse timestamp"]),
        (
            "cpu_milli: 500",
            "cpu_milli: .nan",
            ["round.yaml:13: jobs[0].components[0].task_groups[0].resources_per_task"],
        ),
        (
            "  nodes:\n",
            "  node_classes: 5\n  nodes:\n",
            ["round.yaml:4: cluster.node_classes: must be a list, and is a number"],
        ),
        (
            "weight: 2",
            "deadline: {kind: NEVER}",
            ["round.yaml:9: jobs[0].deadline.kind: must be one of DEADLINE_KIND_TARGET, "],
        ),
        ("name: a", "name: [a", ["round.yaml:6: is not YAML: "]),
        (
            "weight: 2",
            "wait: 2\n    priority: high",
            ["round.yaml:9: jobs[0].wait: no such", "round.yaml:10: jobs[0].priority: must be"],
        ),
    ],
)
def test_an_error_says_file_line_and_field(write: Write, old: str, new: str, expected: list[str]) -> None:
    assert old in ROUND
    found = said(write("round.yaml", ROUND.replace(old, new)))
    assert len(found) == len(expected)
    for one, beginning in zip(found, expected, strict=True):
        assert one.startswith(beginning)


def test_a_planned_field_in_a_file_is_unsupported(write: Write) -> None:
    with pytest.raises(UnsupportedFieldError, match=r"round.yaml:9: jobs\[0\].partitions: not supported yet"):
        load_round(write("round.yaml", ROUND.replace("weight: 2", "partitions: [a]")))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("round.json", "{", "round.json:1: is not JSON: "),
        ("round.json", '{"now": 1,\n "now": 2}', "round.json: cannot be read: duplicate key 'now'"),
        ("round.json", "[]", "round.json: holds no PlanRoundRequest: the outermost value is no mapping"),
        ("round.json", "", "round.json:1: is not JSON: "),
        (
            "round.json",
            '{"jobs": [\n  {"name": "a"},\n  {"name": 3}\n]}',
            "round.json:3: jobs[1].name: must be text, and is 3",
        ),
        ("round.json", '{"jobs": ' + "[" * 100_000, "round.json: cannot be read: "),
        ("round.yaml", "", "round.yaml: holds no PlanRoundRequest"),
        ("round.yaml", "a: *b", "round.yaml:1: is not YAML: "),
        ("round.yaml", "a: !!python/object:os.system {}", "round.yaml:1: is not YAML: "),
        ("round.pb", "surely no message", "round.pb: holds no PlanRoundRequest: "),
        ("round.toml", "", "round.toml: must end in .json, .yaml, .yml or .pb"),
    ],
)
def test_what_is_no_round_file_is_refused(write: Write, name: str, content: str, expected: str) -> None:
    (one,) = said(write(name, content))
    assert one.startswith(expected)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    (one,) = said(tmp_path / "none.json")
    assert one == "none.json: cannot be read: No such file or directory"
    (tmp_path / "round.json").write_bytes(b'{"request_id": "\xff"}')
    (one,) = said(tmp_path / "round.json")
    assert one == "round.json: is not UTF-8: byte 16 is 0xff"


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".yml", ".pb"])
def test_a_file_is_written_whole_and_leaves_nothing_beside_it(tmp_path: Path, suffix: str) -> None:
    request = load_message(DATA / "everything.json", PlanRoundRequest)
    path = tmp_path / f"round{suffix}"
    path.write_text("old")
    save_message(path, request)
    assert load_message(path, PlanRoundRequest) == request
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_nothing_is_written_in_a_format_that_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="must end in"):
        save_message(tmp_path / "round.txt", PlanRoundRequest())
    assert not list(tmp_path.iterdir())


def test_a_request_is_no_answer() -> None:
    with pytest.raises(InvalidInputError, match=r"everything.json:4: round(_l|L)ength: no such field"):
        load_answer(DATA / "everything.json")
