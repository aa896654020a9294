"""Figures as SVG text that stands in a page, in the page's own colours.

matplotlib draws in fixed colours; a page is light or dark as its reader likes. So figures are drawn in
colours that stand for others, and these are put in their places in the text: the ink is ``currentColor``,
series are ``var(--c0)`` and so on.
"""

from __future__ import annotations

import io
import itertools
import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, SOFT = "#fe00f0", "#fe00f1"
"""Stand for the page's ink, and for a softer one."""
_SERIES = 8
_LEGEND_LETTERS = 72
"""That stand beside each other in a legend, lines and gaps counted as letters."""
_DAY, _HOUR, _MINUTE = 86_400.0, 3600.0, 60.0
_ROUND = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 5, 7))
"""Round numbers of a decade, ever more."""
_FEWEST_TICKS = 4
_LINE_POINTS = 9
"""Between two names of points, one above the other."""
_UNITS = ((_DAY, "days"), (_HOUR, "hours"), (_MINUTE, "minutes"))


def series(k: int) -> str:
    """The colour that stands for that of the ``k``-th series, from 0; they repeat."""
    return f"#fe00{k % _SERIES:02x}"


def figure(height: float = 2.9, width: float = 4.8) -> tuple[Any, Axes]:
    """A figure of our own, not of pyplot's: no window, no state; inches."""
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    look: dict[Any, Any] = {
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": SOFT,
        "xtick.color": SOFT,
        "ytick.color": SOFT,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "grid.color": SOFT,
        "axes.prop_cycle": cycler(color=[series(k) for k in range(_SERIES)]),
        "font.size": 9.0,
    }
    with mpl.rc_context(look):
        drawn = Figure(figsize=(width, height), layout="constrained", facecolor="none")
        FigureCanvasSVG(drawn)
        axes = drawn.add_subplot(facecolor="none")
        axes.grid(visible=True, alpha=0.25, linewidth=0.6)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    return drawn, axes


def legend(axes: Axes, **how: Any) -> None:
    """A legend without a frame, in the page's ink: above the picture, where it hides nothing."""
    _, labels = axes.get_legend_handles_labels()
    columns = max(1, min(4, _LEGEND_LETTERS // (6 + max(map(len, labels), default=0))))
    place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": columns} | how
    axes.legend(frameon=False, fontsize=8, labelcolor=INK, **place)


def logarithmic(axes: Axes) -> None:
    """A logarithmic axis from left to right, with numbers as people write them."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(_ticks(*axes.get_xlim())))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _ticks(low: float, high: float) -> list[float]:
    """The fewest round numbers between ``low`` > 0 and ``high`` that say what the axis is."""
    from matplotlib.ticker import MaxNLocator

    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for numbers in _ROUND:
        found = [number * 10.0**decade for decade in decades for number in numbers]
        found = [value for value in found if low <= value <= high]
        if len(found) >= _FEWEST_TICKS:
            return found
    return [float(value) for value in MaxNLocator(6).tick_values(low, high) if low <= value <= high]


def name_points(drawn: Any, axes: Axes, named: Iterable[tuple[float, float, str]]) -> None:
    """Write names beside points, none over another: above or below, to the right or else to the left.

    Args:
        drawn: the figure.
        axes: its axes, whose points are drawn already.
        named: place and name of each.
    """
    drawn.draw_without_rendering()  # lays out: where a point is follows from that
    taken: list[Any] = []
    for x, y, name in named:
        for lines, side in ((k // 4, k % 4) for k in itertools.count()):
            up, left = 3 + _LINE_POINTS * lines, side >= 2
            text = axes.annotate(
                name,
                (x, y),
                xytext=(-4 if left else 4, up if side % 2 == 0 else -up - 5),
                textcoords="offset points",
                ha="right" if left else "left",
                fontsize=7,
            )
            box = text.get_window_extent()
            if not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            text.remove()


def svg(drawn: Any) -> str:
    """The figure as text; the same figure gives the same text."""
    import matplotlib as mpl

    sink = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "gangplan", "svg.fonttype": "none"}):
        drawn.savefig(sink, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)
    text = sink.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg \1 role="img">', text, count=1)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"#fe00f0", "currentColor", text)
    text = re.sub(r"#fe00f1", "var(--soft)", text)
    text = re.sub(r"#fe000([0-7])", r"var(--c\1)", text)
    # Black that matplotlib writes by itself or leaves to the default.
    text = re.sub(r"<text ", '<text fill="currentColor" ', text)
    return re.sub(r"font: ([\d.]+px) '[^;\"]*", r"font: \1 system-ui, sans-serif", text)


def unit_of(span: float) -> tuple[float, str]:
    """Seconds of the unit in which a span of so many seconds reads well, and its name."""
    for seconds, name in _UNITS:
        if span >= 3 * seconds:
            return seconds, name
    return 1.0, "seconds"
