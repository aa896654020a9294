"""Captured rounds planned again: the same plan, or a reason why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gangplan.client import Client
from gangplan.client.transport import InProcessTransport
from gangplan.engine.runner import InProcessRunner
from gangplan.errors import InvalidInputError
from gangplan.planning.generate import generate_named
from gangplan.planning.scenario import expand, load
from gangplan.service.capture.bundle import read_bundle
from gangplan.service.capture.differences import answer_differences, plan_differences, round_differences
from gangplan.service.capture.folder import bundles_of
from gangplan.service.capture.recorder import Recorder
from gangplan.service.capture.replay import Outcome, replay
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.planner import EnginePlanner
from gangplan.service.wire import read_result
from gangplan.v1 import captured_round_pb2, quality_pb2

SCENARIOS = Path(__file__).parents[3] / "scenarios"
Captured = captured_round_pb2.CapturedRound


@pytest.fixture(scope="module")
def captured(tmp_path_factory) -> list[Captured]:
    """Rounds that a service with the real engine has planned."""
    folder = tmp_path_factory.mktemp("captured")
    options = ServerOptions(slots=1, capture=str(folder))
    placement = Placement(EnginePlanner(1), options, recorder=Recorder.of(options))
    gang, worth_it = (expand(load(SCENARIOS / f"{name}.yaml")) for name in ("gang", "preemption-worth-it"))
    with Client(transport=InProcessTransport(placement)) as client:
        first = client.plan_round(gang, time_budget=60.0)
        client.plan_round(worth_it, time_budget=60.0, warm_start=first.warm_start, previous_plan=first.plan)
        with client.session() as session:
            session.plan_round(gang, time_budget=60.0)
            session.plan_round(replace(gang, now=gang.now + 300.0), time_budget=60.0)
        client.plan_round(generate_named("S/steady/50/seed0"), time_budget=60.0, look_ahead_share=0.3)
    return [read_bundle(path) for path in bundles_of(folder)]


def test_what_ended_by_itself_gives_the_same_plan(captured):
    assert len(captured) == 5
    for each in captured:
        assert each.response.termination.limit == quality_pb2.TERMINATION_LIMIT_NONE
        replayed = replay(each, InProcessRunner())
        assert replayed.outcome is Outcome.SAME, replayed.why
        assert replayed.parted is None
        assert replayed.judged.violations == ()
        assert replayed.judged.as_said
        assert replayed.judged_then == replayed.judged


def altered(each: Captured, limit: int) -> Captured:
    """As if another plan had come out: nothing is started."""
    other = Captured()
    other.CopyFrom(each)
    del other.response.plan.actions[:]
    other.response.quality.objective = 0.0
    other.response.termination.limit = limit  # type: ignore[assignment]
    return other


@pytest.mark.parametrize(
    ("limit", "versions", "outcome"),
    [
        (quality_pb2.TERMINATION_LIMIT_TIME, {}, Outcome.TIME),
        (quality_pb2.TERMINATION_LIMIT_FAILURE, {}, Outcome.FAILURE),
        (quality_pb2.TERMINATION_LIMIT_NONE, {"highspy": "1.0"}, Outcome.VERSIONS),
        (quality_pb2.TERMINATION_LIMIT_NONE, {}, Outcome.DIFFERENT),
    ],
)
def test_another_plan_is_explained_where_it_can_be(captured, limit, versions, outcome):
    other = altered(captured[0], limit)
    other.versions.update(versions)
    replayed = replay(other, InProcessRunner())
    assert replayed.outcome is outcome
    assert replayed.judged_then is not None
    assert replayed.judged_then.objective < replayed.judged.objective
    assert any(line.startswith("job ") for line in replayed.differences)


def test_a_plan_that_was_not_worth_what_its_answer_said_is_told(captured):
    other = Captured()
    other.CopyFrom(captured[0])
    other.response.quality.objective += 1.0
    replayed = replay(other, InProcessRunner())
    assert replayed.outcome is Outcome.SAME
    assert replayed.judged_then is not None
    assert not replayed.judged_then.as_said


def test_no_solver_is_asked_beyond_the_candidates_that_there_were(captured):
    """What time had cut short after its second candidate comes out as it did then."""
    from gangplan.engine.parameters import PlanParameters
    from gangplan.engine.round import plan_round
    from gangplan.service.wire import read_round_request

    other = Captured()
    other.CopyFrom(captured[-1])
    round_, how = read_round_request(other.request)
    greedy = plan_round(round_, replace(how, pipeline="greedy", time_budget_seconds=60.0))
    assert isinstance(how, PlanParameters)
    from gangplan.service.wire import write_result

    cut = write_result(greedy)
    cut.termination.limit = quality_pb2.TERMINATION_LIMIT_TIME
    other.response.CopyFrom(cut)
    replayed = replay(other, InProcessRunner())
    assert replayed.outcome is Outcome.SAME, replayed.differences


def test_a_round_without_an_answer_gets_one(captured):
    other = Captured()
    other.CopyFrom(captured[0])
    other.ClearField("response")
    other.error = "NO_VERIFIED_PLAN: a bug"
    replayed = replay(other, InProcessRunner())
    assert replayed.outcome is Outcome.NO_ANSWER
    assert "a bug" in replayed.why
    assert replayed.recorded is None


def test_a_request_that_this_version_does_not_understand_is_refused_by_path(captured):
    other = Captured()
    other.CopyFrom(captured[0])
    other.request.jobs.add(name="bad")
    with pytest.raises(InvalidInputError, match=r"request\.jobs"):
        replay(other, InProcessRunner())


def test_differences_name_what_differs():
    gang = expand(load(SCENARIOS / "gang.yaml"))
    first, *others = gang.jobs
    changed = replace(gang, jobs=(replace(first, weight=2.0), *others[:-1]), now=gang.now + 1.0)
    found = round_differences(gang, changed)
    assert any(line.startswith("now: ") for line in found)
    assert f"job {first.name}: weight 1.0 / 2.0" in found
    assert f"job {others[-1].name}: only in the first" in found
    assert round_differences(gang, gang) == ()


def test_an_answer_does_not_differ_from_itself(captured):
    result = read_result(captured[0].response)
    assert answer_differences(result, result) == ()
    less = replace(result.plan, actions=result.plan.actions[1:])
    assert len(plan_differences(result.plan, less)) == 1
