"""The numbers of a page are those of the document that it was made of: every table, cell by cell."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping
from html.parser import HTMLParser
from importlib.util import find_spec
from typing import Any

import pytest
from tests.unit.planning.report.test_pages import Here, played, site  # noqa: F401  (a fixture)

from gangplan.planning import study as studies
from gangplan.planning.report import pages
from gangplan.planning.report.frame import html
from gangplan.planning.study.ask import ask

pytestmark = pytest.mark.skipif(
    find_spec("jinja2") is None or find_spec("matplotlib") is None,
    reason="the libraries of the extra `report` are not installed",
)
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
TIMES = {
    "completion mean": "completion_mean",
    "completion p50": "completion_p50",
    "completion p99": "completion_p99",
    "makespan": "makespan",
    "to first start mean": "queueing_mean",
    "to first start p99": "queueing_p99",
    "largest gangs to first start": "largest_queueing_mean",
}
RATIOS = {"rho": "rho", "Gavel's rho": "rho_gavel", "Sia's rho": "rho_sia"}
SHARES = {"devices held": "allocated", "devices at work": "busy", "devices at work and kept": "useful"}


class Tables(HTMLParser):
    """The tables of a page by the heading above them, as rows of text; the first row has the columns."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, list[list[str]]] = {}
        self._heading, self._within = "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        if tag in {"h2", "td", "th"}:
            self._within = tag
        if tag == "h2":
            self._heading = ""
        elif tag == "tr":
            self.found.setdefault(self._heading, []).append([])
        elif tag in {"td", "th"}:
            self.found[self._heading][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._within:
            self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within == "h2":
            self._heading += data
        elif self._within:
            self.found[self._heading][-1][-1] += data


def seconds(text: str) -> tuple[float, float]:
    """A time as it is written, and by how much rounding can have moved it."""
    parts = re.findall(r"(\d+)([smhd])", text)
    assert "".join(a + b for a, b in parts) == text.removeprefix("-"), text
    size = sum(float(number) * UNITS[unit] for number, unit in parts)
    return -size if text.startswith("-") else size, 0.5 * UNITS[parts[-1][1]] + 1e-6


def is_time(text: str, value: float | None) -> bool:
    if value is None:
        return text == "-"
    said, off = seconds(text)
    return abs(said - value) <= off


def is_near(text: str, value: float, digits: int) -> bool:
    return bool(abs(float(text.replace(",", "")) - value) <= 0.5 * 10.0**-digits + 1e-9)


def is_share(text: str, value: float) -> bool:
    return is_near(text, value, 1)


def check_measures(rows: list[list[str]], metrics: Mapping[str, Any], column: int) -> set[str]:
    checked = set()
    for label, *cells in rows[1:]:
        cell = cells[column]
        if label in TIMES:
            assert is_time(cell, metrics[TIMES[label]]), label
        elif label in SHARES:
            assert is_near(cell.removesuffix(" %"), 100 * metrics[SHARES[label]], 1), label
        elif label.removesuffix(" mean, worst, unfair") in RATIOS:
            ratio = metrics[RATIOS[label.removesuffix(" mean, worst, unfair")]]
            mean, worst, unfair = cell.removesuffix(" %").split(", ")
            assert is_near(mean, ratio["mean"], 2)
            assert is_near(worst, ratio["worst"], 2)
            assert is_near(unfair, 100 * ratio["share_unfair"], 0)
        elif label == "jobs ended":
            assert cell == f"{metrics['jobs'] - metrics['unfinished']} of {metrics['jobs']}"
        elif label == "device-hours lost":
            assert is_near(cell, metrics["lost_gpu_hours"], 2)
        elif label == "evictions, moves, resizes, forced stops":
            counts = [metrics[name] for name in ("evictions", "moves", "resizes", "forced")]
            assert [int(part) for part in cell.split(", ")] == counts
        else:
            continue
        checked.add(label)
    return checked


def test_the_numbers_of_a_simulation_and_of_a_comparison(site: Any) -> None:  # noqa: F811
    runs = [played(site, "fifo"), played(site, "shortest-remaining")]
    alone = Tables(html(pages.page_of(runs[:1], ""))).found
    known = {*TIMES, *SHARES, *(f"{name} mean, worst, unfair" for name in RATIOS), "jobs ended"}
    assert check_measures(alone["Measures"], runs[0]["metrics"], 0) >= known
    jobs = {job["name"]: job for job in runs[0]["jobs"]}
    columns, *rows = alone["Jobs"]
    assert {row[0] for row in rows} == set(jobs)
    for row in rows:
        cells, job = dict(zip(columns, row, strict=True)), jobs[row[0]]
        assert float(cells["devices"]) == job["size"]
        assert is_time(cells["submitted"], job["submitted"])
        assert is_time(cells["to first start"], job["queueing"])
        assert is_time(cells["completion"], job["completion"])
        assert is_near(cells["rho"], job["rho"], 2)
        assert cells["deadline"] == ("met" if job["deadline_met"] else "missed")
    both = Tables(html(pages.page_of(runs, ""))).found
    for column, run in enumerate(runs):
        assert check_measures(both["Measures"], run["metrics"], column) >= known
        completion = {job["name"]: job["completion"] for job in run["jobs"]}
        assert all(is_time(row[1 + column], completion[row[0]]) for row in both["Jobs"][1:])


def test_the_numbers_of_a_study(site: Any) -> None:  # noqa: F811
    text = """\
gangplan: study/v1
base: {scenario: site.yaml}
axes: {nodes: {from: 1, to: 3}}
changes: [{nodes: {group: "f-{}", count: $nodes}}]
seeds: 3
draw: resample
show: [completion_mean, busy, evictions]
"""
    document = ask(studies.loads(text, folder=site.parent), Here()).document()
    columns, *rows = Tables(html(pages.page_of([document], ""))).found["Points"]
    assert columns == ["nodes", "completion time, mean", "devices at work", "evictions by choice"]
    assert len(rows) == len(document["points"]) == 3
    for row, point in zip(rows, document["points"], strict=True):
        assert row[0] == str(point["values"]["nodes"])
        times = point["figures"]["completion_mean"]
        shares = [100 * share for share in point["figures"]["busy"]]
        for cell, values, same in (
            (re.findall(r"\d+[smhd](?:\d+[mh])?", row[1]), times, is_time),
            (re.findall(r"[\d.]+(?= %)", row[2]), shares, is_share),
        ):
            wanted = [statistics.median(values), min(values), max(values)]
            assert len(cell) == (3 if min(values) < max(values) else 1)
            assert all(map(same, cell, wanted))
        assert row[3] == "0"
