"""Rows as dated Markdown tables: medians over seeds with the smallest and the largest beside them."""

from __future__ import annotations

import datetime as dt
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Row = dict[str, Any]
_PHASES = ("instance", "fill", "verify", "greedy", "formulate", "solve", "bind", "take_back", "explain")


def markdown(rows: Sequence[Row]) -> str:
    """The tables of all suites that occur."""
    if not rows:
        return "No rows.\n"
    parts = [_head(rows)]
    for suite, tables in (("generated", _generated), ("prototypes", _prototypes), ("openb", _openb)):
        mine = [row for row in rows if row["suite"] == suite]
        if mine:
            parts.append(tables(mine))
    return "\n".join(parts)


def _head(rows: Sequence[Row]) -> str:
    date = dt.datetime.now(dt.UTC).date().isoformat()
    suites = ", ".join(sorted({row["suite"] for row in rows}))
    machines = {
        f"{m['cpu']}, {m['cores']} cores, {m['memory_bytes'] / 2**30:.0f} GiB" for m in _each(rows, "machine")
    }
    found: dict[str, str] = {}
    for versions in _each(rows, "versions"):
        found |= versions
    loads = [load for row in rows for load in row["load"]]
    loops = [seconds for row in rows for seconds in row["calibration_s"]]
    revisions = ", ".join(sorted({row["revision"] or "?" for row in rows}))
    return f"""# {suites}, {date}

- Machine: {"; ".join(sorted(machines))}. Load average while it ran: {_spread(loads, ".1f")}.
- Calibration loop: {_spread(loops, ".3f")} s.
- Versions: {", ".join(f"{name} {number}" for name, number in sorted(found.items()))}.
- Code: {revisions} (digest {", ".join(sorted({row["code"] for row in rows}))}).
- Figures: median (smallest to largest) over the n seeds. Gaps are relative, in percent, against the bound
  known at the end. `proved`: the programme was solved to a proven optimum (exact = bound); `OPTIMAL`: it is
  the plan at the end, too, which the take-back may have made worth less (decision 14). How it is measured:
  `benchmarks/README.md`.
"""


def _each(rows: Iterable[Row], name: str) -> Iterable[Any]:
    return (row[name] for row in rows if row.get(name))


def _generated(rows: Sequence[Row]) -> str:
    groups = _grouped(rows, lambda row: (_group(row), row["solver"]))
    found = [
        "## Whole rounds\n",
        _table(
            "instance|solver|n|proved|OPTIMAL|jobs|columns|rows|nonzeros|keep and fill, s|first, s|exact, s|"
            "whole, s|keep and fill, gap %|first, gap %|end, gap %|end, gap of gain %|peak MB|sum MB",
            (
                (
                    *key,
                    len(mine),
                    sum(_proved(row) for row in mine),
                    sum(row["reason"] == "OPTIMAL" for row in mine),
                    *(_count(mine, name) for name in ("jobs", "columns", "rows", "nonzeros")),
                    *(_seconds(mine, name) for name in ("keep_and_fill_s", "first_s", "exact_s", "wall_s")),
                    *(
                        _percent(mine, name)
                        for name in ("keep_and_fill_gap", "first_gap", "gap", "gap_of_gain")
                    ),
                    *(_megabytes(mine, name) for name in ("peak_rss_bytes", "sum_rss_bytes")),
                )
                for key, mine in groups
            ),
        ),
        "## Seconds by phase\n",
        _table(
            "instance|solver|" + "|".join(_PHASES),
            (
                (
                    *key,
                    *(
                        _spread([row["seconds_by_phase"].get(phase, 0.0) for row in mine], ".3f")
                        for phase in _PHASES
                    ),
                )
                for key, mine in groups
            ),
        ),
        "## Every run\n",
        _every_run(rows),
    ]
    return "\n".join(found)


def _every_run(rows: Sequence[Row]) -> str:
    return _table(
        "instance|solver|proved|reason|limit|exact|objective|bound|whole, s|solve, s|branchings|"
        "unbound gangs|taken back|verified|same permuted|load",
        (
            (
                row["instance"],
                row["solver"],
                "yes" if _proved(row) else "no",
                row["reason"],
                row["limit"],
                f"{row['exact_objective']:.6f}",
                f"{row['objective']:.6f}",
                f"{row['bound']:.6f}",
                f"{row['wall_s']:.2f}",
                "" if row["solve_s"] is None else f"{row['solve_s']:.2f}",
                f"{row['solver_nodes']:.0f}",
                f"{row['unbound_gangs']:.0f}",
                f"{row['taken_back']:.0f}",
                "yes" if row["verified"] else "NO",
                {True: "yes", False: "NO", None: "cut"}[row["permuted_same"]],
                f"{row['load'][0]:.1f}",
            )
            for row in rows
        ),
    )


def _prototypes(rows: Sequence[Row]) -> str:
    groups = _grouped(rows, lambda row: (_group(row), row["solver"]))
    lines: list[tuple[object, ...]] = []
    ratios: list[tuple[object, ...]] = []
    optima: list[tuple[str, ...]] = []
    for key, mine in groups:
        by_who = {
            who: [row for row in mine if row["who"] == who] for who in dict.fromkeys(r["who"] for r in mine)
        }
        for who, these in by_who.items():
            ours = who == "gangplan"
            lines.append(
                (
                    *key,
                    who,
                    len(these),
                    sum(_proved(row) for row in these),
                    *(_count(these, name) for name in ("columns", "rows", "nonzeros")),
                    _spread([_build(row) for row in these], ".3f"),
                    _spread([_solve(row) for row in these], ".2f"),
                    _spread(
                        [row["exact_s"] if ours else row["wall_s"] for row in these if _has_end(row)], ".2f"
                    ),
                )
            )
        ratios += [(*key, *line) for line in _ratios(by_who)]
        optima += _optima(mine, by_who)
    return "\n".join(
        [
            """## Ours and the prototype's whole model, on the prototype's instances

`gangplan` is our pipeline up to the solver's plan, bound and verified. `prototype-same` is the prototype's
full F3 model with the same columns (without gangs of two half nodes), one thread, a relative gap of 1e-7 and
its price greedy's plan as the start; `prototype-own` is that model with all its columns and its own settings
(gap 1e-4; two threads for HiGHS). CP-SAT has one worker led by the relaxation in all of them. `build` is
options and programme; ours reads names and objects and gathers the verifier's facts there, the prototype goes
from arrays to arrays. `solve` is all that was spent in solvers: ours solves again, eased, when a gang of the
solution cannot be bound. `to the end` is from the instance at hand to a plan bound to nodes and verified.

Utilities are the same but for what a move of a running job costs (see `benchmarks/prototype_instances.py`),
so optima differ a little where something runs; where nothing runs (`/0`) they must agree.
""",
            _table(
                "instance|solver|who|n|proved|columns|rows|nonzeros|build, s|solve, s|to the end, s", lines
            ),
            "Ratios of the medians above, ours over the prototype's:\n",
            _table("instance|solver|against|columns|rows|build|solve|to the end", ratios),
            "## Optima, in the prototype's unit\n",
            _table("instance|solver|gangplan|prototype-same|relative difference|load", optima),
        ]
    )


def _ratios(by_who: dict[str, list[Row]]) -> Iterable[tuple[str, ...]]:
    ours = by_who.get("gangplan", [])
    for who, theirs in by_who.items():
        if who == "gangplan" or not ours or not theirs:
            continue
        pairs = (
            ([row["columns"] for row in ours], [row["columns"] for row in theirs]),
            ([row["rows"] for row in ours], [row["rows"] for row in theirs]),
            ([_build(row) for row in ours], [_build(row) for row in theirs]),
            ([_solve(row) for row in ours], [_solve(row) for row in theirs]),
            ([row["exact_s"] for row in ours if _has_end(row)], [row["wall_s"] for row in theirs]),
        )
        yield (
            who,
            *(f"{statistics.median(a) / statistics.median(b):.2f}" if a and b else "" for a, b in pairs),
        )


def _optima(rows: Sequence[Row], by_who: dict[str, list[Row]]) -> Iterable[tuple[str, ...]]:
    theirs = {row["instance"]: row for row in by_who.get("prototype-same", [])}
    for row in by_who.get("gangplan", []):
        other = theirs.get(row["instance"])
        if other is None:
            continue
        mine, value = row["objective_in_their_unit"], other["objective"]
        yield (
            row["instance"],
            row["solver"],
            f"{mine:.6f}" + ("" if _proved(row) else " (not proved)"),
            f"{value:.6f}" + ("" if _proved(other) else " (not proved)"),
            f"{(mine - value) / max(1.0, abs(value)):.1e}",
            f"{row['load'][0]:.1f}",
        )


def _proved(row: Row) -> bool:
    return bool(row["proved"])


def _has_end(row: Row) -> bool:
    return row["who"] != "gangplan" or row["exact_s"] is not None


def _build(row: Row) -> float:
    if row["who"] == "gangplan":
        return float(row["build_s"])
    phases = row["seconds_by_phase"]
    return float(phases["columns"] + phases["build"])


def _solve(row: Row) -> float:
    if row["who"] == "gangplan":
        return float(row["solve_s"] or 0.0)
    phases = row["seconds_by_phase"]
    return float(phases["hand_over"] + phases["solve"])


def _openb(rows: Sequence[Row]) -> str:
    groups = _grouped(rows, lambda row: (row["instance"], row["solver"]))
    first = _table(
        "instance|solver|n|proved|OPTIMAL|nodes|pods|classes|columns|rows|GPUs allocated|of|asked for|"
        "pods placed|objective|bound|keep and fill, gap %|first, gap %|end, gap %|end, gap of gain %",
        (
            (
                *key,
                len(mine),
                sum(_proved(row) for row in mine),
                sum(row["reason"] == "OPTIMAL" for row in mine),
                *(
                    _count(mine, name)
                    for name in (
                        "nodes",
                        "jobs",
                        "classes",
                        "columns",
                        "rows",
                        "devices_allocated",
                        "devices",
                        "devices_requested",
                        "jobs_placed",
                    )
                ),
                _spread([row["objective"] for row in mine], ".4f"),
                _spread([row["bound"] for row in mine], ".4f"),
                *(_percent(mine, name) for name in ("keep_and_fill_gap", "first_gap", "gap", "gap_of_gain")),
            )
            for key, mine in groups
        ),
    )
    times = _table(
        "instance|solver|import|expand|" + "|".join(_PHASES) + "|first|whole|peak MB|sum MB",
        (
            (
                *key,
                _seconds(mine, "import_s"),
                _seconds(mine, "expand_s"),
                *(
                    _spread([row["seconds_by_phase"].get(phase, 0.0) for row in mine], ".2f")
                    for phase in _PHASES
                ),
                _seconds(mine, "first_s"),
                _seconds(mine, "wall_s"),
                *(_megabytes(mine, name) for name in ("peak_rss_bytes", "sum_rss_bytes")),
            )
            for key, mine in groups
        ),
    )
    limit = max(row["time_limit_s"] for row in rows)
    return "\n".join(
        [
            f"## openb: all pods wait at once, equal weight, parts of a GPU rounded up; {limit:.0f} s\n",
            first,
            "Seconds and memory (n repeats):\n",
            times,
            "## Every run\n",
            _every_run(rows),
        ]
    )


def _group(row: Row) -> str:
    return str(row["instance"].rpartition("/")[0])


def _grouped(
    rows: Sequence[Row], key: Callable[[Row], tuple[str, ...]]
) -> list[tuple[tuple[str, ...], list[Row]]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return list(found.items())


def _table(columns: str, lines: Iterable[Sequence[object]]) -> str:
    names = columns.split("|")
    rows = ["| " + " | ".join(str(cell) for cell in line) + " |" for line in lines]
    return "\n".join(["| " + " | ".join(names) + " |", "|" + "---|" * len(names), *rows, ""])


def _spread(values: Sequence[float], form: str) -> str:
    """``median (smallest to largest)``; the value alone where it is the same in all."""
    if not values:
        return ""
    low, middle, high = (format(v, form) for v in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def _values(rows: Sequence[Row], name: str) -> list[float]:
    return [float(row[name]) for row in rows if row.get(name) is not None]


def _count(rows: Sequence[Row], name: str) -> str:
    return _spread(_values(rows, name), ",.0f")


def _seconds(rows: Sequence[Row], name: str) -> str:
    values = _values(rows, name)
    return _spread(values, ".3f" if values and max(values) < 0.1 else ".2f")


def _percent(rows: Sequence[Row], name: str) -> str:
    values = [100 * value for value in _values(rows, name)]
    return _spread([0.0 if abs(value) < 1e-4 else value for value in values], ".2f")


def _megabytes(rows: Sequence[Row], name: str) -> str:
    return _spread([value / 1e6 for value in _values(rows, name)], ".0f")
