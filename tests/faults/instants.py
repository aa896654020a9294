"""Random instants at which something goes wrong: how many, from which seed, and what came of them.

``make test-faults`` runs them all: 200 of each kind, 50 where a service has to start anew or a database is
cut off, in five parts with a dot after each, and says at its end how long each kind took. Without
``GANGPLAN_FAULTS`` a test of each kind runs one or two, so that the harness itself stays whole.
``GANGPLAN_FAULTS_SEED=7`` draws others; a failure says seed and number, and with ``GANGPLAN_FAULTS_ONLY=13``
that one runs alone.
"""

from __future__ import annotations

import os
import random
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

SEED = int(os.environ.get("GANGPLAN_FAULTS_SEED", "0"))
ASKED = os.environ.get("GANGPLAN_FAULTS")
"""How many of each kind; None: a few."""
_ONLY = os.environ.get("GANGPLAN_FAULTS_ONLY")
PARTS = 1 if ASKED is None or _ONLY is not None else 5
"""How many tests the instants of a kind are dealt out to, so that it shows how far it is."""


@dataclass(slots=True)
class Part:
    """Which part the test that runs is."""

    number: int = 0


PART = Part()


@dataclass(frozen=True, slots=True)
class Instant:
    """One fault.

    Attributes:
        number: which of its kind and seed.
        rng: draws everything about it.
    """

    number: int
    rng: random.Random


@dataclass(slots=True)
class Instants:
    """The faults of one kind, and how long recovery took after each.

    Attributes:
        kind: what goes wrong.
        share: of the 200 that are asked for.
        few: how many without being asked.
        recovered: seconds until all is as it was.
        late: seconds by which answers came after their time budget, negative where they came before.
        notes: what else is worth counting.
    """

    kind: str
    share: float = 1.0
    few: int = 2
    recovered: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Instant]:
        count = self.few if ASKED is None else max(1, round(self.share * int(ASKED)))
        numbers = range(PART.number, count, PARTS) if _ONLY is None else [int(_ONLY)]
        for done, number in enumerate(numbers):
            try:
                yield Instant(number, random.Random(f"{self.kind}/{SEED}/{number}"))
            except GeneratorExit:
                self.tell(done)
                print(f"{self.kind}: stopped at number {number} of seed {SEED}")
                raise
        self.tell(len(numbers))

    def count(self, what: str) -> None:
        """One more of these."""
        self.notes[what] = self.notes.get(what, 0) + 1

    def tell(self, count: int) -> None:
        """Print what came of them."""
        part = "" if PARTS == 1 else f", part {PART.number + 1} of {PARTS}"
        words = [f"{self.kind}: {count} instants of seed {SEED}{part}"]
        if self.recovered:
            ordered = sorted(self.recovered)
            words.append(
                f"recovered in {statistics.median(ordered):.3f} s (median), {ordered[-1]:.3f} s (longest)"
            )
        if self.late:
            over = sum(late > 0.05 for late in self.late)
            words.append(
                f"answers {max(self.late):.3f} s after their budget at most, {over} of {len(self.late)} "
                f"more than 50 ms (load average {os.getloadavg()[0]:.1f})"
            )
        words += [f"{number} {what}" for what, number in sorted(self.notes.items())]
        print("; ".join(words), flush=True)
