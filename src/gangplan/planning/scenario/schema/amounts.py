"""Amounts of work and service, and their quantiles."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from gangplan.planning.scenario.quantities import NonNegative, parse_duration


def _time(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


Amount = Annotated[NonNegative, BeforeValidator(_time)]
"""Work or service: a number in the job's own unit, or a duration in seconds."""


Probability = Annotated[float, Field(ge=0.001, le=0.999)]


def _ascending(value: dict[float, float]) -> dict[float, float]:
    ordered = dict(sorted(value.items()))
    amounts = list(ordered.values())
    if amounts != sorted(amounts):
        raise ValueError("the higher the probability, the more it must be")
    if not amounts or amounts[-1] == 0.0:
        raise ValueError("name at least one quantile above 0")
    return ordered


QuantilesPart = Annotated[dict[Probability, Amount], AfterValidator(_ascending)]
"""Amounts by probability."""
