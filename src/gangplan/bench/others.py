"""Formulations as rows: the same rounds in the words of others, and the peers' own programmes."""

from __future__ import annotations

from gangplan.bench import machine, rounds
from gangplan.bench.permute import permute_round
from gangplan.bench.runs import Row, Run


def measure(run: Run) -> list[Row]:
    """The rows of a run whose ``who`` names a formulation.

    Raises:
        KeyError: there is no such formulation.
    """
    from gangplan.bench.formulations.catalogue import run as by_formulation
    from gangplan.bench.formulations.rival import Limits

    round_ = permute_round(rounds.load(run).round, run.seed)
    calibration, load = [machine.calibrate()], [machine.load_average()]
    limits = Limits(
        time_limit_seconds=run.time_limit_s, node_limit=run.node_limit, threads=run.threads, seed=run.seed
    )
    solver = "highs" if run.solver == "auto" else run.solver
    row = by_formulation(round_, run.who, solver, limits)
    calibration.append(machine.calibrate())
    load.append(machine.load_average())
    peaks = machine.peak_bytes()
    row["solver_taken"] = row.pop("solver", "")
    memory = {"peak_rss_bytes": max(peaks.values()), "sum_rss_bytes": sum(peaks.values())}
    return [{**row, **memory, "calibration_s": calibration, "load": load}]
