"""Plans that say of guarantees what is not so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangplan.domain.plan import Plan
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.testing.edits import with_job
from gangplan.testing.mutations.registry import breaks


@breaks("guarantee.floor")
def _says_more_is_met(round_: Round, plan: Plan) -> Iterator[tuple[Round, Plan]]:
    for job in round_.jobs[:1]:
        queues = (Queue("owed", device_guarantee=1_000_000), *round_.queues)
        floors = {"owed": 1_000_000.0}
        yield (
            with_job(replace(round_, queues=queues), job.name, queue="owed"),
            replace(plan, guarantee_floors=floors),
        )
