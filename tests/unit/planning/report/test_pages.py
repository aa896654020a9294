"""Pages: they stand alone, say the answer first, and open in a real browser without an error."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gangplan.errors import InvalidInputError
from gangplan.planning import policies, sources
from gangplan.planning import study as studies
from gangplan.planning.metrics import job_reports, measure
from gangplan.planning.report import pages, words
from gangplan.planning.report.frame import html
from gangplan.planning.report.parquet import write_jobs
from gangplan.planning.report.recording import mean_over, recording
from gangplan.planning.rounds.loop import Settings, play
from gangplan.planning.study.ask import ask
from gangplan.planning.study.figures import FIGURES
from gangplan.planning.study.task import Base, Outcome, Task, evaluate

pytestmark = pytest.mark.skipif(
    find_spec("jinja2") is None or find_spec("matplotlib") is None,
    reason="the libraries of the extra `report` are not installed",
)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SITE = """\
gangplan: scenario/v1
title: two <nodes> & six jobs
accelerators: {fast: {speed: 1.0, price: 3.0}, slow: {speed: 0.5, price: 1.0}}
nodes:
  - {name: "f-{}", count: 2, type: fast, gpus: 2}
  - {name: "s-{}", count: 1, type: slow, gpus: 2}
jobs:
  - {name: "j-{}", count: 6, every: 10m, gpus: 2, work: 1h, deadline: 2h}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "site.yaml"
    path.write_text(SITE)
    return path


def played(site: Path, policy: str, told: str = "exact") -> dict[str, Any]:
    source = sources.read(str(site))
    found = play(source.history().history, policies.make(policy), Settings(source.telling()))
    reports = job_reports(found)
    run = {"history": source.name, "policy": policy, "preset": None, "told": told, "noise": 0.3, "seed": 0}
    run |= {"pipeline": "greedy", "time_limit_s": None}
    return recording(found, measure(found, reports), reports, run)


@pytest.fixture(scope="module")
def fifo(site: Path) -> dict[str, Any]:
    return played(site, "fifo")


class Here:
    about = "here"

    def run(
        self, base: Base, tasks: Mapping[str, Task], seconds: float | None
    ) -> Iterator[tuple[str, Outcome]]:
        for key, task in tasks.items():
            yield key, evaluate(base, task)


@pytest.fixture(scope="module")
def answered(site: Path) -> dict[str, Any]:
    """The document of a study."""
    study = """\
gangplan: study/v1
title: How many
base: {scenario: site.yaml}
axes: {nodes: {from: 1, to: 4}}
changes: [{nodes: {group: "f-{}", count: $nodes}}]
find: {smallest: nodes, where: {deadlines_met: {at_least: 1}}}
"""
    return ask(studies.loads(study, folder=site.parent), Here()).document()


@pytest.fixture(scope="module")
def texts(site: Path, fifo: dict[str, Any], answered: dict[str, Any]) -> dict[str, str]:
    """Every kind of page."""
    other = played(site, "shortest-remaining", "unknown")
    documents: dict[str, list[Any]] = {"simulation": [fifo], "comparison": [fifo, other], "study": [answered]}
    return {name: html(pages.page_of(found, f"make {name}")) for name, found in documents.items()}


def test_every_page_stands_alone_with_its_answer_and_its_command(texts: dict[str, str]) -> None:
    for name, text in texts.items():
        assert text.index('class="answer"') < text.index("<svg") < text.index(f"make {name}")
        assert "prefers-color-scheme: dark" in text
        without_names = re.sub(r'xmlns(:xlink)?="[^"]*"', "", text)
        assert not re.search(r"https?://|<script|@import|url\((?!#)", without_names)
        assert "#fe00" not in text  # no colour is left that stands for another
    assert "two &lt;nodes&gt; &amp; six jobs" in texts["simulation"]
    titles = re.findall(r"<figcaption>([^<]*)", texts["simulation"])
    assert [title.split(":")[0].split(",")[0] for title in titles] == [
        "Completion time",
        "Time to the first start",
        "Finish-time fairness",
        "Devices held over time",
        "Jobs that wait",
        "Deadlines",
        "Cost until the last end",
        "Who held which device (a colour is a job; colours repeat)",
    ]
    assert "was told nothing of how long jobs run" in texts["comparison"]
    assert "Smallest nodes: " in texts["study"]


def test_points_of_a_study_stand_in_the_order_of_its_axis_with_the_figures_that_there_are(
    answered: dict[str, Any],
) -> None:
    """A search plays the outermost first; a figure that no point has and nobody asked for is left out."""

    def table(document: dict[str, Any]) -> list[list[str]]:
        text = html(pages.page_of([document], "")).partition("Points")[2].partition("</table>")[0]
        rows = re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL)
        return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.DOTALL) for row in rows]

    head, *lines = table(answered)
    assert [row[0] for row in lines] == ["1", "2", "4"]
    nowhere = {"rho_worst": [None], "deadlines_met": [None]}
    points = [{**point, "figures": {**point["figures"], **nowhere}} for point in answered["points"]]
    fewer, *_ = table({**answered, "points": points})
    assert [name for name in head if name not in fewer] == [FIGURES["rho_worst"].about]


def test_simulations_of_other_jobs_are_not_compared(fifo: dict[str, Any]) -> None:
    other = {**fifo, "jobs": fifo["jobs"][1:]}
    with pytest.raises(InvalidInputError, match="of different jobs"):
        pages.page_of([fifo, other], "")
    with pytest.raises(InvalidInputError, match="name what simulate printed"):
        pages.page_of([{"points": []}], "")


def test_prices_are_told_where_there_are_any(fifo: dict[str, Any]) -> None:
    assert "price of all devices for an hour" in str(words.measures([("fifo", fifo)]).table)
    free = fifo | {"series": None}
    assert "price of" not in str(words.measures([("fifo", free)]).table)


def test_use_over_time_is_exact(fifo: dict[str, Any]) -> None:
    """What is drawn holds as many device-seconds as the jobs do, and no more than there are."""
    series = fifo["series"]
    widths = np.diff(series["edges_s"])
    drawn = sum(float(np.dot(widths, held)) for held in series["held"].values())
    assert drawn == pytest.approx(sum(job["held"] for job in fifo["jobs"]))
    waited = float(np.dot(widths, series["waiting"]))
    assert waited == pytest.approx(sum(job["queueing"] for job in fifo["jobs"]))
    for kind, held in series["held"].items():
        assert max(held) <= series["devices"][kind] + 1e-9
    assert mean_over(np.array([0.0, 2.0, 4.0]), [1.0], [3.0], [6.0]).tolist() == [3.0, 3.0]
    assert mean_over(np.array([0.0, 1.0]), [], [], []).tolist() == [0.0]
    bars = series["gantt"]["bars"]
    assert sum(end - begin for _, begin, end, _ in bars) == pytest.approx(drawn)


def test_jobs_are_a_frame(site: Path, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars", reason="the extra `parquet` is not installed")
    source = sources.read(str(site))
    found = play(source.history().history, policies.make("fifo"))
    reports = job_reports(found)
    run = {"history": "h", "policy": "fifo", "preset": None, "told": "exact", "seed": 3}
    write_jobs(reports, tmp_path / "jobs.parquet", run)
    frame = polars.read_parquet(tmp_path / "jobs.parquet")
    assert frame["name"].to_list() == [f"j-{k}" for k in range(1, 7)]
    assert frame["completion"].to_list() == [report.completion for report in reports]
    assert (frame["seed"].unique().to_list(), frame["preset"].null_count()) == ([3], 6)
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.parquet"]


def test_a_browser_opens_every_page_without_an_error(texts: dict[str, str], tmp_path: Path) -> None:
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        pytest.skip(f"no browser is installed: none of {', '.join(BROWSERS)}")
    for name, text in texts.items():
        page = tmp_path / f"{name}.html"
        page.write_text(text)
        words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
        words += ["--enable-logging=stderr", "--window-size=390,900", "--dump-dom", page.as_uri()]
        done = subprocess.run([browser, *words], capture_output=True, text=True, timeout=90)
        assert "CONSOLE" not in done.stderr
        assert done.stdout.count("<figure>") == text.count("<figure>")
