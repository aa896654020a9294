"""Suites: what is measured, as TOML files.

A suite's file::

    title = "..."                # one line
    kind = "rounds"              # or "models", "formulations", "churn", "fill", "growth", "histories",
                                 # "load", "deltas", "published", "policies"
    require = "OPTIMAL"          # optional: the status that every row must have

    [[group]]                    # the product of all lists
    sizes = ["S", "M"]
    starts = ["steady"]          # of gangplan.planning.generate
    occupancies = [50, 85]       # percent
    seeds = [0, 1, 2, 3, 4]
    solvers = ["auto"]
    pipelines = ["auto"]
    time_limit_s = 1.0

Files are looked for by name in this package (an installed gangplan), then in ``benchmarks/suites`` of the
checkout.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gangplan.bench.runs import Run
from gangplan.errors import FieldViolation, InvalidInputError

_FOLDERS = (Path(__file__).parent / "suites", Path(__file__).parents[3] / "benchmarks" / "suites")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Group(_Strict):
    """Runs that are the product of lists.

    Attributes:
        sizes, starts, occupancies, seeds: of generated instances, ``SIZE/START/OCCUPANCY/seedN``.
        instances: names instead, for a kind that has its own.
        who: who measures: ``gangplan``, or a formulation's name.
        solvers, pipelines: as on the command line; the solver ``every`` stands for all that can be used here,
            and a backend that cannot is left out.
        time_limit_s: of each run.
        transport: ``grpc`` or ``in_process``.
        threads, node_limit: of the solver.
        memory_limit_mb: most resident memory of all processes of a run; 0: no limit.
        check_permuted: plan each round a second time with its lists in another order.
        options: more for the kind; of rounds ``steps``, a list of ``NAME=VALUE`` as for ``solve --step``.
    """

    sizes: tuple[str, ...] = ()
    starts: tuple[str, ...] = ("steady",)
    occupancies: tuple[int, ...] = (50,)
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    instances: tuple[str, ...] = ()
    who: tuple[str, ...] = ("gangplan",)
    solvers: tuple[str, ...] = ("auto",)
    pipelines: tuple[Literal["auto", "full", "greedy"], ...] = ("auto",)
    time_limit_s: float = Field(5.0, gt=0)
    transport: Literal["grpc", "in_process"] = "grpc"
    threads: int = Field(1, ge=1)
    node_limit: int | None = Field(None, ge=0)
    memory_limit_mb: int = Field(0, ge=0)
    check_permuted: bool = False
    options: dict[str, Any] = {}


class Growth(_Strict):
    """How counters may grow.

    Attributes:
        between: two sizes, the smaller first.
        base: the counter of the size that stands for it.
        limit: most by which a counter may grow: its power of ``base``.
        limits: other limits, by ``"phase counter"``.
        least: a counter below this at the larger size is too small to say how it grows.
    """

    between: tuple[str, str]
    base: str = "columns"
    limit: float = 1.1
    least: float = 1_000.0
    limits: dict[str, float] = {}


class Suite(_Strict):
    """A suite as its file says; ``name`` is the file's."""

    name: str
    title: str = ""
    kind: Literal[
        "rounds",
        "models",
        "formulations",
        "churn",
        "fill",
        "growth",
        "histories",
        "load",
        "deltas",
        "published",
        "policies",
    ] = "rounds"
    require: Literal["", "OPTIMAL", "FEASIBLE"] = ""
    group: tuple[Group, ...] = ()
    growth: Growth | None = None

    def runs(
        self,
        *,
        seeds: Sequence[int] | None = None,
        solvers: Sequence[str] = (),
        pipelines: Sequence[str] = (),
        time_limit_s: float | None = None,
        only: Sequence[str] = (),
    ) -> Iterator[Run]:
        """The runs, instance by instance, with the lists replaced by those that are given."""
        for group in self.group:
            taken = every(solvers or _here(group.solvers))
            for instance, seed in _instances(group, group.seeds if seeds is None else seeds):
                for who, solver, pipeline in itertools.product(
                    group.who, taken, pipelines or group.pipelines
                ):
                    run = Run(
                        suite=self.name,
                        kind=self.kind,
                        instance=instance,
                        who=who,
                        solver=solver,
                        pipeline=pipeline,
                        transport=group.transport,
                        seed=seed,
                        time_limit_s=group.time_limit_s if time_limit_s is None else time_limit_s,
                        threads=group.threads,
                        node_limit=group.node_limit,
                        memory_limit_bytes=group.memory_limit_mb * 1_000_000,
                        check_permuted=group.check_permuted,
                        options=group.options,
                    )
                    if run.matches(tuple(only)):
                        yield run


def left_out(solvers: Sequence[str]) -> dict[str, str]:
    """Those of the backends that cannot be used here, each with the reason."""
    named = set(solvers) - {"auto", "every"}
    if not named:
        return {}
    from gangplan_solvers import catalog

    return {
        one.name: one.availability.reason
        for one in catalog.describe()
        if one.name in named and not one.availability.available
    }


def _here(solvers: Sequence[str]) -> Sequence[str]:
    missing = left_out(solvers)
    return [solver for solver in solvers if solver not in missing]


def every(solvers: Sequence[str]) -> Sequence[str]:
    """The solvers, ``every`` being all that can be used here."""
    if "every" not in solvers:
        return solvers
    from gangplan_solvers import catalog

    return [one.name for one in catalog.describe() if one.availability.available]


def _instances(group: Group, seeds: Sequence[int]) -> Iterator[tuple[str, int]]:
    for name in group.instances:
        for seed in seeds:
            yield name.format(seed=seed), seed
    for size, start, occupancy, seed in itertools.product(
        group.sizes, group.starts, group.occupancies, seeds
    ):
        yield f"{size}/{start}/{occupancy}/seed{seed}", seed


def names() -> tuple[str, ...]:
    """Names of the suites that come with gangplan."""
    return tuple(sorted({path.stem for folder in _FOLDERS for path in folder.glob("*.toml")}))


def load(name_or_file: str) -> Suite:
    """The suite of that name, or of that file.

    Raises:
        InvalidInputError: there is none, or the file is at fault; every violation at once.
    """
    path = Path(name_or_file)
    if path.suffix != ".toml":
        candidates = [folder / f"{name_or_file}.toml" for folder in _FOLDERS]
        found = [candidate for candidate in candidates if candidate.is_file()]
        if not found:
            there = ", ".join(names())
            raise _invalid("--suite", f"no suite {name_or_file!r}; there are: {there}; or name a .toml file")
        path = found[0]
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _invalid(str(path), f"cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _invalid(str(path), f"is no TOML: {error}") from error
    try:
        return Suite.model_validate({"name": path.stem, **document})
    except ValidationError as error:
        raise InvalidInputError(
            [
                FieldViolation(f"{path}: {'.'.join(map(str, one['loc']))}", one["msg"])
                for one in error.errors()
            ]
        ) from error


def _invalid(field: str, description: str) -> InvalidInputError:
    return InvalidInputError([FieldViolation(field, description)])
