"""What an import costs: the packages load nothing heavy, the domain only the standard library."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]
HEAVY = (
    "google.protobuf grpc highspy numba numpy ortools pandas prometheus_client pulp pydantic rich scipy "
    "structlog typer yaml"
).split()


def loaded_by(code: str) -> set[str]:
    """The heavy modules that are loaded once `code` has run in a fresh interpreter."""
    program = f"{code}\nimport sys\nprint(*({set(HEAVY)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import gangplan", id="the package"),
        pytest.param("import gangplan; gangplan.__version__", id="its version"),
        pytest.param("import gangplan_solvers", id="the solvers' package"),
    ],
)
def test_nothing_heavy_is_loaded(code: str) -> None:
    assert loaded_by(code) == set()


def test_the_version_is_the_installed_one() -> None:
    from importlib.metadata import version

    import gangplan

    assert gangplan.__version__ == version("gangplan")
    assert "__version__" in dir(gangplan)


def test_other_names_are_attribute_errors() -> None:
    import gangplan

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gangplan.nothing


def imported_names(path: Path) -> set[str]:
    """The absolute names that the file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            assert node.module
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_the_domain_imports_the_standard_library_only() -> None:
    ours = ("gangplan.domain", "gangplan.errors")
    foreign = {
        f"{path.name} imports {name}"
        for path in (HOUSE / "src/gangplan/domain").rglob("*.py")
        for name in imported_names(path)
        if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith(ours)
    }
    assert foreign == set()
