"""The verifier and the model share no code: they meet only in ``terms/`` and ``constraints/``."""

import ast
from pathlib import Path

MODEL = Path(__file__).parents[2] / "src/gangplan/model"
VERIFIER = "verifier"
MEETING = {"terms", "constraints", "forms"}


def imported(file: Path) -> set[str]:
    """Families of the model that ``file`` imports, for types only or not."""
    names = set()
    for statement in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(statement, ast.ImportFrom) and statement.module:
            dotted = [statement.module, *(f"{statement.module}.{each.name}" for each in statement.names)]
        elif isinstance(statement, ast.Import):
            dotted = [each.name for each in statement.names]
        else:
            continue
        names |= {name.split(".")[2] for name in dotted if name.startswith("gangplan.model.")}
    return names


def families() -> set[str]:
    """Packages and modules directly below the model."""
    return {path.stem for path in MODEL.iterdir() if path.stem != "__init__" and path.stem[0] != "_"}


def test_neither_side_imports_the_other():
    others = families() - MEETING - {VERIFIER}
    assert len(others) >= 5
    for file in MODEL.rglob("*.py"):
        side = file.relative_to(MODEL).with_suffix("").parts[0]
        if side in MEETING or side == "__init__":
            continue
        forbidden = others if side == VERIFIER else {VERIFIER}
        crossing = imported(file) & forbidden
        assert not crossing, f"{file.relative_to(MODEL)} imports {sorted(crossing)}"


def test_every_family_has_its_side_in_the_package_docstring():
    said = ast.get_docstring(ast.parse((MODEL / "__init__.py").read_text(encoding="utf-8"))) or ""
    model, _, verifier = said.partition("**The verifier's side**")
    for family in families() - MEETING:
        assert f"``{family}" in (verifier if family == VERIFIER else model), family
