"""The neutral integer programme, and what a solver says of it.

::

    maximise   offset + objective @ x
    subject to row_lower <= A x <= row_upper,  lower <= x <= upper,  x[integer] integral

``A`` is kept by rows (CSR). Columns and rows come in named families of consecutive indices, so that
reports, model files and mutation tests can speak of them by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

FEASIBLE = 1e-6
"""By how much a start may break a row, a bound or integrality, as solvers take it."""


@dataclass(frozen=True, slots=True)
class Family:
    """Consecutive rows or columns of one kind: ``start <= index < stop``."""

    name: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A mixed-integer linear programme to be maximised.

    Attributes:
        objective: shape (columns,), GPU-equivalents per unit of the column.
        lower, upper: shape (columns,), finite bounds.
        integer: shape (columns,), True where integral.
        row_start: shape (rows + 1,), CSR row pointers.
        column_index: shape (nonzeros,), column of each entry; no duplicates within a row.
        value: shape (nonzeros,), finite and not 0.
        row_lower, row_upper: shape (rows,), may be infinite on one side.
        offset: constant part of the objective.
        column_families, row_families: named ranges that cover all columns and rows in order.
    """

    objective: FloatArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    row_start: IntArray
    column_index: IntArray
    value: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray
    offset: float = 0.0
    column_families: tuple[Family, ...] = ()
    row_families: tuple[Family, ...] = ()

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.objective)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    @property
    def nonzeros(self) -> int:
        """Number of entries of the matrix."""
        return len(self.value)

    def restricted(self, kept: BoolArray) -> Program:
        """The programme without the columns that are not ``kept``, shape (columns,), which stay at 0.

        All rows remain. Families are those of the columns that are left. With all columns it is the same one.
        """
        if kept.all():
            return self
        position = np.cumsum(kept) - 1
        entries = kept[self.column_index]
        ends = np.concatenate(([0], np.cumsum(entries)))
        edges = np.concatenate(([0], np.cumsum(kept)))
        return replace(
            self,
            objective=self.objective[kept],
            lower=self.lower[kept],
            upper=self.upper[kept],
            integer=self.integer[kept],
            row_start=ends[self.row_start],
            column_index=position[self.column_index[entries]],
            value=self.value[entries],
            column_families=tuple(
                Family(f.name, int(edges[f.start]), int(edges[f.stop])) for f in self.column_families
            ),
        )

    def activity(self, x: FloatArray) -> FloatArray:
        """``A @ x``, shape (rows,); each row summed on its own: a large one costs no other its digits."""
        sums = np.zeros(self.rows)
        filled = np.diff(self.row_start) > 0
        if filled.any():
            products = self.value * x[self.column_index]
            sums[filled] = np.add.reduceat(products, self.row_start[:-1][filled])
        return sums

    def worst_violation(self, x: FloatArray) -> float:
        """Largest violation of any row, bound or integrality by ``x``; 0 when feasible."""
        activity = self.activity(x)
        parts = [
            self.row_lower - activity,
            activity - self.row_upper,
            self.lower - x,
            x - self.upper,
            np.abs(x - np.round(x))[self.integer],
        ]
        return max((float(part.max()) for part in parts if part.size), default=0.0) if x.size else 0.0

    def admits(self, x: FloatArray) -> bool:
        """Whether ``x`` is feasible up to :data:`FEASIBLE`."""
        return self.worst_violation(x) <= FEASIBLE

    def evaluate(self, x: FloatArray) -> float:
        """Objective value of ``x``, offset included.

        Summed in one thread: a threaded dot product waits for its threads on a busy machine, and its order of
        summation depends on their number.
        """
        return self.offset + float((self.objective * x).sum())


class SolveStatus(Enum):
    """What a solver claims; never believed without a check."""

    OPTIMAL = "OPTIMAL"
    FEASIBLE = "FEASIBLE"
    INFEASIBLE = "INFEASIBLE"
    NO_SOLUTION = "NO_SOLUTION"
    """Stopped by a limit before any solution was found."""


class SolveLimit(Enum):
    """Why a solver stopped before it was done."""

    NONE = "NONE"
    TIME = "TIME"
    NODE = "NODE"


@dataclass(frozen=True, slots=True)
class SolveParameters:
    """How to solve, whatever the model.

    Attributes:
        time_limit_seconds: wall time; None: no limit. A wall limit makes runs unrepeatable.
        relative_gap: stop when ``(bound - value) / |value|`` is at most this.
        node_limit: branch-and-bound nodes (HiGHS) or units of deterministic time (CP-SAT); None: no limit.
        threads: worker threads; 1 repeats exactly.
        seed: random seed.
        relax: solve the linear relaxation.
    """

    time_limit_seconds: float | None = None
    relative_gap: float = 1e-7
    node_limit: int | None = None
    threads: int = 1
    seed: int = 0
    relax: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A solver's answer.

    Attributes:
        status: what it claims.
        limit: what stopped it.
        values: shape (columns,), integral columns rounded; None without a solution.
        objective: value of ``values`` recomputed from the programme, not the solver's word; None without one.
        bound: proven upper limit on the objective, offset included; ``inf`` when none is known.
        seconds: wall time inside the solver.
        nodes: branch-and-bound nodes or branches; deterministic work counter for gates.
        iterations: simplex iterations or conflicts.
        solver: name and version, e.g. ``highs 1.16.0``.
        detail: one sentence on anything odd.
        row_duals: shape (rows,), multipliers of the rows in units of the programme, of a relaxation; None
            where the backend has none. Nothing need be believed of them: any multipliers prove a bound.
    """

    status: SolveStatus
    limit: SolveLimit
    values: FloatArray | None
    objective: float | None
    bound: float
    seconds: float
    nodes: int = 0
    iterations: int = 0
    solver: str = ""
    detail: str = ""
    row_duals: FloatArray | None = None


def spread(values: FloatArray, kept: BoolArray) -> FloatArray:
    """Values of all columns from those of a :meth:`Program.restricted` one: what was not ``kept`` is 0."""
    whole = np.zeros(len(kept), dtype=np.float64)
    whole[kept] = values
    return whole
