"""Which runs a command line asks for."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gangplan.bench import suites
from gangplan.bench.runs import Kind, Run
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan_solvers import catalog

MODEL_SECONDS = 60.0
CAPTURED_SECONDS = 5.0
MODEL_SEEDS = (0, 1, 2, 3, 4)
"""A model has no seeds of its own: each is the model with its rows and columns in another order."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What was asked for.

    Attributes:
        suite: name or file.
        only: patterns, see :meth:`~gangplan.bench.runs.Run.matches`.
        seeds, solvers, pipelines, time_limit_s, memory_limit_mb: instead of the suite's own; None or empty:
            the suite's own.
        models: model files, instead of a suite.
        prototypes: folder of the prototypes; None: without.
        prototypes_python: an interpreter that has what they need.
        data: folder that instances are read from.
        captured: captured rounds, or folders of them, instead of a suite.
        minutes: how long a load lasts, all together.
    """

    suite: str = "smoke"
    only: tuple[str, ...] = ()
    seeds: tuple[int, ...] | None = None
    solvers: tuple[str, ...] = ()
    pipelines: tuple[str, ...] = ()
    time_limit_s: float | None = None
    memory_limit_mb: int | None = None
    models: tuple[Path, ...] = ()
    prototypes: Path | None = None
    prototypes_python: str = sys.executable
    data: Path | None = None
    captured: tuple[Path, ...] = ()
    minutes: float | None = None

    @property
    def require(self) -> str:
        """The status that every row must have; empty: any."""
        return "" if self.models or self.captured else suites.load(self.suite).require

    def runs(self) -> tuple[Run, ...]:
        """The runs, in order.

        Raises:
            InvalidInputError: a name is unknown, a folder is missing, or nothing is selected.
        """
        self._check()
        runs = [*self._models(), *self._captured()]
        if not self.models and not self.captured:
            runs = list(self._suite())
        elif not runs and not self.only:
            raise _invalid("--captured", "there is no captured round")
        if not runs:
            raise _invalid("--only", f"no run of {self.suite!r} matches {', '.join(self.only)}")
        if self.memory_limit_mb is not None:
            cap = self.memory_limit_mb * 1_000_000
            runs = [dataclasses.replace(run, memory_limit_bytes=cap) for run in runs]
        return tuple(runs)

    def left_out(self) -> dict[str, str]:
        """Backends of the suite that cannot be used here, with reasons: none of its runs asks them."""
        if self.models or self.captured or self.solvers:
            return {}
        groups = suites.load(self.suite).group
        return suites.left_out([solver for group in groups for solver in group.solvers])

    def _check(self) -> None:
        violations = []
        known = catalog.names()
        for solver in self.solvers:
            if solver not in {"auto", "every"} and solver not in known:
                there = ", ".join(known)
                violations.append(FieldViolation("--solver", f"no solver {solver!r}; there are: {there}"))
        violations += [
            FieldViolation("--pipeline", f"{pipeline!r} is none of auto, full and greedy")
            for pipeline in self.pipelines
            if pipeline not in {"auto", "full", "greedy"}
        ]
        for option, folder in (("--prototypes", self.prototypes), ("--data", self.data)):
            if folder is not None and not folder.is_dir():
                violations.append(FieldViolation(option, f"{folder} is not a folder"))
        violations += [
            FieldViolation("--model", f"no such file: {file}") for file in self.models if not file.is_file()
        ]
        violations += [
            FieldViolation("--captured", f"no such file or folder: {path}")
            for path in self.captured
            if not path.exists()
        ]
        if violations:
            raise InvalidInputError(violations)

    def _suite(self) -> Iterator[Run]:
        suite = suites.load(self.suite)
        runs = suite.runs(
            seeds=self.seeds,
            solvers=self.solvers,
            pipelines=self.pipelines,
            time_limit_s=self.time_limit_s,
            only=self.only,
        )
        for run in runs:
            yield from self._beside(self._lasting(self._sourced(run)))

    def _sourced(self, run: Run) -> Run:
        from gangplan.bench.formulations.peers.measure import is_peer

        folders = ("openb/", "openb-fill/", "openb-tenth/")
        made = run.kind == Kind.POLICIES.value and run.instance.startswith("made/")
        reads = run.kind in (Kind.PUBLISHED.value, Kind.POLICIES.value) and not made
        if not reads and not run.instance.startswith(folders):
            if self.data is None or not (run.kind == Kind.FORMULATIONS.value and is_peer(run.instance)):
                return run
        elif self.data is None:
            raise _invalid("--data", f"{run.instance} is read from a folder: name it with --data DIR")
        return dataclasses.replace(run, source=str(self.data.resolve()))

    def _lasting(self, run: Run) -> Run:
        if self.minutes is None or run.kind != Kind.LOAD.value:
            return run
        return dataclasses.replace(run, options={**run.options, "minutes": self.minutes})

    def _beside(self, run: Run) -> Iterator[Run]:
        """The run, and with prototypes those beside it on the prototype's instance of the same name."""
        from gangplan.bench.prototypes import beside

        if self.prototypes is not None and run.kind == Kind.ROUNDS.value:
            yield from beside.runs(run, self.prototypes.resolve(), self.prototypes_python)
        elif run.options.get("instance_of") == "prototype":
            raise _invalid("--prototypes", f"{run.suite!r} needs the prototypes: name their folder")
        else:
            yield run

    def _models(self) -> Iterator[Run]:
        usable = [one.name for one in catalog.describe() if one.availability.available]
        for file in self.models:
            for seed in MODEL_SEEDS if self.seeds is None else self.seeds:
                for solver in self.solvers or usable:
                    run = Run(
                        suite="model",
                        kind=Kind.MODELS.value,
                        instance=f"{file.name}/seed{seed}",
                        solver=solver,
                        seed=seed,
                        time_limit_s=self.time_limit_s or MODEL_SECONDS,
                        transport="in_process",
                        source=str(file.resolve()),
                    )
                    if run.matches(self.only):
                        yield run

    def _captured(self) -> Iterator[Run]:
        """Captured rounds, each within the time that it had, unless another is given."""
        from gangplan.service.capture.bundle import read_bundle
        from gangplan.service.capture.folder import bundles_of

        for path in [path for each in self.captured for path in bundles_of(each)]:
            captured = read_bundle(path)
            allowed = captured.allowed.ToNanoseconds() / 1e9
            for seed in (0,) if self.seeds is None else self.seeds:
                for solver in suites.every(self.solvers or ("auto",)):
                    for pipeline in self.pipelines or ("auto",):
                        run = Run(
                            suite="captured",
                            kind=Kind.ROUNDS.value,
                            instance=f"captured/{captured.capture_id}/seed{seed}",
                            solver=solver,
                            pipeline=pipeline,
                            seed=seed,
                            time_limit_s=self.time_limit_s or allowed or CAPTURED_SECONDS,
                            source=str(path.resolve()),
                        )
                        if run.matches(self.only):
                            yield run


def _invalid(field: str, description: str) -> InvalidInputError:
    return InvalidInputError([FieldViolation(field, description)])
