"""What no row may show, one sentence each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from gangplan.bench.runs import Row, Status, named

AGREEMENT = 1e-6
"""Most by which two solvers' proven optima may differ, relative (decision 23)."""
PROTOTYPE_AGREEMENT = {"highs": AGREEMENT, "cpsat": 5e-5}
"""The same against the prototype; its CP-SAT model rounds coefficients to thousandths."""


def problems(rows: Iterable[Row], *, require: str = "") -> list[str]:
    """Rows that are WRONG or ERROR, that miss what is required, or that contradict each other.

    Args:
        rows: of one code.
        require: the status that every row of gangplan must have: ``OPTIMAL``, or ``FEASIBLE`` for either.
    """
    found: list[str] = []
    by_instance: dict[tuple[object, ...], list[Row]] = {}
    allowed = {"OPTIMAL": {"OPTIMAL"}, "FEASIBLE": {"OPTIMAL", "FEASIBLE"}}.get(require)
    for row in rows:
        name = f"{row['instance']} by {row['who']} with {row['solver']}"
        status = row["status"]
        if status in {Status.ERROR.value, Status.WRONG.value}:
            violations = "; ".join(row.get("violations") or ())
            found.append(f"{name} is {status}: {row.get('error') or violations or 'not verified'}")
            continue
        if row["who"] == "gangplan" and allowed is not None and status not in allowed:
            more = f" (limit {row.get('limit')}, gap {row['gap']:.2g})" if row.get("gap") is not None else ""
            found.append(f"{name} is {status}{more}: {require} is required")
        if (most := row.get("most_per_1000")) is not None and row["per_1000"] > most:
            wasted = f"{row['without_lasting_gain']:,} voluntary actions without lasting gain"
            found.append(f"{name} has {wasted} in {row['running_job_rounds']:,} running job-rounds")
        found += [f"{name}, {row.get('name')}: {sentence}" for sentence in row.get("missed") or ()]
        allowed_ms = (row.get("options") or {}).get("most_late_ms")
        for which, late in (("plan", row.get("late_ms")), ("next plan", row.get("next_late_ms"))):
            if allowed_ms is not None and late is not None and late > allowed_ms:
                found.append(f"{name} has its {which} {late:.0f} ms late, where {allowed_ms:g} are allowed")
        if row.get("next_verified") is False:
            found.append(f"{name} leaves a service whose next plan is not verified")
        if row.get("permuted_same") is False:
            found.append(f"{name} has another plan when its lists are permuted")
        same = (row["suite"], row["instance"], row.get("source"), row.get("seed"))
        by_instance.setdefault(same, []).append(row)
    for (_, instance, *_), others in by_instance.items():
        found.extend(_contradictions(str(instance), others))
    return found


def _above_a_bound(rows: Sequence[Row]) -> Iterator[str]:
    """Formulations whose verified value is above a bound that another proved for all plans."""
    bounds = [row for row in rows if row.get("bound_holds") and row.get("bound") is not None]
    for row, other in itertools.product(rows, bounds):
        value, bound = row.get("objective"), float(other["bound"])
        if value is not None and value > bound + AGREEMENT * max(1.0, abs(bound)):
            yield f"{named(row)} reaches {value!r}, above the bound {bound!r} of {named(other)}"


def _contradictions(instance: str, rows: Sequence[Row]) -> Iterator[str]:
    """Values above another's bound, and proven optima of the programme that differ."""
    yield from _above_a_bound([row for row in rows if row["kind"] == "formulations"])
    ours = [row for row in rows if row["who"] == "gangplan" and row.get("exact_objective") is not None]
    for row in ours:
        for other in ours:
            slack = AGREEMENT * max(1.0, abs(row["exact_objective"]))
            if other.get("bound") is not None and row["exact_objective"] > other["bound"] + slack:
                yield (
                    f"{instance}: {row['solver']} reaches {row['exact_objective']!r}, above the bound "
                    f"{other['bound']!r} of {other['solver']}"
                )
    empty = [row for row in rows if row.get("claim") == "INFEASIBLE"]
    for row, other in itertools.product(ours, empty):
        yield f"{instance}: {row['solver']} has a solution, {other['solver']} claims that there is none"
    proved = [row for row in ours if row["proved"]]
    for row, other in itertools.pairwise(proved):
        slack = AGREEMENT * max(1.0, abs(row["exact_objective"]))
        if abs(row["exact_objective"] - other["exact_objective"]) > slack:
            yield (
                f"{instance}: {row['solver']} proves {row['exact_objective']!r}, "
                f"{other['solver']} proves {other['exact_objective']!r}"
            )
    theirs = [row for row in rows if row["who"] == "prototype-same" and row.get("proved")]
    for row in proved:
        for other in theirs:
            mine, value = row["objective_in_their_unit"], other["objective"]
            slack = PROTOTYPE_AGREEMENT.get(other["solver"], AGREEMENT) * max(1.0, abs(value))
            if row["running"] == 0 and abs(mine - value) > slack:
                yield f"{instance}: ours proves {mine!r}, the prototype {value!r}, and nothing runs"
