"""The page of one simulation, or of several beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.report import words
from gangplan.planning.report.frame import Page, Section, table
from gangplan.planning.report.pictures import cost, deadlines, distributions, gantt, timeline
from gangplan.planning.times import spoken

MOST_JOBS = 60
"""Jobs that are listed, those with the worst rho first."""
_Run = Mapping[str, Any]


def page(recordings: Sequence[_Run], command: str = "") -> Page:
    """The page of recordings: of one, or of a comparison on the same jobs.

    Args:
        recordings: of :func:`gangplan.planning.report.recording.recording`; ``series`` may be missing.
        command: that makes them.

    Raises:
        InvalidInputError: they are not of the same jobs.
    """
    names = _names([one["run"] for one in recordings])
    runs = list(zip(names, recordings, strict=True))
    first = recordings[0]
    if any({j["name"] for j in one["jobs"]} != {j["name"] for j in first["jobs"]} for one in recordings):
        raise InvalidInputError(
            [FieldViolation("FILE", "the simulations are of different jobs: only the same can be compared")]
        )
    drawn = [
        *distributions.pictures(runs),
        *timeline.pictures(runs),
        *deadlines.pictures(runs),
        *cost.pictures(runs),
    ]
    if len(runs) == 1:
        drawn += gantt.pictures(first)
    title = str(first["run"]["history"])
    head = f"{title}: {names[0]}" if len(runs) == 1 else f"{title}: {len(runs)} policies"
    answer = _answer_of_one(first) if len(runs) == 1 else _comparison(runs)
    sections = [words.measures(runs), _jobs(runs)]
    return Page(head, answer, _facts(runs), drawn, sections, tail=1, command=command)


def _names(runs: Sequence[_Run]) -> list[str]:
    names = [words.name(run) for run in runs]
    return [
        f"{name} ({names[: k + 1].count(name)})" if names.count(name) > 1 else name
        for k, name in enumerate(names)
    ]


def _answer_of_one(one: _Run) -> list[str]:
    metrics = one["metrics"]
    ended = metrics["jobs"] - metrics["unfinished"]
    mean, most = (spoken(metrics[field]) for field in ("completion_mean", "completion_p99"))
    first = (
        f"{ended:,} of {metrics['jobs']:,} jobs ended, on average {mean} after their submission (99 in 100 "
        f"within {most}); they waited {spoken(metrics['queueing_mean'])} for their first start."
    )
    said = [first]
    dated = sum(kind["jobs"] for kind in metrics["deadlines"].values())
    if dated:
        met = sum(kind["met"] for kind in metrics["deadlines"].values())
        said.append(f"{met:,} of {dated:,} deadlines were met ({100 * met / dated:.0f} %).")
    use = f"{100 * metrics['busy']:.0f} % of the devices were at work on average"
    rho = metrics["rho"]
    if rho is not None:
        use += (
            f"; {100 * rho['share_unfair']:.0f} % of the jobs were worse off than alone on their fair share"
        )
    return [*said, f"{use}."]


def _comparison(runs: Sequence[tuple[str, _Run]]) -> list[str]:
    said = []
    if any(one["metrics"]["unfinished"] for _, one in runs):
        said.append("Not all jobs ended everywhere: figures of their ends must not be compared.")
    for label, field in (
        ("Mean completion time", "completion_mean"),
        ("Time to the first start, 99th percentile", "queueing_p99"),
        ("Makespan", "makespan"),
    ):
        known = [(one["metrics"][field], name) for name, one in runs if one["metrics"][field] is not None]
        if len(known) > 1:
            (best, who), (worst, last) = min(known), max(known)
            low, high = spoken(best), spoken(worst)
            same = f"{label}: {low} with all."
            said.append(same if low == high else f"{label}: {low} with {who}, up to {high} with {last}.")
    met = [
        (sum(kind["met"] for kind in one["metrics"]["deadlines"].values()), name)
        for name, one in runs
        if one["metrics"]["deadlines"]
    ]
    if met:
        (most, who), (least, last) = max(met), min(met)
        same = f"Deadlines met: {most:,} with all."
        said.append(
            same if most == least else f"Deadlines met: {most:,} with {who}, down to {least:,} with {last}."
        )
    return said


def _facts(runs: Sequence[tuple[str, _Run]]) -> list[str]:
    found = []
    for name, one in runs:
        run = one["run"]
        limit = f", {run['time_limit_s']:g} s a round" if run.get("time_limit_s") else ""
        how = f"pipeline {run['pipeline']}{limit}, seed {run['seed']}"
        label = "" if len(runs) == 1 else f"{name}: "
        found.append(f"{label}{words.told(run)} {one['metrics']['rounds']:,} rounds; {how}.")
    series = next((one["series"] for _, one in runs if one.get("series")), None)
    if series:
        devices = ", ".join(f"{count:,} {kind}" for kind, count in series["devices"].items())
        found.append(f"Devices: {devices}.")
    found.append(
        "Times are from submission. rho is completion time over that with a fair share of every type "
        "(Themis); the other three are as their papers define them, and not the same measure."
    )
    return found


def _jobs(runs: Sequence[tuple[str, _Run]]) -> Section:
    if len(runs) > 1:
        return _jobs_beside(runs)
    jobs = runs[0][1]["jobs"]
    shown = sorted(jobs, key=lambda job: (-(job["rho"] or 0.0), job["name"]))[:MOST_JOBS]
    lines = [
        (
            job["name"],
            f"{job['size']:g}",
            spoken(job["submitted"]),
            spoken(job["queueing"]),
            spoken(job["completion"]),
            "" if job["rho"] is None else f"{job['rho']:.2f}",
            str(job["evictions"] + job["moves"] + job["resizes"] + job["forced"]),
            {None: "", True: "met", False: "**missed**"}[job["deadline_met"]],
        )
        for job in shown
    ]
    columns = ("job", "devices", "submitted", "to first start", "completion", "rho", "stops", "deadline")
    left = len(jobs) - len(shown)
    text = (
        f"Those with the worst rho first; {left:,} more are not listed." if left else "The worst rho first."
    )
    return Section("Jobs", table(columns, lines), text)


def _jobs_beside(runs: Sequence[tuple[str, _Run]]) -> Section:
    """Completion times of the jobs that differ most."""
    by_run = [{job["name"]: job["completion"] for job in one["jobs"]} for _, one in runs]
    spread = []
    for name in by_run[0]:
        known = [times[name] for times in by_run if times[name] is not None]
        spread.append((-(max(known) - min(known)) if known else 0.0, name))
    shown = [name for _, name in sorted(spread)[: MOST_JOBS // 2]]
    lines = [(name, *(spoken(times[name]) for times in by_run)) for name in shown]
    text = "Completion times of the jobs that differ most."
    return Section("Jobs", table(("job", *(name for name, _ in runs)), lines), text)
