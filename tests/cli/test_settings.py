"""Where the settings of ``gangplan serve`` come from, what is told of them, and the token of a caller."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from gangplan.cli.main import application
from gangplan.cli.serve import serve
from gangplan.cli.settings import masked
from gangplan.service.security.callers import CallersFile
from gangplan.service.security.scopes import Scope

HEAD = "gangplan: serve/v1\n"


def run(verb: str, *words: str, **environment: str) -> Any:
    return CliRunner().invoke(application(verb), [verb, *words], env=environment)


def test_flags_before_the_environment_before_the_file_before_defaults(tmp_path: Path) -> None:
    file = tmp_path / "gangplan.yaml"
    file.write_text(f"{HEAD}slots: 3\nqueue: 4\nburst: 5\ninsecure: true\ntls_cert: a b.pem\n")
    done = run(
        "serve",
        "--config",
        str(file),
        "--show-config",
        "--slots",
        "6",
        GANGPLAN_SLOTS="7",
        GANGPLAN_QUEUE="8",
    )
    assert done.exit_code == 0, done.stderr
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert lines["slots"] == "6  # flag --slots"
    assert lines["queue"] == "8  # environment GANGPLAN_QUEUE"
    assert lines["burst"] == f"5  # file {file}"
    assert lines["port"] == "50051  # default"
    shown = yaml.safe_load(done.stdout)
    assert (shown["slots"], shown["insecure"], shown["tls_cert"]) == (6, True, "a b.pem")
    again = tmp_path / "again.yaml"
    again.write_text(done.stdout)  # what is shown is a file of settings itself
    assert yaml.safe_load(run("serve", "--config", str(again), "--show-config").stdout) == shown


def test_every_setting_of_the_service_can_stand_in_a_file() -> None:
    shown = run("serve", "--show-config").stdout
    names = {line.removeprefix("# ").partition(":")[0] for line in shown.splitlines()[1:]}
    assert names == set(inspect.signature(serve).parameters) - {"context", "config", "show_config"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("slots: 3\n", "must begin with `gangplan: serve/v1`"),
        (f"{HEAD}slts: 3\n", ":2: slts: is no option; slots is"),
        (f"{HEAD}slots: 0\n", ":2: slots: "),
        (f"{HEAD}slots: 1.5\n", ":2: slots: "),
        (f"{HEAD}slots: true\n", ":2: slots: must be one value"),
        (f"{HEAD}insecure: 'no'\n", ":2: insecure: must be true or false"),
        (f"{HEAD}host: [a]\n", ":2: host: must be one value"),
        (f"{HEAD}config: other.yaml\n", ":2: config: is no option"),
        ("a: [\n", "is no YAML"),
    ],
)
def test_a_file_at_fault_says_where(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "gangplan.yaml"
    file.write_text(content)
    done = run("serve", "--config", str(file), "--show-config")
    assert (done.exit_code, done.stdout) == (3, "")
    assert said in done.stderr


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    done = run("serve", "--config", str(tmp_path / "none.yaml"))
    assert done.exit_code == 3
    assert "No such file" in done.stderr


def test_a_service_for_all_machines_does_not_start_open() -> None:
    done = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert done.exit_code == 3
    assert "host: 0.0.0.0 can be reached from other machines, which needs TLS" in done.stderr


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://u:p%40ss@h:5432/db", "postgresql://u:***@h:5432/db"),
        (
            "postgresql://u@h/db?password=x&sslmode=require",
            "postgresql://u@h/db?password=***&sslmode=require",
        ),
        ("postgresql://u:a/b?c@d@h/db", "postgresql://u:***@h/db"),
        ("postgresql://h/db?sslpassword=x", "postgresql://h/db?sslpassword=***"),
        ("/var/lib/gangplan/sessions.db", "/var/lib/gangplan/sessions.db"),
    ],
)
def test_passwords_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert f" {shown}" in run("serve", "--sessions", text, "--show-config").stdout.replace('"', "")


def test_a_token_is_made_and_only_its_digest_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "callers.yaml"
    first = run("token", "kueue", "--callers", str(file))
    file.write_text(f"# ours\n{file.read_text()}  calls_per_second: 5\n")
    second = run("token", "board", "--scope", "read", "--callers", str(file))
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text().startswith("# ours\n- name: kueue\n")
    kept = CallersFile(file)
    kueue, board = (kept.by_token(made.stdout.strip()) for made in (first, second))
    assert kueue is not None
    assert board is not None
    assert (kueue.name, kueue.scope, kueue.calls_per_second) == ("kueue", Scope.PLAN, 5)
    assert (board.name, board.scope) == ("board", Scope.READ)
    assert first.stdout.strip() not in file.read_text()
    before = file.read_text()
    twice = run("token", "kueue", "--callers", str(file))
    assert (twice.exit_code, twice.stdout) == (3, "")
    assert file.read_text() == before


def test_a_token_in_a_file_is_for_its_owner_and_the_callers_file_for_whom_it_was(tmp_path: Path) -> None:
    callers, token = tmp_path / "callers.yaml", tmp_path / "kueue.token"
    callers.write_text("- {name: a, scope: read}\n")
    callers.chmod(0o640)
    done = run("token", "kueue", "--callers", str(callers), "-o", str(token))
    assert (done.exit_code, done.stdout) == (0, "")
    assert (token.stat().st_mode & 0o777, callers.stat().st_mode & 0o777) == (0o600, 0o640)
    kueue = CallersFile(callers).by_token(token.read_text().strip())
    assert kueue is not None
    assert kueue.name == "kueue"
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    again = run("token", "board", "--callers", str(callers), "-o", str(token))
    assert (again.exit_code, again.stdout) == (3, "")
    nowhere = run("token", "board", "--callers", str(callers), "-o", str(tmp_path / "no" / "folder"))
    assert nowhere.exit_code == 3
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["", "a b", "-", "a\n- name: b", "x" * 129])
def test_a_caller_has_a_plain_name(tmp_path: Path, name: str) -> None:
    done = run("token", "--callers", str(tmp_path / "c.yaml"), "--", name)
    assert (done.exit_code, done.stdout) == (3, "")
    assert not (tmp_path / "c.yaml").exists()


def test_a_list_on_one_line_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "callers.yaml"
    file.write_text("[{name: a, scope: read}]\n")
    done = run("token", "b", "--callers", str(file))
    assert (done.exit_code, done.stdout) == (3, "")
    assert file.read_text() == "[{name: a, scope: read}]\n"
    assert list(tmp_path.iterdir()) == [file]
