"""In processes of this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.planning.pool import Pool, Tell
from gangplan.planning.study.task import Base, Outcome, Task, evaluate

_TRIES = 2
"""Times that a simulation is begun whose process dies."""


@dataclass(frozen=True, slots=True)
class Local:
    """So many processes, ended whatever happens; one alone is this process.

    Attributes:
        workers: at a time.
    """

    workers: int

    @property
    def about(self) -> str:
        """Where, in words."""
        return f"{self.workers} process{'es' if self.workers > 1 else ''}"

    def run(
        self, base: Base, tasks: Mapping[str, Task], seconds: float | None
    ) -> Iterator[tuple[str, Outcome]]:
        """Outcomes by key, as they come.

        Args:
            base: what all start from.
            tasks: by key.
            seconds: wall time of one, after which it has failed; None: none.
        """
        tries: dict[str, int] = {}
        with Pool(_evaluate, base, min(self.workers, len(tasks))) as pool:
            for key, task in tasks.items():
                pool.submit(key, task, seconds)
            while pool.open:
                for event in pool.events():
                    key, error = event.ticket, event.error
                    tries[key] = tries.get(key, 0) + 1
                    if error is None:
                        yield key, event.value
                    elif str(error).startswith("its process ended") and tries[key] < _TRIES:
                        pool.submit(key, tasks[key], seconds)
                    else:
                        yield key, Outcome({}, {}, 0.0, str(error))


def _evaluate(base: Any, task: Any, tell: Tell) -> Outcome:
    return evaluate(base, task)
