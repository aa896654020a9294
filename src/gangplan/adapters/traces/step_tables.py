"""Gavel's tables of steps per second, which Shockwave uses, too.

``{accelerator: {job: {other: value}}}``; accelerators end in ``_unconsolidated`` where the workers are spread
over servers. ``job`` and ``other`` are texts of a pair, ``"('ResNet-18 (batch size 16)', 2)"``: job type and
number of GPUs; ``other`` ``"null"`` has the throughput alone, any other the pair of throughputs on the same
GPUs. ``[0, 0]`` is a pair that cannot share, an isolated 0 one that cannot run.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from gangplan.errors import FieldViolation, TraceError
from gangplan.planning.trace.records import Measurement

_SPREAD = "_unconsolidated"


def measured(path: Path) -> Iterator[Measurement]:
    """Every cell of the table.

    Raises:
        OSError: it cannot be read.
        TraceError: it has another form.
    """
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        for accelerator, by_job in table.items():
            for key, by_other in by_job.items():
                for other, value in by_other.items():
                    yield _cell(accelerator, key, other, value)
    except (ValueError, TypeError, AttributeError, SyntaxError) as error:
        raise TraceError([FieldViolation(str(path), f"is no table of steps per second: {error}")]) from error


def _cell(accelerator: str, key: str, other: str, value: float | list[float]) -> Measurement:
    model, gpus = ast.literal_eval(key)
    alone = other == "null"
    mine, theirs = (value, None) if alone else value  # type: ignore[misc]  # a pair, or it is refused
    return Measurement(
        table="throughput" if alone else "shared",
        model=model,
        accelerator=accelerator.removesuffix(_SPREAD),
        gpus=gpus,
        spread=accelerator.endswith(_SPREAD),
        throughput=mine,
        unit="steps",
        other="" if alone else ast.literal_eval(other)[0],
        other_throughput=theirs,
        raw={"accelerator": accelerator, "job": key, "other": other, "value": value},
    )
