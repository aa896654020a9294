"""The round that a policy sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gangplan.domain.cluster import Cluster, NodeHealth
from gangplan.domain.job import OPEN, Job
from gangplan.domain.round import Round
from gangplan.planning.rounds.fair_self import Paces
from gangplan.planning.rounds.history import Arrival, History
from gangplan.planning.rounds.queue_service import with_service
from gangplan.planning.rounds.state import JobState, State
from gangplan.planning.rounds.told import Telling, Told


def present_round(
    history: History, arrivals: Mapping[str, Arrival], state: State, telling: Telling, paces: Paces
) -> Round:
    """What is there at ``state.now``, and what is told of it.

    Args:
        history: what is given.
        arrivals: those of the history by name.
        state: what has happened.
        telling: what is told of the work. Where it is predicted, the policy carries what jobs took, too.
        paces: of the history.
    """
    template = history.template
    jobs = tuple(_job(arrivals[name], job, state, telling, paces) for name, job in state.live.items())
    wanted = {group.profile for job in jobs for group in job.component.task_groups}
    down = {f.node for f in history.failures if f.begins <= state.now < f.ends}
    nodes = template.cluster.nodes
    if down:
        nodes = tuple(
            replace(node, health=NodeHealth.UNHEALTHY) if node.name in down else node for node in nodes
        )
    policy = template.policy
    if telling.told is Told.PREDICTED and policy.service_quantiles is None:
        policy = replace(policy, service_quantiles=state.predictor.service())
    return replace(
        template,
        policy=policy,
        now=state.now,
        queues=with_service(template.queues, arrivals, state, template.now),
        jobs=jobs,
        cluster=Cluster(template.cluster.topology, nodes),
        profiles=tuple(profile for profile in template.profiles if profile.name in wanted),
        reservations=(*template.reservations, *state.promises),
    )


def _job(arrival: Arrival, state: JobState, world: State, telling: Telling, paces: Paces) -> Job:
    job = arrival.job
    predicted = None
    if telling.told is Told.PREDICTED:
        predicted = telling.predicted(arrival, state.done, world.predictor, paces.reference(job.name))
    gate = job.gate if job.gate == OPEN else replace(job.gate, held_seconds=state.held_seconds)
    return replace(
        job,
        work_done=state.done,
        work_left=telling.left(arrival, state.done),
        left_quantiles=predicted,
        fair_progress=state.fair_as_told.progress,
        fair_finish_age=state.fair_as_told.finish_age,
        running=state.running,
        gate=gate,
        disrupted_at=state.disrupted_at,
        service_received_device_seconds=(job.service_received_device_seconds or 0.0) + state.attended.held,
    )
