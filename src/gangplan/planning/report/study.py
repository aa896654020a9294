"""The page of a study."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from gangplan.planning.report.frame import Page, Section, table
from gangplan.planning.report.pictures import sensitivity
from gangplan.planning.study.figures import FIGURES
from gangplan.planning.study.questions.words import figure
from gangplan.planning.study.result import shown
from gangplan.planning.study.schema import Study
from gangplan.planning.study.shown import shown_figures

MOST_POINTS = 200


def page(document: Mapping[str, Any], command: str = "") -> Page:
    """The page of a study's document.

    Args:
        document: of :meth:`gangplan.planning.study.result.Result.document`.
        command: that makes it.
    """
    said = document["study"]
    study = Study.model_validate(said["file"])
    points = _in_order(study, document["points"])
    names = _known(study, points)
    bounds = {} if study.find is None else {name: _limits(bound) for name, bound in study.find.where.items()}
    drawn: list[tuple[str, str]] = []
    for axis in _axes(study):
        drawn += sensitivity.pictures(points, axis, names, bounds)
    return Page(
        said["title"],
        document["answer"],
        _facts(study, document),
        drawn,
        [_points(study, points, names), _settings(said["file"])],
        command=command,
    )


def _in_order(study: Study, points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The points in the order of the axes' values: a search plays the outermost first."""
    place = {axis: [shown(value) for value in study.values(axis)] for axis in study.axes}

    def where(point: Mapping[str, Any]) -> tuple[int, ...]:
        return tuple(place[axis].index(shown(value)) for axis, value in point["values"].items())

    return sorted(points, key=where)


def _known(study: Study, points: Sequence[Mapping[str, Any]]) -> list[str]:
    """The figures that are shown, without those that nobody asked for by name and no point has."""
    asked = {*study.show, *(study.find.where if study.find else ())}
    return [
        name
        for name in shown_figures(study)
        if name in asked or any(value is not None for one in points for value in one["figures"].get(name, ()))
    ]


def _axes(study: Study) -> list[str]:
    """Along which pictures are drawn: that of the question, else the longest."""
    find = study.find
    if find is not None and (axis := find.smallest or find.largest or find.compare):
        return [axis]
    return [max(study.axes, key=lambda name: len(study.values(name)))]


def _limits(bound: Any) -> dict[str, float]:
    return {
        side: float(value) for side in ("at_least", "at_most") if (value := getattr(bound, side)) is not None
    }


def _facts(study: Study, document: Mapping[str, Any]) -> list[str]:
    run = document["run"]
    base = study.base
    source = base.trace or base.scenario or base.generated
    cluster = f" on {base.cluster}" if base.cluster else ""
    found = [text for text in (" ".join(study.about.split()),) if text]
    found.append(f"Base: {source}{cluster}, {_policy(study)}, told {base.told or 'as the scenario says'}.")
    if study.seeds > 1:
        how = {"resample": "other jobs drawn from the same with replacement", "windows": "the next window"}
        drawn = how.get(study.draw, "other random numbers")
        found.append(
            f"{study.seeds} draws of each point ({drawn}), the same at every point; medians, and the span of "
            "all as a band. A point will do if more than half of all draws do so, with confidence "
            f"{100 * (study.find.confidence if study.find else 0.95):g} % (sign test)."
        )
    for finding in document["findings"]:
        if finding.get("not_monotone"):
            found.append(f"**Not monotone**: {finding['not_monotone']} contradict each other.")
        if "decisions" in finding and study.seeds > 1:
            found.append(
                f"All {finding['decisions']} verdicts of a search hold together with at least "
                f"{100 * finding['confidence']:.0f} % (the sum of their doubts)."
            )
    total = run["played"] + run["reused"]
    found.append(f"{total:,} simulations in {run['where']}, {run['cpu_s']:,.1f} CPU seconds in all.")
    return found


def _policy(study: Study) -> str:
    changed = any("policy" in change for change in study.changes)
    return "policy as the point says" if changed else f"policy {study.base.policy}"


def _points(study: Study, points: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Section:
    lines = []
    for point in points[:MOST_POINTS]:
        cells = [shown(value) for value in point["values"].values()]
        for name in names:
            values = [value for value in point["figures"].get(name, ()) if value is not None]
            cells.append(_cell(name, values))
        said = point["verdict"]
        if said is None:
            cells.append("")
        else:
            count = "" if said["draws"] == 1 else f" {said['times']}/{said['draws']}"
            mark = "" if said["kept"] == "yes" else "**"
            cells.append(f"{mark}{said['kept']}{count}{mark}")
        left = sum(max(sum(each.values()) for each in [one]) for one in point["left_out"][:1])
        cells.append(f"{left:,}" if left else "")
        cells.append("; ".join(point["errors"]))
        lines.append(cells)
    columns = (*study.axes, *(FIGURES[name].about for name in names), "will do", "left out", "failed")
    more = len(points) - MOST_POINTS
    text = f"{more:,} more are not listed." if more > 0 else ""
    return Section("Points", table(columns, lines), text)


def _cell(name: str, values: Sequence[float]) -> str:
    if not values:
        return "-"
    middle = figure(name, statistics.median(values))
    if len(values) == 1 or min(values) == max(values):
        return middle
    return f"{middle} ({figure(name, min(values))} to {figure(name, max(values))})"


def _settings(file: Mapping[str, Any]) -> Section:
    lines = [
        (key, yaml.safe_dump(value, default_flow_style=True, width=10_000).strip().removesuffix("\n..."))
        for key, value in file.items()
        if key not in {"about", "title"}
    ]
    return Section("Settings", table(("part", "value"), lines))
