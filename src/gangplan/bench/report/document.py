"""The report of rows: what figures depend on, and every section that has something to say."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from gangplan.bench import curve
from gangplan.bench.report import numbers
from gangplan.bench.report.groups import grouped, label, load_averages, spread
from gangplan.bench.report.sections import (
    churn,
    counters,
    every_run,
    filling,
    formulations,
    histories,
    lateness,
    load,
    memory,
    models,
    on_the_front,
    others,
    phases,
    policies,
    prototypes,
    published,
    quality,
    targets,
)
from gangplan.bench.report.tables import Document, Section
from gangplan.bench.runs import Row
from gangplan.domain.plan import gaps

_SECTIONS: tuple[Callable[[Sequence[Row]], Section | None], ...] = (
    targets.section,
    quality.section,
    models.section,
    formulations.section,
    others.section,
    prototypes.section,
    lateness.section,
    churn.section,
    histories.section,
    histories.yardstick,
    published.section,
    policies.section,
    policies.against_best,
    on_the_front.section,
    filling.section,
    load.section,
    phases.section,
    memory.section,
    counters.section,
    every_run.section,
)
"""In the order of the report; a new section is a file of ``sections`` and a line here."""


def document(rows: Sequence[Row], notes: Sequence[str] = ()) -> Document:
    """The report of rows."""
    rows = with_gain(rows)
    suites = ", ".join(dict.fromkeys(row["suite"] for row in rows)) or "no rows"
    date = dt.datetime.now(dt.UTC).date().isoformat()
    sections = [section for make in _SECTIONS if (section := make(rows)) is not None]
    return Document(f"{suites}, {date}", (*facts(rows), *notes), tuple(sections))


def with_gain(rows: Sequence[Row]) -> list[Row]:
    """The rows, those of the prototype's pipeline with the gap of gain.

    It knows no keep-and-fill; ours on the same instance does, and keeping and filling is worth the same to
    both, in units of ``unit``.
    """
    kept = {
        (row["instance"], row["code"]): row["keep_and_fill"] * row["unit"]
        for row in rows
        if row["who"] == "gangplan"
        and "(prototype's)" in label(row)
        and None not in (row.get("keep_and_fill"), row.get("unit"))
    }
    found = []
    for row in rows:
        fill = kept.get((row["instance"], row.get("code")))
        if row["who"] != "prototype-pipeline" or fill is None or row.get("curve") is None:
            found.append(row)
            continue
        line, bound = curve.from_lists(row["curve"]), float(row["bound"])
        first = curve.at(line, float(row["first_s"]))
        more = {
            "gaps_at": curve.gaps_at(line, bound, fill),
            "gap_of_gain": gaps(row["objective"], bound, fill)[2],
        }
        if first is not None and first.objective is not None:
            more["first_gap_of_gain"] = gaps(max(first.objective, fill), bound, fill)[2]
        found.append(row | more)
    return found


def facts(rows: Sequence[Row]) -> list[str]:
    """What figures depend on, and how to read them."""
    machines = {
        f"{m['cpu']}, {m['cores']} cores, {m['memory_bytes'] / 2**30:.0f} GiB"
        for row in rows
        if (m := row.get("machine"))
    }
    found: dict[str, str] = {}
    for row in rows:
        found |= row.get("versions") or {}
    loads = [load for row in rows for load in load_averages(row)]
    loops = [seconds for row in rows for seconds in row.get("calibration_s") or ()]
    codes = ", ".join(sorted({f"{row.get('revision') or '?'} (digest {row.get('code')})" for row in rows}))
    most = max((len(mine) for _, mine in grouped(rows)), default=1)
    _, _, coverage = numbers.median_interval([0.0] * most)
    machine = "; ".join(sorted(machines)) or "unknown"
    how = (
        "Figures are the median (smallest to largest) over n seeds, each with its input in another order; "
        f"for n = {most} that span holds the true median with {100 * coverage:.0f} %. Gaps are in percent of "
        "the bound known at the end, `then` of the one known at that moment. No ratio is averaged."
    )
    solved = (
        "Solved: proved to a relative gap of 1e-6 and verified. What is not solved counts at its time limit. "
        f"Geometric means (SGM) are shifted by {numbers.SHIFT_SECONDS:g} s."
    )
    return [
        f"Machine: {machine}. Load average: {spread(loads, '.1f') or 'not known'}.",
        f"Calibration loop: {spread(loops, '.3f')} s. Compare seconds with those of like loops only.",
        f"Versions: {', '.join(f'{name} {number}' for name, number in sorted(found.items()))}.",
        f"Code: {codes}.",
        how,
        solved,
    ]
