"""Every worked scenario: its answer is a plan, is worth what it says, is the best, and is what comes out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from gangplan.domain.job import Job, Running, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, Plan, RoundResult, TerminationReason
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.outcome import Outcome, Status
from gangplan.model.verifier.verify import Verification, verify
from gangplan.planning.scenario import Scenario, expand, load
from gangplan.planning.scenario.expand import placements
from gangplan.planning.scenario.schema.expected import Expected, Statement
from gangplan.testing.enumerate import best_guaranteed, best_plan

FOLDER = Path(__file__).parents[2] / "scenarios"
WORKED = {
    path.stem: path for path in sorted(FOLDER.glob("*.yaml")) if "\nexpected:" in path.read_text("utf-8")
}
BY_HAND_ALONE = {
    "crowd",
    "identical-jobs",
    "cpu-bound",
    "topology-nvlink-18",
    "topology-two-scopes",
}
"""Too large for the raw enumerator: their argument stands in the file."""
KINDS = {
    Status.KEPT: ActionKind.KEEP,
    Status.STARTED: ActionKind.PLACE,
    Status.MOVED: ActionKind.MIGRATE,
    Status.RESIZED: ActionKind.RESIZE,
    Status.EVICTED: ActionKind.EVICT,
}
STOPS = {ActionKind.MIGRATE, ActionKind.RESIZE, ActionKind.EVICT}

worked = pytest.mark.parametrize("name", WORKED)


def read(name: str) -> tuple[Scenario, Expected, Round]:
    scenario = load(WORKED[name])
    assert scenario.expected is not None
    return scenario, scenario.expected, expand(scenario, folder=FOLDER)


def written_plan(scenario: Scenario, expected: Expected, round_: Round) -> Plan:
    """The file's plan: what runs as listed, what ran and is not listed is evicted."""
    roles = {name: group.roles for group in scenario.jobs for name in group.numbered_names()}
    where = {name: placements(places, roles[name]) for name, places in (expected.plan or {}).items()}
    forced = round_facts(round_).forced
    bare = [Action(name, ActionKind.PLACE, name, places) for name, places in where.items()]
    bare += [
        Action(job.name, ActionKind.EVICT, job.name)
        for job in round_.jobs
        if job.running is not None and job.name not in where
    ]
    outcomes = verify(round_, Plan(tuple(bare))).outcomes
    kind = {
        action.job: ActionKind.MIGRATE
        if action.job in forced and action.placements
        else KINDS[outcomes[action.job].status]
        for action in bare
    }
    stops = [job for job, what in kind.items() if what in STOPS]
    gainers = [job for job, what in kind.items() if what not in (ActionKind.KEEP, ActionKind.EVICT)]
    finished = []
    for action in bare:
        job, what = action.job, kind[action.job]
        beneficiaries = [job] if what in STOPS else []
        if what is ActionKind.EVICT:
            beneficiaries = gainers
        finished.append(
            dataclasses.replace(
                action,
                kind=what,
                scope=outcomes[job].scope,
                throughput=outcomes[job].throughput,
                depends_on=tuple(each for each in stops if each != job)
                if what not in (ActionKind.KEEP, ActionKind.EVICT)
                else (),
                beneficiaries=() if job in forced else tuple(beneficiaries),
                forced=forced.get(job),
            )
        )
    return Plan(tuple(finished))


def check_statement(name: str, statement: Statement, plan: Plan, judged: Verification, round_: Round) -> None:
    action = next((action for action in plan.actions if action.job == name), None)
    outcome: Outcome = judged.outcomes[name]
    if statement.action is not None:
        assert (action.kind.value if action else "WAIT") == statement.action, name
    job = next(job for job in round_.jobs if job.name == name)
    first = job.component.task_groups[0].name
    if statement.tasks is not None:
        assert outcome.counts[first] == statement.tasks, name
    if statement.type is not None:
        assert outcome.types[first] == statement.type, name
    if statement.scope is not None:
        assert outcome.scope == statement.scope, name
    used = {placement.node for placement in action.placements} if action else set()
    if statement.nodes is not None:
        assert used == set(statement.nodes), name
    if statement.domain is not None:
        nodes = {node.name: node for node in round_.cluster.nodes}
        level = round_.cluster.topology.domain(statement.domain).level
        assert used, name
        for node in used:
            assert round_.cluster.topology.at_level(nodes[node].domain, level) == statement.domain, name
    if statement.forced is not None:
        assert action is not None
        assert action.forced is not None
        assert action.forced.value == statement.forced, name


def check_expected(expected: Expected, plan: Plan, round_: Round) -> Verification:
    judged = verify(round_, plan)
    assert judged.violations == ()
    if expected.objective is not None:
        assert math.isclose(
            judged.objective, expected.objective, rel_tol=expected.tolerance, abs_tol=expected.tolerance
        ), f"worth {judged.objective}, not {expected.objective}"
    for name, statement in expected.jobs.items():
        check_statement(name, statement, plan, judged, round_)
    runs = [name for name, outcome in judged.outcomes.items() if outcome.counts]
    for pattern, count in expected.placed.items():
        assert sum(fnmatchcase(name, pattern) for name in runs) == count, pattern
    return judged


def test_there_are_enough_worked_scenarios_and_each_brings_its_argument():
    assert len(WORKED) >= 12
    for path in WORKED.values():
        expected = load(path).expected
        assert expected is not None
        assert expected.plan is not None, f"{path.name}: write one best plan"
        assert len(expected.argument) > 80
    assert set(WORKED) >= BY_HAND_ALONE


@worked
def test_the_written_plan_is_valid_and_worth_what_it_says(name):
    scenario, expected, round_ = read(name)
    check_expected(expected, written_plan(scenario, expected, round_), round_)


@pytest.mark.parametrize("name", sorted(set(WORKED) - BY_HAND_ALONE))
def test_no_plan_is_better_says_the_raw_enumerator(name):
    _, expected, round_ = read(name)
    guaranteed = any(queue.device_guarantee for queue in round_.queues)
    best = (best_guaranteed if guaranteed else best_plan)(round_, max_plans=400_000)
    assert expected.objective is not None
    if expected.taken_back:
        assert best.objective > expected.objective + 1e-3, "there is nothing to take back"
    else:
        assert math.isclose(best.objective, expected.objective, rel_tol=expected.tolerance, abs_tol=1e-6)
        for job, statement in expected.jobs.items():
            check_statement(job, statement, best.plan, best.verification, round_)


@worked
def test_the_engine_finds_it_and_proves_it(name):
    _, expected, round_ = read(name)
    result = plan_round(round_, PlanParameters(time_budget_seconds=30.0))
    judged = check_expected(expected, result.plan, round_)
    assert result.verified
    assert result.quality.objective == pytest.approx(judged.objective, abs=1e-9)
    assert result.quality.bound >= judged.objective - 1e-6
    if not expected.taken_back:
        assert result.reason is TerminationReason.OPTIMAL
        assert result.quality.bound == pytest.approx(judged.objective, rel=1e-5, abs=1e-6)
    verdicts = {verdict.job: verdict for verdict in result.verdicts}
    waiting = {name for name, outcome in judged.outcomes.items() if not outcome.counts}
    assert set(verdicts) == waiting
    for job, statement in expected.jobs.items():
        if statement.verdict is not None:
            assert verdicts[job].kind.value == statement.verdict, job


@worked
def test_five_more_rounds_and_nothing_moves(name):
    _, _, round_ = read(name)
    result = plan_round(round_, PlanParameters(time_budget_seconds=30.0))
    for _ in range(5):
        round_ = applied(round_, result)
        running = {job.name for job in round_.jobs if job.running is not None}
        result = plan_round(round_, PlanParameters(time_budget_seconds=30.0))
        assert {action.job: action.kind for action in result.plan.actions} == dict.fromkeys(
            running, ActionKind.KEEP
        )


@worked
def test_the_wire_carries_it_unchanged(name):
    from gangplan.service.wire import read_round_request, write_round

    _, _, round_ = read(name)
    assert read_round_request(write_round(round_))[0] == round_


def applied(round_: Round, result: RoundResult) -> Round:
    """The round after its plan, at the same time."""
    where: Mapping[str, tuple[TaskPlacement, ...]] = {
        action.job: action.placements for action in result.plan.actions
    }

    def moved(job: Job) -> Job:
        places = where.get(job.name, ())
        if not places:
            return dataclasses.replace(job, running=None)
        if job.running is not None and job.running.placements == places:
            return job
        return dataclasses.replace(job, running=Running(places, round_.now, 0.0))

    return dataclasses.replace(round_, jobs=tuple(moved(job) for job in round_.jobs))
