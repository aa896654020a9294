"""A frame of all jobs as Parquet, with the extra ``parquet``."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.metrics import JobReport


def check_library(option: str) -> None:
    """Refuse early where it cannot be written.

    Raises:
        InvalidInputError: polars is not installed.
    """
    if importlib.util.find_spec("polars") is None:
        reason = "polars not installed: pip install 'gangplan[parquet]'"
        raise InvalidInputError([FieldViolation(option, reason)])


def write_jobs(reports: Sequence[JobReport], path: Path, run: dict[str, Any]) -> None:
    """Write a row for each job; the file is there when all of it is.

    Args:
        reports: the jobs; columns are named as their fields, times in seconds.
        path: of the file.
        run: what was played: policy, preset, told and seed are columns, so that files can be put together.
    """
    import polars as pl

    kinds = {"str": pl.String, "float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean}
    schema = {field.name: kinds[str(field.type).split(" ")[0]] for field in fields(JobReport)}
    frame = pl.DataFrame([asdict(report) for report in reports], schema=schema)
    said = {name: run[name] for name in ("history", "policy", "preset", "told", "seed")}
    columns = [
        pl.lit(value).cast(pl.Int64 if name == "seed" else pl.String).alias(name)
        for name, value in said.items()
    ]
    part = path.with_name(f"{path.name}.part")
    try:
        frame.with_columns(columns).write_parquet(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
