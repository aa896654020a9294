"""Numbers as people write them: counts with separators, shares, gibibytes, seconds, index ranges."""

from __future__ import annotations

from collections.abc import Iterable

_GIB = 2**30
_CORE = 1000


def count(number: float) -> str:
    """``1,523``."""
    return f"{number:,.0f}"


def amount(number: float) -> str:
    """``1,523``, ``0.47``: a number of devices, where a part of one counts as that part."""
    return f"{number:,.10g}"


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """``1 job``, ``2 jobs``, ``0.47 devices``; ``plural`` where an s is not enough."""
    return f"{amount(number)} {noun if number == 1 else plural or noun + 's'}"


def value(number: float) -> str:
    """A value in GPU-equivalents: three decimals, and no minus before a zero."""
    text = f"{number:,.3f}"
    return text[1:] if text.startswith("-") and not text.strip("-0.,") else text


def share(fraction: float) -> str:
    """A fraction as a percentage that keeps small ones visible: ``0 %``, ``0.0003 %``, ``12.5 %``."""
    percent = fraction * 100
    if abs(percent) < 1e-9:
        return "0 %"
    if abs(percent) < 1e-4:
        return "under 0.0001 %"
    return f"{percent:.3g} %" if abs(percent) < 1 else f"{percent:,.1f} %"


def seconds(duration: float) -> str:
    """``3 ms``, ``1.25 s``, ``12.0 s``."""
    if duration < 0.9995:
        return f"{duration * 1000:.0f} ms" if duration >= 0.0095 else f"{duration * 1000:.1f} ms"
    return f"{duration:.2f} s" if duration < 10 else f"{duration:,.1f} s"


def cores(cpu_milli: int) -> str:
    """CPUs, without a fraction where there is none."""
    return f"{cpu_milli / _CORE:,.1f}".removesuffix(".0")


def gibibytes(memory_bytes: int) -> str:
    """Gibibytes, without a fraction where there is none."""
    return f"{memory_bytes / _GIB:,.1f}".removesuffix(".0")


def ranges(indices: Iterable[int]) -> str:
    """``0-3,6`` for 0, 1, 2, 3, 6."""
    parts: list[list[int]] = []
    for index in sorted(indices):
        if parts and parts[-1][1] == index - 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)
