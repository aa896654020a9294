"""Files that are written when all is done: refused before, or written."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.cli.options.places import check_places
from gangplan.errors import InvalidInputError

_STEPS = st.lists(st.sampled_from(["folder", "file", "missing", "x"]), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("places")
    (found / "folder" / "folder").mkdir(parents=True)
    for file in (found / "file", found / "folder" / "file"):
        file.touch()
    return found


@given(steps=_STEPS)
def test_a_place_is_refused_exactly_when_writing_fails(ground: Path, steps: list[str]) -> None:
    path = ground.joinpath(*steps)
    was_there = path.exists()
    try:
        with path.open("a"):
            pass
        written = True
    except OSError:
        written = False
    finally:
        if not was_there and path.is_file():
            path.unlink()
    if written:
        check_places(report=path)
        return
    with pytest.raises(InvalidInputError) as refused:
        check_places(report=path)
    assert refused.value.violations[0].field == "--report"
    assert str(path) in refused.value.violations[0].description


@given(steps=_STEPS)
def test_with_folders_to_be_made_a_file_on_the_way_or_a_folder_at_the_end_is_refused(
    ground: Path, steps: list[str]
) -> None:
    path = ground.joinpath(*steps)
    bad = path.is_dir() or any(parent.is_file() for parent in path.parents)
    try:
        check_places(output=path, makes_folders=True)
    except InvalidInputError:
        assert bad
    else:
        assert not bad


def test_every_place_is_named_by_its_option(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as refused:
        check_places(jobs_parquet=tmp_path, state=tmp_path / "no" / "x", report=None)
    assert [each.field for each in refused.value.violations] == ["--jobs-parquet", "--state"]
