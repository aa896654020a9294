"""The contracts of the architecture: green on a skeleton of the house, red when one line breaks them."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
PARTS = ["domain", "model", "engine", "service", "client", "adapters", "planning", "bench", "cli", "v1"]

pytestmark = pytest.mark.skipif(find_spec("importlinter") is None, reason="import-linter is not installed")


@pytest.fixture
def skeleton(tmp_path: Path) -> Path:
    """Both packages with every part empty, and the house's own contracts."""
    for package in ["gangplan_solvers", "gangplan", *(f"gangplan/{part}" for part in PARTS)]:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "gangplan/errors.py").touch()
    shutil.copy(HOUSE / "pyproject.toml", tmp_path)
    return tmp_path


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache", "--no-logo"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_allowed_imports_keep_every_contract(skeleton: Path) -> None:
    (skeleton / "gangplan_solvers/highs.py").write_text(
        "import highspy, numpy, gangplan.model, gangplan.domain"
    )
    (skeleton / "gangplan/engine/worker.py").write_text("import gangplan_solvers, gangplan.model")
    (skeleton / "gangplan/service/wire.py").write_text("import grpc, google.protobuf.message, gangplan.v1")
    (skeleton / "gangplan/cli/solve.py").write_text(
        "import gangplan.service, gangplan.client, gangplan.engine"
    )
    done = lint(skeleton)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        (
            "gangplan/domain/job.py",
            "import gangplan.model",
            "domain < model < gangplan_solvers < engine < edges",
        ),
        (
            "gangplan/model/program.py",
            "import gangplan_solvers",
            "domain < model < gangplan_solvers < engine < edges",
        ),
        (
            "gangplan_solvers/cbc.py",
            "import gangplan.engine",
            "domain < model < gangplan_solvers < engine < edges",
        ),
        (
            "gangplan/engine/round.py",
            "import gangplan.cli",
            "domain < model < gangplan_solvers < engine < edges",
        ),
        (
            "gangplan/engine/round.py",
            "def f():\n    import ortools",
            "only gangplan_solvers imports a solver library",
        ),
        ("gangplan/errors.py", "import highspy", "only gangplan_solvers imports a solver library"),
        ("gangplan/engine/round.py", "import gangplan.v1", "never meet the wire, not even indirectly"),
        ("gangplan_solvers/cbc.py", "import google.protobuf", "never meet the wire, not even indirectly"),
        ("gangplan/cli/solve.py", "import grpc", "only service, client and v1 import grpc or protobuf"),
        ("gangplan/domain/job.py", "import numpy", "domain imports the standard library only"),
    ],
)
def test_a_forbidden_import_breaks_its_contract(skeleton: Path, file: str, line: str, contract: str) -> None:
    (skeleton / file).write_text(line)
    done = lint(skeleton)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{contract} BROKEN" in done.stdout


def test_an_indirect_import_of_the_wire_is_found(skeleton: Path) -> None:
    (skeleton / "gangplan/observe.py").write_text("import grpc")
    (skeleton / "gangplan/engine/round.py").write_text("import gangplan.observe")
    assert "never meet the wire, not even indirectly BROKEN" in lint(skeleton).stdout
