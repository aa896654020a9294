"""CBC, the program that PuLP brings: mixed-integer and linear programmes, handed over as an MPS file.

The file is ours, not PuLP's: PuLP writes 12 digits, waits without an end, and gives neither bound nor full
digits back. All files are in memory that only CBC is given, so nothing is left behind whatever happens.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import math
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from gangplan.errors import BackendError
from gangplan.model.formulation.duality import price_out
from gangplan.model.program import FloatArray, Program, Solution, SolveLimit, SolveParameters
from gangplan_solvers import answer, rows
from gangplan_solvers.backend import Availability, Backend, Feature
from gangplan_solvers.model_files import memory_file, write_mps

_LARGEST_COEFFICIENT = 2.0**16
"""Makes small what CBC prints (three decimals of a bound) and by how much a new solution must be better."""

_PRINTED, _INCREMENT = 1e-3, 1e-5
_SHARE = 0.5
"""Of the gap asked for CBC gets so much: where its tree is empty it may have let go of solutions better by
less than the gap, and says nothing of a bound (on Chronus' programmes, 2026-11-30-formulations.md)."""
_NUMBER = r"(-?[\d.]+(?:e[+-]?\d+)?)"
_NOTHING = 1e49
"""CBC's word for no bound is 1e50."""

_EARLIER_SECONDS, _EARLIER_SHARE = 0.02, 0.03
"""So much before the limit CBC is told to stop, to have written its solution by then; then it is ended."""

_FOLDERS = {"x86_64": "i64", "aarch64": "arm64", "i686": "i32"}
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class CbcBackend:
    """The CBC program."""

    name = "cbc"
    features = frozenset(Feature)

    def availability(self) -> Availability:
        """Whether PuLP is installed with a CBC for this machine."""
        if not hasattr(os, "memfd_create"):
            return Availability(False, reason="it is run on Linux only")
        program = _program()
        if program is None:
            return Availability(False, reason="PuLP is not installed: pip install 'pulp>=3.3,<4'")
        version = f"PuLP {importlib.metadata.version('pulp')}"
        if not program.exists():
            return Availability(False, version, f"PuLP brings no CBC for {platform.machine()}: use highs")
        if not os.access(program, os.X_OK):
            return Availability(False, version, f"PuLP's CBC may not be run: chmod +x {program}")
        return Availability(True, version)

    def solve(
        self, program: Program, parameters: SolveParameters, start: FloatArray | None = None
    ) -> Solution:
        """See :meth:`gangplan_solvers.backend.Backend.solve`."""
        answer.refuse(program, parameters, self.name, self.features)
        began = time.monotonic()
        solver = f"cbc (PuLP {importlib.metadata.version('pulp')})"
        run = _Run(program, parameters, began)
        decided = answer.decide_at_sight(program, parameters, solver, run.rows)
        if decided is not None:
            return decided
        run.go(answer.usable_start(program, start, relax=parameters.relax))
        settled = answer.settle(
            program,
            parameters,
            solver=solver,
            values=run.values,
            bound=run.bound,
            limit=run.limit,
            infeasible=run.infeasible,
            start=start,
            seconds=time.monotonic() - began,
            nodes=run.nodes,
            iterations=run.iterations,
            detail=run.detail,
        )
        return replace(settled, row_duals=run.row_duals)


BACKEND: Backend = CbcBackend()


class _Run:
    """One programme in one process of CBC."""

    def __init__(self, program: Program, parameters: SolveParameters, began: float) -> None:
        self.program = program
        self.parameters = parameters
        limit = parameters.time_limit_seconds
        self.until = None if limit is None else began + limit
        self.gap = _SHARE * parameters.relative_gap
        self.linear = parameters.relax or not program.integer.any()
        self.scale = answer.objective_scale(program, _LARGEST_COEFFICIENT)
        self.rows = rows.scale(program, relax=self.linear)
        self.values: FloatArray | None = None
        self.row_duals: FloatArray | None = None
        self.bound = math.inf
        self.limit = SolveLimit.NONE
        self.infeasible = False
        self.nodes = self.iterations = 0
        self.detail = ""

    def go(self, start: FloatArray | None) -> None:
        """Solve from ``start``."""
        with memory_file() as model, memory_file() as begin, memory_file() as end:
            handed = answer.as_scaled(self.program, self.rows, self.scale, relax=self.linear)
            write_mps(handed, model, minimise=True)
            options = ["-preprocess", "off", "-ratio", repr(self._ratio()), "-allow", "0"]
            seed = 1 + self.parameters.seed % (2**31 - 1)  # 0 is the time of day
            threads = self.parameters.threads
            options += ["-randomSeed", str(seed), "-randomCbcSeed", str(seed)]
            options += ["-threads", str(threads)] if threads > 1 else []
            if self.parameters.node_limit is not None:
                options += ["-maxNodes", str(self.parameters.node_limit)]
            if start is not None and not self.linear:
                lines = (f"{k} x_{k} {value!r} 0\n" for k, value in enumerate(start.tolist()))
                Path(begin).write_text("Stopped - objective value 0\n" + "".join(lines), "ascii")
                options += ["-mipstart", begin]
            if self.until is not None:
                left = self.until - time.monotonic()
                told = left - max(_EARLIER_SECONDS, _EARLIER_SHARE * left)
                if told <= 0.0:
                    self.limit = SolveLimit.TIME
                    return
                options += ["-timeMode", "elapsed", "-sec", repr(told)]
            files = [int(Path(path).name) for path in (model, begin, end)]
            log = self._run([model, *options, "-solve", "-saveSolution", end], files)
            self._read(log, Path(end).read_bytes())

    def _run(self, arguments: list[str], files: list[int]) -> str:
        """What CBC prints. It ends with the thread that waits for it, and at the limit."""
        with subprocess.Popen(
            [str(_program()), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=files,
            preexec_fn=_before_it_starts(),  # noqa: PLW1509 - one system call, looked up before the fork
        ) as process:
            try:
                left = None if self.until is None else max(0.0, self.until - time.monotonic())
                log, _ = process.communicate(timeout=left)
            except subprocess.TimeoutExpired:
                process.kill()
                log, _ = process.communicate()
                self.detail = "CBC was ended at the time limit"
                return log.decode("utf-8", "replace") + "\nResult - Stopped on time limit\n"
        text = log.decode("utf-8", "replace")
        if process.returncode != 0:
            raise BackendError(f"CBC ended with exit code {process.returncode}: {text[-300:]}")
        return text

    def _read(self, log: str, saved: bytes) -> None:
        """Take status and counters from the log, values and duals from the saved solution."""
        result = _last(r"^Result - (.*)$", log)
        linear = _last(r"^(Optimal|Stopped|Infeasible|Primal infeasible|Unbounded) ", log)
        words = (result or linear or "").lower()
        if "infeasible" in words or (not words and "Problem is infeasible" in log):
            self.infeasible = self._resolvable()
            if not self.infeasible:
                self.detail = "CBC's claim of INFEASIBLE is not believed: such large sums blur in it"
            return
        if "stopped" in words:
            self.limit = SolveLimit.NODE if "node" in words or self.until is None else SolveLimit.TIME
        elif "optimal" not in words:
            raise BackendError(f"CBC says nothing of use: {log[-300:]}")
        self.nodes = int(_last(r"^Enumerated nodes: *(\d+)", log) or 0)
        self.iterations = int(_last(r"^Total iterations: *(\d+)", log) or 0)
        dual = self._unpack(saved)
        if self.linear:
            if dual is not None:
                self.row_duals = -dual * self.rows.factor / self.scale
                self.bound = price_out(self.program, self.row_duals).bound
            return
        lowest = _last(rf"^Lower bound: +{_NUMBER}", log)
        if lowest is None and "stopped" in words:
            lowest = _last(rf"best possible {_NUMBER}", log)
        if lowest is not None and abs(float(lowest)) < _NOTHING:
            self.bound = answer.outward(self.program, -float(lowest), self.scale, _PRINTED + _INCREMENT)
        elif "optimal" in words and self.values is not None:
            value = float((self.program.objective * self.values).sum()) * self.scale
            value += self.gap * abs(value)  # what it may have let go, unsaid
            self.bound = answer.outward(self.program, value, self.scale, _INCREMENT)

    def _resolvable(self) -> bool:
        """Whether CBC's absolute tolerance of 1e-7 is above the rounding of the rows' sums."""
        box = np.maximum(1.0, np.maximum(np.abs(self.program.lower), np.abs(self.program.upper)))
        largest = float(np.abs(self.rows.value * box[self.program.column_index]).max(initial=0.0))
        return largest * 2.0**-53 < 1e-7

    def _unpack(self, saved: bytes) -> FloatArray | None:
        """Set the values from a saved solution; returns the rows' duals.

        Its layout: two counts, the objective, row activities, row duals, column values, reduced costs.
        """
        m, n = self.program.rows, self.program.columns
        if len(saved) != 8 + 8 * (1 + 2 * m + 2 * n) or tuple(np.frombuffer(saved[:8], np.int32)) != (m, n):
            return None
        numbers = np.frombuffer(saved[16:], np.float64)
        self.values = numbers[2 * m : 2 * m + n].copy()
        return numbers[m : 2 * m]

    def _ratio(self) -> float:
        """CBC's gap is relative to the larger of value and bound, and knows nothing of the offset."""
        return self.gap / (1.0 + self.gap)


def _program() -> Path | None:
    """Where PuLP keeps its CBC for this machine; None without PuLP, which is not imported."""
    found = importlib.util.find_spec("pulp")
    if found is None or not found.submodule_search_locations:
        return None
    folder = _FOLDERS.get(platform.machine(), platform.machine())
    return Path(found.submodule_search_locations[0], "solverdir", "cbc", "linux", folder, "cbc")


def _before_it_starts() -> Callable[[], None] | None:
    """What CBC's process does first; nothing where gRPC is loaded, whose own work at a fork may end it.

    Solver processes have no gRPC, so there CBC always ends with its parent.
    """
    return None if "grpc" in sys.modules else _end_with_parent


def _end_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _last(pattern: str, log: str) -> str | None:
    found = re.findall(pattern, log, re.MULTILINE)
    return found[-1] if found else None
