"""Durations on the command line."""

from __future__ import annotations

import pytest

from gangplan.cli.durations import duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10.0),
        ("500ms", 0.5),
        ("250 ms", 0.25),
        ("0.5", 0.5),
        ("3", 3.0),
        ("1h30m", 5400.0),
        ("2-04:00:00", 187_200.0),
        ("1.5s", 1.5),
    ],
)
def test_people_write_durations_in_many_ways(text: str, seconds: float) -> None:
    assert duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "0", "0s", "-5s", "1e400", "nan", "10 parsecs"])
def test_what_is_no_time_above_zero_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|above 0|finite"):
        duration(text)


@pytest.mark.parametrize("text", ["1e-10", "0.1e-9", "1e99", "3200000000s", "101 years"])
def test_what_the_wire_cannot_say_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"duration|above 0|above 100 years"):
        duration(text)
