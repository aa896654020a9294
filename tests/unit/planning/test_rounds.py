"""The loop over rounds, and its measures, on histories that can be worked by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from gangplan.domain.cluster import AcceleratorType, Cluster, Node
from gangplan.domain.job import (
    Component,
    DeadlineKind,
    Gate,
    Interactive,
    Job,
    Running,
    TaskGroup,
    TaskPlacement,
)
from gangplan.domain.plan import Action, ActionKind, Plan, RoundResult
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.errors import BrokenPlanError, InvalidInputError, ScenarioError
from gangplan.planning import histories, policies
from gangplan.planning.metrics import TimeToStart, jain, job_reports, measure, percentile
from gangplan.planning.predict.predictor import Predictor, Ran
from gangplan.planning.predict.traits import traits_of
from gangplan.planning.rounds.history import Arrival, Failure, History
from gangplan.planning.rounds.loop import Played, RoundRecord, Settings, play
from gangplan.planning.rounds.queue_service import HALF_LIFE_SECONDS, with_service
from gangplan.planning.rounds.state import JobState, Span, State
from gangplan.planning.rounds.told import Telling, Told
from gangplan.planning.scenario import expand, history, loads

D = 300.0


def a_job(
    name: str = "a",
    *,
    at: float = 0.0,
    seconds: float = 900.0,
    devices: int = 1,
    restart: float = 0.0,
    checkpoint: float | None = 0.0,
    deadline: float | None = None,
) -> Arrival:
    """A job that runs for so many seconds on devices of speed 1."""
    group = TaskGroup(count=devices, allowed_counts=(devices,))
    job = Job(
        name,
        component=Component((group,)),
        submit_time=at,
        restart_seconds=restart,
        deadline=deadline,
    )
    return Arrival(job, seconds * devices, checkpoint)


def a_history(*arrivals: Arrival, devices: int = 1, failures: tuple[Failure, ...] = ()) -> History:
    """One node of so many devices, rounds of five minutes, from 0 on."""
    template = Round(
        now=0.0,
        round_seconds=D,
        cluster=Cluster(nodes=(Node("n", accelerator_type="A", device_count=devices),)),
        accelerators=(AcceleratorType("A", 1.0),),
    )
    return History(template, arrivals, failures)


def by(history: History, policy: str = "fifo") -> Played:
    return play(history, policies.make(policy), Settings(most_rounds=200))


@dataclass(frozen=True)
class Scripted:
    """Keeps everything, but does what is written for a round."""

    script: dict[int, Plan]
    name: str = "scripted"

    def decide(self, round_: Round, before: RoundResult | None) -> Plan:
        del before
        keep = tuple(
            Action(f"keep/{job.name}", ActionKind.KEEP, job.name, job.running.placements)
            for job in round_.jobs
            if job.running is not None
        )
        return self.script.get(round(round_.now / D), Plan(keep))


def test_a_job_ends_at_the_exact_second_and_its_devices_wait_for_the_next_round() -> None:
    state = by(a_history(a_job("a", seconds=400.0), a_job("b", seconds=100.0))).state
    assert state.jobs["a"].finished == 400.0
    assert (state.jobs["b"].first_start, state.jobs["b"].finished) == (600.0, 700.0)


def test_a_restart_goes_on_in_the_next_round() -> None:
    state = by(a_history(a_job(seconds=100.0, restart=450.0))).state
    assert state.jobs["a"].finished == 550.0
    assert state.jobs["a"].attended.starting == 450.0
    assert state.jobs["a"].attended.restarting == 0.0


def test_a_job_that_comes_within_a_round_waits_for_the_next() -> None:
    state = by(a_history(a_job(at=10.0, seconds=60.0))).state
    assert (state.jobs["a"].first_start, state.jobs["a"].finished) == (300.0, 360.0)
    assert state.totals.skipped == 1


@pytest.mark.parametrize(("checkpoint", "lost"), [(0.0, 0.0), (130.0, 40.0), (None, 300.0)])
def test_a_crash_throws_away_what_no_checkpoint_has(checkpoint: float | None, lost: float) -> None:
    """It runs from 0 on, and its node fails at 300 + 0 for a moment within the second round."""
    job = a_job(seconds=500.0, checkpoint=checkpoint)
    state = by(a_history(job, failures=(Failure("n", 300.0 + 1e-3, 301.0),))).state
    assert state.jobs["a"].lost == pytest.approx(lost, abs=2e-3)
    assert state.jobs["a"].finished == pytest.approx(600.0 + 200.0 + lost, abs=2e-3)
    assert state.jobs["a"].attended.forced == 1


def test_a_node_that_is_down_holds_nothing() -> None:
    found = by(a_history(a_job(seconds=500.0), failures=(Failure("n", 300.0, 1000.0),)))
    spans = found.state.jobs["a"].spans
    assert [(span.begins, span.ends) for span in spans] == [(0.0, 300.0), (1200.0, 1400.0)]
    assert found.state.totals.capacity == 2 * D


def test_a_plan_that_breaks_a_rule_ends_the_run() -> None:
    action = Action("place/a", ActionKind.PLACE, "a", ())
    with pytest.raises(BrokenPlanError, match="scripted, round 0"):
        play(a_history(a_job()), Scripted({0: Plan((action,))}))


def test_what_a_policy_remembers_is_its_own_answer() -> None:
    seen: list[RoundRecord] = []
    play(a_history(a_job(seconds=650.0)), policies.make("myopic"), on_round=seen.append)
    assert [record.before.answer is None for record in seen] == [True, False, False]
    assert seen[1].before.answer == seen[0].after.answer


def test_two_jobs_on_one_device_by_hand() -> None:
    """a runs 0 to 600, b 600 to 1200; alone each would have half the device while both are there.

    The fair selves do 150 of their 600 units a round until a has ended in the third round, when b alone gets
    all of it: a's is done after four rounds, which with half the device is never known, since a ended after
    two; at the pace of its last round, 0.5 a second, it needs 600 more seconds: 1200. b's has done 300 by
    600 and then works at full pace: done at 900.
    """
    found = by(a_history(a_job("a", seconds=600.0), a_job("b", seconds=600.0)))
    jobs = {report.name: report for report in job_reports(found)}
    assert found.state.jobs["a"].fair.finish_age == 1200.0
    assert found.state.jobs["b"].fair.finish_age == 900.0
    assert jobs["a"].rho == 600.0 / 1200.0
    assert jobs["b"].rho == 1200.0 / 900.0
    # Gavel: the work of each round at the share of that round. a: 600 units at half; b: 600 at the whole.
    assert jobs["a"].rho_gavel == 600.0 / 1200.0
    assert jobs["b"].rho_gavel == 1200.0 / 600.0
    # Shockwave: two jobs for one device in all; on average 2, and 1.5 while b was there.
    assert (jobs["a"].rho_shockwave, jobs["b"].rho_shockwave) == (0.5, 1.0)
    assert (jobs["a"].rho_shockwave_themis, jobs["b"].rho_shockwave_themis) == (0.5, 1200 / (600 * 1.5))
    # Sia: on 1/2 and on 1/1.5 of the device.
    assert jobs["a"].rho_sia == pytest.approx(600.0 / 1200.0)
    assert jobs["b"].rho_sia == pytest.approx(1200.0 / 900.0)
    figures = measure(found)
    assert (figures.completion_mean, figures.makespan, figures.allocated) == (900.0, 1200.0, 1.0)
    assert figures.rho is not None
    assert (figures.rho.worst, figures.rho.share_unfair) == (1200.0 / 900.0, 0.5)


def test_deadlines_count_when_they_are_met_to_the_second() -> None:
    found = by(
        a_history(
            a_job("a", seconds=600.0, deadline=600.0),
            a_job("b", seconds=600.0, deadline=1199.0),
            a_job("c", seconds=1.0),
        )
    )
    kinds = measure(found).deadlines
    assert {kind: (each.jobs, each.met) for kind, each in kinds.items()} == {"deadline": (2, 1)}


def test_what_queues_have_received_fades_by_half_in_a_week() -> None:
    """Two devices for the first 600 s, then nothing; and one for 300 s before now, in a queue below.

    After the week the 1,200 device-seconds count half, but for what had faded while they came (less than 1 in
    1,000), and so do the 500 that the queue began with. The 300 have hardly faded.
    """
    queues = (Queue("lab", service_received=500.0), Queue("team", "lab", service_received=0.0), Queue("new"))
    week = HALF_LIFE_SECONDS
    early, late = a_job("early", devices=2), a_job("late")
    arrivals = {
        "early": replace(early, job=replace(early.job, queue="lab")),
        "late": replace(late, job=replace(late.job, queue="team")),
    }
    placements = (TaskPlacement("worker", "n", 2, (0, 1)),)
    state = State(
        now=week,
        live={"late": JobState(running=Running((TaskPlacement("worker", "n", 1, (0,)),), week - 300.0))},
        ended={"early": JobState(finished=600.0, spans=(Span(0.0, 600.0, placements, 1.0),))},
    )
    lab, team, new = with_service(queues, arrivals, state, 0.0)
    assert team.service_received == pytest.approx(300.0, rel=1e-3)
    assert lab.service_received == pytest.approx(250.0 + 600.0 + 300.0, rel=1e-3)
    assert new.service_received is None


def test_queues_share_by_their_weights_over_a_long_line() -> None:
    """Weights 1 and 3, four devices, a line of forty jobs of two rounds each that all came at the beginning:
    while both lines last, shop has three devices of four."""
    template = a_history(devices=4).template
    queues = (Queue("lab", weight=1.0, service_received=0.0), Queue("shop", weight=3.0, service_received=0.0))
    arrivals = tuple(
        Arrival(
            replace(one.job, name=f"{queue.name}-{i:02}", queue=queue.name), one.work, one.checkpoint_seconds
        )
        for queue in queues
        for i in range(40)
        for one in [a_job(seconds=600.0)]
    )
    template = replace(template, queues=queues, policy=Policy(fairness_power=0.0))
    held = {"lab": 0, "shop": 0}

    def watch(record: RoundRecord) -> None:
        if 4 <= record.number < 20:
            for action in record.plan.actions:
                held[action.job.split("-")[0]] += bool(action.placements)

    play(History(template, arrivals, ()), policies.make("myopic"), Settings(most_rounds=20), on_round=watch)
    assert held["lab"] + held["shop"] == 16 * 4
    assert held["lab"] == pytest.approx(16, abs=2)


@pytest.mark.parametrize("load", [1, 2])
def test_a_gang_of_the_whole_node_starts_though_small_jobs_never_end(load: int) -> None:
    """Property P17: four devices, ``load`` jobs of one device and four rounds every round; the gang of four
    that comes in the fifth round starts within four rounds: it can stop them.
    """
    small = [a_job(f"s{k:03}", at=D * (k // load), seconds=4 * D) for k in range(60 * load)]
    gang = a_job("gang", at=5 * D, seconds=4 * D, devices=4)
    found = play(a_history(*small, gang, devices=4), policies.make("tracking"), Settings(most_rounds=60))
    first = next(report.first_start for report in job_reports(found) if report.name == "gang")
    assert first is not None
    assert first - 5 * D <= 4 * D


def test_what_a_stop_costs_is_told_under_the_policy_that_was_asked_for() -> None:
    """The tracking policy counts stops double for itself; its plans pass the verifier of the round as is."""
    stops = 0

    def watch(record: RoundRecord) -> None:
        nonlocal stops
        for action in record.plan.actions:
            stops += action.cost_by_term.get("switching", 0.0) < 0.0
        assert record.round.policy.switching_weight == Policy().switching_weight

    for seed in (16, 17, 18):
        play(histories.small(seed), policies.make("tracking"), on_round=watch)
    assert stops


def test_time_behind_the_gate_does_not_count() -> None:
    """b may start when a is done, at 400, and not before 300: it counts from 600 on."""
    later = a_job("b", seconds=60.0)
    gate = Gate(not_before=300.0, after_jobs=("a",))
    later = replace(later, job=replace(later.job, gate=gate))
    for policy in ("fifo", "myopic"):
        found = by(a_history(a_job("a", seconds=400.0), later, devices=2), policy)
        job = found.state.jobs["b"]
        assert (job.first_start, job.held_seconds, job.finished) == (600.0, 300.0, 660.0)
        assert job.fair.finish_age == 60.0
        assert job_reports(found)[1].rho == 1.0


def test_who_is_left_at_the_limit_is_said() -> None:
    found = play(a_history(a_job(seconds=1000.0), a_job("b")), policies.make("fifo"), Settings(most_rounds=2))
    figures = measure(found)
    assert (found.finished, figures.unfinished, figures.completion_mean, figures.rho) == (
        False,
        2,
        None,
        None,
    )
    assert figures.queueing_p99 == 2 * D


@pytest.mark.parametrize(
    ("lost", "ends_after"),
    [
        pytest.param(
            {"deadline": 600.0, "deadline_kind": DeadlineKind.STRICT}, 4, id="a strict deadline is lost"
        ),
        pytest.param({"component": Component((TaskGroup(count=2, allowed_counts=(2,)),))}, 4, id="too large"),
        pytest.param({"deadline": 600.0}, 6, id="a deadline that is only a target: it ends late"),
    ],
)
def test_who_can_never_start_is_not_waited_for(lost: dict[str, Any], ends_after: int) -> None:
    late = a_job("b")
    late = replace(late, job=replace(late.job, **lost))
    found = play(
        a_history(a_job(), late),
        policies.make("gangplan-deadline", policies.How(pipeline="greedy")),
        Settings(most_rounds=50),
    )
    assert found.state.totals.rounds == ends_after
    assert measure(found).unfinished == (0 if found.finished else 1)


def test_a_node_that_comes_back_is_waited_for() -> None:
    down = Failure("n", 0.0, 3000.0)
    late = a_job("b", seconds=10.0)
    never = replace(late, job=replace(late.job, deadline=5.0, deadline_kind=DeadlineKind.STRICT))
    found = play(
        a_history(never, failures=(down,)),
        policies.make("gangplan-deadline", policies.How(pipeline="greedy")),
        Settings(most_rounds=50),
    )
    assert found.state.totals.rounds == 11


def test_the_rounds_of_nobody_are_skipped_and_counted() -> None:
    seen: list[RoundRecord] = []
    found = play(
        a_history(a_job("a", seconds=10.0), a_job("b", at=3001.0, seconds=10.0)),
        policies.make("fifo"),
        on_round=seen.append,
    )
    assert [record.number for record in seen] == [0, 11]
    assert (found.state.totals.rounds, found.state.totals.skipped) == (12, 10)
    assert found.state.totals.capacity == 12 * D


def test_noise_is_the_same_for_everybody_and_within_its_bounds() -> None:
    arrivals = [a_job(f"j{i}") for i in range(200)]
    telling = Telling(Told.NOISY, noise=0.3, seed=1)
    factors = [(telling.work(arrival) or 0.0) / arrival.work for arrival in arrivals]
    assert factors == [(telling.work(arrival) or 0.0) / arrival.work for arrival in arrivals]
    assert 0.7 <= min(factors) < 0.75
    assert 1.25 < max(factors) <= 1.3
    assert telling.left(arrivals[0], 1e9) == 0.05 * (telling.work(arrivals[0]) or 0.0)


@pytest.mark.parametrize(
    ("history", "word"),
    [
        (lambda: a_history(a_job(), a_job()), "twice"),
        (lambda: a_history(replace(a_job(), work=0.0)), "no work"),
        (lambda: a_history(a_job(), failures=(Failure("x", 0.0, 1.0),)), "no node"),
        (lambda: a_history(a_job(), failures=(Failure("n", 1.0, 1.0),)), "ends before"),
        (lambda: histories.named("S/1"), "is none of small"),
        (lambda: histories.large("Q"), "not one of"),
        (lambda: policies.make("nobody"), "there are: .*, fifo"),
    ],
)
def test_what_cannot_be_played_is_refused(history: object, word: str) -> None:
    assert callable(history)
    with pytest.raises(InvalidInputError, match=word):
        history()


def test_a_large_history_has_the_load_that_it_says() -> None:
    for load in (0.9, 1.1):
        history = histories.large("S", load=load, rounds=100, seed=3)
        speed = {"gen4": 1.0, "gen3": 0.55, "gen2": 0.32, "gen1": 0.16}
        power = sum(n.device_count * speed[str(n.accelerator_type)] for n in history.template.cluster.nodes)
        assert all(0 <= (a.job.submit_time or 0) - history.template.now <= 100 * D for a in history.arrivals)
        by_name = {p.name: p.throughput for p in history.template.profiles}
        asked = 0.0
        for arrival in history.arrivals:
            count = arrival.job.component.task_groups[0].count
            cells = by_name[arrival.job.name].items()
            best = max(x for (_, tasks, _), x in cells if tasks == count)
            asked += count * arrival.work / best
        assert asked / (power * 100 * D) == pytest.approx(load, rel=0.1)


def test_small_histories_have_what_policies_can_be_told_apart_by() -> None:
    found = [histories.small(seed) for seed in range(200)]
    assert all(2 <= len(h.template.cluster.nodes) <= 4 and 5 <= len(h.arrivals) <= 15 for h in found)
    jobs = [arrival for history in found for arrival in history.arrivals]
    gangs = sum(arrival.job.component.task_groups[0].count > 1 for arrival in jobs)
    assert 0.5 < gangs / len(jobs) < 0.9
    assert 0.25 < sum(arrival.job.deadline is not None for arrival in jobs) / len(jobs) < 0.4


def test_percentile_and_jain() -> None:
    assert [percentile([3.0, 1.0, 2.0, 4.0], share) for share in (0.5, 0.75, 0.99, 0.0)] == [
        2.0,
        3.0,
        4.0,
        1.0,
    ]
    assert percentile([], 0.5) is None
    assert jain([2.0, 2.0]) == 1.0
    assert jain([1.0, 0.0]) == 0.5
    assert jain([0.0]) is None


SCENARIO = """\
gangplan: scenario/v1
settings: {round: 5m, horizon: 30m}
accelerators: {A: 1.0}
nodes: [{name: n, type: A, gpus: 2}]
jobs:
  - {name: "j-{}", count: 3, every: 10m, arrives: 1m, gpus: 1, work: 7m, checkpoint_every: 2m}
  - {name: old, age: 1h, gpus: 1, work: 20m, done: 10m,
     running: {where: {n: [0]}, since: 30m, checkpoint: 1m}}
simulation: {checkpoint_every: 3m, failures: [{node: n, at: 2h, lasts: 5m}]}
"""


def test_a_scenario_is_a_history() -> None:
    scenario = loads(SCENARIO)
    found = history(scenario)
    start = found.template.now
    jobs = {arrival.job.name: arrival for arrival in found.arrivals}
    assert [(a.job.submit_time or 0) - start for a in found.arrivals] == [60.0, 660.0, 1260.0, -3600.0]
    assert (jobs["j-1"].checkpoint_seconds, jobs["old"].checkpoint_seconds) == (120.0, 180.0)
    assert (jobs["old"].work, jobs["old"].job.work_done) == (1800.0, 600.0)
    assert found.failures == (Failure("n", start + 7200.0, start + 7500.0),)
    assert [len(expand(scenario, at=0).jobs), len(found.template.jobs)] == [1, 0]
    played = by(found)
    assert played.finished
    assert (played.state.jobs["old"].finished or 0) - start == 1200.0
    assert played.state.jobs["old"].attended.forced == 0


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("work: 7m, ", "", "work"),
        ("node: n,", "node: m,", "no node is named 'm'"),
        ("age: 1h", "age: 1h, every: 1m", "`age`"),
    ],
)
def test_a_scenario_that_cannot_be_played_says_why(old: str, new: str, word: str) -> None:
    with pytest.raises(ScenarioError, match=word):
        history(loads(SCENARIO.replace(old, new)))


def test_two_that_outlive_what_is_predicted_do_not_take_turns_for_ever() -> None:
    """What is expected of a job grows while it runs on, so that the other one is always the shorter."""
    past = Predictor().learned([Ran(traits_of(a_job().job), 10.0)] * 20)
    jobs = [a_job(name, seconds=40 * D, restart=60.0) for name in ("a", "b")]
    found = play(
        a_history(*jobs, devices=1),
        policies.make("shortest-remaining"),
        Settings(Telling(Told.PREDICTED), 400, past),
    )
    assert found.finished
    assert sum(job.attended.evictions for job in found.state.jobs.values()) < 20


def test_fragmentation_is_what_is_free_and_too_small_by_hand() -> None:
    """Two nodes of 4; a has 3 devices of one for 900 s, b 4 for 300 s. Blocks: 3 and 4, once each.

    From 0 to 300 one device is free beside a, of use to neither: 1. From 300 to 900 b's 4 are free, of use to
    both, and the one beside a: 1. In all 900 of 8 x 900 device-seconds: 1/8. At 2 and 4 units for an hour of
    the device it costs 3 x 900 / 3600 x 2 = 1.5 if a is on the type of price 2 and b's 4 x 300 / 3600 x 4.
    """
    template = Round(
        now=0.0,
        round_seconds=D,
        cluster=Cluster(
            nodes=(
                Node("m", accelerator_type="A", device_count=4),
                Node("n", accelerator_type="B", device_count=4),
            )
        ),
        accelerators=(
            AcceleratorType("A", 1.0, price_micros_per_hour=2),
            AcceleratorType("B", 1.0, price_micros_per_hour=4),
        ),
    )
    arrivals = []
    for arrival, kind in (
        (a_job("a", seconds=900.0, devices=3), "A"),
        (a_job("b", seconds=300.0, devices=4), "B"),
    ):
        group = replace(arrival.job.component.task_groups[0], accelerator_types=(kind,))
        arrivals.append(replace(arrival, job=replace(arrival.job, component=Component((group,)))))
    figures = measure(by(History(template, tuple(arrivals))))
    assert figures.fragmentation == pytest.approx(1 / 8)
    assert figures.cost_micros == pytest.approx(3 * 900 / 3600 * 2 + 4 * 300 / 3600 * 4)
    assert measure(by(a_history(a_job()))).cost_micros is None


def test_interactive_jobs_start_in_time_or_not() -> None:
    def shell(name: str, at: float) -> Arrival:
        arrival = a_job(name, at=at, seconds=600.0)
        return replace(arrival, job=replace(arrival.job, interactive=Interactive(start_within_seconds=D)))

    played = play(a_history(shell("a", 0.0), shell("b", 0.0), a_job("c")), policies.make("fifo"))
    soon = measure(played).time_to_start
    assert soon == TimeToStart(jobs=2, started=2, in_time=1, mean_seconds=300.0)
    assert measure(play(a_history(a_job()), policies.make("fifo"))).time_to_start is None
