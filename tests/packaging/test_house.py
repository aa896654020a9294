"""The house itself: what stands at the top level, the pins, the targets, the set-up on a bare machine."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

HOUSE = Path(__file__).parents[2]
PROJECT = tomllib.loads((HOUSE / "pyproject.toml").read_text())
PINS = (HOUSE / ".ci/constraints.txt").read_text().splitlines()

TOP = {"pyproject.toml", "Makefile", "README.md", "LICENSE"}
FOLDERS = {"proto", "src", "solvers", "tests", "benchmarks", "scenarios"}
TARGETS = set(
    "help run test test-deep test-faults check gate bench bench-smoke".split()
    + "proto proto-check lint types arch format clean".split()
)


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """Every file that is committed or could be."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=HOUSE,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout, so what belongs to the project cannot be told from what lies about")
    return [Path(name) for name in done.stdout.split("\0") if name and (HOUSE / name).is_file()]


def test_the_top_level_is_as_fixed(files: list[Path]) -> None:
    visible = {path.parts[0] for path in files if not path.parts[0].startswith(".")}
    assert visible <= TOP | FOLDERS
    assert visible >= TOP
    assert {path.parts[0] for path in files if path.parts[0].startswith(".") and len(path.parts) > 1} == {
        ".ci"
    }


def test_no_lock_file_is_kept(files: list[Path]) -> None:
    locks = re.compile(
        r"(uv|poetry|pdm|pixi|yarn|Pipfile|Cargo)\.lock|(package|pnpm)-lock\.(json|yaml)|pylock.*\.toml"
    )
    assert [path for path in files if locks.fullmatch(path.name)] == []


def test_no_registry_is_named(files: list[Path]) -> None:
    hosts = [
        ".".join(parts)
        for parts in (("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"))
    ]
    named = re.compile("|".join(map(re.escape, hosts)).encode())
    assert [path for path in files if named.search((HOUSE / path).read_bytes())] == []


def test_each_pin_is_exact_and_nothing_but_a_pin() -> None:
    shape = re.compile(r"[a-z0-9-]+==[0-9][a-z0-9.]*( ; [a-z_]+ [^#@/]+)?")
    assert [line for line in PINS if not shape.fullmatch(line)] == []


def requirements() -> list[str]:
    project = PROJECT["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    groups = [
        line for lines in PROJECT["dependency-groups"].values() for line in lines if isinstance(line, str)
    ]
    return list(dict.fromkeys([*project["dependencies"], *extras, *groups]))


@pytest.mark.parametrize("requirement", requirements())
def test_each_requirement_is_pinned_within_its_range(requirement: str) -> None:
    wanted = Requirement(requirement)
    pins = [Requirement(line) for line in PINS]
    versions = [
        next(iter(pin.specifier)).version
        for pin in pins
        if canonicalize_name(pin.name) == canonicalize_name(wanted.name)
    ]
    assert versions, (
        "not pinned: compile .ci/constraints.txt anew (the first lines of pyproject.toml say how)"
    )
    assert all(Version(version) in wanted.specifier for version in versions)


def test_every_target_is_there_and_phony() -> None:
    text = (HOUSE / "Makefile").read_text()
    phony = set(re.findall(r"^\.PHONY: ([a-z-]+)$", text, re.MULTILINE))
    rules = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    described = set(re.findall(r"^([a-z-]+):.* ## ", text, re.MULTILINE))
    assert phony == rules == described == TARGETS


@pytest.mark.parametrize("script", ["proto", "proto-check", "run", "venv"])
def test_the_scripts_can_be_run(script: str) -> None:
    assert os.access(HOUSE / ".ci" / script, os.X_OK)


def bare_python(tmp_path: Path, *missing: str) -> dict[str, str]:
    """An environment without the named modules and with no other tools than the shell's own."""
    blocked, tools = tmp_path / "blocked", tmp_path / "bin"
    blocked.mkdir()
    tools.mkdir()
    for name in missing:
        (blocked / f"{name}.py").write_text("raise ImportError('not on this machine')")
    for tool in ("sh", "dirname", "rm"):
        (tools / tool).symlink_to(next(p for p in (Path("/bin", tool), Path("/usr/bin", tool)) if p.exists()))
    return {"PATH": str(tools), "PYTHONPATH": str(blocked)}


def set_up(venv: Path, python: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [str(HOUSE / ".ci/venv"), str(venv), python]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_without_venv_the_one_missing_package_is_named(tmp_path: Path) -> None:
    environment = bare_python(tmp_path, "ensurepip", "virtualenv", "pip")
    done = set_up(tmp_path / "venv", sys.executable, environment)
    assert done.returncode == 1
    assert f"apt-get install python{sys.version_info[0]}.{sys.version_info[1]}-venv" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_none_is_refused(tmp_path: Path) -> None:
    done = set_up(tmp_path / "venv", "/no/such/python", bare_python(tmp_path))
    assert done.returncode == 1
    assert "gangplan needs Python 3.11 or newer, and PYTHON=/no/such/python is not." in done.stderr
