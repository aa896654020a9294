"""The wire as it stands in files that older releases wrote: each must go on meaning the same."""

from __future__ import annotations

import json
from pathlib import Path

from google.protobuf import json_format

from gangplan.domain.cluster import (
    AcceleratorType,
    Cluster,
    DeviceReporting,
    Node,
    NodeHealth,
    OtherUse,
    Resources,
    Taint,
    TaintEffect,
    Toleration,
)
from gangplan.domain.job import (
    Capabilities,
    Component,
    DeadlineKind,
    Gate,
    Interactive,
    Job,
    Running,
    TaskGroup,
    TaskPlacement,
    TaskSplit,
    ThroughputProfile,
)
from gangplan.domain.outlook import FreeBlocks, JobOutlook, Outlook, Reservation, StartErrors
from gangplan.domain.plan import (
    Action,
    ActionKind,
    Claim,
    ForcedReason,
    Notice,
    Plan,
    Precondition,
    Quality,
    RoundResult,
    Stage,
    TerminationLimit,
    TerminationReason,
    TierQuality,
    Verdict,
    VerdictKind,
)
from gangplan.domain.policy import FairnessForm, Policy, Tier
from gangplan.domain.quantiles import Quantiles
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.domain.topology import Domain, Topology
from gangplan.engine.parameters import PlanParameters
from gangplan.service.files import load_answer, load_round
from gangplan.service.wire import read_result, write_result, write_round

DATA = Path(__file__).parent / "data"
GIB = 2**30
NOW = 1_767_225_600.0
"""2026-01-01T00:00:00Z."""

OUTLOOK = Outlook(
    made_at=NOW - 300.0,
    round_seconds=300.0,
    jobs=(
        JobOutlook("gone", 1.0),
        JobOutlook("train", 0.5, 0.25, 12.5, NOW - 300.0, NOW + 900.5, 1.75),
        JobOutlook(
            "wait",
            1.0,
            estimated_start=NOW,
            estimated_start_by=NOW + 60.5,
            told_at=NOW - 600.0,
            told_seconds=450.0,
        ),
    ),
    reservations=(
        Reservation("train", "r1", NOW + 600.0, NOW + 1200.0, 60.5),
        Reservation("wait", None, NOW, NOW),
    ),
    relaxed=("places within a domain",),
    start_errors=(StartErrors("0", ()), StartErrors("8", (0.5, 2.25))),
    free_blocks=(
        FreeBlocks("H100-80GB", 8, number=2, worth=4.5, arrivals=1.5),
        FreeBlocks("H100-80GB", 8, 4, "rack", 1, 12.0, 0.25),
    ),
    watched_seconds=5400.0,
)

TRAINER = Component(
    (
        TaskGroup(
            name="trainer",
            count=4,
            allowed_counts=(2, 4, 6),
            devices_per_task=2,
            resources_per_task=Resources(8_000, 64 * GIB),
            accelerator_types=("H100-80GB", "A100-40GB"),
            profile="resnet",
            split=TaskSplit.WHOLE_NODES,
            node_selector={"zone": "a"},
            tolerations=(
                Toleration("dedicated", "ml", TaintEffect.NO_SCHEDULE),
                Toleration("flaky"),
                Toleration(effect=TaintEffect.NO_EXECUTE),
            ),
        ),
        TaskGroup(name="leader", devices_per_task=0, resources_per_task=Resources(2_000, 4 * GIB)),
    ),
    required_level="spine",
    preferred_level="rack",
)

EVERYTHING = Round(
    now=NOW,
    round_seconds=300.0,
    horizon_seconds=1800.5,
    cluster=Cluster(
        Topology(
            ("spine", "rack"),
            (Domain("s0", "spine"), Domain("r0", "rack", "s0"), Domain("r1", "rack")),
        ),
        (
            Node(
                name="n0",
                domain="r0",
                accelerator_type="H100-80GB",
                device_count=8,
                resources=Resources(96_000, 1024 * GIB),
                unhealthy_devices=frozenset({7}),
                unhealthy_device_count=1,
                labels={"zone": "a", "empty": ""},
                taints=(Taint("dedicated", "ml"), Taint("flaky", effect=TaintEffect.NO_EXECUTE)),
                drain_time=NOW + 86_400,
                used_by_others=OtherUse(frozenset({6}), 1, Resources(1_000, GIB)),
                revision="41",
            ),
            Node(
                name="n1",
                domain="r1",
                accelerator_type="A100-40GB",
                device_count=8,
                resources=Resources(64_000, 512 * GIB),
                device_reporting=DeviceReporting.COUNT_ONLY,
                unhealthy_device_count=2,
                used_by_others=OtherUse(device_count=3),
                cordoned=True,
            ),
            Node("n2", resources=Resources(32_000, 128 * GIB), health=NodeHealth.UNHEALTHY),
        ),
    ),
    accelerators=(
        AcceleratorType("H100-80GB", price_micros_per_hour=2_950_000),
        AcceleratorType("A100-40GB", 0.35),
    ),
    queues=(
        Queue("lab", device_limit=64, device_guarantee=16),
        Queue("vision", "lab", 0, {"A100-40GB": 8, "H100-80GB": 0}, weight=2.5, service_received=1e6),
    ),
    jobs=(
        Job(
            name="train",
            component=TRAINER,
            queue="vision",
            weight=2.5,
            priority=-1,
            submit_time=NOW - 7200.25,
            work_done=1000.0,
            work_left=5000.5,
            fair_progress=800.0,
            fair_finish_age=3600.0,
            deadline=NOW + 7200,
            deadline_kind=DeadlineKind.SOFT,
            deadline_decay_seconds=1800.0,
            restart_seconds=90.0,
            checkpoint_seconds=45.0,
            capabilities=Capabilities(pausable=False, movable=True, resizable=False),
            running=Running(
                (
                    TaskPlacement("leader", "n2", 1),
                    TaskPlacement("trainer", "n0", 3, (0, 1, 2, 3, 4, 5)),
                    TaskPlacement("trainer", "n1", 1),
                ),
                started_at=NOW - 3600,
                checkpoint_age_seconds=120.0,
                next_safe_point=NOW + 60,
                minimum_run_until=NOW - 1800,
                stopping=True,
            ),
            gate=Gate(not_before=NOW - 7000, after_jobs=("prepare",), held_seconds=60.0),
            disrupted_at=(NOW - 3000,),
            revision="7",
            service_received_device_seconds=4_800.0,
            user="ada",
            interactive=Interactive(90.0, 3600.0, NOW - 30),
        ),
        Job("wait", gate=Gate(held=True), left_quantiles=Quantiles((0.25, 0.75), (60.0, 600.0))),
    ),
    profiles=(
        ThroughputProfile(
            "resnet",
            {("H100-80GB", 4, "node"): 3.5, ("H100-80GB", 4, "cluster"): 3.25, ("A100-40GB", 2, "rack"): 0.0},
        ),
    ),
    policy=Policy(
        promise_after_seconds=1800.0,
        promise_quantile=0.9,
        longest_run_seconds=86_400.0,
        size_exponent=0.9,
        fairness_power=1.5,
        fairness_forms={FairnessForm.LOG: 1.0},
        queue_fairness_power=0.5,
        fairness_quantile=0.25,
        service_quantiles=Quantiles((0.5, 0.9), (3_600.0, 40_000.0)),
        priority_weights={-1: 0.5, 3: 4.0},
        deadline_weight=0.75,
        deadline_urgency=1.25,
        deadline_quantile=0.875,
        locality_weight=0.2,
        switching_weight=1.25,
        cost_weight=2e-7,
        tracking_weight=0.875,
        makespan_weight=3.5,
        fragmentation_weight=2.5,
        residual_weight=0.375,
        interactive_weight=1.75,
        headroom={"A100-40GB": 4, "H100-80GB": 0},
        disruption_limit=0,
        minimum_run_seconds=600.0,
        disruption_limit_per_job_hour=2,
        hysteresis=0.125,
        reference_host=Resources(12_000, 128 * GIB),
        tiers=(Tier((3, 5), 0.125), Tier((-1,))),
    ),
    outlook=OUTLOOK,
    claims=(Claim("wait", (TaskPlacement("worker", "n0", 1, (5,)),), NOW + 300, ("gone",)),),
    reservations=(
        Reservation("wait", None, NOW + 900, NOW + 4500, None, (TaskPlacement("worker", "n0", 1, (4,)),)),
        Reservation("gone", "rack-0", NOW + 600, NOW + 1200, 60.0),
    ),
)

PARAMETERS = PlanParameters("round-1", 2.5, "full", "highs", 7, 1e-4, 1000, 2, look_ahead_share=0.25)

ANSWER = RoundResult(
    plan=Plan(
        (
            Action(
                id="a0",
                kind=ActionKind.EVICT,
                job="train",
                depends_on=(),
                forced=ForcedReason.NODE_UNHEALTHY,
                cost_by_term={"switching": -0.5},
                preconditions=(Precondition("job", "train", "7"), Precondition("node", "n0", "41")),
            ),
            Action(
                id="a1",
                kind=ActionKind.PLACE,
                job="wait",
                placements=(TaskPlacement("worker", "n0", 1, (0,)),),
                scope="node",
                throughput=1.0,
                depends_on=("a0",),
                beneficiaries=(),
                cost_by_term={"throughput": 1.0, "fairness": 0.25},
                not_before=NOW + 45.5,
            ),
        ),
        (Claim("wait", (TaskPlacement("worker", "n0", 1, (0,)),), NOW + 645.5, ("a0",)),),
        (1.5, 0.0),
        {"lab": 16.0},
    ),
    verdicts=(
        Verdict(
            "train",
            VerdictKind.HELD_BY_POLICY,
            "QUEUE_LIMIT",
            "queue 'vision' may hold 0 devices",
            "devices",
            "rack",
            8,
            0.5,
            NOW + 600.5,
        ),
    ),
    notices=(Notice("DEADLINE_PASSED", "jobs[0].deadline", "the deadline has passed"),),
    quality=Quality(
        0.75,
        1.0,
        0.25,
        0.25,
        0.5,
        0.5,
        {"fairness": 0.25, "switching": -0.5, "throughput": 1.0},
        (TierQuality(2.0, 2.0, 2.5, 1.5),),
        TierQuality(16.0, 16.0, 16.0, 16.0),
    ),
    reason=TerminationReason.FEASIBLE,
    limit=TerminationLimit.TIME,
    detail="the solver was stopped",
    stages=(Stage("keep_and_fill", 0.01, 0.5, 2.0), Stage("greedy", 0.02, None, None)),
    seconds_by_phase={"build": 0.125, "solve": 1.5},
    pipeline="full",
    solver="highs 1.16.0",
    statistics={"columns": 12.0, "rows": 7.0},
    seed=7,
    outlook=OUTLOOK,
)


def test_the_golden_request_means_what_it_meant() -> None:
    assert load_round(DATA / "everything.json") == (EVERYTHING, PARAMETERS)


def test_the_golden_request_is_written_as_it_was() -> None:
    written = json_format.MessageToDict(write_round(EVERYTHING, PARAMETERS))
    assert written == json.loads((DATA / "everything.json").read_text())


def test_the_golden_answer_means_what_it_meant() -> None:
    assert read_result(load_answer(DATA / "answer.json")) == ANSWER


def test_the_golden_answer_is_written_as_it_was() -> None:
    written = json_format.MessageToDict(write_result(ANSWER, "round-1", "gangplan 0.1.0"))
    assert written == json.loads((DATA / "answer.json").read_text())


def test_the_golden_round_in_classes_means_the_same() -> None:
    """A hand-written file: classes, ranges and defaults in place of everything written out."""
    node = Node("", accelerator_type="H100-80GB", device_count=8, resources=Resources(96_000, 1024 * GIB))
    group = TaskGroup(count=4, allowed_counts=(2, 4, 6), devices_per_task=1)
    names = ("n0", "n1", "n2")
    assert load_round(DATA / "classes.yaml") == (
        Round(
            now=NOW,
            round_seconds=7200.0,
            horizon_seconds=7200.0,
            cluster=Cluster(
                nodes=tuple(
                    Node(
                        name,
                        accelerator_type=node.accelerator_type,
                        device_count=node.device_count,
                        resources=node.resources,
                        revision=revision,
                    )
                    for name, revision in zip(names, ("4", "", "6"), strict=True)
                )
            ),
            accelerators=(AcceleratorType("H100-80GB"),),
            jobs=tuple(Job(name, Component((group,)), submit_time=NOW - 60) for name in ("j0", "j1")),
        ),
        PlanParameters(),
    )
