"""Section 6 of the design: each cell beside its target."""

from __future__ import annotations

from collections.abc import Sequence

from gangplan.bench.report import targets
from gangplan.bench.report.groups import KEY, grouped, rounds
from gangplan.bench.report.tables import Section, Table
from gangplan.bench.runs import Row


def section(rows: Sequence[Row]) -> Section | None:
    """Section 6's table: each cell beside its target."""
    lines: list[tuple[str, ...]] = []
    names: tuple[str, ...] = ()
    for key, mine in grouped(rounds(rows)):
        parts = key[0].split("/")
        if len(parts) != 3 or parts[0] not in targets.TARGETS or parts[1] != "steady":
            continue
        if key[1] not in {"gangplan", "prototype-pipeline"}:
            continue
        found = targets.cells(parts[0], int(parts[2].split()[0]), mine)
        names = tuple(cell.name for cell in found)
        ours = key[1] == "gangplan" and "prototype" not in key[0]
        texts = (
            cell.text()
            if ours
            else targets.Cell(cell.name, cell.values, None, cell.form, cell.missing).text()
            for cell in found
        )
        lines.append((*key, str(len(mine)), str(targets.solved(mine)), *texts))
    if not lines:
        return None
    return Section(
        "Targets",
        Table((*KEY, "n", "solved", *names), tuple(lines)),
        "On two cores, the whole call from the bytes sent to the answer parsed. Each cell: the measured "
        "figure, then `met` or `missed` and the target. `of gain`: of what lies between keeping everything "
        "and the bound.",
    )
