"""A published setting under one policy: a row for each published figure.

``who`` is the policy. A policy without published figures in a setting is measured all the same, with rows
without them, so that others can be put beside; ``options`` may name a ``preset`` for gangplan's own.
"""

from __future__ import annotations

import importlib
import pkgutil
import time
from functools import cache
from pathlib import Path
from typing import cast

from gangplan.bench import published
from gangplan.bench.published.protocol import Setting
from gangplan.bench.runs import Row, Run, Status
from gangplan.errors import BrokenPlanError, FieldViolation, InvalidInputError
from gangplan.planning import policies
from gangplan.planning.metrics import job_reports
from gangplan.planning.metrics import measure as measured
from gangplan.planning.rounds.loop import play


def measure(run: Run) -> list[Row]:
    """The rows of a run: ``paper, setting, policy, measure, published, ours, ratio`` and what it took.

    Raises:
        InvalidInputError: there is no such setting, instance or policy.
    """
    name, *parts = run.instance.split("/")
    setting = settings().get(name)
    if setting is None:
        there = ", ".join(settings())
        raise InvalidInputError([FieldViolation("instance", f"no setting {name!r}; there are: {there}")])
    prepared = setting.prepare(Path(run.source), parts, run.who)
    preset = run.options.get("preset")
    history = prepared.history.under(preset, "options.preset")
    how = policies.How(pipeline="greedy" if run.pipeline == "greedy" else "full")
    decisions = 0

    def count(_: object) -> None:
        nonlocal decisions
        decisions += 1

    began, spent = time.perf_counter(), time.process_time()
    try:
        played = play(history, policies.make(run.who, how), prepared.settings, on_round=count)
    except BrokenPlanError as error:
        return [{"status": Status.WRONG.value, "error": str(error)}]
    spent, wall = time.process_time() - spent, time.perf_counter() - began
    reports = job_reports(played)
    metrics = measured(played, reports)
    figures = setting.FIGURES.get(run.who, {})
    return [
        {
            "status": Status.FEASIBLE.value,
            "paper": setting.PAPER,
            "setting": prepared.said,
            "policy": run.who if preset is None else f"{run.who}, {preset}",
            "told": prepared.settings.telling.told.value,
            "measure": name,
            "published": figures.get(name),
            "ours": ours,
            "ratio": None if ours is None or not figures.get(name) else ours / figures[name],
            "unfinished": metrics.unfinished,
            "evictions": metrics.evictions,
            "moves": metrics.moves,
            "resizes": metrics.resizes,
            "decisions": decisions,
            "decision_s": spent / max(1, decisions),
            "cpu_s": spent,
            "wall_s": wall,
        }
        for name, ours in setting.measures(metrics, reports).items()
    ]


@cache
def settings() -> dict[str, Setting]:
    """All settings, by name."""
    found: dict[str, Setting] = {}
    for info in pkgutil.iter_modules(published.__path__):
        module = importlib.import_module(f"{published.__name__}.{info.name}")
        if hasattr(module, "FIGURES"):
            found[str(module.NAME)] = cast("Setting", module)
    return found
