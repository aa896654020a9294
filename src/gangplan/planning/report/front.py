"""The page of a front."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangplan.planning.report.drawing import SOFT, figure, legend, name_points, series, svg, unit_of
from gangplan.planning.report.frame import Page, Section, table
from gangplan.planning.study.figures import FIGURES
from gangplan.planning.study.questions import words


def page(document: Mapping[str, Any], command: str = "") -> Page:
    """The page of what ``gangplan tune -o json`` prints.

    Args:
        document: it.
        command: that makes it.
    """
    said, tried = document["tune"], document["tried"]
    names = said["figures"]
    first = names[0]
    drawn = [(title, text) for other in names[1:] for title, text in _pictures(document, first, other)]
    draws = "once each" if said["seeds"] == 1 else f"{said['seeds']} draws of each"
    played = f"{len(tried)} policies were played, {draws}, seed {said['seed']}"
    ranges = ", ".join(f"{k} {low:g} to {high:g}" for k, (low, high) in said["weights"].items())
    facts = [
        f"Base: {said['base']}, policy {said['policy']}; {played}.",
        f"Turned: {ranges}.",
        "On the front is who no other policy beats in one figure without losing in another.",
    ]
    sections = [_front(document, names), _rules(document)]
    return Page(
        f"{said['base']}: weights of {said['policy']}",
        document["answer"],
        facts,
        drawn,
        sections,
        command=command,
    )


def _pictures(document: Mapping[str, Any], first: str, second: str) -> Iterator[tuple[str, str]]:
    tried, best = document["tried"], set(document["front"])
    known = [
        (k, one["figures"][first], one["figures"][second], one["name"])
        for k, one in enumerate(tried)
        if one["figures"].get(first) is not None and one["figures"].get(second) is not None
    ]
    if not known:
        return
    drawn, axes = figure(height=3.6)
    x_unit, x_label = _scale(first, [x for _, x, _, _ in known])
    y_unit, y_label = _scale(second, [y for _, _, y, _ in known])
    groups = (
        (
            "other weights",
            [one for one in known if one[0] not in best and one[3] == "weights"],
            SOFT,
            "o",
            14,
        ),
        ("presets", [one for one in known if one[3] != "weights"], series(1), "s", 26),
        ("on the front", [one for one in known if one[0] in best], series(0), "o", 30),
    )
    for label, points, colour, marker, size in groups:
        if points:
            axes.scatter(
                [x / x_unit for _, x, _, _ in points],
                [y / y_unit for _, _, y, _ in points],
                s=size,
                color=colour,
                marker=marker,
                label=label,
                alpha=0.85,
            )
    at: dict[tuple[float, float], list[str]] = {}
    for _, x, y, name in known:
        if name != "weights":
            at.setdefault((x / x_unit, y / y_unit), []).append(name)
    chosen = document["chosen"]
    if chosen is not None:
        one = tried[chosen]["figures"]
        axes.scatter(
            [one[first] / x_unit],
            [one[second] / y_unit],
            s=110,
            facecolors="none",
            edgecolors=series(4),
            label="chosen",
        )
    axes.set_xlabel(_label(first, x_label))
    axes.set_ylabel(_label(second, y_label))
    legend(axes)
    upper_first = sorted(at.items(), key=lambda one: -one[0][1])  # names go above, and below what has one
    name_points(drawn, axes, [(x, y, ", ".join(names)) for (x, y), names in upper_first])
    about = FIGURES[second].about
    yield f"{about[0].upper()}{about[1:]} against {FIGURES[first].about}", svg(drawn)


def _scale(name: str, values: Sequence[float]) -> tuple[float, str]:
    unit = FIGURES[name].unit
    if unit == "s":
        return unit_of(max(values))
    return (0.01, "%") if unit == "share" else (1.0, {"h": "device-hours"}.get(unit, ""))


def _label(name: str, unit: str) -> str:
    words = name.replace("_", " ")
    return f"{words}, {unit}" if unit else words


def _front(document: Mapping[str, Any], names: Sequence[str]) -> Section:
    lines = []
    for k in document["front"]:
        one = document["tried"][k]
        mark = "**" if k == document["chosen"] else ""
        set_here = ", ".join(f"{name} {value}" for name, value in one["weights"].items()) or "as it is"
        lines.append(
            [
                f"{mark}{one['name']}{mark}",
                *(words.figure(name, one["figures"].get(name)) for name in names),
                set_here,
            ]
        )
    columns = ("policy", *(FIGURES[name].about for name in names), "sets")
    return Section("The front", table(columns, lines), "What was chosen for the wish is marked.")


def _rules(document: Mapping[str, Any]) -> Section:
    lines = [
        [rule["name"], *(words.difference(name, rule["price"][name]) for name in rule["price"])]
        for rule in document["rules"]
    ]
    columns = (
        ("rule", *(FIGURES[name].about for name in document["rules"][0]["price"])) if lines else ("rule",)
    )
    text = "Each rule in force against the same without it: what it adds, or (with a minus) saves."
    return Section("The price of each rule", table(columns, lines), text)
