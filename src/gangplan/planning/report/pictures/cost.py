"""What the devices cost, by type: held and idle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangplan.planning.report.drawing import SOFT, figure, legend, series, svg


def pictures(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, str]]:
    """Price of the whole time by type, the part of it that was held, and that which stood idle."""
    known = [(name, run["series"]) for name, run in runs if run.get("series") and run["series"]["prices"]]
    if not known:
        return
    kinds = list(dict.fromkeys(kind for _, found in known for kind in found["devices"]))
    drawn, axes = figure(height=max(2.0, 1.2 + 0.35 * len(known)))
    for place, (_, found) in enumerate(known):
        edges, left = found["edges_s"], 0.0
        for k, kind in enumerate(kinds):
            price = found["prices"].get(kind, 0.0)
            held = sum(
                value * (high - low) * price / 3600.0
                for value, low, high in zip(found["held"].get(kind, ()), edges, edges[1:], strict=False)
            )
            label = f"{kind}, held" if place == 0 else None
            axes.barh(place, held, left=left, color=series(k), height=0.6, label=label)
            left += held
        total = sum(
            count * found["prices"].get(kind, 0.0) * edges[-1] / 3600.0
            for kind, count in found["devices"].items()
        )
        label = "idle" if place == 0 else None
        axes.barh(place, max(0.0, total - left), left=left, color=SOFT, alpha=0.4, height=0.6, label=label)
    axes.set_yticks(range(len(known)), [name for name, _ in known])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("price, in the catalogue's currency")
    legend(axes)
    yield "Cost until the last end", svg(drawn)
