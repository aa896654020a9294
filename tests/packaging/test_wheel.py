"""The wheel: both packages in it, from the tree and by way of the sdist alike."""

import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from importlib.util import find_spec
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    find_spec("build") is None or find_spec("hatchling") is None,
    reason="the build front end and backend are not installed: `make test` installs both",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel built from an sdist that was built from the tree."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(HOUSE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = (n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def test_it_holds_the_two_packages_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"gangplan", "gangplan_solvers"}


def test_it_holds_every_file_of_both_packages(wheel: zipfile.ZipFile) -> None:
    sources = {
        path.relative_to(parent).as_posix()
        for parent, package in ((HOUSE / "src", "gangplan"), (HOUSE / "solvers", "gangplan_solvers"))
        for path in (parent / package).rglob("*")
        if path.suffix in {".py", ".pyi", ".typed"} and "__pycache__" not in path.parts
    }
    assert {"gangplan/py.typed", "gangplan_solvers/py.typed", "gangplan/__init__.py"} <= sources
    assert sources <= set(wheel.namelist())


def test_it_holds_the_benchmark_s_suites_and_the_pages(wheel: zipfile.ZipFile) -> None:
    suites = {f"gangplan/bench/suites/{path.name}" for path in (HOUSE / "benchmarks/suites").glob("*.toml")}
    assert len(suites) >= 5
    pages = {
        path.relative_to(HOUSE / "src").as_posix()
        for path in (HOUSE / "src/gangplan").rglob("*")
        if path.suffix in {".j2", ".html", ".css", ".js"}
    }
    assert "gangplan/planning/report/frame.html.j2" in pages
    assert suites | pages <= set(wheel.namelist())


def test_it_installs_the_command(wheel: zipfile.ZipFile) -> None:
    (name,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    assert "gangplan = gangplan.cli.main:main" in wheel.read(name).decode()


def test_it_brings_its_licence(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())


def test_the_code_generator_is_no_runtime_dependency(metadata: Message) -> None:
    """Loaded beside ortools it aborts the process."""
    required = metadata.get_all("Requires-Dist", [])
    assert any(line.startswith("ortools") for line in required)
    assert not any(line.startswith("grpcio-tools") for line in required)
