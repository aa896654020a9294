"""Help and version start at once, since they load nothing heavy (design, section 9; timed in benchmarks/)."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("numpy", "grpc", "google.protobuf", "ortools", "highspy", "rich", "yaml", "structlog", "pandas")


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
    for verb in (
        "serve",
        "solve",
        "check",
        "admit",
        "solvers",
        "token",
        "deploy",
        "scenario",
        "import",
        "bench",
    ):
        assert f"\n  {verb} " in whole
        full = runner.invoke(application(), [verb, "--help"])
        assert full.exit_code == 0
        assert full.output == runner.invoke(application(verb), [verb, "--help"]).output
