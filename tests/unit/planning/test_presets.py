"""Policies with a name: in a scenario, in a request, in the list, and what they lead to."""

from __future__ import annotations

import dataclasses

import pytest

from gangplan.domain.plan import ActionKind
from gangplan.domain.policy import FairnessForm, Policy
from gangplan.domain.presets import PRESETS
from gangplan.domain.quantiles import Quantiles
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.errors import GangplanError, InvalidInputError
from gangplan.planning.scenario import expand, loads
from gangplan.planning.scenario.writer import dumps
from gangplan.service.wire import read_round_request, write_round
from gangplan.testing.builders import job, node, round_of

HEAD = "gangplan: scenario/v1\naccelerators: {H100: 1.0}\nnodes: [{name: n, type: H100, gpus: 1}]\n"


def read(policy: str) -> Policy:
    return expand(loads(HEAD + f"policy: {policy}\njobs: [{{name: j, gpus: 1}}]\n")).policy


def test_there_are_seven_and_each_differs_from_the_default() -> None:
    names = ["efficiency", "finish-time-fair", "makespan", "deadline", "interactive", "soonest-end"]
    names += ["fill", "cost"]
    assert list(PRESETS) == names
    for name, preset in PRESETS.items():
        assert preset.name == name
        assert preset.purpose.endswith(".")
        assert preset.policy != Policy()


@pytest.mark.parametrize("name", PRESETS)
def test_a_scenario_names_one(name: str) -> None:
    assert read(f"{{preset: {name}}}") == PRESETS[name].policy


def test_over_another_policy_it_sets_what_it_is_about() -> None:
    other = Policy(locality_weight=3.0, deadline_weight=1.0)
    assert PRESETS["deadline"].over(other) == dataclasses.replace(
        other, deadline_weight=400.0, deadline_urgency=1.0
    )
    assert PRESETS["efficiency"].over(other).deadline_weight == 1.0


def test_what_a_scenario_writes_beside_it_holds_even_where_it_is_the_default() -> None:
    assert read("{preset: deadline, deadline_weight: 0.5, deadline_urgency: 0}") == Policy()
    assert read("{preset: efficiency, fairness_power: 1}") == Policy(queue_fairness_power=0.0)


def test_a_scenario_with_a_preset_is_written_as_it_was_read() -> None:
    text = HEAD + "policy: {preset: deadline, deadline_weight: 0.5, locality_weight: 1}\n"
    scenario = loads(text + "jobs: [{name: j, gpus: 1}]\n")
    again = loads(dumps(scenario))
    assert expand(again) == expand(scenario)
    assert again.policy.preset == "deadline"


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("{preset: fast}", "there are cost, deadline"),
        ("{fairness_forms: MAXMIN}", "fairness_forms"),
        ("{fairness_forms: {LOG: 0.7, WEIGHTS: 0.7}}", "at most 1"),
    ],
)
def test_what_is_no_policy_is_refused_with_what_there_is(policy: str, said: str) -> None:
    with pytest.raises(GangplanError, match=said):
        read(policy)


def request(**fields: object):
    found = write_round(round_of([node("n", "H100", 1)], [job("j")]))
    found.ClearField("policy")
    for name, value in fields.items():
        setattr(found.policy, name, value)
    return found


@pytest.mark.parametrize("name", PRESETS)
def test_a_request_names_one_and_what_it_sets_besides_wins(name: str) -> None:
    named = request(preset=name)
    assert read_round_request(named)[0].policy == PRESETS[name].policy
    named.policy.terms.fairness.power = 0.25
    named.policy.terms.fairness.mixture.add(form="FAIRNESS_FORM_LOG", part=0.5)
    expected = dataclasses.replace(
        PRESETS[name].policy, fairness_power=0.25, fairness_forms={FairnessForm.LOG: 0.5}
    )
    assert read_round_request(named)[0].policy == expected
    again, _ = read_round_request(write_round(read_round_request(named)[0]))
    assert again.policy == expected


def test_an_unknown_one_is_refused_by_name() -> None:
    with pytest.raises(InvalidInputError) as raised:
        read_round_request(request(preset="fast"))
    assert [violation.field for violation in raised.value.violations] == ["policy.preset"]


# What they lead to: one round each


def kinds(policy: Policy, *jobs, prices: tuple[int | None, ...] = (None, None)) -> dict[str, str]:
    """Where each of the jobs is started: its node's name; those that wait are not there."""
    round_ = round_of(
        [node("fast", "H100", 4), node("slow", "V100", 4)],
        jobs,
        types={"H100": 1.0, "V100": 0.5},
        now=1e6,
        policy=policy,
    )
    types = [
        dataclasses.replace(entry, price_micros_per_hour=price)
        for entry, price in zip(round_.accelerators, prices, strict=True)
    ]
    round_ = dataclasses.replace(round_, accelerators=tuple(types))
    plan = plan_round(round_, PlanParameters(time_budget_seconds=60.0, solver="highs")).plan
    assert all(action.kind is ActionKind.PLACE for action in plan.actions)
    return {action.job: action.placements[0].node for action in plan.actions}


def test_deadline_puts_the_deadline_before_the_heavier_job() -> None:
    """w = 1 against 3, median 2: 0.5 + 0.5 x 0.5 against 1.5 by default, 0.5 + 400 x 0.5 with the preset."""
    jobs = [
        job("due", gpus=4, types=["H100"], work_left=400.0, deadline=1e6 + 100),
        job("heavy", gpus=4, types=["H100"], weight=3.0),
    ]
    assert kinds(Policy(), *jobs) == {"heavy": "fast"}
    assert kinds(PRESETS["deadline"].policy, *jobs) == {"due": "fast"}


def test_interactive_starts_the_small_ones() -> None:
    """A gang of four against three of one: 4 devices at work against 3, but one voice against three."""
    jobs = [job("gang", gpus=4, types=["H100"]), *(job(f"s{i}", types=["H100"]) for i in range(3))]
    assert kinds(Policy(), *jobs) == {"gang": "fast"}
    assert kinds(PRESETS["interactive"].policy, *jobs) == dict.fromkeys(["s0", "s1", "s2"], "fast")


def test_interactive_starts_who_has_held_least() -> None:
    """Of two alike ones, of unknown length, the newcomer."""
    old = dataclasses.replace(
        job("a-old", gpus=4, types=["H100"], submit_time=0.0), service_received_device_seconds=1e7
    )
    new = dataclasses.replace(
        job("b-new", gpus=4, types=["H100"], submit_time=1e6), service_received_device_seconds=0.0
    )
    assert kinds(PRESETS["interactive"].policy, old, new) == {"b-new": "fast"}


def test_soonest_end_keeps_who_nears_what_most_jobs_took() -> None:
    """Most jobs take 300 device-seconds. One that has held 280 goes before a new one, as long as history is
    told; without it, the less received, the sooner."""
    nearly = dataclasses.replace(
        job("nearly", gpus=4, types=["H100"], submit_time=1e6), service_received_device_seconds=280.0
    )
    new = dataclasses.replace(
        job("new", gpus=4, types=["H100"], submit_time=1e6), service_received_device_seconds=0.0
    )
    blind = PRESETS["soonest-end"].policy
    past = Quantiles((0.1, 0.9), (290.0, 310.0))
    assert kinds(dataclasses.replace(blind, service_quantiles=past), nearly, new) == {"nearly": "fast"}
    assert kinds(blind, nearly, new) == {"new": "fast"}


def test_cost_goes_where_work_is_cheap_and_waits_where_it_is_dear() -> None:
    """Per device and hour: H100 3.00 for 1, V100 0.20 for 0.5 of its work. 1 - 0.3 is more than 0.5 - 0.02,
    so the fast one is worth its price; at 7.00 it is not, 1 - 0.7, and at 12.00 nobody wants it."""
    cost = PRESETS["cost"].policy
    one = job("j")
    assert kinds(cost, one, prices=(3_000_000, 200_000)) == {"j": "fast"}
    assert kinds(cost, one, prices=(7_000_000, 200_000)) == {"j": "slow"}
    assert kinds(cost, job("j", types=["H100"]), prices=(12_000_000, 200_000)) == {}
    assert kinds(Policy(), one, prices=(12_000_000, 200_000)) == {"j": "fast"}
