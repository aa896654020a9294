"""What becomes of the lines of one reading: what was taken, what was left out and why, what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from gangplan.errors import FieldViolation, TraceError
from gangplan.planning.trace.records import End, JobRecord, Measurement, Record

MOST_WRONG = 50
"""After so many faults reading stops."""
WRONG_LINES = "lines that are wrong"


@dataclass(slots=True)
class Ledger:
    """Counts of one reading.

    Attributes:
        skip_wrong: wrong lines are left out and counted; otherwise they end the reading.
        jobs, measurements: that were taken.
        left_out: that were not, by reason.
        wrong: the first wrong things, with file, line and column.
    """

    skip_wrong: bool = False
    jobs: int = 0
    measurements: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    wrong: list[FieldViolation] = field(default_factory=list)
    _ids: set[str] = field(default_factory=set)

    def leave_out(self, reason: str, count: int = 1) -> None:
        """Count what is not taken."""
        self.left_out[reason] += count

    def refuse(self, place: str, *descriptions: str) -> None:
        """A line is wrong.

        Args:
            place: file and line.
            descriptions: what is wrong with it, ``column: sentence``.

        Raises:
            TraceError: there are too many.
        """
        if self.skip_wrong:
            self.left_out[WRONG_LINES] += 1
        if len(self.wrong) < MOST_WRONG:
            self.wrong += (FieldViolation(place, description) for description in descriptions)
        elif not self.skip_wrong:
            self.wrong.append(FieldViolation(place, "and more lines are wrong; reading stops here"))
            raise TraceError(self.wrong)

    def take(self, record: Record, place: str = "") -> bool:
        """Count a record; False when its id is taken already, which is refused.

        Raises:
            TraceError: too much is wrong.
        """
        if isinstance(record, Measurement):
            self.measurements += 1
        elif isinstance(record, JobRecord):
            if record.id in self._ids:
                self.refuse(place or f"line {record.line}", f"id: {record.id!r} is there already")
                return False
            self._ids.add(record.id)
            self.jobs += 1
        return True

    def has(self, name: str) -> bool:
        """Whether a job of that id was taken."""
        return name in self._ids

    def check(self) -> None:
        """End a reading.

        Raises:
            TraceError: lines are wrong, and may not be skipped.
        """
        if self.wrong and not self.skip_wrong:
            raise TraceError(self.wrong)

    def end(self) -> End:
        """The record that ends the trace."""
        return End(
            jobs=self.jobs, measurements=self.measurements, left_out=dict(sorted(self.left_out.items()))
        )

    def lines(self) -> Iterable[str]:
        """The counts for people, one fact per line."""
        more = f", {self.measurements:,} measurements" if self.measurements else ""
        yield f"{self.jobs:,} jobs{more}"
        for reason, count in sorted(self.left_out.items()):
            yield f"left out: {reason} ({count:,})"
