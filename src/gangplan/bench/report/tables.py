"""What a report holds, before it is Markdown or HTML: a head and sections of tables."""

from __future__ import annotations

import datetime as dt
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from gangplan.bench import curve
from gangplan.bench.report import numbers, targets
from gangplan.bench.runs import ANSWERED, Row, group_of
from gangplan.domain.plan import gaps

GroupKey = tuple[str, ...]
_KEY = ("instance", "who", "solver", "pipeline", "limit s")


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        columns: their names.
        lines: cells as text, ``**bold**`` and nothing else of Markdown in them.
    """

    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes:
        title: heading.
        text: what stands above the table.
        table: the table.
    """

    title: str
    table: Table
    text: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A report.

    Attributes:
        title: heading.
        facts: one line each: machine, versions, how to read it.
        sections: in order.
    """

    title: str
    facts: tuple[str, ...]
    sections: tuple[Section, ...] = field(default=())


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
    loads = [load for row in rows for load in row.get("load") or ()]
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
        f"Machine: {machine}. Load average: {spread(loads, '.1f')}.",
        f"Calibration loop: {spread(loops, '.3f')} s. Compare seconds with those of like loops only.",
        f"Versions: {', '.join(f'{name} {number}' for name, number in sorted(found.items()))}.",
        f"Code: {codes}.",
        how,
        solved,
    ]


def grouped(rows: Iterable[Row]) -> list[tuple[GroupKey, list[Row]]]:
    """Rows that differ by their seed only, in order of appearance."""
    found: dict[GroupKey, list[Row]] = {}
    for row in rows:
        found.setdefault(group_key(row), []).append(row)
    return list(found.items())


def group_key(row: Row) -> GroupKey:
    """Instance without its seed, who, solver, pipeline, time limit: what :data:`_KEY` heads."""
    limit = f"{row['time_limit_s']:g}"
    return (label(row), str(row["who"]), str(row["solver"]), str(row.get("pipeline", "")), limit)


def label(row: Row) -> str:
    """The instance without its seed; the prototype's own are marked."""
    theirs = (row.get("options") or {}).get("instance_of") == "prototype"
    return group_of(str(row["instance"])) + (" (prototype's)" if theirs else "")


def spread(values: Sequence[float], form: str) -> str:
    """``median (smallest to largest)``; the value alone where it is the same in all."""
    if not values:
        return ""
    low, middle, high = (format(v, form) for v in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def _values(rows: Sequence[Row], read: Callable[[Row], float | None]) -> list[float]:
    return [float(value) for row in rows if (value := read(row)) is not None]


def _field(rows: Sequence[Row], name: str) -> list[float]:
    return _values(rows, lambda row: row.get(name))


def _seconds(values: Sequence[float]) -> str:
    return spread(values, ".3f" if values and max(values) < 0.1 else ".2f")


def _percent(values: Sequence[float]) -> str:
    shown = [0.0 if abs(value) < 1e-6 else 100 * value for value in values]
    return spread(shown, ".3f" if shown and max(shown) < 0.1 else ".2f")


def _statuses(rows: Sequence[Row]) -> str:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["status"]] = counts.get(row["status"], 0) + 1
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def _rounds(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["kind"] == "rounds"]


def _targets(rows: Sequence[Row]) -> Section | None:
    """Section 6's table: each cell beside its target."""
    lines: list[tuple[str, ...]] = []
    names: tuple[str, ...] = ()
    for key, mine in grouped(_rounds(rows)):
        parts = key[0].split("/")
        if len(parts) != 3 or parts[0] not in targets.TARGETS or parts[1] != "steady":
            continue
        if key[1] not in {"gangplan", "prototype-pipeline"}:
            continue
        found = targets.cells(parts[0], int(parts[2].split()[0]), mine)
        names = tuple(cell.name for cell in found)
        ours = key[1] == "gangplan" and "prototype" not in key[0]
        texts = (
            cell.text()
            if ours
            else targets.Cell(cell.name, cell.values, None, cell.form, cell.missing).text()
            for cell in found
        )
        lines.append((*key, str(len(mine)), str(targets.solved(mine)), *texts))
    if not lines:
        return None
    return Section(
        "Targets",
        Table((*_KEY, "n", "solved", *names), tuple(lines)),
        "On two cores, the whole call from the bytes sent to the answer parsed. Each cell: the measured "
        "figure, then `met` or `missed` and the target. `of gain`: of what lies between keeping everything "
        "and the bound.",
    )


def _quality(rows: Sequence[Row]) -> Section | None:
    """Whole rounds: how many are solved, how fast, how near."""
    lines = []
    for key, mine in grouped(_rounds(rows)):
        answered = [row for row in mine if row["status"] in ANSWERED]
        at = [
            _percent([gap for row in answered if (gap := targets.at(row, moment, name)) is not None])
            for moment in ("0.1", "0.5", "1", "5")
            for name in ("relative", "relative_then", "of_gain")
        ]
        lines.append(
            (
                *key,
                str(len(mine)),
                str(targets.solved(mine)),
                _statuses(mine),
                f"{numbers.shifted_geometric_mean([numbers.solve_seconds(row) for row in mine]):.3f}",
                f"{numbers.shifted_geometric_mean([numbers.near_seconds(row) for row in mine]):.3f}",
                _seconds(_field(answered, "first_s")),
                _percent(_field(answered, "first_gap")),
                _percent(_field(answered, "first_gap_of_gain")),
                _seconds(_field(answered, "to_1_percent_s")),
                *at,
                _percent(_field(answered, "gap")),
                _percent(_field(answered, "gap_of_gain")),
                _seconds(_field(answered, "wall_s")),
                spread(_field(answered, "primal_integral_s"), ".4f"),
            )
        )
    if not lines:
        return None
    moments = tuple(
        f"{name} {moment} s" for moment in ("0.1", "0.5", "1", "5") for name in ("gap", "then", "of gain")
    )
    columns = (
        *(*_KEY, "n", "solved", "status"),
        *("to optimum, SGM s", "to 1 %, SGM s", "first s", "first gap", "of gain", "to 1 % s"),
        *moments,
        *("gap, end", "of gain", "whole s", "primal integral s"),
    )
    return Section("Whole rounds", Table(columns, tuple(lines)), "Gaps in percent.")


def _phases(rows: Sequence[Row]) -> Section | None:
    """Seconds by phase, and what lies outside the planner."""
    mine = [row for row in _rounds(rows) if row.get("seconds_by_phase")]
    names = list(dict.fromkeys(name for row in mine for name in row["seconds_by_phase"] if name != "total"))
    lines = [
        (
            *key,
            *(
                spread(
                    [row["seconds_by_phase"][name] for row in group if name in row["seconds_by_phase"]], ".3f"
                )
                for name in names
            ),
            _seconds(_field(group, "outside_s")),
            _seconds(_field(group, "encode_s")),
            spread([value / 1e6 for value in _field(group, "request_bytes")], ".2f"),
        )
        for key, group in grouped(mine)
    ]
    if not lines:
        return None
    columns = (*_KEY, *names, "outside the planner", "encode", "request MB")
    return Section("Seconds by phase", Table(columns, tuple(lines)))


def _memory(rows: Sequence[Row]) -> Section | None:
    """Peaks, of the largest process and summed."""
    lines = [
        (
            *key,
            spread([value / 1e6 for value in _field(group, "peak_rss_bytes")], ".0f"),
            spread([value / 1e6 for value in _field(group, "sum_rss_bytes")], ".0f"),
        )
        for key, group in grouped(rows)
        if _field(group, "sum_rss_bytes")
    ]
    if not lines:
        return None
    columns = (*_KEY, "largest process MB", "sum MB")
    return Section("Peak memory", Table(columns, tuple(lines)))


def _counters(rows: Sequence[Row]) -> Section | None:
    """The work counters."""
    mine = [row for row in rows if row.get("statistics")]
    names = list(dict.fromkeys(n for row in mine for n in row["statistics"] if "seconds" not in n))
    lines = [
        (
            *key,
            *(
                spread([row["statistics"][name] for row in group if name in row["statistics"]], ",.0f")
                for name in names
            ),
        )
        for key, group in grouped(mine)
    ]
    if not lines:
        return None
    return Section("Counters", Table((*_KEY, *names), tuple(lines)))


def _models(rows: Sequence[Row]) -> Section | None:
    """Programmes by backend."""
    mine = [row for row in rows if row["kind"] == "models"]
    lines = []
    for key, group in grouped(mine):
        answered = [row for row in group if row["status"] in ANSWERED]
        late = _field(group, "late_s")
        lines.append(
            (
                key[0],
                key[2],
                key[4],
                str(len(group)),
                str(targets.solved(group)),
                _statuses(group),
                f"{numbers.shifted_geometric_mean([numbers.solve_seconds(row) for row in group]):.3f}",
                _seconds(_field(answered, "wall_s")),
                _percent(_field(answered, "gap")),
                spread(_field(answered, "objective_in_their_unit"), ".6g"),
                *(spread(_field(answered, name), ",.0f") for name in ("columns", "rows", "nonzeros")),
                f"{max(late):.2f}" if late else "",
            )
        )
    if not lines:
        return None
    columns = (
        "instance|solver|limit s|n|solved|status|to optimum, SGM s|solve s|gap|value|columns|rows|nonzeros|"
        "latest s"
    )
    return Section(
        "Programmes by backend",
        Table(tuple(columns.split("|")), tuple(lines)),
        "`latest`: most by which a call ended after its time limit.",
    )


def _optima(rows: Sequence[Row]) -> Section | None:
    """Ours beside the prototype's whole model: value, sizes, seconds. Optima agree where nothing runs."""
    theirs = [row for row in rows if row["who"] in {"prototype-same", "prototype-own"}]
    ours = {
        (row["instance"], row["solver"]): row
        for row in rows
        if row["who"] == "gangplan" and "(prototype's)" in label(row) and row["status"] in ANSWERED
    }
    lines = []
    for row in theirs:
        mine = ours.get((row["instance"], row["solver"]))
        if mine is None or row["status"] not in ANSWERED:
            continue
        value, other = float(mine["objective_in_their_unit"]), float(row["objective"])
        phases = row["seconds_by_phase"]
        lines.append(
            (
                str(row["instance"]),
                str(row["solver"]),
                str(row["who"]),
                f"{value:.6f}" + ("" if mine["proved"] else " (not proved)"),
                f"{other:.6f}" + ("" if row["proved"] else " (not proved)"),
                f"{(value - other) / max(1.0, abs(other)):.1e}",
                f"{mine['statistics'].get('columns', 0):,.0f}",
                f"{row['columns']:,.0f}",
                f"{mine['build_s']:.3f}",
                f"{phases['columns'] + phases['build']:.3f}",
                f"{mine['solve_s'] or 0.0:.3f}",
                f"{phases['hand_over'] + phases['solve']:.3f}",
            )
        )
    if not lines:
        return None
    columns = (
        "instance|solver|against|ours|theirs|relative difference|columns, ours|theirs|build s, ours|theirs|"
        "solve s, ours|theirs"
    )
    return Section(
        "Beside the prototype's whole model",
        Table(tuple(columns.split("|")), tuple(lines)),
        "In the prototype's unit. Where something runs, what a move costs differs a little "
        "(`bench/prototypes/instances.py`); where nothing runs, the optima must agree.",
    )


def _churn(rows: Sequence[Row]) -> Section | None:
    """Voluntary actions in many rounds with noise."""
    lines = [
        (
            str(row["instance"]),
            f"{row['noise']:g}",
            str(row["rounds"]),
            f"{row['running_job_rounds']:,}",
            f"{row['voluntary']:,}",
            f"{row['without_lasting_gain']:,}",
            f"{row['per_1000']:.3f}",
        )
        for row in rows
        if row["kind"] == "churn" and row.get("per_1000") is not None
    ]
    if not lines:
        return None
    columns = "instance|noise|rounds|running job-rounds|voluntary|without lasting gain|per 1,000"
    return Section(
        "Churn",
        Table(tuple(columns.split("|")), tuple(lines)),
        "Evictions, moves and resizes by choice; without lasting gain: it does not pay without the noise.",
    )


def _filling(rows: Sequence[Row]) -> Section | None:
    """How full a cluster gets."""
    by_policy: dict[tuple[str, str, int, str], list[Row]] = {}
    for row in rows:
        if row["kind"] == "fill" and row.get("allocated_percent") is not None:
            rounds = 0 if row["mode"] == "offline" else row["pods_per_round"]
            key = (group_of(row["instance"]), row["policy"], rounds, row["mode"])
            by_policy.setdefault(key, []).append(row)
    lines = []
    for (instance, policy, rounds, mode), group in sorted(by_policy.items()):
        percents = [float(row["allocated_percent"]) for row in group]
        mean = f"{statistics.fmean(percents):.2f}"
        lines.append(
            (instance, policy, f"{rounds or 'all'}", mode, mean, spread(percents, ".2f"), str(len(group)))
        )
    if not lines:
        return None
    columns = "instance|policy|pods a round|mode|mean %|median %|seeds"
    return Section(
        "Filling",
        Table(tuple(columns.split("|")), tuple(lines)),
        "Allocated device thousandths over all, when the last pod has come. Nothing leaves or moves.",
    )


def _late(rows: Sequence[Row]) -> Section | None:
    """How late answers came: the distribution over all runs of a size, backend and limit."""
    found: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        if row.get("late_s") is not None:
            size = str(row["instance"]).partition("/")[0]
            fault = str(row.get("fault", ""))
            key = (row["kind"], size, row["who"], row["solver"], fault, f"{row['time_limit_s']:g}")
            found.setdefault(key, []).append(float(row["late_s"]))
    if not any(value > 0 for values in found.values() for value in values):
        return None
    lines = [
        (
            *key,
            str(len(values)),
            str(sum(value > 0 for value in values)),
            *(f"{ordered[round(share * (len(ordered) - 1))]:.3f}" for share in (0.5, 0.75, 0.9, 1.0)),
        )
        for key, values in found.items()
        if (ordered := sorted(values))
    ]
    columns = "kind|size|who|solver|fault|limit s|n|late|median s|three quarters s|nine tenths s|latest s"
    return Section(
        "Lateness",
        Table(tuple(columns.split("|")), tuple(lines)),
        "Seconds after the time limit at which the answer was there; order statistics over all runs.",
    )


def _formulations(rows: Sequence[Row]) -> Section | None:
    """Formulations side by side; gaps against the best bound that any of the instance's rows proved."""
    mine = [row for row in rows if row["kind"] == "formulations"]
    if not mine:
        return None
    best: dict[str, float] = {}
    for row in mine:
        if row.get("bound_holds") and row.get("bound") is not None:
            name = str(row["instance"])
            best[name] = min(best.get(name, float("inf")), float(row["bound"]))

    def gap(row: Row) -> float | None:
        bound, value = best.get(str(row["instance"])), row.get("objective")
        if bound is None or value is None:
            return None
        return max(0.0, bound - float(value)) / max(abs(bound), 1e-9)

    lines = [
        (
            key[0],
            key[1],
            key[2],
            str(len(group)),
            _statuses(group),
            spread(_field(group, "objective"), ".6g"),
            _percent(_values(group, gap)),
            *(spread(_field(group, name), ",.0f") for name in ("unbound_gangs", "unbound_devices")),
            *(_seconds(_field(group, name)) for name in ("build_s", "solve_s", "bind_s", "wall_s")),
            *(spread(_field(group, name), ",.0f") for name in ("columns", "rows", "nonzeros")),
        )
        for key, group in grouped(mine)
    ]
    columns = (
        "instance|formulation|solver|n|status|value|gap to the best bound|unbound gangs|unbound devices|"
        "build s|solve s|bind s|whole s|columns|rows|nonzeros"
    )
    return Section("Formulations", Table(tuple(columns.split("|")), tuple(lines)))


def _figures_of_others(rows: Sequence[Row]) -> Section | None:
    """Figures of others for the peers' programmes that were measured, with their sources."""
    lines: dict[tuple[str, ...], None] = {}
    for row in rows:
        for one in row.get("others", ()):
            seconds = "" if one["seconds"] is None else f"{one['seconds']:.3f}"
            lines[label(row), one["what"], seconds, one["note"], one["source"]] = None
    if not lines:
        return None
    return Section(
        "Figures of others for the same programmes",
        Table(("instance", "what", "s", "note", "source"), tuple(lines)),
        "Their instances were drawn alike but are not the same, and so were machines: compare magnitudes.",
    )


def _every_run(rows: Sequence[Row]) -> Section | None:
    """One line for each run."""
    lines = [
        (
            str(row["instance"]) + (" (prototype's)" if "(prototype's)" in label(row) else ""),
            str(row["who"]),
            str(row["solver"]),
            str(row.get("pipeline", "")),
            f"{row['time_limit_s']:g}",
            str(row["status"]),
            str(row.get("limit", "")),
            "" if row.get("objective") is None else f"{row['objective']:.6f}",
            "" if row.get("bound") is None else f"{row['bound']:.6f}",
            "" if row.get("gap") is None else _percent([row["gap"]]),
            "" if row.get("wall_s") is None else f"{row['wall_s']:.3f}",
            {"True": "yes", "False": "NO"}.get(str(row.get("permuted_same")), ""),
            f"{row['load'][0]:.1f}" if row.get("load") else "",
            str(row.get("error") or row.get("detail") or "").replace("|", "/").replace("\n", " ")[:160],
        )
        for row in rows
    ]
    if not lines:
        return None
    columns = (
        "instance|who|solver|pipeline|limit s|status|stopped by|value|bound|gap|whole s|same permuted|load|"
        "remark"
    )
    return Section("Every run", Table(tuple(columns.split("|")), tuple(lines)))


_SECTIONS: tuple[Callable[[Sequence[Row]], Section | None], ...] = (
    _targets,
    _quality,
    _models,
    _formulations,
    _figures_of_others,
    _optima,
    _late,
    _churn,
    _filling,
    _phases,
    _memory,
    _counters,
    _every_run,
)
