"""Backends that crash, hang and lie, to test what keeps a solver's faults from its caller.

Give :data:`EXTRA` to a worker, a pool or an in-process runner: it names them as an entry point would.
``honest`` answers with the start and the bound of the box; every other one spoils that in its own way.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from gangplan.model.program import FloatArray, Program, Solution, SolveLimit, SolveParameters, SolveStatus
from gangplan_solvers.backend import Availability, Feature
from gangplan_solvers.catalog import ENTRY_POINT_GROUP

_LONG_SECONDS = 120.0
"""How long a backend that hangs does so: longer than any test, not for ever."""


@dataclass(frozen=True, slots=True)
class FaultyBackend:
    """A backend whose honest answer goes through ``fault`` first."""

    name: str
    fault: Callable[[Program, SolveParameters, Solution], object]
    features: frozenset[Feature] = frozenset(Feature)

    def availability(self) -> Availability:
        """Always there."""
        return Availability(True, "0")

    def solve(
        self, program: Program, parameters: SolveParameters, start: FloatArray | None = None
    ) -> Solution:
        """The start, or the lower bounds, after the fault."""
        values = program.lower.copy() if start is None else np.array(start, dtype=np.float64)
        bound = program.offset + float(
            np.maximum(program.objective * program.lower, program.objective * program.upper).sum()
        )
        honest = Solution(
            SolveStatus.FEASIBLE,
            SolveLimit.NONE,
            values,
            program.evaluate(values),
            bound,
            0.0,
            solver=self.name,
        )
        return self.fault(program, parameters, honest)  # type: ignore[return-value]


def _honest(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return honest


def _crash(_program: Program, _parameters: SolveParameters, _honest: Solution) -> object:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), signal.SIGSEGV)
    return None


def _exit(_program: Program, _parameters: SolveParameters, _honest: Solution) -> object:
    os._exit(7)


def _hang(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    time.sleep(_LONG_SECONDS)
    return honest


def _hang_holding_the_interpreter(
    _program: Program, _parameters: SolveParameters, honest: Solution
) -> object:
    ctypes.PyDLL(None).sleep(int(_LONG_SECONDS))
    return honest


def _stop(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    os.kill(os.getpid(), signal.SIGSTOP)
    return honest


def _late(_program: Program, parameters: SolveParameters, honest: Solution) -> object:
    time.sleep((parameters.time_limit_seconds or 0.0) + 0.3)
    return honest


def _raise(_program: Program, _parameters: SolveParameters, _honest: Solution) -> object:
    raise ZeroDivisionError("a bug in a third party's backend")


def _grow(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    held = []
    for _ in range(120):  # at most 1.2 GB, 10 MB every 10 ms
        held.append(np.ones(10 * 2**17))
        time.sleep(0.01)
    time.sleep(_LONG_SECONDS)
    return replace(honest, detail=str(len(held)))


def _wrong_type(_program: Program, _parameters: SolveParameters, _honest: Solution) -> object:
    return "42"


def _unpicklable(_program: Program, _parameters: SolveParameters, _honest: Solution) -> object:
    return lambda: None


def _lie_values(program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    values = program.upper + 1.0
    return replace(honest, values=values, objective=program.evaluate(values), bound=np.inf)


def _lie_rows(program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return replace(honest, values=program.upper, objective=program.evaluate(program.upper), bound=np.inf)


def _lie_fraction(program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    values = program.lower + 0.5
    return replace(honest, values=values, objective=program.evaluate(values))


def _lie_shape(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return replace(honest, values=np.zeros(1))


def _lie_nan(program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return replace(honest, values=np.full(program.columns, np.nan), objective=np.nan)


def _lie_objective(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return replace(honest, objective=(honest.objective or 0.0) + 1.0)


def _lie_infeasible(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return replace(honest, status=SolveStatus.INFEASIBLE, values=None, objective=None, bound=-np.inf)


def _lie_bound(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return replace(
        honest,
        status=SolveStatus.NO_SOLUTION,
        values=None,
        objective=None,
        bound=(honest.objective or 0.0) - 1.0,
    )


def _lie_nan_bound(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return replace(honest, bound=np.nan)


def _lie_optimal(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return replace(honest, status=SolveStatus.OPTIMAL)


def _lie_without_values(_program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return replace(honest, status=SolveStatus.OPTIMAL, values=None)


def _worse_than_start(program: Program, _parameters: SolveParameters, honest: Solution) -> object:
    return replace(honest, values=program.lower, objective=program.evaluate(program.lower))


_FAULTS: Mapping[str, Callable[[Program, SolveParameters, Solution], object]] = {
    "honest": _honest,
    "crash": _crash,
    "exit": _exit,
    "hang": _hang,
    "hang-holding-the-interpreter": _hang_holding_the_interpreter,
    "stop": _stop,
    "late": _late,
    "raise": _raise,
    "grow": _grow,
    "wrong-type": _wrong_type,
    "unpicklable": _unpicklable,
    "lie-values": _lie_values,
    "lie-rows": _lie_rows,
    "lie-fraction": _lie_fraction,
    "lie-shape": _lie_shape,
    "lie-nan": _lie_nan,
    "lie-objective": _lie_objective,
    "lie-infeasible": _lie_infeasible,
    "lie-bound": _lie_bound,
    "lie-nan-bound": _lie_nan_bound,
    "lie-optimal": _lie_optimal,
    "lie-without-values": _lie_without_values,
    "worse-than-start": _worse_than_start,
}


def __getattr__(name: str) -> FaultyBackend:
    """The backend whose name in capitals is ``name``, e.g. ``LIE_BOUND``."""
    spelled = name.lower().replace("_", "-")
    if name.isupper() and spelled in _FAULTS:
        return FaultyBackend(spelled, _FAULTS[spelled])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


EXTRA: Mapping[str, str] = MappingProxyType(
    {name: f"{__name__}:{name.upper().replace('-', '_')}" for name in _FAULTS}
)
"""``module:attribute`` by name, for ``extra`` of the catalogue and the runners."""


def install(folder: Path) -> None:
    """Make ``folder`` an installed package of backends, for whoever has it on the module search path.

    So a service in its own process finds them as it finds any other package's: ``PYTHONPATH=FOLDER gangplan
    serve``, and a round's ``solver`` may be ``hang``.
    """
    package = folder / "gangplan_faulty_backends-0.dist-info"
    package.mkdir(parents=True)
    package.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: gangplan-faulty-backends\nVersion: 0\n", encoding="utf-8"
    )
    lines = [f"[{ENTRY_POINT_GROUP}]", *(f"{name} = {value}" for name, value in EXTRA.items())]
    package.joinpath("entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


LIARS = tuple(name for name in _FAULTS if name.startswith("lie-"))
"""Those whose answer holds a claim that can be refuted."""
