"""What an edit changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from gangplan.domain.cluster import Cluster, Node
from gangplan.domain.round import Round
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.policies import How
from gangplan.planning.rounds.told import Telling
from gangplan.planning.scenario.schema.part import Part
from gangplan.planning.sources import Source
from gangplan.planning.trace.replay import Replay


@dataclass(frozen=True, slots=True)
class Setup:
    """One simulation before it is played.

    Attributes:
        source: what it starts from.
        site: the first round without jobs, as edited so far.
        replay: how the trace is replayed, where there is one.
        policy: name of who decides.
        how: how gangplan's own policies plan.
        telling: what it is told.
        most_rounds: after so many it ends.
        mtbf: mean seconds to a failure of each node; None: none fails, besides those of the source.
        repair: mean seconds until it is back.
        load: jobs arrive so many times as fast, on top of ``replay.load``.
        most_gpus: jobs that ask for more are left out; None: none is.
        users, queues: only their jobs; empty: all.
    """

    source: Source
    site: Round
    replay: Replay
    policy: str
    how: How
    telling: Telling
    most_rounds: int
    mtbf: float | None = None
    repair: float = 3600.0
    load: float = 1.0
    most_gpus: float | None = None
    users: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()

    def with_nodes(self, nodes: tuple[Node, ...]) -> Setup:
        """The same with other nodes.

        Raises:
            InvalidInputError: two have one name.
        """
        names = [node.name for node in nodes]
        twice = (
            sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        )
        if twice:
            raise InvalidInputError([FieldViolation("", f"there would be two nodes {twice[0]!r}")])
        cluster = Cluster(self.site.cluster.topology, nodes)
        return replace(self, site=replace(self.site, cluster=cluster))


class EditPart(Part):
    """Base of the edits: what is written below an edit's key."""

    def change(self, setup: Setup) -> Setup:
        """The setup after it.

        Raises:
            InvalidInputError: it cannot be made; fields are those of the edit.
        """
        raise NotImplementedError


def matching(nodes: tuple[Node, ...], pattern: str) -> list[int]:
    """Places of the nodes whose name matches: ``v-{}`` as a scenario's group has it, or ``v-*``.

    Raises:
        InvalidInputError: none does.
    """
    glob = pattern
    if "{" in pattern:
        head, _, rest = pattern.partition("{")
        glob = f"{head}[0-9]*{rest.partition('}')[2]}"
    found = [k for k, node in enumerate(nodes) if fnmatchcase(node.name, glob)]
    if not found:
        named = ", ".join(node.name for node in nodes[:5])
        raise InvalidInputError(
            [FieldViolation("group", f"no node is named like {pattern!r}; there are {named}")]
        )
    return found
