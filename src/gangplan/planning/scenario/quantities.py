"""The short forms that people write in a scenario file: durations, CPU, memory, instants, names.

Durations are read by pytimeparse (``90``, ``"5m"``, ``"1h30m"``, ``"2d4h"``, Slurm's ``"2-04:00:00"``),
Kubernetes quantities by quantiphy (``"500m"``, ``"80Gi"``); both are pure Python without dependencies. The
official Kubernetes client reads quantities too, but weighs 126 MB and takes a quarter of a second to
import.

Each type is stored in one canonical unit (seconds, thousandths of a CPU, bytes, seconds since the epoch)
and written back in the shortest exact form.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, BeforeValidator, Field, PlainSerializer, StringConstraints, TypeAdapter
from pydantic.json_schema import WithJsonSchema

_LATEST = 253_402_300_799.0
_INSTANT: TypeAdapter[datetime] = TypeAdapter(AwareDatetime)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _finite(value: float, text: object) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def parse_duration(value: object) -> float:
    """Seconds from a number of seconds or a text such as ``"90m"``, ``"1h30m"`` or ``"2-04:00:00"``.

    Raises:
        ValueError: the text is no duration.
    """
    if _is_number(value):
        return _finite(float(value), value)  # type: ignore[arg-type]
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a duration: write seconds, or a text such as 90m or 2-04:00:00")
    from pytimeparse.timeparse import timeparse

    text = value.strip()
    short_slurm = re.fullmatch(r"-?\d+-\d+(:\d+)?", text)
    if short_slurm:  # days-hours and days-hours:minutes: the rest is zero.
        text += ":00" if short_slurm[1] else ":00:00"
    seconds = timeparse(text)
    if seconds is None:
        raise ValueError(f"{value!r} is not a duration: write seconds, or a text such as 90m or 2-04:00:00")
    return _finite(float(seconds), value)


def write_duration(seconds: float) -> str | int | float:
    """The shortest exact form: ``2d``, ``3h``, ``5m``, or seconds."""
    if not seconds.is_integer() or abs(seconds) >= 2**53:
        return seconds
    whole = int(seconds)
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if whole and whole % length == 0:
            return f"{whole // length}{unit}"
    return whole


def _quantity(value: object, allowed_units: tuple[str, ...]) -> float:
    from quantiphy import InvalidNumber, Quantity

    try:
        quantity = Quantity(str(value), binary=True)
    except InvalidNumber:
        raise ValueError(f"{value!r} is not a quantity") from None
    if quantity.units not in allowed_units:
        raise ValueError(f"{value!r} is not a quantity: unit {quantity.units!r} is not known")
    return _finite(float(quantity), value)


def _whole(value: float, text: object, unit: str) -> int:
    if abs(value) >= 2**53:
        raise ValueError(f"{text!r} is too large")
    rounded = round(value)
    if abs(value - rounded) > 1e-6:
        raise ValueError(f"{text!r} is not a whole number of {unit}")
    return rounded


def parse_cpu(value: object) -> int:
    """Thousandths of a CPU from a number of CPUs or a Kubernetes quantity such as ``"500m"``.

    Raises:
        ValueError: the value is no quantity, or finer than a thousandth.
    """
    if not _is_number(value) and not isinstance(value, str):
        raise ValueError(f"{value!r} is not a quantity: write CPUs, or thousandths such as 500m")
    return _whole(_quantity(value, ("",)) * 1000, value, "thousandths of a CPU")


def write_cpu(milli: int) -> str | int:
    """CPUs when whole, else thousandths: ``96``, ``1500m``."""
    return milli // 1000 if milli % 1000 == 0 else f"{milli}m"


def parse_memory(value: object) -> int:
    """Bytes from a number of bytes or a Kubernetes quantity such as ``"80Gi"`` or ``"64G"``.

    Raises:
        ValueError: the value is no quantity, or no whole number of bytes.
    """
    if not _is_number(value) and not isinstance(value, str):
        raise ValueError(f"{value!r} is not a quantity: write bytes, or a quantity such as 80Gi")
    return _whole(_quantity(value, ("", "B")), value, "bytes")


def write_memory(size: int) -> str | int:
    """The largest binary unit that divides it: ``80Gi``; else bytes."""
    for power, unit in ((5, "Pi"), (4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        if size and size % 1024**power == 0:
            return f"{size // 1024**power}{unit}"
    return size


def parse_instant(value: object) -> float:
    """Seconds since the epoch from a number of seconds or an ISO 8601 instant with its zone.

    Raises:
        ValueError: the text is no instant, or names no zone.
    """
    if _is_number(value):
        return _finite(float(value), value)  # type: ignore[arg-type]
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not an instant: write e.g. 2026-01-01T00:00:00Z")
    try:
        return _INSTANT.validate_python(value).timestamp()
    except ValueError:
        raise ValueError(f"{value!r} is not an instant: write e.g. 2026-01-01T00:00:00Z") from None


def write_instant(seconds: float) -> str | float:
    """ISO 8601 in UTC when it is a whole second, else seconds since the epoch."""
    if not seconds.is_integer():
        return seconds
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


_DURATION_SCHEMA = WithJsonSchema(
    {
        "anyOf": [{"type": "number"}, {"type": "string"}],
        "description": "seconds, or a duration such as 90m, 1h30m, 2d4h or 2-04:00:00",
        "examples": ["5m", "2-04:00:00", 300],
    }
)
_duration = BeforeValidator(parse_duration)
_duration_out = PlainSerializer(write_duration)

SignedDuration = Annotated[float, _duration, _duration_out, _DURATION_SCHEMA]
"""Seconds; may be negative: a time that has passed."""
Duration = Annotated[float, _duration, Field(ge=0), _duration_out, _DURATION_SCHEMA]
"""Seconds, not negative."""
PositiveDuration = Annotated[float, _duration, Field(gt=0), _duration_out, _DURATION_SCHEMA]
"""Seconds, above 0."""
Instant = Annotated[
    float,
    BeforeValidator(parse_instant),
    Field(ge=0, le=_LATEST),
    PlainSerializer(write_instant),
    WithJsonSchema(
        {
            "anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "format": "date-time"}],
            "description": "an instant with its zone, or seconds since the epoch",
        }
    ),
]
"""Seconds since the epoch."""
Cpu = Annotated[
    int,
    BeforeValidator(parse_cpu),
    Field(ge=0),
    PlainSerializer(write_cpu),
    WithJsonSchema(
        {
            "anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}],
            "description": "CPUs, or a Kubernetes quantity such as 500m",
            "examples": [96, "500m"],
        }
    ),
]
"""Thousandths of a CPU."""
Memory = Annotated[
    int,
    BeforeValidator(parse_memory),
    Field(ge=0),
    PlainSerializer(write_memory),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}],
            "description": "bytes, or a Kubernetes quantity such as 80Gi",
            "examples": ["80Gi", "512Mi"],
        }
    ),
]
"""Bytes."""
Name = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=253, pattern=r"^[^\s\p{Cc}]+$")]
"""A name without white space."""

Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
"""How many there are, at least one."""
Whole = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
"""A whole number, not negative."""
NonNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
"""A finite number, not negative."""
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
"""A finite number above 0."""
