"""Another limit or weight of a queue."""

from __future__ import annotations

from dataclasses import replace

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.scenario.checks import did_you_mean
from gangplan.planning.scenario.quantities import Name, Positive, Whole
from gangplan.planning.study.edits.protocol import EditPart, Setup

KEY = "quota"


class Edit(EditPart):
    """Limit or weight of a queue; what is not written stays as it is.

    Attributes:
        queue: its name.
        limit: most devices of all types; ``null`` is unlimited.
        limits: the same by accelerator type.
        weight: what it is owed, relative to its siblings.
    """

    queue: Name
    limit: Whole | None = None
    limits: dict[Name, Whole] | None = None
    weight: Positive | int | None = None

    def change(self, setup: Setup) -> Setup:
        """See :class:`EditPart`."""
        queues = setup.site.queues
        if self.queue not in {queue.name for queue in queues}:
            message = did_you_mean(self.queue, (queue.name for queue in queues), "queue")
            raise InvalidInputError([FieldViolation("queue", message)])
        changed = []
        for queue in queues:
            if queue.name == self.queue:
                queue = replace(  # noqa: PLW2901 - what it becomes
                    queue,
                    device_limit=self.limit if "limit" in self.model_fields_set else queue.device_limit,
                    device_limit_by_type=(
                        queue.device_limit_by_type if self.limits is None else dict(self.limits)
                    ),
                    weight=queue.weight if self.weight is None else float(self.weight),
                )
            changed.append(queue)
        return replace(setup, site=replace(setup.site, queues=tuple(changed)))
