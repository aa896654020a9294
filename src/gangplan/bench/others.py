"""Formulations as rows: the same rounds in the words of others, and the peers' own programmes."""

from __future__ import annotations

from gangplan.bench import machine
from gangplan.bench.runs import Row, Run


def measure(run: Run) -> list[Row]:
    """The rows of a run whose ``who`` names a formulation.

    Raises:
        InvalidInputError: there is no such formulation or instance.
    """
    from gangplan.bench.formulations.seam import row_of_run

    calibration, load = [machine.calibrate()], [machine.load_average()]
    row = row_of_run(run)
    calibration.append(machine.calibrate())
    load.append(machine.load_average())
    peaks = machine.peak_bytes()
    memory = {"peak_rss_bytes": max(peaks.values()), "sum_rss_bytes": sum(peaks.values())}
    return [{**row, **memory, "calibration_s": calibration, "load": load}]
