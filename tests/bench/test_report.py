"""Reports: the targets' table, what is missing, and a page that needs nothing from elsewhere."""

import builtins
import importlib.util
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from gangplan.bench.report import markdown, page
from gangplan.bench.report.document import with_gain
from gangplan.bench.report.targets import TARGETS, cells
from gangplan.errors import InvalidInputError

pytestmark = pytest.mark.timeout(300)  # the smoke run is measured in the first test that asks for it


def table(text: str, title: str) -> list[list[str]]:
    """The cells of the table under a heading."""
    lines = text.partition(f"## {title}\n")[2].partition("\n## ")[0].splitlines()
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [found[0], *found[2:]]


def test_the_targets_stand_beside_the_figures(row: Any) -> None:
    rows = [row(instance=f"L/steady/50/seed{seed}", seed=seed, wall_s=1.0 + seed / 10) for seed in range(5)]
    head, line = table(markdown.document(rows), "Targets")
    by_name = dict(zip(head, line, strict=True))
    assert by_name["first plan"] == "50 ms; met: 90 ms"
    assert by_name["whole"] == "1.20 s (1.00 s to 1.40 s); met: 1.20 s"
    assert by_name["gap at 1 s"] == "1.00 %; **missed**: 0.50 %"
    assert by_name["memory, sum"] == "500 MB; met: 520 MB"
    assert (by_name["n"], by_name["solved"]) == ("5", "0")


def test_at_85_percent_the_gap_of_gain_has_the_targets(row: Any) -> None:
    found = {
        (cell.name, k): cell
        for k, cell in enumerate(cells("L", 85, [row(instance="L/steady/85/seed0", first_gap_of_gain=0.51)]))
    }
    first, later = (found["of gain", k] for k in (2, 4))
    assert (first.wanted, first.met) == (0.5, False)
    assert (later.wanted, later.met) == (0.05, False)
    assert found["gap at 1 s", 3].wanted is None


def test_a_run_without_an_answer_is_missed_and_never_dropped(row: Any) -> None:
    dead = [{**row(seed=seed), "status": "TIMEOUT", "wall_s": None, "first_s": None} for seed in (1, 2, 3)]
    whole = next(cell for cell in cells("L", 50, [row(), row(), *dead]) if cell.name == "whole")
    assert (whole.met, whole.missing) == (False, 3)
    assert "3 without" in whole.text()
    head, line = table(markdown.document([row(), *dead]), "Whole rounds")
    assert "1 FEASIBLE, 3 TIMEOUT" in line
    assert line[head.index("to optimum, SGM s")] == "1.200"  # all at their limit


@pytest.mark.parametrize("size", TARGETS)
def test_every_size_has_a_line_for_both_occupancies(row: Any, size: str) -> None:
    rows = [row(instance=f"{size}/steady/{occupancy}/seed0") for occupancy in (50, 85)]
    assert [line[0] for line in table(markdown.document(rows), "Targets")[1:]] == [
        f"{size}/steady/50",
        f"{size}/steady/85",
    ]


def test_the_prototype_s_figures_stand_beside_without_marks(row: Any) -> None:
    options = {"instance_of": "prototype"}
    rows = [row(), row(options=options), row(options=options, who="prototype-pipeline", solver="highs")]
    lines = table(markdown.document(rows), "Targets")[1:]
    assert [line[:2] for line in lines] == [
        ["L/steady/50", "gangplan"],
        ["L/steady/50 (prototype's)", "gangplan"],
        ["L/steady/50 (prototype's)", "prototype-pipeline"],
    ]
    assert "met" in " ".join(lines[0])
    assert "met" not in " ".join(lines[2])


def test_the_prototype_s_gap_of_gain_is_against_our_keep_and_fill(row: Any) -> None:
    """Keep and fill is worth 45 of ours, 90 of theirs; the bound is 100, the first plan 95, the last 99."""
    options = {"instance_of": "prototype"}
    theirs = {"objective": 99.0, "bound": 100.0, "first_s": 0.1, "wall_s": 1.0, "gap_of_gain": None}
    line = {"curve": [[0.1, 95.0, None], [0.8, 99.0, 100.0]]}
    rows = with_gain(
        [
            row(options=options, keep_and_fill=45.0, unit=2.0),
            row(options=options, who="prototype-pipeline", **theirs, **line),
        ]
    )
    assert rows[1]["first_gap_of_gain"] == pytest.approx(0.5)
    assert rows[1]["gap_of_gain"] == pytest.approx(0.1)
    assert rows[1]["gaps_at"]["1"]["of_gain"] == pytest.approx(0.1)


def test_lateness_is_a_distribution(row: Any) -> None:
    rows = [row(seed=seed, late_s=late) for seed, late in enumerate((0.0, 0.0, 0.1, 0.2, 0.9))]
    head, line = table(markdown.document(rows), "Lateness")
    found = dict(zip(head, line, strict=True))
    assert (found["n"], found["late"], found["median s"], found["latest s"]) == ("5", "3", "0.100", "0.900")
    assert "## Lateness" not in markdown.document([row(late_s=0.0)])


def test_runs_of_another_limit_are_another_line(row: Any) -> None:
    text = markdown.document([row(), row(seed=1), row(time_limit_s=5.0)])
    head, *lines = table(text, "Whole rounds")
    limit, n = head.index("limit s"), head.index("n")
    assert [(line[limit], line[n]) for line in lines] == [("1.2", "2"), ("5", "1")]


def test_formulations_are_measured_against_the_best_bound_of_the_instance(row: Any) -> None:
    common = {"kind": "formulations", "instance": "M/steady/50/seed0"}
    rows = [
        row(**common, who="full", bound=100.0, bound_holds=True, objective=100.0),
        row(**common, who="pop", bound=90.0, bound_holds=False, objective=88.0, unbound_gangs=2),
    ]
    head, full, pop = table(markdown.document(rows), "Formulations")
    gap = head.index("gap to the best bound")
    assert (full[gap], pop[gap]) == ("0.000", "12.00")


def test_the_head_names_what_figures_hang_on(row: Any) -> None:
    text = markdown.document([row()], notes=["It rained."])
    for said in (
        "a CPU, 2 cores, 8 GiB",
        "Calibration loop: 0.055",
        "gangplan 0.1.0",
        "digest abc",
        "shifted by 1 s",
        "It rained.",
    ):
        assert said in text


def test_of_real_rows_every_table_can_be_made(rows: list[dict[str, Any]]) -> None:
    text = markdown.document(rows)
    for title in ("Targets", "Whole rounds", "Seconds by phase", "Peak memory", "Counters", "Every run"):
        assert len(table(text, title)) >= 3
    assert "solver_seconds" not in text.split("## Counters")[1].split("## ")[0]


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"src", "href", "xlink:href"}]


@pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="the extra `report` is not installed"
)
def test_the_page_holds_all_that_it_shows(rows: list[dict[str, Any]]) -> None:
    text = page.document(rows, notes=["<script>alert(1)</script>"])
    found = Links()
    found.feed(text)
    assert found.tags.count("svg") >= 3
    assert "script" not in found.tags
    assert {link[:1] for link in found.links} <= {"#"}
    assert not re.search(r"@import|url\((?!#)", text)
    assert "performance profile" in text
    assert "gap over time" in text


def test_without_the_extra_the_page_is_refused_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, row: Any
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "jinja2" else find(name, *rest)
    )
    with pytest.raises(InvalidInputError, match=r"jinja2 not installed: pip install 'gangplan\[report\]'"):
        page.document([row()])


def test_markdown_needs_nothing_extra(monkeypatch: pytest.MonkeyPatch, row: Any) -> None:
    real = builtins.__import__

    def guarded(name: str, *rest: Any, **more: Any) -> Any:
        assert name.partition(".")[0] not in {"matplotlib", "jinja2", "markupsafe"}
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert markdown.document([row()]).startswith("# by-hand, ")


def test_the_command_writes_both(bench: Any, smoke: Any, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = bench(
        "report", smoke[1], "-o", tmp_path / "r.md", "--html", tmp_path / "r.html", "--notes", "quiet"
    )
    assert done.returncode == 0, done.stderr
    assert "- quiet" in (tmp_path / "r.md").read_text()
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_the_prototype_s_whole_model_stands_beside_ours(row: Any) -> None:
    options = {"instance_of": "prototype"}
    ours = row(
        options=options, solver="highs", objective_in_their_unit=50.0, proved=True, build_s=0.1, solve_s=0.3
    )
    phases = {"columns": 0.01, "build": 0.02, "hand_over": 0.03, "solve": 0.4}
    theirs = {"objective": 49.0, "proved": False, "columns": 700, "seconds_by_phase": phases}
    other = row(options=options, who="prototype-same", solver="highs", **theirs)
    head, line = table(markdown.document([ours, other]), "Beside the prototype's whole model")
    found = dict(zip(head, line, strict=True))
    assert (found["ours"], found["relative difference"]) == ("50.000000", "2.0e-02")
    assert line[4] == "49.000000 (not proved)"
    assert line[-4:] == ["0.100", "0.030", "0.300", "0.430"]
