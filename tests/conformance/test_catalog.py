"""How backends are found."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

from gangplan.errors import BackendError, UnknownSolverError
from gangplan_solvers import catalog
from gangplan_solvers.backend import Availability, Feature


def test_modules_of_the_package_are_found() -> None:
    assert catalog.names() == tuple(sorted(catalog.names()))
    assert {"cpsat", "highs"} <= set(catalog.names())
    for line in catalog.describe():
        backend = catalog.load(line.name)
        assert backend.name == line.name
        assert backend.features == line.features
        assert backend.availability() == line.availability


def test_listing_solvers_loads_no_library() -> None:
    code = (
        "import sys\n"
        "from gangplan_solvers import catalog\n"
        "assert catalog.describe()\n"
        "heavy = {'cuopt', 'gurobipy', 'highspy', 'ortools', 'pandas', 'pulp', 'pyscipopt'}\n"
        "print(*(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == []


def test_unknown_name_says_what_there_is() -> None:
    with pytest.raises(UnknownSolverError, match=r"no solver 'simplex'; there are: .*cpsat.*highs"):
        catalog.load("simplex")


def test_modules_that_are_no_backends_are_not_offered() -> None:
    with pytest.raises(UnknownSolverError):
        catalog.load("backend")
    assert not {"answer", "backend", "catalog", "model_files", "rows"} & set(catalog.names())


@pytest.mark.parametrize(("name", "package"), [("scip", "pyscipopt"), ("gurobi", "gurobipy")])
def test_an_extra_that_is_not_installed_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    def version(distribution: str) -> str:
        raise importlib.metadata.PackageNotFoundError(distribution)

    monkeypatch.setattr(importlib.metadata, "version", version)
    expected = rf"{package} is not installed: pip install 'gangplan\[{name}\]'"
    with pytest.raises(UnknownSolverError, match=expected):
        catalog.usable(name)


class Missing:
    name = "missing"
    features = frozenset({Feature.INTEGER})

    def availability(self) -> Availability:
        return Availability(False, reason="its library is not installed: pip install missing")


def test_a_backend_that_is_not_installed_says_what_to_do() -> None:
    extra = {"missing": "a-module-that-is-not:THERE"}
    with pytest.raises(BackendError, match="cannot be loaded"):
        catalog.load("missing", extra)
    (line,) = [line for line in catalog.describe(extra) if line.name == "missing"]
    assert not line.availability.available
    assert "cannot be loaded" in line.availability.reason


def test_entry_points_of_other_packages_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    sys.modules["their_package"] = type(sys)("their_package")
    sys.modules["their_package"].BACKEND = Missing()  # type: ignore[attr-defined]
    points = (
        importlib.metadata.EntryPoint("missing", "their_package:BACKEND", catalog.ENTRY_POINT_GROUP),
        importlib.metadata.EntryPoint("highs", "their_package:BACKEND", catalog.ENTRY_POINT_GROUP),
    )
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda *, group: points if group else ())
    catalog._installed.cache_clear()
    try:
        assert "missing" in catalog.names()
        with pytest.raises(UnknownSolverError, match="pip install missing"):
            catalog.usable("missing")
        assert catalog.load("highs").name == "highs"  # our own names cannot be taken
    finally:
        catalog._installed.cache_clear()
        del sys.modules["their_package"]
