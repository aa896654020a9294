"""The verifier and the model share no code: they meet only in ``terms/`` and ``constraints/``."""

import ast
from pathlib import Path

MODEL = Path(__file__).parents[2] / "src/gangplan/model"
VERIFIER = {"facts", "forced", "outcome", "outcomes", "reading", "verify", "violation"}
MEETING = {"terms", "constraints"}


def imported(file: Path) -> set[str]:
    """Modules of the model that ``file`` imports, for types only or not."""
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


def test_neither_side_imports_the_other():
    files = {file.stem: file for file in MODEL.glob("*.py") if file.stem != "__init__"}
    assert set(files) > VERIFIER
    for name, file in files.items():
        other = files.keys() - VERIFIER if name in VERIFIER else VERIFIER
        assert not imported(file) & other, f"{name} imports {sorted(imported(file) & other)}"


def test_every_module_has_its_side_in_the_package_docstring():
    said = ast.get_docstring(ast.parse((MODEL / "__init__.py").read_text(encoding="utf-8"))) or ""
    model, _, verifier = said.partition("**The verifier's side**")
    for file in MODEL.glob("*.py"):
        if file.stem != "__init__":
            assert f"``{file.stem}``" in (verifier if file.stem in VERIFIER else model)
