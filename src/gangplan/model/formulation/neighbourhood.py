"""The programme of what is torn: all that the prices and a plan agree on is settled.

At the best prices of a round most classes have done one thing on nearly all of the way, and the plan that was
made at these prices does the same for them. What is left is a programme of a hundred options or so
(relaxation induced neighbourhood search; Danna, Rothberg and Le Pape, *Exploring relaxation induced
neighborhoods to improve MIP solutions*, 2005). The way to the prices takes the place of the linear
relaxation: its average choices are the primal half of it (Barahona and Anbil, *The volume algorithm*, 2000).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from gangplan.model.formulation.layout import Layout
from gangplan.model.program import BoolArray, FloatArray, Program


def neighbourhood(
    layout: Layout,
    program: Program,
    start: FloatArray,
    chosen: FloatArray,
    kept_share: FloatArray,
    *,
    torn: float,
    held: Collection[int] = (),
) -> tuple[Program, BoolArray]:
    """The programme in which only what is torn, or done otherwise by ``start``, is left to decide.

    Options that were hardly ever chosen go, unless ``start`` has them. A job that nearly always took one
    option, or stayed, and does so in ``start``, goes on doing so; who nearly never stayed, and does not,
    leaves. Classes of several alike jobs are never settled. Its bound is none of the whole programme.

    Args:
        layout: what the columns mean.
        program: the whole one.
        start: shape (columns,), a plan; it stays feasible, unless it stops somebody of ``held``.
        chosen: shape (options,), how often lately each option was its class's choice, 0 to 1.
        kept_share: shape (classes,), the same for staying.
        torn: a choice made less often than this, or more often than one less this, is none.
        held: running classes that must stay.

    Returns:
        The programme without the columns that went, and which were kept, shape (columns,).
    """
    instance = layout.instance
    lower, upper = program.lower.copy(), program.upper.copy()
    options = np.flatnonzero(layout.option_column >= 0)
    columns = layout.option_column[options]
    kept = np.ones(layout.columns, dtype=np.bool_)
    kept[columns] = (chosen[options] > torn) | (start[columns] > 0.0)
    alone = instance.members[instance.option_class[options]] == 1
    lower[columns[alone & (chosen[options] >= 1.0 - torn) & (start[columns] >= 1.0)]] = 1.0
    running = np.flatnonzero(instance.kept & (layout.keep_column >= 0))
    staying = layout.keep_column[running]
    lower[staying[(kept_share[running] >= 1.0 - torn) & (start[staying] >= 1.0)]] = 1.0
    leaves = (kept_share[running] <= torn) & (start[staying] <= 0.0) & (lower[staying] <= 0.0)
    upper[staying[leaves]] = 0.0
    bound = layout.keep_column[sorted(held)]
    bound = bound[bound >= 0]
    lower[bound] = upper[bound] = 1.0
    return replace(program, lower=lower, upper=upper).restricted(kept), kept
