"""Help and version start at once (design, section 9)."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

MOST_SECONDS = 0.3
HEAVY = ("numpy", "grpc", "google.protobuf", "ortools", "highspy", "rich", "yaml", "structlog", "pandas")


def spent(*words: str) -> float:
    """Processor seconds of one run: what the wall clock shows on a machine that does nothing else."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [str(Path(sys.executable).with_name("gangplan")), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["solve", "--help"], ["scenario", "--help"]])
def test_help_and_version_take_less_than_a_third_of_a_second(words: list[str]) -> None:
    assert min(spent(*words) for _ in range(4)) < MOST_SECONDS


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["solve", "--help"], ["serve", "--help"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys\n"
        f"sys.argv = ['gangplan', *{words!r}]\n"
        "from gangplan.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stderr == "[]\n"


def test_the_verbs_prepared_for_one_call_are_those_of_the_whole_application() -> None:
    from typer.testing import CliRunner

    from gangplan.cli.main import application

    runner = CliRunner()
    whole = runner.invoke(application(), ["--help"]).output
    assert whole == runner.invoke(application("solve"), ["--help"]).output
    for verb in ("serve", "solve", "check", "solvers", "scenario", "import"):
        assert f"\n  {verb} " in whole
        full = runner.invoke(application(), [verb, "--help"])
        assert full.exit_code == 0
        assert full.output == runner.invoke(application(verb), [verb, "--help"]).output
