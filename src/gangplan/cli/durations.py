"""Durations on the command line: ``10s``, ``500ms``, ``1h30m``, ``2-04:00:00``, or plain seconds."""

from __future__ import annotations

import re


def duration(text: str) -> float:
    """Seconds, above 0.

    Raises:
        ValueError: the text is no duration, or it is not above 0.
    """
    from gangplan.planning.scenario.quantities import parse_duration

    if re.fullmatch(r"\s*[\d.]+\s*[mµu]s\s*", text):
        from quantiphy import Quantity

        seconds = float(Quantity(text))
    else:
        number = re.fullmatch(r"\s*[\d.]+(e[+-]?\d+)?\s*", text)
        seconds = parse_duration(float(text) if number else text)
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{text!r} is no time above 0")
    return seconds
