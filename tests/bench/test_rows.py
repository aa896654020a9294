"""Files of rows: appended to, resumed, and refused when they are something else."""

import json
from pathlib import Path
from typing import Any

import pytest

from gangplan.bench.rows import RowFile, latest, read_rows
from gangplan.bench.runs import Run, from_document, key
from gangplan.errors import InvalidInputError


def test_a_run_survives_its_row() -> None:
    run = Run("s", "rounds", "M/steady/50/seed1", solver="highs", options={"relax": True}, node_limit=3)
    assert from_document(json.loads(json.dumps(run.head())) | {"status": "OPTIMAL"}) == run


def test_a_cut_off_line_is_passed_over_and_the_next_row_begins_a_line(tmp_path: Path, row: Any) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row(seed=1)) + "\n" + json.dumps(row(seed=2))[:50])
    kept = RowFile(file)
    assert len(kept.known(key(row(seed=1)))) == 1
    assert kept.known(key(row(seed=2))) == []
    kept.append(row(seed=3))
    assert [one["seed"] for one in read_rows([file])] == [1, 3]


@pytest.mark.parametrize(
    "changed",
    [
        {"code": "other"},
        {"time_limit_s": 2.0},
        {"solver": "cpsat"},
        {"pipeline": "greedy"},
        {"seed": 9},
        {"options": {"relax": True}},
        {"who": "prototype-same"},
        {"transport": "in_process"},
    ],
)
def test_another_run_is_not_taken_for_it(tmp_path: Path, row: Any, changed: dict[str, Any]) -> None:
    kept = RowFile(tmp_path / "rows.jsonl")
    kept.append(row())
    assert kept.known(key(row()))
    assert not kept.known(key(row(**changed)))


@pytest.mark.parametrize(
    ("name", "text"), [("a.jsonl", "hello\n"), ("a.json", "{"), ("a.json", '[{"x": 1}]')]
)
def test_a_file_without_rows_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInputError):
        read_rows([tmp_path / name])


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_rows([tmp_path / "none.jsonl"])


def test_of_two_measurements_of_a_run_the_later_counts_whatever_its_code(row: Any) -> None:
    rows = [row(wall_s=1.0, code="old"), row(seed=1, wall_s=3.0), row(wall_s=2.0, code="new")]
    assert [one["wall_s"] for one in latest(rows)] == [2.0, 3.0]
