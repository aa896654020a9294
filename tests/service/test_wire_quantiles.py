"""Distributions on the wire: what is none is refused where it stands."""

from __future__ import annotations

import pytest

from gangplan.domain.quantiles import Quantiles
from gangplan.errors import InvalidInputError
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.service.wire.read_quantiles import read_quantiles


@pytest.mark.parametrize(
    ("probabilities", "values", "field"),
    [
        ([], [], "at.probabilities"),
        ([0.5], [], "at.work"),
        ([], [1.0], "at.work"),
        ([0.5, 0.5], [1.0, 2.0], "at.probabilities"),
        ([0.5, 0.4], [1.0, 2.0], "at.probabilities"),
        ([0.4, 0.5], [2.0, 1.0], "at.work"),
        ([0.0], [1.0], "at.probabilities[0]"),
        ([1.0], [1.0], "at.probabilities[0]"),
        ([float("nan")], [1.0], "at.probabilities[0]"),
        ([0.5], [-1.0], "at.work[0]"),
        ([0.5], [float("inf")], "at.work[0]"),
        ([0.5] * (limits.QUANTILES + 1), [1.0] * (limits.QUANTILES + 1), "at.probabilities"),
    ],
)
def test_what_is_no_distribution_is_refused(
    probabilities: list[float], values: list[float], field: str
) -> None:
    fields = Fields()
    read_quantiles(probabilities, values, "work", "at.", fields)
    with pytest.raises(InvalidInputError) as caught:
        fields.raise_violations()
    assert field in {violation.field for violation in caught.value.violations}


def test_a_distribution_is_read() -> None:
    fields = Fields()
    assert read_quantiles([0.25, 0.5], [0.0, 7.0], "work", "at.", fields) == Quantiles(
        (0.25, 0.5), (0.0, 7.0)
    )
    fields.raise_violations()
