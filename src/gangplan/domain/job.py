"""Jobs: gangs of tasks, what they need, how fast they run where, and where they run now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from gangplan.domain.cluster import Resources, Toleration
from gangplan.domain.quantiles import Quantiles

_NO_LABELS: Mapping[str, str] = MappingProxyType({})


class TaskSplit(Enum):
    """How the tasks of a group may be spread over nodes."""

    FREE = "FREE"
    """Any number of the group's tasks on any node."""
    WHOLE_NODES = "WHOLE_NODES"
    """All on one node, or else on whole nodes only: on every node it uses the group holds all of the
    node's built-in devices, and all those nodes have the same number of devices."""


WHOLE_DEVICE = 1000
"""Thousandths of a device."""


@dataclass(frozen=True, slots=True)
class DeviceShare:
    """A part of one device, whose tasks take turns.

    Attributes:
        compute_milli: thousandths of the device, 1 to 1000.
    """

    compute_milli: int


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """Alike tasks of one role.

    Attributes:
        name: unique in the component.
        count: tasks asked for; the reference of the group.
        allowed_counts: every count it may run with, ascending, ``count`` among them. One entry: rigid.
        devices_per_task: accelerators per task; 0 for a CPU-only task.
        device_share: the part of its one device that a task takes; None: whole devices, which nobody
            shares. A group with a share has one task on one device of an EXACT node, and is alone in its
            component.
        resources_per_task: CPU and memory per task.
        accelerator_types: types it may run on; empty means any catalogued type. All tasks of a group
            run on one type. Ignored for CPU-only tasks, which may run on any node.
        profile: name of a throughput profile; None uses the catalogue's relative speeds (decision 42).
        split: how tasks may be spread over nodes.
        node_selector: labels that a node must carry.
        tolerations: taints that the tasks tolerate.
    """

    name: str = "worker"
    count: int = 1
    allowed_counts: tuple[int, ...] = (1,)
    devices_per_task: int = 1
    resources_per_task: Resources = Resources()
    accelerator_types: tuple[str, ...] = ()
    profile: str | None = None
    split: TaskSplit = TaskSplit.FREE
    node_selector: Mapping[str, str] = field(default_factory=lambda: _NO_LABELS)
    tolerations: tuple[Toleration, ...] = ()
    device_share: DeviceShare | None = None

    @property
    def device_milli(self) -> int:
        """Thousandths of devices that one task takes: 1000 for each whole one."""
        if self.device_share is None:
            return self.devices_per_task * WHOLE_DEVICE
        return self.devices_per_task * self.device_share.compute_milli


@dataclass(frozen=True, slots=True)
class Component:
    """A gang: all its task groups start together or not at all (property P1).

    Attributes:
        task_groups: at least one; every task asks for something.
        required_level: all tasks within one domain of this level (or one ``node``); None: anywhere.
        preferred_level: a wider spread than this costs (the locality term); None: no preference.
    """

    task_groups: tuple[TaskGroup, ...] = (TaskGroup(),)
    required_level: str | None = None
    preferred_level: str | None = None


@dataclass(frozen=True, slots=True)
class ThroughputProfile:
    """Measured throughput by (accelerator type, task count, scope), shared by name.

    Attributes:
        name: unique.
        throughput: work units per second of the whole group, keyed by
            ``(accelerator type, task count, scope)``. The value at a scope that is not listed is the one
            of the next wider listed scope for that type and count; where there is none, that option does
            not exist (decision 42). A value of 0 also removes the option.
    """

    name: str
    throughput: Mapping[tuple[str, int, str], float]


@dataclass(frozen=True, slots=True)
class TaskPlacement:
    """Tasks of one group on one node.

    Attributes:
        group: the task group's name.
        node: the node's name.
        tasks: how many of the group's tasks, at least 1.
        devices: device indices, sorted; empty for CPU-only tasks and on COUNT_ONLY nodes.
        shares: what of each of ``devices``; empty: all of it.
    """

    group: str
    node: str
    tasks: int
    devices: tuple[int, ...] = ()
    shares: tuple[DeviceShare, ...] = ()


@dataclass(frozen=True, slots=True)
class Running:
    """Where a job runs now.

    Attributes:
        placements: one entry per (group, node).
        started_at: seconds since the epoch; None when unknown.
        checkpoint_age_seconds: running time since the last checkpoint; None is unknown and counts
            as everything since ``started_at`` (or since submission), the worst case.
        next_safe_point: seconds since the epoch until which it is not disturbed by choice; None: it may be
            at any time.
        minimum_run_until: the same, promised to the job and not said by it.
        stopping: it is being stopped, and holds its places until it has; it cannot stay.
    """

    placements: tuple[TaskPlacement, ...]
    started_at: float | None = None
    checkpoint_age_seconds: float | None = None
    next_safe_point: float | None = None
    minimum_run_until: float | None = None
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What may be done to a running job (decision 9).

    Attributes:
        pausable: it may be evicted for another's good.
        movable: it may be migrated to other nodes.
        resizable: its task count may change; it stops and starts for that, and where it may not be moved, on
            nested sets of nodes and devices only.
    """

    pausable: bool = True
    movable: bool = True
    resizable: bool = True


class DeadlineKind(Enum):
    """What missing a deadline means."""

    TARGET = "TARGET"
    """Running at the rate that it still needs is rewarded; missing it costs that reward."""
    STRICT = "STRICT"
    """The job is worth something only while it can still be met."""
    SOFT = "SOFT"
    """The reward falls after it, to nothing within the decay."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What keeps a job from being started, whatever there is room for.

    A job behind its gate is not started, moved or resized; one that runs may go on as it is. It does not
    contend, and its time there does not count into its age (decision 11).

    Attributes:
        held: it may not start, for as long as its owner says so.
        not_before: seconds since the epoch; it may not start before.
        after_jobs: names of jobs that must be done first. A job of the round is not done; one that is not in
            the round is.
        held_seconds: how long it has been held so far, time before ``not_before`` left out.
    """

    held: bool = False
    not_before: float | None = None
    after_jobs: tuple[str, ...] = ()
    held_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Interactive:
    """Work that somebody waits for at a screen.

    Attributes:
        start_within_seconds: objective for the time from submission to start; above 0.
        idle_limit_seconds: above 0; a job that has been idle for so long cannot stay, nor start. None: it may
            be idle for ever.
        idle_since: seconds since the epoch from which on nobody has used it; None: it is in use.
    """

    start_within_seconds: float
    idle_limit_seconds: float | None = None
    idle_since: float | None = None


OPEN = Gate()
"""Nothing keeps it."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work to be placed.

    Attributes:
        name: unique in the round.
        queue: the queue it belongs to; None: no queue, no limit.
        component: what it is made of.
        weight: base weight, positive; never carries rho.
        priority: an integer class; the policy maps it to a weight.
        submit_time: seconds since the epoch; None: unknown, then rho counts as 1.
        work_done: work units done so far (units of the profile; without a profile, seconds of one
            reference device).
        work_left: work units left; None when it is not known exactly: without quantiles rho then counts as 1
            and no deadline is judged.
        fair_progress: work that the job's fair self has done (decision 11), carried by the caller.
        fair_finish_age: age in seconds at which the fair self was done, frozen; None while it is not.
        deadline: seconds since the epoch; None: none.
        deadline_kind: what missing it means.
        deadline_decay_seconds: for SOFT, and there above 0: time after it until no reward is left.
        restart_seconds: time from stop to useful work again, on a stop and start.
        checkpoint_seconds: notice that a stop by choice gives: for so long the job writes a checkpoint, does
            nothing else and holds its places, and then has lost no work. 0: it is stopped at once, and what
            it has done since its last checkpoint is lost.
        capabilities: what may be done to it while it runs.
        running: present placement; None while it waits.
        gate: what keeps it from being started.
        disrupted_at: when it was evicted, moved or resized by choice, seconds since the epoch, carried by the
            caller for the last hour.
        revision: opaque version of the caller's object, echoed in preconditions.
        service_received_device_seconds: devices times seconds that it has held so far, carried by the caller;
            None: unknown. Where the work left is unknown it takes the place of rho (decision 15).
        left_quantiles: what a predictor says of the work left, given all that is done already; passed over
            where ``work_left`` is known. rho and deadlines read the policy's quantiles of it (decision 15).
        user: whose job it is; for predictions from history. Plans do not depend on it.
        interactive: when it should start, if somebody waits for it; None: nobody does.
    """

    name: str
    component: Component = Component()
    queue: str | None = None
    weight: float = 1.0
    priority: int = 0
    submit_time: float | None = None
    work_done: float = 0.0
    work_left: float | None = None
    fair_progress: float = 0.0
    fair_finish_age: float | None = None
    deadline: float | None = None
    deadline_kind: DeadlineKind = DeadlineKind.TARGET
    deadline_decay_seconds: float = 0.0
    restart_seconds: float = 0.0
    checkpoint_seconds: float = 0.0
    capabilities: Capabilities = Capabilities()
    running: Running | None = None
    gate: Gate = OPEN
    disrupted_at: tuple[float, ...] = ()
    revision: str = ""
    service_received_device_seconds: float | None = None
    left_quantiles: Quantiles | None = None
    user: str = ""
    interactive: Interactive | None = None
