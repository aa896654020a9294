"""Trace files: what is written is read, and what is wrong is named with its line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangplan.errors import TraceError
from gangplan.planning.trace.describe import describe
from gangplan.planning.trace.ledger import MOST_WRONG, Ledger
from gangplan.planning.trace.lines import gathered, line_of, load, read_records, write_records
from gangplan.planning.trace.records import (
    RECORDS,
    DeadlineValue,
    End,
    Group,
    Header,
    JobRecord,
    Measurement,
    Record,
)

HEADER = '{"kind":"header","format":"gangplan-trace/v1","name":"t"}'
END = '{"kind":"end","jobs":1}'
numbers = st.floats(allow_nan=False, allow_infinity=False)
amounts = st.floats(0, 1e12)
texts = st.text(max_size=8)
groups = st.builds(
    Group,
    name=texts,
    tasks=st.integers(1, 2000),
    gpus_per_task=st.integers(0, 16),
    gpu_milli=st.none() | st.integers(1, 999),
    cpu_milli=st.none() | st.integers(0, 10**6),
    memory_bytes=st.none() | st.integers(0, 2**50),
)
jobs = st.builds(
    JobRecord,
    id=st.uuids().map(str),
    submit_s=numbers,
    older=st.booleans(),
    groups=st.lists(groups, min_size=1, max_size=3).map(tuple),
    duration_s=st.none() | amounts,
    duration_by_type=st.dictionaries(texts, st.floats(0.001, 1e9), max_size=3),
    work=st.none() | amounts,
    gpu_types=st.lists(texts, max_size=3).map(tuple),
    deadline_s=st.none() | numbers,
    deadline_kind=st.sampled_from(["target", "strict", "soft"]),
    deadline_values=st.lists(st.builds(DeadlineValue, by_s=numbers, value=numbers), max_size=2).map(tuple),
    status=st.sampled_from(["completed", "failed", "unknown"]),
    raw=st.dictionaries(texts, texts | st.none() | st.booleans() | st.lists(texts, max_size=2), max_size=4),
)
measurements = st.builds(
    Measurement,
    table=st.sampled_from(["throughput", "shared", "placement"]),
    model=texts,
    gpus=st.none() | st.integers(1, 99),
    throughput=st.none() | amounts,
    spread=st.booleans(),
)


@given(st.lists(jobs | measurements, max_size=6))
@settings(max_examples=100)
def test_any_record_comes_back_as_it_went(found: list[Record]) -> None:
    for record in [*found, Header(format="gangplan-trace/v1", name="x"), End(jobs=3, left_out={"a": 1})]:
        text = line_of(record)
        assert text.count("\n") == 1
        assert text.endswith("\n")
        assert RECORDS.validate_json(text) == record


def file(folder: Path, *lines: str) -> Path:
    path = folder / "t.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def job(name: str = "a", **more: Any) -> str:
    return json.dumps({"kind": "job", "id": name, "submit_s": 0.0, "groups": [{}]} | more)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((HEADER, "no json", END), r"t\.jsonl:2: Invalid JSON"),
        ((HEADER, job(groups=[{"tasks": 0}]), END), r":2: groups\.0\.tasks: Input should be greater"),
        ((HEADER, job(duration=3), END), r":2: duration: Extra inputs are not permitted"),
        ((HEADER, job(submit_s=None), END), r":2: submit_s: Input should be a valid number"),
        ((HEADER, '{"kind":"jobs"}', END), r":2: Input tag 'jobs' found"),
        ((HEADER, job(), job(), END), r":3: id: 'a' is there already"),
        ((HEADER, job()), r":3: the file is cut off"),
        ((), r":1: the file is cut off"),
        ((HEADER, job(), job("b"), END), r":4: it has 2 jobs and 0 measurements, and says 1 and 0"),
        ((HEADER, job(), END, job("b")), r":4: stands after the end"),
        ((job(), END), r":1: a trace begins with its header"),
        ((HEADER, HEADER, END), r":2: a trace begins with its header, and has one"),
        (('{"kind":"header","format":"gangplan-trace/v2","name":"t"}', END), r":1: format: Input should be "),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    with pytest.raises(TraceError, match=said):
        load(file(tmp_path, *lines))


def test_all_wrong_lines_are_named_but_not_without_end(tmp_path: Path) -> None:
    with pytest.raises(TraceError) as caught:
        load(file(tmp_path, HEADER, "x", job(), "y", END))
    assert [violation.field.rpartition(":")[2] for violation in caught.value.violations] == ["2", "4"]
    with pytest.raises(TraceError, match="reading stops here") as caught:
        load(file(tmp_path, HEADER, *["x"] * 1000, END))
    assert len(caught.value.violations) == MOST_WRONG + 1


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(f"{HEADER}\n".encode() + b"\xff\xfe\n")
    with pytest.raises(TraceError, match="is no text"):
        load(path)
    cut = tmp_path / "t.jsonl.gz"
    write_records(records(50), cut)
    cut.write_bytes(cut.read_bytes()[:-20])
    with pytest.raises(TraceError, match="is no text"):
        load(cut)
    with pytest.raises(TraceError, match="cannot be read: No such file"):
        load(tmp_path / "away.jsonl")


def records(count: int) -> list[Record]:
    found = [
        JobRecord(id=f"j{n}", submit_s=n, groups=(Group(tasks=1 + n % 3),), duration_s=n)
        for n in range(count)
    ]
    return [Header(format="gangplan-trace/v1", name="x"), *found, End(jobs=count)]


def test_nothing_is_left_of_a_file_that_could_not_be_finished(tmp_path: Path) -> None:
    def broken() -> Any:
        yield from records(3)[:2]
        raise TraceError([])

    path = tmp_path / "t.jsonl"
    path.write_text("as it was")
    with pytest.raises(TraceError):
        write_records(broken(), path)
    assert path.read_text() == "as it was"
    assert list(tmp_path.iterdir()) == [path]


def test_empty_lines_do_not_count(tmp_path: Path) -> None:
    assert len(load(file(tmp_path, HEADER, "", job(), "  ", END)).jobs) == 1


def test_a_file_is_read_as_it_is_asked_for(tmp_path: Path) -> None:
    write_records(records(5), tmp_path / "t.jsonl")
    stream = read_records(tmp_path / "t.jsonl")
    assert isinstance(next(stream), Header)
    assert isinstance(next(stream), JobRecord)
    assert gathered(read_records(tmp_path / "t.jsonl")).jobs == tuple(records(5)[1:-1])


def test_a_description_counts() -> None:
    found = describe(records(101))
    assert (found.jobs, found.first_s, found.last_s, found.without_duration) == (101, 0, 100, 0)
    assert found.gpus == {1: 34, 2: 34, 3: 33}
    assert found.durations == {0.5: 50.0, 0.9: 90.0, 0.99: 99.0}
    assert math.isclose(found.gpu_hours, sum((1 + n % 3) * n for n in range(101)) / 3600)


def test_a_ledger_that_may_skip_counts_lines_and_not_columns() -> None:
    ledger = Ledger(skip_wrong=True)
    ledger.refuse("f:1", "a: wrong", "b: wrong")
    ledger.check()
    assert ledger.end().left_out == {"lines that are wrong": 1}
    assert list(ledger.lines()) == ["0 jobs", "left out: lines that are wrong (1)"]
