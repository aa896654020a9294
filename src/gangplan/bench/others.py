"""Formulations as rows: the same rounds in the words of others, and the peers' own programmes."""

from __future__ import annotations

from pathlib import Path

from gangplan.bench import machine, rounds
from gangplan.bench.permute import permute_round
from gangplan.bench.runs import Row, Run


def measure(run: Run) -> list[Row]:
    """The rows of a run whose ``who`` names a formulation, or how a peer's programme is solved.

    Raises:
        KeyError: there is no such formulation.
        InvalidInputError: there is no such peer's instance.
    """
    from gangplan.bench.formulations import catalogue
    from gangplan.bench.formulations.peers.measure import is_peer, run_peer
    from gangplan.bench.formulations.rival import Limits

    limits = Limits(
        time_limit_seconds=run.time_limit_s,
        node_limit=run.node_limit,
        threads=run.threads,
        seed=run.seed,
    )
    solver = "highs" if run.solver == "auto" else run.solver
    round_ = None if is_peer(run.instance) else permute_round(rounds.load(run).round, run.seed)
    calibration, load = [machine.calibrate()], [machine.load_average()]
    if round_ is None:
        row = run_peer(run.instance, run.who, solver, limits, Path(run.source) if run.source else None)
    else:
        row = catalogue.run(round_, run.who, solver, limits)
    calibration.append(machine.calibrate())
    load.append(machine.load_average())
    peaks = machine.peak_bytes()
    memory = {"peak_rss_bytes": max(peaks.values()), "sum_rss_bytes": sum(peaks.values())}
    own = {name: value for name, value in row.items() if name not in {"solver", "instance", "who", "seed"}}
    size = {name: row[name] for name in ("columns", "rows", "nonzeros") if name in row}
    return [{"statistics": size, **own, **memory, "calibration_s": calibration, "load": load}]
