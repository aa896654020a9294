"""Promises in sessions: made in one round, they are the next round's until the job runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangplan.domain.round import Round
from gangplan.engine.runner import Cancellation
from gangplan.errors import UnknownSessionError
from gangplan.service.session_calls import SessionCalls
from gangplan.service.session_rounds import PlannedRound, SessionRounds
from gangplan.service.sessions.registry import Sessions
from gangplan.service.sessions.store import MemoryStore
from gangplan.service.wire import write_result, write_round
from gangplan.service.wire.difference import expand
from gangplan.service.wire.read_answer import read_result
from gangplan.service.wire.read_session_round import THE_SESSIONS
from gangplan.service.wire.session_content import NOT_KEPT
from gangplan.v1 import parameters_pb2, plan_pb2, quality_pb2, round_pb2, session_service_pb2, verdict_pb2

KEPT = {*THE_SESSIONS, "policy", "parameters", "round_length", "horizon"}


class Talk:
    """A session whose rounds are planned by hand: job-0 runs, job-1 waits."""

    def __init__(self, round_: Round) -> None:
        self.calls = SessionCalls(Sessions(MemoryStore()))
        self.rounds = SessionRounds(self.calls)
        self.now = round_.now
        self.snapshot = write_round(round_)
        chunk = session_service_pb2.OpenSessionRequest(snapshot=self.snapshot)
        self.state = self.calls.open_session([chunk.SerializeToString()], "me").session

    def plan(
        self, answer: round_pb2.PlanRoundResponse, *, cancellation: Cancellation | None = None, **more: Any
    ) -> tuple[Round, round_pb2.PlanRoundResponse]:
        """The round that is seen when ``answer`` is what is planned, and what comes back."""
        request = round_pb2.PlanRoundRequest(reservations=more.pop("reservations", ()))
        request.session.session_id = self.state.session_id
        for name, value in more.items():
            setattr(request.session, name, value)
        request.now.FromNanoseconds(round(self.now * 1e9))
        seen: list[Round] = []

        def planned(round_: Round, _: Any) -> PlannedRound:
            seen.append(round_)
            whole = round_pb2.PlanRoundResponse(pipeline=parameters_pb2.PIPELINE_GREEDY)
            whole.quality.SetInParent()
            whole.termination.reason = quality_pb2.TERMINATION_REASON_FEASIBLE
            whole.termination.limit = quality_pb2.TERMINATION_LIMIT_NONE
            whole.MergeFrom(answer)
            return PlannedRound(read_result(whole), write_result)

        given = self.rounds.plan(request, "me", planned, cancellation)
        return seen[0], given

    def report(self, plan_id: str, outcome: session_service_pb2.ActionOutcome) -> None:
        """What became of the start of job-1."""
        request = session_service_pb2.ReportOutcomesRequest(
            session_id=self.state.session_id, plan_id=plan_id, outcome_by_action={"place": outcome}
        )
        request.now.FromNanoseconds(round(self.now * 1e9))
        self.calls.report_outcomes(request)

    def in_flight(self) -> list[str]:
        request = session_service_pb2.GetSessionRequest(session_id=self.state.session_id)
        return list(self.calls.get_session(request).session.in_flight)


@pytest.fixture
def talk(make_round: Callable[..., Round]) -> Talk:
    return Talk(make_round(jobs=2))


def promise(talk: Talk, job: str = "job-1", node: str = "node-1", seconds: float = 50.0) -> Any:
    made = plan_pb2.Reservation(job=job)
    made.placements.add(group="worker", node=node, tasks=1, devices=[0, 1])
    made.latest_start.FromNanoseconds(round((talk.now + seconds) * 1e9))
    made.expires_at.FromNanoseconds(round((talk.now + 2 * seconds) * 1e9))
    return made


def waiting(made: Any = None) -> round_pb2.PlanRoundResponse:
    """job-0 keeps its place, and job-1 waits, with a promise or without a new one."""
    answer = round_pb2.PlanRoundResponse()
    kept = answer.plan.actions.add(action_id="keep:job-0", kind=plan_pb2.ACTION_KIND_KEEP, job="job-0")
    kept.placements.add(group="worker", node="node-0", tasks=1, devices=[0, 1])
    if made is not None:
        answer.plan.actions.add(
            action_id="reserve/job-1", kind=plan_pb2.ACTION_KIND_RESERVE, job="job-1", reservation=made
        )
    answer.verdicts.add(job="job-1", kind=verdict_pb2.VERDICT_KIND_NOT_CHOSEN)
    return answer


def starting() -> round_pb2.PlanRoundResponse:
    """job-1 starts."""
    answer = waiting()
    del answer.verdicts[:]
    start = answer.plan.actions.add(action_id="place", kind=plan_pb2.ACTION_KIND_PLACE, job="job-1")
    start.placements.add(group="worker", node="node-1", tasks=1, devices=[0, 1])
    return answer


def promised(round_: Round) -> list[tuple[str, str]]:
    return [(each.job, each.placements[0].node) for each in round_.reservations]


def test_a_promise_is_kept_until_its_job_runs(talk: Talk) -> None:
    talk.plan(waiting(promise(talk)))
    assert talk.in_flight() == []
    for _ in range(2):
        assert promised(talk.plan(waiting())[0]) == [("job-1", "node-1")]
    talk.plan(starting())
    talk.report("p4", session_service_pb2.ACTION_OUTCOME_REFUSED)
    assert promised(talk.plan(starting())[0]) == [("job-1", "node-1")]  # still: it did not start
    talk.report("p5", session_service_pb2.ACTION_OUTCOME_BOUND)
    talk.plan(waiting())
    assert promised(talk.plan(waiting())[0]) == []


def test_a_promise_ends_with_its_time_and_with_its_job(talk: Talk) -> None:
    talk.plan(waiting(promise(talk)))
    talk.now += 101.0
    talk.plan(waiting(promise(talk)))
    assert len(talk.plan(waiting())[0].reservations) == 1
    talk.calls.apply_delta(
        session_service_pb2.ApplyDeltaRequest(
            session_id=talk.state.session_id, base_revision=1, remove_jobs=["job-1"]
        )
    )
    talk.plan(waiting())
    assert talk.plan(waiting())[0].reservations == ()


def test_the_callers_promise_goes_before_the_sessions(talk: Talk) -> None:
    talk.plan(waiting(promise(talk)))
    seen, _ = talk.plan(waiting(), reservations=[promise(talk, node="node-0")])
    assert promised(seen) == [("job-1", "node-0")]
    assert promised(talk.plan(waiting())[0]) == [("job-1", "node-0")]
    wish = promise(talk, job="job-0")
    wish.ClearField("placements")
    seen, _ = talk.plan(waiting(), reservations=[wish])
    assert [each.job for each in seen.reservations] == ["job-0", "job-1"]
    assert promised(talk.plan(waiting())[0]) == [("job-1", "node-0")]


def test_advice_and_a_plan_that_nobody_waits_for_promise_nothing(talk: Talk) -> None:
    talk.plan(waiting(promise(talk)), advisory=True)
    given_up = Cancellation()
    given_up.cancel()
    _, answer = talk.plan(starting(), cancellation=given_up)
    assert answer.session.plan_id == ""
    seen, answer = talk.plan(waiting())
    assert (seen.reservations, seen.jobs[1].running, answer.session.plan_id) == ((), None, "p1")


@pytest.mark.parametrize(("first", "second"), [(True, False), (False, True), (True, True)])
def test_a_promise_in_a_difference(talk: Talk, first: bool, second: bool) -> None:  # noqa: FBT001
    made = promise(talk)
    _, last = talk.plan(waiting(made if first else None))
    whole = waiting(made if second else None)
    _, short = talk.plan(whole, difference_from="p1")
    assert short.session.difference_from == "p1"
    assert not short.verdicts
    again = expand(last, short, {"job-0", "job-1"})
    assert sorted(again.plan.actions, key=lambda each: each.job) == list(whole.plan.actions)
    assert list(again.verdicts) == list(whole.verdicts)


def test_a_stop_that_is_said_again_has_its_verdict_in_a_difference(talk: Talk) -> None:
    whole = waiting()
    whole.plan.actions.add(action_id="evict:job-1", kind=plan_pb2.ACTION_KIND_EVICT, job="job-1")
    _, last = talk.plan(whole)
    _, short = talk.plan(whole, difference_from="p1")
    again = expand(last, short, {"job-0", "job-1"})
    assert sorted(again.plan.actions, key=lambda each: each.job) == list(whole.plan.actions)
    assert list(again.verdicts) == list(whole.verdicts)


def test_every_field_of_a_round_is_the_sessions_or_the_requests() -> None:
    assert {field.name for field in round_pb2.PlanRoundRequest.DESCRIPTOR.fields} == KEPT | set(NOT_KEPT)
    assert not KEPT & set(NOT_KEPT)


def test_ids_of_sessions_that_are_not_there_leave_nothing_behind(talk: Talk) -> None:
    for number in range(3):
        with pytest.raises(UnknownSessionError):
            talk.calls.apply_delta(
                session_service_pb2.ApplyDeltaRequest(session_id=f"no-{number}", base_revision=1)
            )
    assert len(talk.calls.sessions._locks) == 0
