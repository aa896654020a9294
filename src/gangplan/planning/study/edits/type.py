"""Other accelerators in the same nodes."""

from __future__ import annotations

from dataclasses import replace

from gangplan.domain.cluster import AcceleratorType
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.scenario.checks import did_you_mean
from gangplan.planning.scenario.quantities import Name
from gangplan.planning.scenario.schema.cluster import Accelerator
from gangplan.planning.study.edits.protocol import EditPart, Setup, matching

KEY = "type"


class Edit(EditPart):
    """Nodes of a group with accelerators of another type.

    Attributes:
        group: the nodes' names as a scenario has them (``v-{}``).
        to: the type.
        accelerator: its speed, or speed and price, if the catalogue does not have it.
    """

    group: Name
    to: Name
    accelerator: Accelerator | None = None

    def change(self, setup: Setup) -> Setup:
        """See :class:`EditPart`."""
        site = setup.site
        catalogue = {entry.name: entry for entry in site.accelerators}
        if self.to not in catalogue:
            if self.accelerator is None:
                message = did_you_mean(self.to, catalogue, "type") + ": give its `accelerator`"
                raise InvalidInputError([FieldViolation("to", message)])
            price = None if self.accelerator.price is None else round(self.accelerator.price * 1_000_000)
            catalogue[self.to] = AcceleratorType(self.to, self.accelerator.speed, price)
        places = set(matching(site.cluster.nodes, self.group))
        nodes = tuple(
            replace(node, accelerator_type=self.to) if k in places and node.accelerator_type else node
            for k, node in enumerate(site.cluster.nodes)
        )
        setup = replace(setup, site=replace(site, accelerators=tuple(catalogue.values())))
        return setup.with_nodes(nodes)
