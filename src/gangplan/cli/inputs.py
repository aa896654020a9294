"""FILE on the command line: a scenario or a round file, as a round and how to solve it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gangplan.errors import FieldViolation, InvalidInputError

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.engine.parameters import PlanParameters

_LINES_LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class Input:
    """What a file holds.

    Attributes:
        title: what to call it.
        round: the round.
        parameters: how to solve it, as the file says.
    """

    title: str
    round: Round
    parameters: PlanParameters


def read_input(path: Path, at: int | None = None) -> Input:
    """Read a scenario or a round file.

    Args:
        path: the file.
        at: which of a scenario's rounds; None: the first.

    Raises:
        InvalidInputError: the file cannot be read, or is at fault; every violation with file and line.
    """
    if is_scenario(path):
        return _read_scenario(path, at or 0)
    if at is not None:
        raise InvalidInputError([FieldViolation("--at", f"{path} is no scenario: it holds one round")])
    from gangplan.service.files import load_round

    round_, parameters = load_round(path)
    return Input(path.name, round_, parameters)


def is_scenario(path: Path) -> bool:
    """Whether the first line that says anything begins with ``gangplan:`` (decision 35)."""
    if path.suffix.lower() not in {".yaml", ".yml"}:
        return False
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            for _, line in zip(range(_LINES_LOOKED_AT), file, strict=False):
                if line.strip() and not line.lstrip().startswith("#"):
                    return line.startswith("gangplan:")
    except OSError:
        return False  # the reader says what is wrong with it
    return False


def _read_scenario(path: Path, at: int) -> Input:
    from gangplan.engine.parameters import PlanParameters
    from gangplan.planning.scenario import expand, load

    scenario = load(path)
    try:
        round_ = expand(scenario, at=at, folder=path.parent)
    except InvalidInputError as error:
        raise _in_file(error, path) from None
    solve, parameters = scenario.solve, PlanParameters()
    parameters = replace(parameters, pipeline=solve.pipeline, seed=solve.seed)
    if solve.solver is not None:
        parameters = replace(parameters, solver=solve.solver)
    if solve.time_limit is not None:
        parameters = replace(parameters, time_budget_seconds=solve.time_limit)
    return Input(scenario.title or path.name, round_, parameters)


def _in_file(error: InvalidInputError, path: Path) -> InvalidInputError:
    here = str(path)
    return type(error)(
        [
            each if each.field.startswith(here) else FieldViolation(f"{here}: {each.field}", each.description)
            for each in error.violations
        ]
    )
