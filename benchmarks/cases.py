"""What is solved: the rounds by name, and the runs of each suite."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gangplan.domain.round import Round

SIZES, OCCUPANCIES, SEEDS = ("S", "M"), (50, 85), (0, 1, 2, 3, 4)
PROTOTYPE_OCCUPANCIES = (0, *OCCUPANCIES)
"""With nothing running the two models must have one optimum: see ``prototype_instances.py``."""
SOLVERS = ("highs", "cpsat")
SETTINGS = ("same", "own")


@dataclass(frozen=True, slots=True)
class Run:
    """One process's work.

    Attributes:
        suite: ``generated``, ``prototypes`` or ``openb``.
        who: ``gangplan``, or the prototype with its settings: ``prototype-same``, ``prototype-own``.
        instance: e.g. ``M/steady/50/seed0``.
        solver: backend.
        seed: the instance's; 0 where it has none.
        time_limit_s: the round's time budget.
        source: file or folder that the instance is read from; empty for generated ones.
    """

    suite: str
    who: str
    instance: str
    solver: str
    seed: int
    time_limit_s: float
    source: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A round, what its objective is in units of others, and remarks for the row."""

    round: Round
    unit: float = 1.0
    remarks: tuple[tuple[str, float], ...] = ()


def load(run: Run) -> Case:
    """The round of a run."""
    import time

    if run.suite == "generated":
        from gangplan.planning.generate import generate_named

        return Case(generate_named(run.instance))
    if run.suite == "prototypes":
        import prototype_instances

        converted = prototype_instances.read(Path(run.source))
        return Case(converted.round, converted.unit)
    from gangplan.adapters.traces.openb import Fractional, find_lists, import_openb
    from gangplan.planning.scenario import expand

    nodes, pods = run.instance.split("/")[1:]
    began = time.perf_counter()
    imported = import_openb(*find_lists(Path(run.source), nodes=nodes, pods=pods), Fractional.WHOLE)
    read = time.perf_counter()
    round_ = expand(imported.scenario)
    seconds = (("import_s", read - began), ("expand_s", time.perf_counter() - read))
    asked = imported.summary.devices_requested
    return Case(round_, remarks=(*seconds, ("devices_requested", asked)))


def generated(
    only: Sequence[str], seeds: Sequence[int], solvers: Sequence[str], time_limit_s: float
) -> Iterator[Run]:
    """Our own instances. Without patterns: the sizes S and M; with: any size that a pattern names."""
    sizes = ("S", "M", "L", "XL") if only else SIZES
    for name, seed in _names(sizes, OCCUPANCIES, seeds, only):
        for solver in solvers:
            yield Run("generated", "gangplan", name, solver, seed, time_limit_s)


def smoke(solvers: Sequence[str], time_limit_s: float) -> Iterator[Run]:
    """Two small instances, by every solver."""
    yield from generated(("S/*",), (0,), solvers, time_limit_s)


def prototypes(
    only: Sequence[str],
    seeds: Sequence[int],
    solvers: Sequence[str],
    time_limit_s: float,
    written: Path,
    folder: Path,
) -> Iterator[Run]:
    """The prototype's instances: ours beside the prototype's own model, in turn.

    Args:
        only: patterns.
        seeds: of the instances.
        solvers: backends.
        time_limit_s: for each.
        written: where :func:`instance_file` finds the instances.
        folder: of the prototypes.
    """
    sizes = ("S", "M", "L") if only else SIZES
    for name, seed in _names(sizes, PROTOTYPE_OCCUPANCIES, seeds, only):
        file = str(instance_file(written, name))
        for solver in solvers:
            yield Run("prototypes", "gangplan", name, solver, seed, time_limit_s, file)
            for settings in SETTINGS:
                who = f"prototype-{settings}"
                yield Run("prototypes", who, name, solver, seed, time_limit_s, str(folder))


def openb(
    folder: Path, only: Sequence[str], solvers: Sequence[str], time_limit_s: float, repeats: int
) -> Iterator[Run]:
    """The production cluster, all pods waiting at once; ``seed`` numbers the repeats."""
    for nodes in ("all_node", "gpu_node"):
        name = f"openb/{nodes}/default"
        if not only or any(fnmatch.fnmatchcase(name, pattern) for pattern in only):
            for repeat in range(repeats):
                for solver in solvers:
                    yield Run("openb", "gangplan", name, solver, repeat, time_limit_s, str(folder))


def instance_file(folder: Path, name: str) -> Path:
    """Where the prototype's instance ``name`` is written."""
    return folder / (name.replace("/", "-") + ".npz")


def _names(
    sizes: Sequence[str], occupancies: Sequence[int], seeds: Sequence[int], only: Sequence[str]
) -> Iterator[tuple[str, int]]:
    for size in sizes:
        for occupancy in occupancies:
            for seed in seeds:
                name = f"{size}/steady/{occupancy}/seed{seed}"
                if not only or any(fnmatch.fnmatchcase(name, pattern) for pattern in only):
                    yield name, seed
