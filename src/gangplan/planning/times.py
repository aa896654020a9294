"""Lengths of time as people read them: the same in tables, answers and pages."""

from __future__ import annotations


def spoken(seconds: float | None) -> str:
    """``45s``, ``12m``, ``3h05m``, ``2d04h``; a dash where nobody can tell.

    Args:
        seconds: rounded to seconds below a minute and a half, to minutes below two days, else to hours.
    """
    if seconds is None:
        return "-"
    sign, seconds = ("-" if seconds < 0 else ""), abs(seconds)
    if seconds < 90:
        text = f"{seconds:.0f}s"
        return text if text == "0s" else f"{sign}{text}"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{sign}{minutes}m"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{sign}{hours}h{minutes:02}m"
    days, hours = divmod(round(seconds / 3600), 24)
    return f"{sign}{days}d{hours:02}h"
