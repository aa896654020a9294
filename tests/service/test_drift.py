"""Rules and failure kinds of services whose callers go on meanwhile, each by its name.

Where else they are held to:

- P22, in time with at least what runs: ``tests/engine/test_frozen_clock.py``,
  ``tests/service/test_large_rounds.py``, ``tests/faults/test_workers.py``; better and better plans:
  ``tests/service/test_streams.py``.
- P24, the same once and twice: ``tests/service/test_remembered.py``, ``tests/service/test_sessions.py``; a
  snapshot is the fold of deltas: ``tests/properties/test_sessions.py``,
  ``tests/service/test_sessions_killed.py``.
- P29, nothing newer is overwritten: ``tests/service/test_sessions.py``,
  ``tests/properties/test_sessions.py``.

The kinds are numbered as in the list of what went wrong in other schedulers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.fuzz.judge import GreedyPlanner

from gangplan.domain.cluster import Node, Resources, Taint
from gangplan.domain.job import Component, Job, TaskGroup
from gangplan.domain.plan import RoundResult
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.errors import ResyncRequiredError
from gangplan.model.verifier.verify import verify
from gangplan.service.call import Call
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.wire import read_plan, write_round
from gangplan.service.wire.session_content import content_of
from gangplan.v1 import round_pb2, session_pb2, session_service_pb2

GREEDY = PlanParameters(pipeline="greedy", time_budget_seconds=30.0)


class Service:
    """A service in this process, and one session in it.

    Args:
        round_: what the session begins with.
    """

    def __init__(self, round_: Round) -> None:
        self.planner = GreedyPlanner()
        self.placement = Placement(self.planner, ServerOptions())
        self.now = round_.now
        self.told = write_round(round_, GREEDY)
        self.state = self.open(self.told)

    def open(self, snapshot: round_pb2.PlanRoundRequest) -> session_pb2.SessionState:
        request = session_service_pb2.OpenSessionRequest(snapshot=snapshot)
        return self.placement.session_calls.open_session([request.SerializeToString()], "me").session

    def delta(self, **changes: Any) -> session_pb2.SessionState:
        changes.setdefault("base_revision", self.state.revision)
        request = session_service_pb2.ApplyDeltaRequest(session_id=self.state.session_id, **changes)
        self.state = self.placement.session_calls.apply_delta(request).session
        return self.state

    def plan(self, request_id: str = "", **session: Any) -> round_pb2.PlanRoundResponse:
        """A round a second after the last; its plan is in flight only where that is asked for."""
        session.setdefault("advisory", True)
        request = round_pb2.PlanRoundRequest(request_id=request_id)
        request.session.CopyFrom(session_pb2.SessionRound(session_id=self.state.session_id, **session))
        self.now += 1.0
        request.now.FromNanoseconds(round(self.now * 1e9))
        return self.placement.plan_round(request, Call(caller="me"))


def starts(answer: round_pb2.PlanRoundResponse) -> list[str]:
    return sorted(action.job for action in read_plan(answer).actions if action.kind.value == "PLACE")


def codes(answer: round_pb2.PlanRoundResponse) -> dict[str, str]:
    return {verdict.job: verdict.code for verdict in answer.verdicts}


def empty(round_: Round, **changes: Any) -> Round:
    """A round in which nothing runs."""
    return replace(round_, jobs=tuple(replace(job, running=None) for job in round_.jobs), **changes)


def with_nodes(round_: Round, *nodes: Node) -> Round:
    return replace(round_, cluster=replace(round_.cluster, nodes=nodes))


def node_of(round_: Round, place: int) -> Any:
    return write_round(round_).cluster.nodes[place]


def test_p22_with_no_time_at_all_there_is_a_verified_plan_that_keeps_what_runs(make_round: Any) -> None:
    round_ = make_round(jobs=4)
    service = Service(round_)
    request = write_round(round_, replace(GREEDY, time_budget_seconds=1e-3))
    answer = service.placement.plan_round(request, Call(caller="me"))
    assert answer.verified
    plan = read_plan(answer)
    assert verify(round_, plan).valid
    assert {action.job: action.kind.value for action in plan.actions}["job-0"] == "KEEP"


def test_p24_a_round_or_delta_that_comes_twice_counts_once_and_one_out_of_order_is_refused(
    make_round: Any,
) -> None:
    round_ = make_round(jobs=3)
    service = Service(round_)
    heavier = service.told.jobs[1]
    heavier.weight = 5.0
    first = service.delta(upsert_jobs=[heavier])
    again = service.delta(upsert_jobs=[heavier], base_revision=1)
    assert (again.revision, again.digest) == (first.revision, first.digest)
    with pytest.raises(ResyncRequiredError):
        service.delta(remove_jobs=["job-2"], base_revision=1)
    assert service.state.digest == content_of(service.told).digest  # the snapshot is the fold
    answer = service.plan("r1", advisory=False)
    service.now -= 1.0
    assert service.plan("r1", advisory=False) == answer


def test_p29_a_plan_never_overwrites_what_was_said_while_it_was_made(make_round: Any) -> None:
    """What of it is stale is refused by name, and not in flight."""
    service = Service(make_round(jobs=3))
    smaller = service.told.jobs[2]
    smaller.weight = 0.5
    meanwhile(service, lambda: service.delta(upsert_jobs=[smaller]))
    answer = service.plan(advisory=False)
    assert starts(answer) == ["job-1", "job-2"]
    assert [name.rpartition("/")[2] for name in answer.session.overtaken] == ["job-2"]
    held = service.placement.session_calls.get_session(
        session_service_pb2.GetSessionRequest(session_id=service.state.session_id)
    ).session
    assert [name.rpartition("/")[2] for name in held.in_flight] == ["job-1"]
    assert held.digest == content_of(service.told).digest


def meanwhile(service: Service, happens: Callable[[], object]) -> None:
    """Let something happen to a service's session while its next round is planned."""
    plan = service.planner.plan

    def planned(*words: Any, **more: Any) -> RoundResult:
        service.planner.plan = plan  # type: ignore[method-assign]
        result = plan(*words, **more)
        happens()
        return result

    service.planner.plan = planned  # type: ignore[method-assign]


def test_kind_69_a_taint_that_goes_wakes_who_waits_for_it_and_a_heartbeat_wakes_and_starves_nobody(
    make_round: Any,
) -> None:
    """Kueue 13656 and others: a job was parked until something else woke it."""
    round_ = empty(make_round(jobs=2, nodes=2))
    tainted = [replace(node, taints=(Taint("broken"),)) for node in round_.cluster.nodes]
    service = Service(with_nodes(round_, *tainted))
    assert starts(service.plan()) == []
    service.delta(upsert_nodes=[node_of(with_nodes(round_, *tainted), 1)])  # says nothing new
    assert starts(service.plan()) == []
    service.delta(upsert_nodes=[node_of(round_, 0)])
    woken = service.plan()
    assert starts(woken) == ["job-0", "job-1"]
    for beat in range(3):
        service.delta(upsert_nodes=[node_of(with_nodes(round_, *tainted), 1)])
        assert starts(service.plan()) == starts(woken), beat


def test_kind_70_of_two_jobs_that_differ_in_topology_only_each_is_judged_for_itself(make_round: Any) -> None:
    """KAI 776 and 1152: the second was skipped since the first, of the same signature, had no place."""
    group = TaskGroup(count=3, allowed_counts=(3,), devices_per_task=2, resources_per_task=Resources(1, 1))
    for names in (("a", "b"), ("b", "a")):
        jobs = tuple(
            Job(name, Component((group,), required_level=level), submit_time=0.0)
            for name, level in zip(names, ("node", None), strict=True)
        )
        answer = Service(replace(make_round(nodes=2), jobs=jobs)).plan()
        assert starts(answer) == [names[1]]
        assert codes(answer).keys() == {names[0]}


def test_kind_71_all_of_a_class_have_the_reason_of_now_and_none_an_old_one(make_round: Any) -> None:
    """Kueue 10852: those that a cache passed over kept the reason of an earlier round."""
    large = TaskGroup(devices_per_task=8, resources_per_task=Resources(1000, 2**30))
    jobs = tuple(Job(f"alike-{n}", Component((large,)), submit_time=0.0) for n in range(4))
    round_ = replace(make_round(nodes=2), jobs=jobs)
    service = Service(round_)
    before = codes(service.plan())
    assert len(set(before.values())) == 1
    larger = [replace(node, device_count=8, taints=(Taint("broken"),)) for node in round_.cluster.nodes]
    changed = with_nodes(round_, *larger)
    service.delta(upsert_nodes=list(write_round(changed).cluster.nodes))
    now = service.plan()
    fresh = codes(Service(changed).plan())
    assert codes(now) == fresh
    assert set(fresh.values()).isdisjoint(before.values())


def test_kind_76_who_has_drifted_apart_is_told_so_and_a_new_snapshot_makes_it_whole(make_round: Any) -> None:
    """Poseidon 171 and 182: the service planned for hours on a cluster that was another."""
    round_ = empty(make_round(jobs=4, nodes=2))
    service = Service(round_)
    gone = with_nodes(round_, round_.cluster.nodes[0])
    believed = content_of(write_round(gone, GREEDY)).digest  # a delta that never arrived
    with pytest.raises(ResyncRequiredError):
        service.plan(digest=believed)
    with pytest.raises(ResyncRequiredError):
        service.delta(base_revision=service.state.revision, base_digest=believed, remove_jobs=["job-3"])
    service.told = write_round(gone, GREEDY)
    service.state = service.open(service.told)
    answer = service.plan(digest=believed)
    plan = read_plan(answer)
    assert verify(replace(gone, now=service.now), plan).valid
    assert {place.node for action in plan.actions for place in action.placements} == {"node-0"}
    assert starts(answer) == starts(Service(gone).plan())


def test_kind_81_a_change_of_a_job_while_a_round_is_long_is_not_undone(make_round: Any) -> None:
    """Slurm 26.05: backfill wrote back the priority that it had begun with."""
    service = Service(make_round(jobs=3))
    changed = service.told.jobs[1]
    changed.weight = 9.0
    meanwhile(service, lambda: service.delta(upsert_jobs=[changed]))
    service.plan(advisory=False)
    assert service.state.digest == content_of(service.told).digest
    seen: list[Round] = []
    plan = service.planner.plan

    def noted(round_: Round, *words: Any, **more: Any) -> RoundResult:
        seen.append(round_)
        return plan(round_, *words, **more)

    service.planner.plan = noted  # type: ignore[method-assign]
    service.plan()
    assert [job.weight for job in seen[0].jobs if job.name == "job-1"] == [9.0]
