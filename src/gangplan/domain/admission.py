"""Whether one more job can be let in: the answers, and what proves them (decision 32)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gangplan.domain.plan import Plan
from gangplan.domain.round import Round


class Admission(Enum):
    """What is proved of a job's deadline, with the deadlines that must be kept beside it."""

    YES = "YES"
    """A schedule that meets them all was found, and nobody has to stop for it."""
    YES_IF = "YES_IF"
    """A schedule was found; the jobs that are named would have to give way."""
    NO = "NO"
    """No schedule meets them all, whoever gives way."""
    NOT_PROVED = "NOT_PROVED"
    """No schedule was found, and it is not proved that there is none."""


@dataclass(frozen=True, slots=True)
class WitnessStep:
    """One piece of a schedule.

    Attributes:
        round: what is there when it begins, those who would have to wait left out; its ``now`` is the
            beginning.
        plan: verified for that round.
        until: seconds since the epoch, when the next step begins.
    """

    round: Round
    plan: Plan
    until: float


@dataclass(frozen=True, slots=True)
class AdmissionVerdict:
    """The answer for one job.

    Attributes:
        job: the job's name.
        answer: what is proved.
        message: one sentence for people.
        conditions: under which a YES holds, one phrase each.
        giving_way: for YES_IF: names of the jobs that would have to stop.
        witness: for YES and YES_IF: the schedule, until the last of the deadlines is met.
        earliest_deadline: for NO: seconds since the epoch; every earlier deadline of the job is refuted, too.
            None: where it does not apply, or any date is refuted.
    """

    job: str
    answer: Admission
    message: str
    conditions: tuple[str, ...] = ()
    giving_way: tuple[str, ...] = ()
    witness: tuple[WitnessStep, ...] = ()
    earliest_deadline: float | None = None
