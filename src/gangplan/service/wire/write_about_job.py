"""Places, explanations and shares as answers."""

from __future__ import annotations

from collections.abc import Iterable

from gangplan.domain.shares import DEFINITIONS, FairShares
from gangplan.engine.explain_job import Explained
from gangplan.engine.recommend import Place, Recommended
from gangplan.service.wire.write_answer import write_plan, write_verdict
from gangplan.service.wire.write_job import write_placements
from gangplan.v1 import placement_service_pb2


def write_recommended(job: str, found: Recommended) -> placement_service_pb2.RecommendPlacementsResponse:
    """The places for a job."""
    answer = placement_service_pb2.RecommendPlacementsResponse(
        value_without=found.value_without,
        cut_short=found.cut_short,
        recommendations=_places(job, found.places),
    )
    if found.verdict is not None:
        answer.verdict.CopyFrom(write_verdict(found.verdict))
    return answer


def write_explained(job: str, found: Explained) -> placement_service_pb2.ExplainJobResponse:
    """One job at length."""
    answer = placement_service_pb2.ExplainJobResponse(
        message=found.message, margin=found.margin, alternatives=_places(job, found.alternatives)
    )
    if found.verdict is not None:
        answer.verdict.CopyFrom(write_verdict(found.verdict))
    if found.action is not None:
        from gangplan.domain.plan import Plan

        answer.action.CopyFrom(write_plan(Plan((found.action,))).actions[0])
    return answer


def write_fair_shares(found: FairShares) -> placement_service_pb2.ComputeFairSharesResponse:
    """What every job and queue is owed."""
    answer = placement_service_pb2.ComputeFairSharesResponse(
        usable_devices_by_type=dict(found.usable_devices_by_type)
    )
    for job in found.jobs:
        answer.jobs.add(
            job=job.job,
            queue=job.queue or "",
            devices_by_type=dict(job.devices_by_type),
            isolated_throughput=job.isolated_throughput,
            fairness_ratio=job.fairness_ratio,
            share=job.share,
            entitled_devices=job.entitled_devices,
            device_time_ratio=job.device_time_ratio,
            equal_throughput=job.equal_throughput,
            effective_throughput_ratio=job.effective_throughput_ratio,
            weight=job.weight,
        )
    for queue in found.queues:
        answer.queues.add(
            queue=queue.queue,
            share=queue.share,
            devices=queue.devices,
            service_ratio=queue.service_ratio,
        )
    for name, formula, source in DEFINITIONS:
        answer.definitions.add(name=name, formula=formula, source=source)
    return answer


def _places(job: str, places: Iterable[Place]) -> list[placement_service_pb2.Recommendation]:
    found = []
    for place in places:
        message = placement_service_pb2.Recommendation(
            value=place.value,
            throughput=place.throughput,
            scope=place.scope,
            evicted=place.evicted,
            present=place.present,
            message=place.message,
            plan=write_plan(place.plan),
        )
        action = next(one for one in place.plan.actions if one.job == job)
        write_placements(action.placements, message.placements)
        for term, contribution in place.value_by_term.items():
            message.terms.add(term=term, contribution=contribution)
        found.append(message)
    return found
