"""Suites: all that come with gangplan can be read, and a file at fault is told where."""

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from gangplan.bench import suites
from gangplan.bench.formulations.peers.measure import is_peer
from gangplan.bench.runs import named
from gangplan.bench.selection import Selection
from gangplan.errors import InvalidInputError
from gangplan.planning.generate import InstanceName
from gangplan_solvers import catalog
from gangplan_solvers.backend import Availability

NAMES = tuple(
    "formulations gate growth hard openb openb-fill overruns prototypes smoke solvers targets".split()
)


def test_the_suites_are_those_that_help_names() -> None:
    from gangplan.cli import bench

    said = get_args(bench._Suite)[1].help.partition("(")[2].partition(")")[0]
    assert set(NAMES) <= set(suites.names()) == set(said.split(", "))


@pytest.mark.parametrize("name", NAMES)
def test_every_instance_of_a_suite_can_be_made(name: str) -> None:
    runs = list(suites.load(name).runs())
    assert runs
    assert len({tuple(map(str, run.head().values())) for run in runs}) == len(runs)
    for run in runs:
        folders = ("openb/", "openb-fill/", "openb-tenth/")
        if not is_peer(run.instance) and not run.instance.startswith(folders):
            assert str(InstanceName.parse(run.instance)) == run.instance


def test_the_targets_are_every_size_at_both_occupancies_with_five_seeds_and_xxl_two() -> None:
    found = {run.instance for run in suites.load("targets").runs()}
    assert found == {
        f"{size}/steady/{occupancy}/seed{seed}"
        for size in ("S", "M", "L", "XL", "XXL")
        for occupancy in (50, 85)
        for seed in range(2 if size == "XXL" else 5)
    }
    assert {run.transport for run in suites.load("targets").runs()} == {"grpc"}


def test_selection_replaces_what_is_given() -> None:
    chosen = Selection(suite="targets", only=("L",), seeds=(7,), solvers=("highs",), time_limit_s=3.0)
    runs = chosen.runs()
    assert [run.instance for run in runs] == ["L/steady/50/seed7", "L/steady/85/seed7"]
    assert {(run.solver, run.time_limit_s, run.seed) for run in runs} == {("highs", 3.0, 7)}
    assert {run.memory_limit_bytes for run in Selection(memory_limit_mb=300).runs()} == {300_000_000}


def test_every_stands_for_all_backends_that_can_be_used() -> None:
    solvers = {run.solver for run in Selection(suite="solvers", only=("S/steady/50/seed0",)).runs()}
    assert solvers == {one.name for one in catalog.describe() if one.availability.available}


def test_a_backend_that_is_not_here_is_left_out_with_the_reason_unless_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = tuple(
        replace(one, availability=Availability(one.name != "cbc", reason="" if one.name != "cbc" else "gone"))
        for one in catalog.describe()
    )
    monkeypatch.setattr(catalog, "describe", lambda: lines)
    chosen = Selection(suite="formulations", only=("sia/512x2048/seed0",))
    assert chosen.left_out() == {"cbc": "gone"}
    assert {run.solver for run in chosen.runs()} == {one.name for one in lines} & {"highs", "cpsat", "scip"}
    asked = replace(chosen, solvers=("cbc",))
    assert (asked.left_out(), {run.solver for run in asked.runs()}) == ({}, {"cbc"})


def test_a_run_is_picked_by_what_the_list_prints() -> None:
    chosen = Selection(suite="formulations", only=("sia/512x2048/seed0 rounding highs",), time_limit_s=2.0)
    (run,) = chosen.runs()
    assert (run.instance, run.who, run.solver) == ("sia/512x2048/seed0", "rounding", "highs")
    assert (named(run), run.time_limit_s) == (chosen.only[0], 2.0)


def test_with_prototypes_each_run_has_both_on_the_prototype_s_instance_beside_it(tmp_path: Path) -> None:
    runs = Selection(suite="targets", only=("M/steady/50/seed0",), prototypes=tmp_path).runs()
    assert [(run.who, run.options.get("instance_of")) for run in runs] == [
        ("gangplan", None),
        ("gangplan", "prototype"),
        ("prototype-pipeline", "prototype"),
    ]
    assert {run.instance for run in runs} == {"M/steady/50/seed0"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind = 'poems'", "kind"),
        ("[[group]]\nsizes = ['S']\ncolour = 'red'", "colour"),
        ("[[group]]\ntime_limit_s = 0", "time_limit_s"),
        ("[[group]", "is no TOML"),
    ],
)
def test_a_suite_at_fault_is_told_where(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InvalidInputError, match=said):
        suites.load(str(file))


def test_a_suite_of_your_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[[group]]\nsizes = ['S']\nstarts = ['random', 'deep-tree']\nseeds = [4]\n")
    assert [run.instance for run in suites.load(str(file)).runs()] == [
        "S/random/50/seed4",
        "S/deep-tree/50/seed4",
    ]
