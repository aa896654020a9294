"""Long work says how far it is, whether or not anything has been finished."""

from __future__ import annotations

import re
import time

import pytest

from gangplan.cli.render.counting import counting
from gangplan.planning.times import spoken


def waited_for(capsys: pytest.CaptureFixture[str], pattern: str) -> str:
    """What has been said on standard error until something matches, for a minute at most."""
    said, until = "", time.monotonic() + 60
    while not re.search(pattern, said) and time.monotonic() < until:
        time.sleep(0.005)
        captured = capsys.readouterr()
        assert captured.out == ""
        said += captured.err
    return said


def test_a_line_is_said_before_anything_is_finished(capsys: pytest.CaptureFixture[str]) -> None:
    with counting("simulation", every=0.01) as tell:
        assert re.search(r"^0 simulations after \d+s$", waited_for(capsys, "after"), re.MULTILINE)
        tell(0, 5, "")
        assert "0 of 5 simulations after" in waited_for(capsys, "0 of 5")
        tell(1, 5, "nodes 4")
        assert re.search(r"1 of 5 simulations after \d+s, nodes 4\n", waited_for(capsys, "nodes 4"))
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_short_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with counting("job") as tell:
        tell(1, 1, "")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.0, "0s"),
        (-0.2, "0s"),
        (89.4, "89s"),
        (90.0, "2m"),
        (-3600.0, "-1h00m"),
        (3599.0, "1h00m"),
        (11_100.0, "3h05m"),
        (172_740.0, "47h59m"),
        (187_200.0, "2d04h"),
        (259_100.0, "3d00h"),
    ],
)
def test_lengths_of_time_read_well(seconds: float | None, text: str) -> None:
    assert spoken(seconds) == text
