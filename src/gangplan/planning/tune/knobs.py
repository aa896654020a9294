"""Which weights of a policy are turned, and how far."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.scenario.checks import did_you_mean

_RANGE = re.compile(r"([^=]+)=([\d.eE+-]+):([\d.eE+-]+)")


@dataclass(frozen=True, slots=True)
class Knob:
    """A weight with its range.

    Attributes:
        name: of the policy's field.
        low: least value.
        high: largest value.
    """

    name: str
    low: float
    high: float

    def at(self, place: float) -> float:
        """The value at a place from 0 to 1, to four digits."""
        return float(f"{self.low + min(1.0, max(0.0, place)) * (self.high - self.low):.4g}")


RANGES: Mapping[str, Knob] = MappingProxyType(
    {
        knob.name: knob
        for knob in (
            Knob("fairness_power", 0.0, 2.0),
            Knob("deadline_weight", 0.0, 8.0),
            Knob("deadline_urgency", 0.0, 2.0),
            Knob("switching_weight", 0.0, 4.0),
            Knob("size_exponent", 0.0, 1.5),
            Knob("queue_fairness_power", 0.0, 2.0),
            Knob("locality_weight", 0.0, 1.0),
            Knob("hysteresis", 0.0, 0.5),
            Knob("tracking_weight", 0.0, 4.0),
            Knob("makespan_weight", 0.0, 16.0),
            Knob("cost_weight", 0.0, 1e-6),
            Knob("fragmentation_weight", 0.0, 8.0),
            Knob("residual_weight", 0.0, 4.0),
        )
    }
)
"""Ranges within which weights are turned where nothing else is said: from without effect to four times the
default or so, or as far as the field goes."""
USUAL = ("fairness_power", "deadline_weight", "switching_weight")
"""Knobs that are turned where none is named."""


def knobs(words: Sequence[str]) -> tuple[Knob, ...]:
    """The knobs of ``NAME`` or ``NAME=LOW:HIGH``; the usual ones of nothing.

    Raises:
        InvalidInputError: one is no weight, or its range is none.
    """
    found, violations = [], []
    for word in words or USUAL:
        match = _RANGE.fullmatch(word)
        name = match[1] if match else word
        if name not in RANGES:
            violations.append(FieldViolation("--weight", did_you_mean(name, RANGES, "weight")))
            continue
        try:
            low, high = (float(match[2]), float(match[3])) if match else (RANGES[name].low, RANGES[name].high)
        except ValueError:
            low, high = 1.0, 0.0
        if not 0.0 <= low < high:
            violations.append(
                FieldViolation("--weight", f"{word!r} is no NAME=LOW:HIGH with 0 <= LOW < HIGH")
            )
            continue
        found.append(Knob(name, low, high))
    if violations:
        raise InvalidInputError(violations)
    return tuple(found)
