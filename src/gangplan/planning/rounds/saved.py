"""The world between two rounds, in a file: to go on later from where it was.

JSON, with what it belongs to beside it: a history, policy or settings other than those that it was saved
under are refused, since what came out would be neither one's nor the other's.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.predict.predictor import Predictor
from gangplan.planning.predict.traits import Group
from gangplan.planning.rounds.history import History
from gangplan.planning.rounds.loop import Settings
from gangplan.planning.rounds.state import State

FORMAT = "gangplan-simulation/v1"


class _Saved(BaseModel):
    """The file; what the predictor learned stands apart, since its keys are no text."""

    model_config = ConfigDict(
        extra="forbid", ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="constants"
    )

    format: Literal["gangplan-simulation/v1"]
    belongs_to: str
    state: State
    ended: list[tuple[Group, tuple[float, ...]]]
    running: list[tuple[Group, tuple[float, ...]]]


def belongs_to(history: History, policy: str, settings: Settings) -> str:
    """What tells one simulation from another: a digest of all that is given."""
    found = hashlib.sha256(f"{policy} {settings.telling} {settings.skip_steady}".encode())
    template = history.template
    for part in (template.now, template.round_seconds, template.horizon_seconds, template.policy):
        found.update(repr(part).encode())
    for each in (template.cluster.nodes, template.accelerators, template.queues, template.profiles):
        for member in each:
            found.update(repr(member).encode())
    for arrival in sorted(history.arrivals, key=lambda arrival: arrival.job.name):
        found.update(repr(arrival).encode())
    found.update(repr(history.failures).encode())
    return found.hexdigest()


def save(state: State, belongs: str, path: Path) -> None:
    """Write the world to a file; it is the old one or the new one, never half of it.

    Args:
        state: at the start of a round.
        belongs: of :func:`belongs_to`.
        path: of the file.
    """
    learned = state.predictor
    saved = _Saved(
        format=FORMAT,
        belongs_to=belongs,
        state=replace(state, predictor=Predictor()),
        ended=list(learned.ended.items()),
        running=list(learned.running.items()),
    )
    text = saved.model_dump_json(fallback=dict, warnings="none")  # read-only mappings are written as others
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def restore(path: Path, belongs: str) -> State:
    """The world from a file.

    Args:
        path: of the file.
        belongs: of :func:`belongs_to`, what it has to belong to.

    Raises:
        InvalidInputError: it cannot be read, or belongs to another simulation.
    """
    try:
        saved = _Saved.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InvalidInputError([FieldViolation(str(path), f"cannot be read: {error.strerror}")]) from error
    except ValidationError as error:
        said = error.errors(include_url=False)[0]
        place = ".".join(map(str, said["loc"]))
        raise InvalidInputError(
            [FieldViolation(f"{path}: {place}", f"is no saved simulation: {said['msg']}")]
        ) from error
    if saved.belongs_to != belongs:
        description = (
            "belongs to another simulation: give the same trace, cluster, policy and options, or remove it"
        )
        raise InvalidInputError([FieldViolation(str(path), description)])
    return replace(saved.state, predictor=Predictor(dict(saved.ended), dict(saved.running)))
