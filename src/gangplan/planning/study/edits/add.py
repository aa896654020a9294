"""Nodes of a new kind."""

from __future__ import annotations

from dataclasses import replace

from gangplan.domain.cluster import AcceleratorType
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.scenario.checks import did_you_mean, node_domains
from gangplan.planning.scenario.expand import expand_nodes
from gangplan.planning.scenario.schema.cluster import Accelerator, NodeGroup
from gangplan.planning.study.edits.protocol import EditPart, Setup

KEY = "add"


class Edit(EditPart):
    """Nodes of a new kind, with their type's speed and price if the catalogue does not have it.

    Attributes:
        nodes: as in a scenario.
        accelerator: speed, or speed and price of the type.
    """

    nodes: NodeGroup
    accelerator: Accelerator | None = None

    def change(self, setup: Setup) -> Setup:
        """See :class:`EditPart`."""
        site, kind = setup.site, self.nodes.type
        catalogue = {entry.name: entry for entry in site.accelerators}
        if kind is not None and self.accelerator is not None and kind not in catalogue:
            price = None if self.accelerator.price is None else round(self.accelerator.price * 1_000_000)
            catalogue[kind] = AcceleratorType(kind, self.accelerator.speed, price)
        if kind is not None and kind not in catalogue:
            raise InvalidInputError(
                [
                    FieldViolation(
                        "nodes.type", did_you_mean(kind, catalogue, "type") + ": give its `accelerator`"
                    )
                ]
            )
        domains = [domain.name for domain in site.cluster.topology.domains]
        wanted = self.nodes.domain
        listed = [] if wanted is None else [wanted] if isinstance(wanted, str) else wanted
        unknown = [name for name in listed if "*" not in name and name not in domains]
        if unknown:
            raise InvalidInputError(
                [FieldViolation("nodes.domain", did_you_mean(unknown[0], domains, "domain"))]
            )
        if listed and not node_domains(self.nodes, domains):
            raise InvalidInputError(
                [FieldViolation("nodes.domain", f"no domain is named like {listed[0]!r}")]
            )
        new = tuple(expand_nodes([self.nodes], domains, site.now))
        setup = replace(setup, site=replace(site, accelerators=tuple(catalogue.values())))
        return setup.with_nodes((*site.cluster.nodes, *new))
