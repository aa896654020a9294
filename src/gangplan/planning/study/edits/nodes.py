"""More or fewer nodes of a group."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.scenario.quantities import Name
from gangplan.planning.scenario.schema.part import is_pattern, numbered
from gangplan.planning.study.edits.protocol import EditPart, Setup, matching

KEY = "nodes"
_MOST = 100_000


class Edit(EditPart):
    """So many nodes of a group, or so many more (or fewer): alike to the last of it, in its domain.

    Attributes:
        group: the nodes' names as a scenario has them (``h-{}``).
        count: how many there are then.
        more: how many more there are; below 0 fewer.
    """

    group: Name
    count: Annotated[int, Field(strict=True, ge=0, le=_MOST)] | None = None
    more: Annotated[int, Field(strict=True, ge=-_MOST, le=_MOST)] | None = None

    def change(self, setup: Setup) -> Setup:
        """See :class:`EditPart`; the last ones go first, and a group of none keeps no node to be alike to."""
        if (self.count is None) == (self.more is None):
            raise InvalidInputError([FieldViolation("", "give it either `count` or `more`")])
        nodes = setup.site.cluster.nodes
        places = matching(nodes, self.group)
        wanted = self.count if self.count is not None else len(places) + (self.more or 0)
        if wanted < 0:
            raise InvalidInputError(
                [FieldViolation("more", f"there are only {len(places)} of {self.group!r}")]
            )
        if wanted > len(places) and not is_pattern(self.group):
            raise InvalidInputError(
                [FieldViolation("group", "needs `{}` for the numbers of nodes that are added")]
            )
        gone = set(places[wanted:])
        kept = [node for k, node in enumerate(nodes) if k not in gone]
        taken = {node.name for node in nodes}
        number, like = 0, nodes[places[-1]]
        for _ in range(wanted - len(places)):
            number += 1
            while numbered(self.group, number) in taken:
                number += 1
            name = numbered(self.group, number)
            taken.add(name)
            kept.append(replace(like, name=name))
        return setup.with_nodes(tuple(kept))
