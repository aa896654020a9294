"""The formulations of a round: small ones solved by hand, and whatever the verifier may see."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from gangplan.bench import others
from gangplan.bench.formulations.catalogue import FORMULATIONS, run
from gangplan.bench.formulations.partition import deal, part_of, partitioned
from gangplan.bench.formulations.rival import Limits
from gangplan.bench.formulations.rows import compare, row_of
from gangplan.bench.formulations.type_capacity import formulate_type_capacity
from gangplan.bench.runs import Row, Run, Status
from gangplan.domain.job import Capabilities, Job
from gangplan.domain.round import Round
from gangplan.errors import UnknownSolverError
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import build_layout
from gangplan.model.instance.instance import build_instance
from gangplan.model.program import Program, SolveParameters
from gangplan.planning.generate import generate_named
from gangplan.testing.builders import at, group, job, node, round_of, topology
from gangplan.testing.strategies import rounds
from gangplan_solvers import catalog

LIMITS = Limits(time_limit_seconds=None)
PLANNED = {Status.OPTIMAL.value, Status.FEASIBLE.value}


def rows_of(round_: Round, names: tuple[str, ...] = tuple(FORMULATIONS)) -> dict[str, Row]:
    rows = compare([run(round_, name, "highs", LIMITS) for name in names])
    return dict(zip(names, rows, strict=True))


def on_one_node(name: str, devices: int, **fields) -> Job:
    return job(name, group(gpus=devices), **fields)


def optimum(program: Program) -> float:
    solution = catalog.usable("highs").solve(program, SolveParameters())
    assert solution.objective is not None
    return solution.objective


@given(rounds())
def test_every_plan_passes_the_verifier_and_no_bound_is_below_one(round_):
    rows = rows_of(round_)
    for name, row in rows.items():
        assert row["status"] in PLANNED, (name, row["violation"], row["detail"])
        assert row["gap"] >= -1e-6
    best = rows["pipeline"]["best_bound"]
    assert rows["type-capacity"]["bound"] >= rows["full"]["programme_objective"] - 1e-6 * max(1, abs(best))


@given(rounds("tiny"))
def test_one_part_is_the_whole_programme(round_):
    instance = build_instance(round_)
    whole = optimum(formulate(build_layout(instance)))
    answer = partitioned(1)(instance, "highs", LIMITS)
    assert answer.objective == pytest.approx(whole, rel=1e-6, abs=1e-6)


@given(rounds())
def test_parts_together_are_worth_at_most_the_whole(round_):
    instance = build_instance(round_)
    whole = optimum(formulate(build_layout(instance)))
    for seed in range(3):
        answer = partitioned(3)(instance, "highs", replace(LIMITS, seed=seed))
        assert answer.objective <= whole + 1e-6 * max(1.0, abs(whole))


def test_capacity_by_type_promises_what_nodes_cannot_hold():
    # Three nodes of 4: twelve devices take four jobs of 3 by number, and three by node.
    round_ = round_of([node(name, "H100", 4) for name in "abc"], [on_one_node(f"j{i}", 3) for i in range(4)])
    rows = rows_of(round_)
    assert rows["type-capacity"]["programme_objective"] == pytest.approx(12.0)
    assert rows["type-capacity"]["bound"] == pytest.approx(12.0)
    assert rows["type-capacity"]["objective"] == pytest.approx(9.0)
    assert rows["type-capacity"]["objective_before_refill"] == pytest.approx(9.0)
    assert (rows["type-capacity"]["unbound_gangs"], rows["type-capacity"]["unbound_devices"]) == (1, 3)
    assert rows["full"]["programme_objective"] == rows["full"]["objective"] == pytest.approx(9.0)
    assert rows["full"]["status"] == rows["type-capacity"]["status"] == Status.OPTIMAL.value
    assert rows["full"]["best_bound"] == pytest.approx(9.0)


def test_refill_uses_what_a_failed_gang_left():
    # By number 5 + 5 + 2 fill two nodes of 6; 5, 5 and the waiting 1s would fit, 5, 5, 2 do not.
    cluster = [node("a", "H100", 6), node("b", "H100", 6)]
    jobs = [
        on_one_node("first", 5, weight=2.0),
        on_one_node("second", 5, weight=2.0),
        on_one_node("pair", 2),
        on_one_node("one", 1, weight=0.5),
        on_one_node("other", 1, weight=0.5),
    ]
    rows = rows_of(round_of(cluster, jobs), ("type-capacity", "full"))
    row = rows["type-capacity"]
    assert (row["unbound_gangs"], row["unbound_devices"]) == (1, 2)
    assert row["programme_objective"] > row["objective"] > row["objective_before_refill"]
    assert row["objective"] == pytest.approx(rows["full"]["objective"])


def test_density_prefers_the_small_job_and_loses_the_large_one():
    # One node of 4. The job of 1 is worth 1.5 a device, that of 4 is worth 1: 1.5 against 4.
    round_ = round_of([node("a", "H100", 4)], [on_one_node("small", 1, weight=1.5), on_one_node("large", 4)])
    rows = rows_of(round_)
    values = {name: row["objective"] for name, row in rows.items()}
    small, large = values["density-keep"], values["full"]
    assert small == values["density-empty"]
    assert large == values["pipeline"] == values["type-capacity"]
    assert values["pop"] in (small, large)
    assert large / small == pytest.approx(4.0 / 1.5)


def test_placing_anew_is_charged_for_moves_and_keeping_is_not():
    cluster = [node("a", "H100", 2), node("b", "H100", 2)]
    jobs = [job("waits", gpus=1), job("runs", gpus=1, running=at("b", [0]))]
    rows = rows_of(round_of(cluster, jobs))
    assert rows["density-keep"]["actions"] == {"PLACE": 1, "KEEP": 1}
    assert rows["density-empty"]["actions"] == {"MIGRATE": 1, "PLACE": 1}
    assert rows["density-empty"]["objective"] < rows["density-keep"]["objective"] == rows["full"]["objective"]


def test_value_per_device_looks_at_no_cost_of_stopping():
    # The waiting job is worth half as much again, but an hour of the running one's work is not saved.
    capable = Capabilities(pausable=True, movable=True)
    runs = job("runs", gpus=1, running=at("a", [0]), checkpoint_age=3600.0, capabilities=capable)
    rows = rows_of(round_of([node("a", "H100", 1)], [runs, job("waits", gpus=1, weight=1.5)]))
    assert rows["density-empty"]["actions"] == {"EVICT": 1, "PLACE": 1}
    assert rows["full"]["actions"] == {"KEEP": 1}
    assert rows["density-empty"]["objective"] < rows["full"]["objective"]


def test_who_must_run_is_put_back_where_its_new_configuration_has_no_node():
    # By number, x (4) and r with 3 instead of 2 fill the 7 devices; x takes r's node, and no other has 3.
    cluster = [node("a", "H100", 4), node("b", "H100", 2), node("c", "H100", 1)]
    runs = job(
        "r",
        group(count=2, counts=(2, 3)),
        running=at("a", [0, 1]),
        required="node",
        checkpoint_age=0.0,
        weight=5.0,
        restart_seconds=0.0,
        capabilities=Capabilities(pausable=False, movable=True, resizable=True),
    )
    row = rows_of(round_of(cluster, [runs, on_one_node("x", 4)]))["type-capacity"]
    assert row["status"] in PLANNED
    assert row["actions"] == {"KEEP": 1}
    assert (row["unbound_gangs"], row["unbound_devices"]) == (2, 7)


def test_a_part_chooses_for_its_members_only():
    # Four alike jobs of one task or two, with devices for all: a part promises two for each of its own.
    alike = [job(f"j{i}", group(count=1, counts=(1, 2))) for i in range(4)]
    cluster = [node(name, "H100", 8, domain=f"r{name}") for name in "ab"]
    instance = build_instance(round_of(cluster, alike, topology=topology("rack", ra="rack", rb="rack")))
    assert len(instance.classes) == 1
    answer = partitioned(2)(instance, "highs", LIMITS)
    assert answer.objective == pytest.approx(optimum(formulate(build_layout(instance))))


def test_a_part_has_its_racks_its_jobs_and_its_share_of_a_limit():
    names = "abcdefgh"
    tree = topology("rack", **{f"r{i}": "rack" for i in range(4)})
    cluster = [node(name, "H100", 4, domain=f"r{i // 2}") for i, name in enumerate(names)]
    jobs = [on_one_node(f"j{i}", 2) for i in range(12)]
    instance = build_instance(round_of(cluster, jobs, topology=tree))
    dealt = deal(instance, 4, np.random.default_rng(0))
    assert sorted(dealt.of_pool.tolist()) == [0, 1, 2, 3]
    assert dealt.members.sum() == 12
    layout = build_layout(instance)
    program = formulate(layout)
    promised = [optimum(part_of(layout, program, dealt, p)[1]) for p in range(4)]
    # A rack of two nodes of 4 holds four jobs of 2.
    assert promised == pytest.approx([2.0 * min(4, n) for n in dealt.members.sum(axis=0)])


def test_a_gang_over_two_parts_is_pinned_and_parts_share_what_is_left():
    tree = topology("rack", r0="rack", r1="rack")
    cluster = [node("a", "H100", 4, domain="r0"), node("b", "H100", 4, domain="r1")]
    wide = job("wide", gpus=4, running=(at("a", [0, 1]), at("b", [0, 1])))
    jobs = [wide, *(on_one_node(f"j{i}", 2, weight=9.0) for i in range(6))]
    instance = build_instance(round_of(cluster, jobs, topology=tree))
    dealt = deal(instance, 2, np.random.default_rng(0))
    assert len(dealt.pinned) == 1
    answer = partitioned(2)(instance, "highs", LIMITS)
    row = row_of(instance.round, "pop", answer)
    assert row["status"] in PLANNED
    assert row["actions"] == {"PLACE": 2, "KEEP": 1}
    assert row["pinned_jobs"] == 1


def test_the_programme_without_nodes_has_one_row_for_each_type():
    layout = build_layout(build_instance(generate_named("S/steady/50/seed0")))
    program = formulate_type_capacity(layout)
    by_name = {family.name: family.stop - family.start for family in program.row_families}
    assert by_name["type_capacity"] == len({n.accelerator_type for n in layout.instance.nodes.nodes})
    assert by_name["structure"] == len(layout.instance.classes)


@pytest.mark.parametrize("name", ["S/steady/50/seed0", "S/steady/85/seed1", "S/random/50/seed2"])
def test_generated_rounds(name):
    rows = rows_of(generate_named(name))
    assert {row["status"] for row in rows.values()} <= PLANNED
    assert rows["full"]["status"] == Status.OPTIMAL.value
    assert rows["density-keep"]["gap"] >= rows["full"]["gap"]


def test_a_lying_answer_is_wrong():
    round_ = round_of([node("a", "H100", 1)], [on_one_node("j", 1)])
    answer = FORMULATIONS["full"](build_instance(round_), "highs", LIMITS)
    low = row_of(round_, "full", replace(answer, bound=0.25))
    assert low["status"] == Status.WRONG.value
    other = round_of([node("a", "H100", 0)], [on_one_node("j", 1)])
    assert row_of(other, "full", answer)["status"] == Status.WRONG.value
    nothing = row_of(round_, "full", replace(answer, plan=None))
    assert (nothing["status"], nothing["objective"]) == (Status.NO_SOLUTION.value, None)


def test_rows_of_runs():
    task = Run("formulations", "formulations", "S/steady/50/seed0", who="type-capacity", time_limit_s=20.0)
    [row] = others.measure(task)
    assert row["status"] in PLANNED
    assert row["solver_taken"] == "highs"
    with pytest.raises(UnknownSolverError, match="no-such-solver"):
        others.measure(replace(task, solver="no-such-solver"))
    with pytest.raises(KeyError, match="best"):
        others.measure(replace(task, who="best"))
