"""One programme by one backend, in this process: anybody's model file, or the whole programme of a round."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gangplan.bench import curve, machine
from gangplan.bench.permute import permute_program
from gangplan.bench.practice import ready
from gangplan.bench.runs import Row, Run, Status
from gangplan.engine.recheck import recheck
from gangplan.errors import BackendError
from gangplan.model.program import Program, Solution, SolveParameters, SolveStatus
from gangplan_solvers import answer

if TYPE_CHECKING:
    from gangplan_solvers.backend import Backend

RELATIVE_GAP = 1e-7


@dataclass(frozen=True, slots=True)
class Model:
    """A programme to be maximised.

    Attributes:
        program: it.
        sign: -1 where its author minimises.
        build_s: seconds that reading or formulating it took.
    """

    program: Program
    sign: float
    build_s: float


def measure(run: Run) -> Row:
    """The row of a run.

    Raises:
        UnknownSolverError: the backend cannot be used here.
        InvalidInputError: the model file is at fault.
    """
    model = load(run)
    program = permute_program(model.program, run.seed)
    backend = ready(run.solver)
    calibration, average = [machine.calibrate()], [machine.load_average()]
    parameters = SolveParameters(
        time_limit_seconds=run.time_limit_s,
        relative_gap=RELATIVE_GAP,
        node_limit=run.node_limit,
        threads=run.threads,
        seed=run.seed,
        relax=bool(run.options.get("relax", False)),
    )
    began = time.perf_counter()
    solution, refused = _solved(backend, program, parameters)
    wall = time.perf_counter() - began
    peaks = machine.peak_bytes()
    calibration.append(machine.calibrate())
    average.append(machine.load_average())
    size = {"columns": program.columns, "rows": program.rows, "nonzeros": program.nonzeros}
    return {
        **_worth(run, model, program, solution, refused, wall),
        **size,
        "integers": int(program.integer.sum()),
        "statistics": size if solution is None else size | _work(solution),
        "build_s": model.build_s,
        "wall_s": wall,
        "late_s": max(0.0, wall - run.time_limit_s),
        "peak_rss_bytes": max(peaks.values()),
        "sum_rss_bytes": sum(peaks.values()),
        "calibration_s": calibration,
        "load": average,
    }


def load(run: Run) -> Model:
    """The programme of a run: of its model file, or of the round that its instance names."""
    began = time.perf_counter()
    if Path(run.source).is_file():
        from gangplan_solvers.model_files import read_model

        file = read_model(Path(run.source))
        return Model(file.program, -1.0 if file.minimise else 1.0, time.perf_counter() - began)
    from gangplan.bench import rounds
    from gangplan.model.formulation.formulate import formulate
    from gangplan.model.formulation.layout import build_layout
    from gangplan.model.instance.instance import build_instance

    round_ = rounds.load(run).round
    began = time.perf_counter()
    program = formulate(build_layout(build_instance(round_)))
    return Model(program, 1.0, time.perf_counter() - began)


def _solved(
    backend: Backend, program: Program, parameters: SolveParameters
) -> tuple[Solution | None, tuple[Status, str]]:
    """The checked answer, or what became of it instead.

    What we refuse is WRONG, and so is what the backend itself refuses of its library: its message then says
    what that *claims*.
    """
    try:
        claimed = backend.solve(program, parameters)
    except BackendError as error:
        return None, (Status.WRONG if "claims" in str(error) else Status.ERROR, str(error))
    try:
        return recheck(claimed, program, parameters), (Status.ERROR, "")
    except BackendError as error:
        return None, (Status.WRONG, str(error))


def _worth(
    run: Run,
    model: Model,
    program: Program,
    solution: Solution | None,
    refused: tuple[Status, str],
    wall: float,
) -> Row:
    if solution is None:
        return {"status": refused[0].value, "error": refused[1], "proved": False}
    row: Row = {
        "claim": solution.status.value,
        "limit": solution.limit.value,
        "detail": solution.detail,
        "solver_version": solution.solver,
        "solve_s": solution.seconds,
        "bound": solution.bound,
        "proved": False,
    }
    if solution.values is None or solution.objective is None:
        return {"status": Status.NO_SOLUTION.value, **row}
    broken = answer.violated(program, solution.values, relax=bool(run.options.get("relax", False)))
    value = program.evaluate(solution.values)
    closed = answer.gap_is_closed(program, value, solution.bound)
    status = Status.WRONG if broken else Status.OPTIMAL if closed else Status.FEASIBLE
    optimal = solution.status is SolveStatus.OPTIMAL and closed
    line = [curve.Point(wall, value, solution.bound)]
    return {
        "status": status.value,
        **row,
        "error": broken,
        "verified": not broken,
        "objective": value,
        "exact_objective": value,
        "objective_in_their_unit": model.sign * value,
        "gap": max(0.0, solution.bound - value) / max(abs(solution.bound), 1e-9) if not optimal else 0.0,
        "proved": closed and not broken,
        **curve.summary(line, solution.bound, value, max(run.time_limit_s, wall)),
    }


def _work(solution: Solution) -> dict[str, float]:
    return {
        "solver_nodes": solution.nodes,
        "solver_iterations": solution.iterations,
        "solver_seconds": solution.seconds,
    }
