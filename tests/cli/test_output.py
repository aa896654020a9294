"""Where the answer goes when there is little room for it, or none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gangplan.cli.render.console import LEAST_WIDTH, PLAIN_WIDTH

NO_ANSWER = 5
FULL = Path("/dev/full")
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "COLUMNS"}


def lines(**environment: str) -> list[str]:
    command = [sys.executable, "-m", "gangplan.cli.main", "solvers"]
    done = subprocess.run(
        command, env=ENVIRONMENT | environment, stdout=subprocess.PIPE, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("columns", ["0", "abc", "-1", "", None])
def test_a_width_that_says_nothing_is_the_plain_one(columns: str | None) -> None:
    plain = lines(COLUMNS=str(PLAIN_WIDTH))
    assert plain
    assert lines(**({} if columns is None else {"COLUMNS": columns})) == plain


@pytest.mark.parametrize("columns", [1, 5, LEAST_WIDTH])
def test_a_table_is_never_narrower_than_it_can_be_read(columns: int) -> None:
    found = lines(COLUMNS=str(columns))
    assert found == lines(COLUMNS=str(LEAST_WIDTH))
    assert 0 < max(len(line) for line in found) <= LEAST_WIDTH


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
@pytest.mark.parametrize("form", ["table", "json", "yaml"])
def test_a_full_disk_is_no_bug(form: str) -> None:
    command = [sys.executable, "-m", "gangplan.cli.main", "solvers"]
    if form != "table":
        command += ["-o", form]
    with FULL.open("w") as full:
        done = subprocess.run(
            command, env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == NO_ANSWER
    assert done.stderr == "error: the answer cannot be written: No space left on device\n"
