"""Every verb as a process: what it prints where, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command
from typer.testing import CliRunner

from gangplan.cli.main import application
from gangplan.client import Client
from gangplan.planning.generate import generate_named

DONE, USAGE, INVALID_INPUT, VIOLATED, NO_ANSWER = 0, 2, 3, 4, 5


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A real ``gangplan serve`` on a free port, which has to end well."""
    command = [sys.executable, "-m", "gangplan.cli.main", "serve", "--port", "0", "--slots", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        assert re.fullmatch(r"127\.0\.0\.1:\d+\n", line), process.stderr.read()
        yield line.strip()
        with Client(line.strip()) as client:  # whichever of the tests that call it run in this process
            client.plan_round(generate_named("S/steady/50/seed0"), pipeline="greedy")
        process.send_signal(signal.SIGTERM)
        rest, log = process.communicate(timeout=30)
    assert process.returncode == DONE
    assert rest == ""
    events = [json.loads(entry)["event"] for entry in log.splitlines()]
    assert {"listening", "call", "round", "draining", "stopped"} <= set(events)


def expand(scenario: Path, to: Path) -> None:
    """``gangplan scenario expand --to``, in this process."""
    done = CliRunner().invoke(application(), ["scenario", "expand", str(scenario), "--to", str(to)])
    assert done.exit_code == DONE, done.output
    assert to.exists()


def test_version(gangplan: Any) -> None:
    from gangplan import __version__

    for word in ("--version", "-V"):
        done = gangplan(word)
        assert (done.returncode, done.stdout) == (DONE, f"gangplan {__version__}\n")


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["serve"],
        ["solve"],
        ["check"],
        ["admit"],
        ["solvers"],
        ["scenario"],
        ["scenario", "expand"],
        ["import", "openb"],
        ["import", "gavel"],
        ["trace"],
        ["trace", "describe"],
    ],
)
def test_help_names_the_verb_and_its_options(gangplan: Any, words: list[str]) -> None:
    done = gangplan(*words, "--help")
    assert done.returncode == DONE
    assert done.stdout.startswith(" ".join(["Usage: gangplan", *words]))
    assert done.stderr == ""


@pytest.fixture(scope="module")
def commands() -> dict[str, Any]:
    """Every verb by its words."""

    def verbs(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        if not hasattr(command, "commands"):
            yield " ".join(words), command
            return
        for name, inner in command.commands.items():
            yield from verbs(inner, (*words, name))

    found = dict(verbs(get_command(application()), ("gangplan",)))
    assert len(found) > 30
    return found


def test_the_help_of_every_verb_has_an_example_with_options_that_it_has(commands: dict[str, Any]) -> None:
    for words, command in commands.items():
        lines = [line.strip() for line in (command.help or "").splitlines()]
        examples = [line for line in lines if f"{line} ".startswith(f"{words} ")]
        assert examples, words
        options = {option for parameter in command.params for option in parameter.opts}
        for example in examples:
            assert set(re.findall(r"(?<= )--?[a-z][a-z-]*", example)) <= options, example


@pytest.mark.parametrize(
    "name",
    "address ca cert key token-file at report state workers cluster most-jobs job".split(),
)
def test_an_option_that_several_verbs_have_says_the_same_in_each(commands: dict[str, Any], name: str) -> None:
    elsewhere = {"gangplan simulate": {"state"}, "gangplan serve": {"state"}}  # the world, not simulations
    helps = {
        words: option.help
        for words, command in commands.items()
        for option in command.params
        if f"--{name}" in option.opts and name not in elsewhere.get(words, ())
    }
    assert len(helps) > 1
    assert len(set(helps.values())) == 1, helps


def test_who_asks_a_service_can_say_who_it_is(commands: dict[str, Any]) -> None:
    for words, command in commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        if "--address" in options:
            assert {"--ca", "--cert", "--key", "--token-file"} <= options, words


@pytest.mark.parametrize("words", [["nonsense"], ["solve"], ["solve", "x.yaml", "--pipeline", "fast"]])
def test_wrong_usage_ends_with_2_and_says_so_on_standard_error(gangplan: Any, words: list[str]) -> None:
    done = gangplan(*words)
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert "Error" in done.stderr


def test_solve_shows_a_person_the_plan(gangplan: Any, scenario: Path) -> None:
    done = gangplan("solve", scenario)
    assert done.returncode == DONE, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith("three gangs and one too many: OPTIMAL, verified\n")
    assert "4 jobs: 3 placed, 1 waiting" in done.stdout
    assert "AAAABBBB" in done.stdout
    assert "NEVER_FITS" in done.stdout
    assert "\x1b" not in done.stdout
    assert all(line == line.rstrip() for line in done.stdout.splitlines())


@pytest.mark.parametrize("solver", ["highs", "cpsat"])
def test_json_output_is_one_document_and_nothing_else(gangplan: Any, scenario: Path, solver: str) -> None:
    done = gangplan("solve", scenario, "-o", "json", "--solver", solver)
    assert (done.returncode, done.stderr) == (DONE, "")
    answer = json.loads(done.stdout)  # also when the solver's library has a banner to print
    assert answer["verified"] is True
    assert answer["solver"].startswith(solver)
    assert len(answer["plan"]["actions"]) == 3


def test_yaml_output_says_the_same(gangplan: Any, scenario: Path) -> None:
    done = gangplan("solve", scenario, "-o", "yaml", "--pipeline", "greedy")
    answer = yaml.safe_load(done.stdout)
    assert answer["pipeline"] == "PIPELINE_GREEDY"
    assert [verdict["job"] for verdict in answer["verdicts"]] == ["giant"]


def test_strict_ends_with_4_when_a_job_waits(gangplan: Any, scenario: Path) -> None:
    done = gangplan("solve", scenario, "--strict", "-o", "json")
    assert done.returncode == VIOLATED
    assert json.loads(done.stdout)["verified"] is True
    assert "1 of 4 jobs have no placement" in done.stderr


def test_a_round_file_is_solved_like_its_scenario(gangplan: Any, scenario: Path, tmp_path: Path) -> None:
    for name in ("round.json", "round.yaml", "round.pb"):
        expand(scenario, tmp_path / name)
        done = gangplan("solve", tmp_path / name, "-o", "json", "--pipeline", "greedy")
        assert done.returncode == DONE, done.stderr
        assert len(json.loads(done.stdout)["plan"]["actions"]) == 3


def test_a_service_answers_as_this_process_does(gangplan: Any, scenario: Path, address: str) -> None:
    here = gangplan("solve", scenario, "-o", "json", "--time-limit", "10s")
    there = gangplan("solve", scenario, "-o", "json", "--time-limit", "10s", "--address", address)
    assert (there.returncode, there.stderr) == (DONE, "")
    assert json.loads(there.stdout)["plan"] == json.loads(here.stdout)["plan"]


def test_no_service_there_ends_with_5_and_advice(gangplan: Any, scenario: Path) -> None:
    with socket.socket() as taken:  # bound, not listening: nobody answers
        taken.bind(("127.0.0.1", 0))
        done = gangplan("solve", scenario, "--address", f"127.0.0.1:{taken.getsockname()[1]}")
    assert (done.returncode, done.stdout) == (NO_ANSWER, "")
    assert "UNAVAILABLE" in done.stderr
    assert "gangplan serve" in done.stderr


def test_a_service_tells_of_every_improvement(gangplan: Any, scenario: Path, address: str) -> None:
    done = gangplan("solve", scenario, "-o", "json", "--progress", "--address", address)
    assert done.returncode == DONE, done.stderr
    answer, lines = json.loads(done.stdout), [line.split() for line in done.stderr.splitlines()]
    assert lines[0][0] == "keep_and_fill"
    assert lines[-1][0] == "answer"
    assert {words[0] for words in lines[:-1]} <= {stage["name"] for stage in answer["stages"]}
    assert float(lines[-1][lines[-1].index("value") + 1]) == answer["quality"]["objective"]


def test_two_services_on_one_port_do_not_get_along(gangplan: Any, address: str) -> None:
    done = gangplan("serve", "--port", address.rpartition(":")[2])
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    assert "--port" in done.stderr


def test_a_signal_during_the_warm_up_ends_the_service_well(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gangplan.cli.main", "serve", "--port", "0", "--log-level", "debug"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stderr is not None
        assert "selector" in process.stderr.readline()  # the event loop's first line: handlers come next
        ends = time.monotonic() + 60
        while not _catches(process.pid, signal.SIGTERM):
            assert time.monotonic() < ends
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        printed, log = process.communicate(timeout=60)
    assert process.returncode == DONE
    assert printed == ""
    assert "stopped" in log


def _catches(process: int, number: signal.Signals) -> bool:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def test_admit_says_yes_with_a_schedule_and_no_with_a_date(gangplan: Any, tmp_path: Path) -> None:
    scenario = Path(__file__).parents[2] / "scenarios" / "deadline.yaml"
    done = gangplan("admit", scenario, "--job", "c-urgent", "-o", "json")
    assert json.loads(done.stdout)["answer"] == "ADMISSION_YES", done.stderr
    assert done.returncode == DONE
    strict = tmp_path / "strict.yaml"  # both need the whole node for the whole hour
    strict.write_text(scenario.read_text().replace("deadline: 1h", "deadline: 1h, deadline_kind: STRICT"))
    done = gangplan("admit", strict, "--job", "c-urgent", "-o", "json")
    assert json.loads(done.stdout)["answer"] == "ADMISSION_NO", done.stderr
    assert done.returncode == VIOLATED
    done = gangplan("admit", scenario, "--job", "a-hopeless")
    assert done.stdout.startswith("a-hopeless: NO: ")
    assert gangplan("admit", scenario, "--job", "nobody").returncode == INVALID_INPUT


def test_check_finds_an_own_plan_valid_and_a_broken_one_not(
    gangplan: Any, scenario: Path, tmp_path: Path
) -> None:
    answer = json.loads(gangplan("solve", scenario, "-o", "json").stdout)
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps(answer))
    done = gangplan("check", scenario, plan)
    assert done.returncode == DONE, done.stdout
    assert done.stdout.startswith("valid: worth 12.000 GPU-equivalents")

    for action in answer["plan"]["actions"]:
        action["placements"] = answer["plan"]["actions"][0]["placements"]
    plan.write_text(json.dumps(answer))
    done = gangplan("check", scenario, plan)
    assert done.returncode == VIOLATED
    *violations, last = done.stdout.splitlines()
    assert last == f"{len(violations)} violations"
    assert any("capacity" in violation for violation in violations)


def test_solvers_are_listed_here_and_there(gangplan: Any, address: str) -> None:
    here = json.loads(gangplan("solvers", "-o", "json").stdout)
    there = json.loads(gangplan("solvers", "-o", "json", "--address", address).stdout)
    assert here == there
    assert {solver["name"] for solver in here if solver["available"]} >= {"highs", "cpsat"}
    table = gangplan("solvers").stdout
    assert "highs" in table
    assert "integer" in table


def test_policies_are_listed_with_what_they_set(gangplan: Any) -> None:
    found = json.loads(gangplan("policies", "-o", "json").stdout)
    assert [one["name"] for one in found][:2] == ["efficiency", "finish-time-fair"]
    by_name = {one["name"]: one["policy"] for one in found}
    assert by_name["deadline"] == {"deadline_weight": 400.0, "deadline_urgency": 1.0}
    assert by_name["interactive"]["fairness_forms"] == {"DEVICE_TIME": 1.0}
    assert "fairness_power 2" in gangplan("policies").stdout


def test_scenario_validate_names_file_line_and_remedy(gangplan: Any, scenario: Path, tmp_path: Path) -> None:
    done = gangplan("scenario", "validate", scenario)
    assert (done.returncode, done.stderr) == (DONE, "")
    assert done.stdout.endswith("valid, 1 round, 2 nodes, 4 jobs\n")
    comes = tmp_path / "comes.yaml"
    comes.write_text(scenario.read_text() + "  - {name: 'late-{}', count: 3, every: 1m, gpus: 1}\n")
    assert "2 nodes, 5 jobs, 2 more jobs later" in gangplan("scenario", "validate", comes).stdout
    broken = tmp_path / "broken.yaml"
    broken.write_text(
        scenario.read_text().replace("gpus: 1", "gpus: -1").replace("memory: 1Ti", "memory: lots")
    )
    done = gangplan("scenario", "validate", scenario, broken)
    assert done.returncode == INVALID_INPUT
    assert f"error: {broken}:5" in done.stderr
    assert f"error: {broken}:7" in done.stderr


def test_scenario_show_draws_what_is_there(gangplan: Any, scenario: Path) -> None:
    done = gangplan("scenario", "show", scenario)
    assert done.returncode == DONE, done.stderr
    assert "2 nodes with 16 devices; 4 jobs: 0 running, 4 waiting" in done.stdout


def test_scenario_expand_prints_a_round_file(gangplan: Any, scenario: Path) -> None:
    request = json.loads(gangplan("scenario", "expand", scenario).stdout)
    assert [node["name"] for node in request["cluster"]["nodes"]] == ["node-1", "node-2"]
    assert yaml.safe_load(gangplan("scenario", "expand", scenario, "-o", "yaml").stdout) == request


def test_scenario_schema_is_a_json_schema(gangplan: Any) -> None:
    schema = json.loads(gangplan("scenario", "schema").stdout)
    assert "jobs" in schema["properties"]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("missing.yaml", None, "cannot be read"),
        ("round.json", '{"now": 3', "round.json:1"),
        ("round.json", '{"nodes": []}', "no such field"),
        ("round.json", "{}", "now"),
        ("round.txt", "x", "must end in"),
    ],
)
def test_bad_files_end_with_3_and_say_where(
    gangplan: Any, tmp_path: Path, name: str, text: str | None, says: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    done = gangplan("solve", path)
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    assert str(path) in done.stderr
    assert says in done.stderr


def test_an_unknown_solver_ends_with_3_and_says_which_there_are(gangplan: Any, scenario: Path) -> None:
    done = gangplan("solve", scenario, "--solver", "abacus")
    assert (done.returncode, done.stdout) == (INVALID_INPUT, "")
    assert "abacus" in done.stderr
    assert "highs" in done.stderr


def test_at_is_for_scenarios(gangplan: Any, scenario: Path, tmp_path: Path) -> None:
    done = gangplan("solve", scenario, "--at", "7")
    assert done.returncode == INVALID_INPUT
    assert "there is no round 7" in done.stderr
    expand(scenario, tmp_path / "round.json")
    done = gangplan("solve", tmp_path / "round.json", "--at", "0")
    assert done.returncode == INVALID_INPUT
    assert "--at" in done.stderr


NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,96000,786432,8,G2\n"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,12000,16384,1,1000\np1,1000,1024,1,500\n"


def test_import_openb_takes_both_lists_in_any_order(gangplan: Any, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "pods.csv").write_text(PODS)
    words = ["import", "openb", "pods.csv", "nodes.csv"]
    refused = gangplan(*words)
    assert (refused.returncode, refused.stdout) == (INVALID_INPUT, "")
    assert "p1" in refused.stderr
    assert "--fractional whole" in refused.stderr

    printed = gangplan(*words, "--fractional", "whole")
    assert printed.returncode == DONE
    assert "10 GPUs of 2 models" in printed.stderr
    written = gangplan(*words, "--fractional", "whole", "-o", "out.yaml")
    assert written.stdout == ""
    assert (tmp_path / "out.yaml").read_text() == printed.stdout
    solved = json.loads(gangplan("solve", tmp_path / "out.yaml", "-o", "json").stdout)
    assert len(solved["plan"]["actions"]) == 2


def test_import_openb_refuses_what_is_no_list(gangplan: Any, tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    done = gangplan("import", "openb", "other.csv")
    assert done.returncode == INVALID_INPUT
    assert "other.csv:1" in done.stderr


def test_the_demonstration_ends_well(tmp_path: Path, scenario: Path) -> None:
    command = [sys.executable, "-m", "gangplan.cli.demo", str(scenario), "--time-limit", "5"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=110)
    assert done.returncode == DONE, done.stderr
    assert "three gangs and one too many: OPTIMAL, verified" in done.stdout
    assert "The service stopped cleanly." in done.stderr


def test_the_demonstration_fails_when_its_scenario_does(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gangplan.cli.demo", "nowhere.yaml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=110)
    assert done.returncode == INVALID_INPUT
    assert "nowhere.yaml" in done.stderr
