"""What lies ahead: how much each job should get now so that the rounds together come out well (decision 31).

An outlook is made from a fluid plan over coarse time, handed to the caller with the answer, and handed back
by the caller with the next round, unchanged. It is all that one look-ahead tells the next.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gangplan.domain.job import TaskPlacement


@dataclass(frozen=True, slots=True)
class Reservation:
    """A promise of capacity (decision 19); without a place it is a wish for one.

    It holds its devices on their nodes, and under the limits of the queues that its job is in.

    Attributes:
        job: name of the job that it is made to.
        domain: name of the domain that it holds in; None: anywhere.
        latest_start: seconds since the epoch; the latest start that is promised.
        expires_at: seconds since the epoch; it is void after.
        duration_seconds: for how long the capacity is held; None: until the job is done.
        placements: the place that is kept. Empty: a wish, for which an answer finds a place, or none by then.
    """

    job: str
    domain: str | None
    latest_start: float
    expires_at: float
    duration_seconds: float | None = None
    placements: tuple[TaskPlacement, ...] = ()


@dataclass(frozen=True, slots=True)
class JobOutlook:
    """What the fluid plan says of one job.

    Service is counted in rounds of reference service: 1 is what the job would do in one round at its
    reference throughput.

    Attributes:
        job: the job's name.
        target: service that it should get in the round that begins when the outlook was made; 0 or more.
        deficit: service that earlier targets gave and the rounds did not; negative when they gave more.
        work_done: the job's work done when the outlook was made, from which the next one sees what it got.
        estimated_start: seconds since the epoch; when it first runs, or now for a job that runs; None: not
            within what was looked at.
        estimated_end: seconds since the epoch; None: unknown.
        worth: of a reference device at work on the target, GPU-equivalents; 0 or more.
        estimated_start_by: seconds since the epoch; by then nine in ten such jobs have started, as far as
            past errors say; None: too few are known.
        told_at: seconds since the epoch; when it was first told an estimate; None: it was not, or it has run.
        told_seconds: from then until the start that the fluid plan had for it.
    """

    job: str
    target: float
    deficit: float = 0.0
    work_done: float = 0.0
    estimated_start: float | None = None
    estimated_end: float | None = None
    worth: float = 1.0
    estimated_start_by: float | None = None
    told_at: float | None = None
    told_seconds: float = 0.0

    @property
    def need(self) -> float:
        """Service that the round should give: the target and what is owed, never negative."""
        return max(0.0, self.target + self.deficit)


@dataclass(frozen=True, slots=True)
class StartErrors:
    """How wrong estimates of the starts of a class of jobs were.

    Attributes:
        kind: the class.
        ratios: time from the first estimate to the start over that estimate, a round added to both; oldest
            first.
    """

    kind: str
    ratios: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class FreeBlocks:
    """Blocks of whole nodes of one kind that are worth something while they are free (decision 27).

    Attributes:
        accelerator_type: of the nodes.
        node_devices: devices built into each.
        nodes: of one block; of one shape of nodes there is at most one kind of several nodes.
        level: the level of whose domains a block of several nodes lies in one; None: anywhere.
        number: how many blocks are wanted free; more are worth no more.
        worth: of one of them in a round, GPU-equivalents; 0 or more.
        arrivals: gangs that asked for such a block, earlier ones counted less (``lookahead.free_blocks``).
    """

    accelerator_type: str
    node_devices: int
    nodes: int = 1
    level: str | None = None
    number: int = 1
    worth: float = 0.0
    arrivals: float = 0.0


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the fluid plan says of the jobs of a round.

    Attributes:
        made_at: seconds since the epoch; the ``now`` of the round that it was made for.
        round_seconds: length of that round.
        jobs: by name; a job that is not listed has no target.
        reservations: promises that should be made to gangs too large for what is free.
        relaxed: what the fluid plan did not look at, one phrase each.
        start_errors: how wrong estimates of starts were so far, each class once.
        free_blocks: what is worth something while it is left free, each kind once.
        watched_seconds: for how long arrivals were counted, earlier times counted less.
    """

    made_at: float
    round_seconds: float
    jobs: tuple[JobOutlook, ...] = ()
    reservations: tuple[Reservation, ...] = ()
    relaxed: tuple[str, ...] = ()
    start_errors: tuple[StartErrors, ...] = ()
    free_blocks: tuple[FreeBlocks, ...] = ()
    watched_seconds: float = 0.0
    _by_name: dict[str, JobOutlook] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_name", {entry.job: entry for entry in self.jobs})

    def need(self, job: str) -> float:
        """Service that the round should give ``job``; 0 where it has no target."""
        entry = self._by_name.get(job)
        return 0.0 if entry is None else entry.need

    def worth(self, job: str) -> float:
        """What a reference device at work on the target of ``job`` is worth; 1 where it has no target."""
        entry = self._by_name.get(job)
        return 1.0 if entry is None else entry.worth
