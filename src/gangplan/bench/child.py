"""The process of one run: ``python -m gangplan.bench.child FILE`` reads it, measures it, writes its row.

The run comes as JSON on standard input; the row goes to FILE, so that nothing that a library prints can be
taken for it.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

from gangplan.bench import machine
from gangplan.bench.runs import Kind, Row, Run, from_document


def measure(run: Run) -> list[Row]:
    """The rows of a run, by its kind; a formulation's may be several."""
    kind = Kind(run.kind)
    if kind is Kind.ROUNDS and run.who.startswith("prototype"):
        from gangplan.bench.prototypes import side

        return [side.measure(run)]
    if kind is Kind.ROUNDS:
        from gangplan.bench import rounds

        return [rounds.measure(run)]
    if kind is Kind.MODELS:
        from gangplan.bench import models

        return [models.measure(run)]
    if kind is Kind.CHURN:
        from gangplan.bench import churn

        return [churn.measure(run)]
    if kind is Kind.FILL:
        from gangplan.bench.filling.measure import measure as measure_filling

        return [measure_filling(run)]
    if kind is Kind.GROWTH:
        from gangplan.bench import growing

        return [growing.measure(run)]
    if kind is Kind.HISTORIES:
        from gangplan.bench import histories

        return [histories.measure(run)]
    if kind is Kind.LOAD:
        from gangplan.bench.load.measure import measure as measure_load

        return measure_load(run)
    if kind is Kind.PUBLISHED:
        from gangplan.bench.published.measure import measure as measure_published

        return measure_published(run)
    if kind is Kind.POLICIES:
        from gangplan.bench.policies.measure import measure as measure_policy

        return [measure_policy(run)]
    if kind is Kind.DELTAS:
        from gangplan.bench.load import deltas

        return deltas.measure(run)
    from gangplan.bench import others

    return others.measure(run)


def finite(value: Any) -> Any:
    """What JSON can say: numbers that are none, or endless, are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value


def main(arguments: list[str] | None = None) -> None:
    """Measure the run on standard input."""
    target = Path((sys.argv[1:] if arguments is None else arguments)[0])
    run = from_document(json.load(sys.stdin))
    common = {"versions": dict(machine.versions()), "machine": dict(machine.describe())}
    found = [finite(common | row) for row in measure(run)]
    target.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")


if __name__ == "__main__":
    main()
