"""A domain, a node or a group that is lost."""

from __future__ import annotations

from pydantic import RootModel

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.scenario.checks import did_you_mean
from gangplan.planning.scenario.quantities import Name
from gangplan.planning.study.edits.protocol import Setup

KEY = "lose"


class Edit(RootModel[Name]):
    """A domain with all its nodes (a leaf, a rack), or one node, by its name."""

    def change(self, setup: Setup) -> Setup:
        """See :class:`~gangplan.planning.study.edits.protocol.EditPart`."""
        name, cluster = self.root, setup.site.cluster
        domains = [domain.name for domain in cluster.topology.domains]
        if name in domains:
            path = cluster.topology.path
            kept = tuple(
                node
                for node in cluster.nodes
                if node.domain is None or name not in {domain.name for domain in path(node.domain)}
            )
        else:
            kept = tuple(node for node in cluster.nodes if node.name != name)
        if len(kept) == len(cluster.nodes):
            known = [*domains, *(node.name for node in cluster.nodes)]
            raise InvalidInputError([FieldViolation("", did_you_mean(name, known, "domain or node"))])
        return setup.with_nodes(kept)
