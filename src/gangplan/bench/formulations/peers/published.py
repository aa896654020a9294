"""Figures to set beside ours, each with its source.

``published`` ones stand in a paper. ``re-measured`` ones are the authors' own code, unmodified, run on two
cores of a server CPU (medians of three seeds), since papers mostly do not say how long one programme takes;
their instances were drawn like ours but are not the same, so compare orders of magnitude. Seconds of the
authors' code include its modelling layer where not said otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        form: ``sia``, ``finish-time``, ``shockwave`` or ``chronus``.
        size: as in the instance's name.
        what: which code and solver.
        seconds: wall time; None where only a limit was reached.
        note: what came of it.
        source: where it is from.
    """

    form: str
    size: str
    what: str
    seconds: float | None
    note: str
    source: str


_CODE = "re-measured: the authors' code, unmodified, two cores"
_MATRIX = "re-measured: the authors' captured matrices without their modelling layer, two cores"
_SIA = "published: Sia, SOSP 2023, section 5.6"

FIGURES = (
    Figure("sia", "64x64", "Sia, whole policy", 0.096, "median; p95 0.426 s", _SIA),
    Figure("sia", "64x64", "Sia's code, CBC, gap 1e-4", 0.050, "solver and cvxpy 0.019 s", _CODE),
    Figure("sia", "64x64", "HiGHS, gap 1e-4", 0.012, "optimal", _MATRIX),
    Figure("sia", "2048x2048", "Sia's code, CBC, gap 1e-4", 5.56, "solver and cvxpy 4.55 s", _CODE),
    Figure("sia", "2048x2048", "Sia's code, HiGHS, gap 1e-4", 2.70, "solver and cvxpy 1.66 s", _CODE),
    Figure("sia", "2048x2048", "HiGHS, gap 1e-4", 1.34, "optimal", _MATRIX),
    Figure("sia", "2048x2048", "LP and rounding", 0.243, "gap at most 0.006 %", _MATRIX),
    Figure("sia", "2048x2048", "CP-SAT, two workers", 1.95, "optimal", _MATRIX),
    Figure("sia", "512x2048", "Sia's code, CBC, gap 1e-4", None, "60 s reached, then a crash, 2 of 3", _CODE),
    Figure("sia", "512x2048", "Sia's code, HiGHS, gap 1e-4", 0.938, "solver and cvxpy 0.699 s", _CODE),
    Figure("sia", "512x2048", "HiGHS, gap 1e-4", 0.644, "optimal", _MATRIX),
    Figure("sia", "512x2048", "LP and rounding", 0.043, "gap at most 0.10 %", _MATRIX),
    Figure("sia", "512x2048", "CP-SAT, two workers", 0.671, "optimal", _MATRIX),
    Figure("finish-time", "64", "Gavel's code, ECOS", 0.095, "", _CODE),
    Figure("finish-time", "2048", "Gavel's code, ECOS", 4.66, "solver 0.059 s", _CODE),
    Figure("finish-time", "2048", "bisection, HiGHS, 10 or 11 programmes", 0.263, "within 1e-3", _MATRIX),
    Figure("shockwave", "64x16", "Shockwave's code, HiGHS, gap 1e-3", 2.20, "solver 0.7 s", _CODE),
    Figure("shockwave", "256x64", "Shockwave's code, HiGHS, gap 1e-3", 17.7, "solver 3 to 6 s", _CODE),
    Figure("chronus", "64x24", "Chronus' code, CBC", 0.33, "", _CODE),
    Figure("chronus", "64x24", "Chronus' programme, HiGHS", 0.29, "", _CODE),
    Figure("chronus", "256x24", "Chronus' code, CBC", None, "30 s reached by all three, gap .1-.3 %", _CODE),
    Figure("chronus", "256x24", "Chronus' programme, HiGHS", 3.20, "1.5 to 7.8 s, optimal", _CODE),
)


def beside(form: str, size: str) -> tuple[Figure, ...]:
    """The figures of a form at a size, best first; empty when there are none."""
    found = [figure for figure in FIGURES if (figure.form, figure.size) == (form, size)]
    return tuple(sorted(found, key=lambda f: float("inf") if f.seconds is None else f.seconds))
