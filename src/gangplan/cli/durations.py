"""Durations on the command line: ``10s``, ``500ms``, ``1h30m``, ``2-04:00:00``, or plain seconds."""

from __future__ import annotations

import re

SHORTEST, LONGEST = 1e-9, 100 * 366 * 86_400.0
"""Seconds: what a duration on the wire can say and may be."""


def duration(text: str) -> float:
    """Seconds, from a nanosecond to a hundred years.

    Raises:
        ValueError: the text is no duration, or out of range.
    """
    from gangplan.planning.scenario.quantities import parse_duration

    if re.fullmatch(r"\s*[\d.]+\s*[mµu]s\s*", text):
        from quantiphy import Quantity

        seconds = float(Quantity(text))
    else:
        number = re.fullmatch(r"\s*[\d.]+(e[+-]?\d+)?\s*", text)
        seconds = parse_duration(float(text) if number else text)
    if not seconds >= SHORTEST:
        raise ValueError(f"{text!r} is no time above 0 (1 ns is the least)")
    if seconds > LONGEST:
        raise ValueError(f"{text!r} is above 100 years, the most")
    return seconds
