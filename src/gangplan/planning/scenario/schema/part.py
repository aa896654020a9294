"""What every part of a scenario is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gangplan.planning.scenario.quantities import Count, Name

_PATTERN = re.compile(r"\{(?::0(\d))?\}")


def is_pattern(name: str) -> bool:
    """Whether the name holds one place for a number, ``{}`` or ``{:03}``."""
    return len(_PATTERN.findall(name)) == 1


def numbered(name: str, number: int) -> str:
    """The name with the number in its place."""
    return _PATTERN.sub(lambda match: str(number).zfill(int(match[1] or 0)), name)


class Part(BaseModel):
    """Base of all parts: strict, nothing unknown, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Members(Part):
    """Alike things under numbered names, or under a list of names.

    Attributes:
        name: of the one, or with ``{}`` (``{:03}`` pads) for the number, from 1 on.
        count: how many.
        names: in place of name and count: every member's name.
    """

    name: Name | None = None
    count: Count = 1
    names: Annotated[list[Name], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_way_to_name(self) -> Self:
        if (self.name is None) == (self.names is None):
            raise ValueError("give it either `name` or `names`")
        if self.names is not None and "count" in self.model_fields_set:
            raise ValueError("`count` follows from `names`: leave it out")
        return self

    def numbered_names(self, places: int = 1) -> Iterator[str]:
        """All members' names, in order; ``places`` times ``count`` of them for a pattern."""
        if self.names is not None:
            yield from self.names
        elif self.name is not None:
            total = self.count * places
            if total == 1 and not is_pattern(self.name):
                yield self.name
            else:
                yield from (numbered(self.name, number) for number in range(1, total + 1))
