"""Time is kept for what comes after the plan of a session's round: how long that took before."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from gangplan.domain.round import Round
from gangplan.engine.budget import Budget
from gangplan.engine.parameters import PlanParameters
from gangplan.service.afterwards import Afterwards
from gangplan.service.call import Call
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.sessions.registry import Sessions
from gangplan.service.sessions.store import MemoryStore
from gangplan.service.wire import write_round
from gangplan.v1 import round_pb2, session_service_pb2


class SlowStore(MemoryStore):
    """Takes three tenths of a second for whatever is to be kept."""

    def commit(self, *words: Any, **more: Any) -> bool:
        time.sleep(0.3)
        return super().commit(*words, **more)


def test_what_it_took_is_kept_free_the_next_time(instant: Any, make_round: Callable[..., Round]) -> None:
    deadlines: list[float] = []
    plan = instant.plan

    def planned(round_: Round, parameters: PlanParameters, budget: Budget, *more: Any) -> Any:
        deadlines.append(budget.deadline)
        return plan(round_, parameters, budget, *more)

    instant.plan = planned
    placement = Placement(instant, ServerOptions(), sessions=Sessions(SlowStore()))
    round_ = make_round(jobs=600)
    snapshot = write_round(round_, PlanParameters(time_budget_seconds=2.0))
    chunk = session_service_pb2.OpenSessionRequest(snapshot=snapshot)
    state = placement.session_calls.open_session([chunk.SerializeToString()], "me").session
    request = round_pb2.PlanRoundRequest(now=snapshot.now)
    request.session.session_id = state.session_id
    assert placement.seconds_left(request, Call()) > 2.0  # nothing is known of it
    calls = [Call(caller="me"), Call(caller="me")]
    for call in calls:
        placement.plan_round(request, call)
    assert 0.0 < placement.seconds_left(request, Call()) <= 2.0  # in the queue, too, it is the session's
    free = [call.started + 2.0 - deadline for call, deadline in zip(calls, deadlines, strict=True)]
    assert free[1] >= 0.3, free


def test_small_rounds_tell_nothing_and_quicker_ones_count_little_by_little() -> None:
    after = Afterwards()
    after.note(3, 1.0)
    assert after.expected(1000) == 0.0
    after.note(1000, 1.0)
    assert after.expected(2000) == 2.0
    after.note(1000, 0.5)
    assert abs(after.expected(1000) - 0.9) < 1e-12
