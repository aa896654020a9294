"""Services under load."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """One line for each load and size."""
    mine = [row for row in rows if row["kind"] == "load" and row.get("load") is not None]
    if not mine:
        return None
    lines = [
        (
            f"{row['load']:.0%}",
            row["size"],
            f"{row['rps']:.2f}",
            str(row["answered"]),
            *(_seconds(row[name]) for name in ("p50_s", "p99_s", "p999_s")),
            str(row["late"]),
            _seconds(row["latest_s"]),
            str(row["rejected"]),
            _seconds(row["rejected_latest_s"]),
            str(row["lost"]),
            "" if row["gap_of_gain_p50"] is None else f"{100 * row['gap_of_gain_p50']:.2f}",
            f"{row['reached']} of {row['reached_of']}" if row["reached_of"] else "",
            f"{row['rss_bytes'] / 2**20:.0f}",
            f"{row['rss_growth_bytes'] / 2**20:+.0f}",
        )
        for row in mine
    ]
    columns = (
        "load|size|asked a second|answered|p50 s|p99 s|p99.9 s|late|latest s|rejected|slowest rejection s|"
        "lost|gap of gain %|reach 20 % in .3 s|MiB|grown"
    )
    capacities = sorted({f"{row['capacity_rps']:.3g}" for row in mine})
    alone = f"{mine[0]['alone_reached']} of {mine[0]['alone_of']}" if mine[0]["alone_of"] else ""
    beside = f" With nobody else about {alone} M rounds reach a gap of gain of 20 % in .3 s." if alone else ""
    minutes = sum(row["seconds"] for row in mine if row["size"] == mine[0]["size"]) / 60
    text = (
        f"Open-loop arrivals for {minutes:.1f} minutes; {mine[0]['callers']} callers, {mine[0]['slots']} "
        f"slots. The capacity, 100 %, is {' and '.join(capacities)} requests a second: the highest rate at "
        "which nothing was late or lost, and luck explains what was rejected beyond 2 % and what was worse "
        f"than with nobody else about.{beside} Times run from when a request was to be sent; late is more "
        "than 50 ms after its time budget, and `latest` is how long after it."
    )
    return Section("Under load", Table(tuple(columns.split("|")), tuple(lines)), text)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
