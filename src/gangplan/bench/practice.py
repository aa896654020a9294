"""A backend that has solved something: no row pays for loading its library, as the first solve does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gangplan.model.program import Program, SolveParameters
from gangplan_solvers import catalog

if TYPE_CHECKING:
    from gangplan_solvers.backend import Backend

_SECONDS = 10.0


def ready(solver: str) -> Backend:
    """The backend of that name, after a solve for practice.

    Raises:
        UnknownSolverError: there is none, or it cannot be used here.
        BackendError: it cannot be loaded.
    """
    backend = catalog.usable(solver)
    backend.solve(_two_columns(), SolveParameters(time_limit_seconds=_SECONDS))
    return backend


def _two_columns() -> Program:
    return Program(
        objective=np.array([1.0, 2.0]),
        lower=np.zeros(2),
        upper=np.ones(2),
        integer=np.ones(2, dtype=np.bool_),
        row_start=np.array([0, 2], dtype=np.int64),
        column_index=np.array([0, 1], dtype=np.int64),
        value=np.ones(2),
        row_lower=np.array([-np.inf]),
        row_upper=np.array([1.0]),
    )
