"""The forms of fairness, one file each, found by scanning this folder.

A form gives every job an **urgency** s, how much its service counts, and a **curve** h, how much of that an
option at relative throughput r earns: 0 when the job waits, 1 at its reference (r = 1). What a job is worth
under a form is then

    c_j req_j^gamma h_j(r),    c_j = b_j s_j / median of b s over all jobs,

with b the base weight, where it is not in the urgency already, times what its queue is owed. So the median
job at its reference is worth as much as without fairness, req^gamma GPU-equivalents, whatever the form: forms
can be mixed, and weighed against the other terms (decision 1). Urgencies stay within a range of 1e5 (decision
11).

As with terms, a form computes twice, side by side: ``urgencies`` and ``earned`` with arrays for the model,
``urgency`` and ``earns`` with numbers for the verifier.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Protocol, cast

from gangplan.domain.policy import FairnessForm

if TYPE_CHECKING:
    from gangplan.model.instance.standing import Standings
    from gangplan.model.program import FloatArray
    from gangplan.model.verifier.standing import Standing


class Form(Protocol):
    """What the module of a form offers."""

    FORM: FairnessForm
    """Its name in a policy."""
    CURVED: bool
    """Whether its curve is another than h(r) = r."""
    BY_BASE: bool
    """Whether the base weight multiplies the urgency; if not, it is in what the job is owed already."""
    SPREAD: float | None
    """Urgencies further than this factor from their median count as that far; None: they never are."""

    def urgencies(self, standings: Standings, power: float) -> FloatArray:
        """S of every job, shape (jobs,); ``power`` is p. 0: the form says nothing of it, the weights do."""
        ...

    def earned(self, standings: Standings, relative: FloatArray, power: float) -> FloatArray:
        """H by row, given each row's job's standing and its relative throughput, shape (rows,)."""
        ...

    def urgency(self, standing: Standing, power: float) -> float:
        """S of one job, by the verifier's own arithmetic."""
        ...

    def earns(self, standing: Standing, relative: float, power: float) -> float:
        """H of one job at a relative throughput, by the verifier's own arithmetic."""
        ...


@cache
def forms() -> Mapping[FairnessForm, Form]:
    """All forms, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [cast("Form", importlib.import_module(f"{__name__}.{name}")) for name in names]
    return {form.FORM: form for form in found}
