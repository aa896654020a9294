"""Who interrupts a long command is told whether the same command goes on from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gangplan.bench import driver
from gangplan.cli.main import application
from gangplan.planning.study.runners.local import Local

STUDY = """\
gangplan: study/v1
title: How many
base: {generated: small/seed0, policy: fifo}
axes: {nodes: {from: 1, to: 2}}
changes: [{load: $nodes}]
"""
COMMANDS = {
    "whatif": (["study.yaml"], "--state"),
    "tune": (["small/seed0"], "--state"),
    "bench": (["run"], "-o"),
}


def interrupt(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.parametrize(
    ("there", "said"),
    [(None, "nothing is kept: with {} FILE"), (False, "nothing had ended yet"), (True, "kept in")],
)
def test_who_interrupts_is_told_how_to_go_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    there: bool | None,  # noqa: FBT001 - a case
    said: str,
) -> None:
    words, option = COMMANDS[verb]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Local, "run", interrupt)
    monkeypatch.setattr(driver, "measure_all", interrupt)
    (tmp_path / "study.yaml").write_text(STUDY)
    file = tmp_path / "kept.jsonl"
    if there:
        file.touch()
    more = [] if there is None else [option, str(file)]
    done = CliRunner().invoke(application(verb), [verb, *words, *more])
    assert done.exit_code == 130, done.output
    assert said.format(option) in done.output
