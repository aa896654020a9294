"""Verdicts are true: NEVER_FITS and NO_FIT_NOW are proofs, and what is said to be short is short."""

from __future__ import annotations

import pytest

from gangplan.domain.job import Capabilities, TaskSplit
from gangplan.domain.plan import Claim, Verdict, VerdictKind
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.testing.builders import GIB, at, group, job, node, round_of, topology


def verdicts(round_: Round) -> dict[str, Verdict]:
    result = plan_round(round_, PlanParameters(time_budget_seconds=30.0))
    return {verdict.job: verdict for verdict in result.verdicts}


@pytest.mark.parametrize(
    ("nodes", "wanted", "levels"),
    [
        pytest.param(
            [node("a", "A100", 4), node("b", "H100", 8, cordoned=True)],
            job("j", group(gpus=8, types=("A100", "H100"))),
            (),
            id="on another type",
        ),
        pytest.param(
            [
                *(node(f"small-{i}", "H100", 4) for i in range(2)),
                *(node(f"large-{i}", "H100", 8, cordoned=True) for i in range(2)),
            ],
            job("j", group(count=16, split=TaskSplit.WHOLE_NODES)),
            (),
            id="on whole nodes of another size",
        ),
        pytest.param(
            [
                node("a", "H100", 4),
                *(node(f"b{i}", "H100", 8, domain="r", drain_time=0.0) for i in range(2)),
            ],
            job("j", group(count=16), required="rack"),
            ("rack",),
            id="on a level that no open node has",
        ),
    ],
)
def test_what_fits_only_on_closed_nodes_fits_another_day(nodes, wanted, levels):
    domains = {"r": "rack"} if levels else {}
    verdict = verdicts(round_of(nodes, [wanted], topology=topology(*levels, **domains)))["j"]
    assert (verdict.kind, verdict.code) == (VerdictKind.NO_FIT_NOW, "NODES_CLOSED")


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param([node("a", "H100", 4), node("b", "H100", 8, cordoned=True)], id="another is open"),
        pytest.param([node("b", "H100", 8, cordoned=True)], id="none is open"),
    ],
)
@pytest.mark.parametrize("devices", [0, 8])
def test_a_claim_on_a_closed_node_is_no_proof_that_nothing_fits(nodes, devices):
    """With the node open the claim would be in force, and who has it the one that runs there."""
    wanted = job("j", group(gpus=devices, cpu=1))
    claim = Claim("j", (at("b", range(devices)),), 1_060.0)
    found = verdicts(round_of(nodes, [wanted], now=1_000.0, claims=(claim,)))
    if devices or len(nodes) == 1:
        assert (found["j"].kind, found["j"].code) == (VerdictKind.NO_FIT_NOW, "NODES_CLOSED")
    else:
        assert found == {}


def test_what_is_too_large_even_with_all_nodes_open_never_fits():
    nodes = [node("a", "H100", 4), node("b", "H100", 8, cordoned=True)]
    verdict = verdicts(round_of(nodes, [job("j", group(gpus=16))]))["j"]
    assert (verdict.kind, verdict.code) == (VerdictKind.NEVER_FITS, "TASK_LARGER_THAN_ANY_NODE")
    assert verdict.shortfall == 8


def test_what_may_be_moved_is_no_proof_that_nothing_fits():
    """``big`` fits once ``movable`` goes to the other node, which is not worth its lost work."""
    running = {"running": at("a", range(4)), "checkpoint_age": 1e9}
    jobs = [
        job("movable", gpus=4, capabilities=Capabilities(pausable=False), **running),
        job("big", gpus=8, required="node"),
    ]
    verdict = verdicts(round_of([node("a", "H100", 8), node("b", "H100", 4)], jobs))["big"]
    assert (verdict.kind, verdict.code) == (VerdictKind.NOT_CHOSEN, "WORTH_LESS")
    jobs[0] = job("fixed", gpus=4, capabilities=Capabilities(pausable=False, movable=False), **running)
    verdict = verdicts(round_of([node("a", "H100", 8), node("b", "H100", 4)], jobs))["big"]
    assert (verdict.kind, verdict.code) == (VerdictKind.NO_FIT_NOW, "CAPACITY_HELD")
    assert verdict.shortfall == 4


def test_what_may_shrink_in_place_is_no_proof_either():
    """One device is free once ``elastic`` gives up one of its two tasks."""
    stays = Capabilities(pausable=False, movable=False)
    elastic = job("elastic", group(count=2, counts=(1, 2)), capabilities=stays, running=at("a", range(2)))
    verdict = verdicts(round_of([node("a", "H100", 2)], [elastic, job("j", weight=0.1)]))["j"]
    assert verdict.kind is VerdictKind.NOT_CHOSEN


@pytest.mark.parametrize(
    ("where", "other", "waits", "resource", "shortfall", "message"),
    [
        pytest.param(
            node("a", "H100", 8, cpu=8),
            group(count=4, gpus=0, cpu=1),
            group(count=8, cpu=1),
            "cpu",
            4_000,
            "4 of 8 tasks fit in the cluster beside jobs that are worth more; short of 4,000 milli-CPU",
            id="cpu, with all devices free",
        ),
        pytest.param(
            node("a", memory=8),
            group(gpus=0, memory=6),
            group(gpus=0, memory=6),
            "memory",
            4 * GIB,
            "no node has room for it beside jobs that are worth more; short of 4,294,967,296 bytes",
            id="memory",
        ),
        pytest.param(
            node("a", "H100", 8),
            group(count=3),
            group(gpus=8),
            "devices",
            3,
            "no node has room for it beside jobs that are worth more; short of 3 devices",
            id="devices",
        ),
    ],
)
def test_the_resource_that_is_short_is_named(where, other, waits, resource, shortfall, message):
    round_ = round_of([where], [job("other", other, weight=100.0), job("waits", waits)])
    verdict = verdicts(round_)["waits"]
    assert (verdict.resource, verdict.shortfall, verdict.message) == (resource, shortfall, message)
