"""What will happen, whatever is decided: the jobs with their true work, and nodes that fail."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gangplan.domain.job import Job
from gangplan.domain.presets import PRESETS
from gangplan.domain.round import Round
from gangplan.errors import FieldViolation, InvalidInputError


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job, and what no policy can know of it.

    Attributes:
        job: as it is submitted: ``submit_time`` is set, ``work_done`` is what it brings along, ``running``
            where it runs when the history begins. Its ``work_left`` is passed over.
        work: all its work, what is done included; work units, positive.
        checkpoint_seconds: seconds of useful running between two checkpoints; 0: nothing is ever lost, None:
            it takes no checkpoint, and a stop throws away all since the start.
    """

    job: Job
    work: float
    checkpoint_seconds: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Failure:
    """A node that runs nothing for a time.

    Attributes:
        node: its name.
        begins, ends: seconds since the epoch.
    """

    node: str
    begins: float
    ends: float


@dataclass(frozen=True, slots=True)
class History:
    """Everything that is given.

    Attributes:
        template: clock, cluster, catalogue, queues, profiles and policy of the first round; without jobs.
        arrivals: the jobs.
        failures: of nodes.
        name: of the history.
        seed: of the noise on what policies are told.
    """

    template: Round
    arrivals: tuple[Arrival, ...]
    failures: tuple[Failure, ...] = ()
    name: str = ""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what cannot be played.

        Raises:
            InvalidInputError: every violation at once.
        """
        violations = list(self._violations())
        if violations:
            raise InvalidInputError(violations)

    @property
    def devices(self) -> int:
        """Usable devices of the cluster."""
        return sum(node.usable_device_count for node in self.template.cluster.nodes)

    def under(self, preset: str | None, field: str) -> History:
        """The history under a preset's policy; as it is without one.

        Args:
            preset: name of the preset.
            field: where it is named, for the error.

        Raises:
            InvalidInputError: there is none of that name.
        """
        if preset is None:
            return self
        if preset not in PRESETS:
            there = ", ".join(sorted(PRESETS))
            raise InvalidInputError([FieldViolation(field, f"{preset!r} is none; there are {there}")])
        policy = PRESETS[preset].over(self.template.policy)
        return replace(self, template=replace(self.template, policy=policy))

    def _violations(self) -> Iterator[FieldViolation]:
        seen: set[str] = set()
        for arrival in self.arrivals:
            job, field = arrival.job, f"arrivals[{arrival.job.name}]"
            if job.name in seen:
                yield FieldViolation(field, "the name occurs twice")
            seen.add(job.name)
            if job.submit_time is None:
                yield FieldViolation(f"{field}.job.submit_time", "a job that arrives needs its time")
            if not arrival.work > 0:
                yield FieldViolation(f"{field}.work", f"{arrival.work} is no work: write a positive number")
            if not 0 <= job.work_done < arrival.work:
                yield FieldViolation(
                    f"{field}.job.work_done", f"{job.work_done} of {arrival.work} is done before it begins"
                )
            if arrival.checkpoint_seconds is not None and arrival.checkpoint_seconds < 0:
                yield FieldViolation(f"{field}.checkpoint_seconds", "is negative")
        nodes = {node.name for node in self.template.cluster.nodes}
        for number, failure in enumerate(self.failures):
            if failure.node not in nodes:
                yield FieldViolation(f"failures[{number}].node", f"there is no node {failure.node!r}")
            if not failure.begins < failure.ends:
                yield FieldViolation(f"failures[{number}]", "ends before it begins")
