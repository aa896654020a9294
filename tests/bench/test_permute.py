"""Permuted input is the same input."""

import numpy as np
import pytest

from gangplan.bench.permute import permute_program, permute_round
from gangplan.model.formulation.formulate import formulate
from gangplan.model.formulation.layout import build_layout
from gangplan.model.instance.instance import build_instance
from gangplan.model.program import Program
from gangplan.planning.generate import generate_named


@pytest.fixture(scope="module")
def program() -> Program:
    return formulate(build_layout(build_instance(generate_named("S/steady/50/seed0"))))


def test_a_round_s_lists_have_another_order_and_the_same_members() -> None:
    round_ = generate_named("S/steady/50/seed0")
    other = permute_round(round_, 1)
    assert other.jobs != round_.jobs
    assert sorted(other.jobs, key=lambda job: job.name) == sorted(round_.jobs, key=lambda job: job.name)
    assert sorted(n.name for n in other.cluster.nodes) == sorted(n.name for n in round_.cluster.nodes)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_programme_s_rows_hold_the_same_for_the_same_columns(program: Program, seed: int) -> None:
    other = permute_program(program, seed)
    rng = np.random.default_rng(seed)
    column, row = rng.permutation(program.columns), rng.permutation(program.rows)
    for draw in range(5):
        x = np.random.default_rng(draw).random(program.columns)
        assert other.evaluate(x[column]) == pytest.approx(program.evaluate(x))
        assert other.activity(x[column]) == pytest.approx(program.activity(x)[row])
        assert other.worst_violation(x[column]) == pytest.approx(program.worst_violation(x))
    assert not np.array_equal(other.objective, program.objective)


def test_seed_0_leaves_a_programme_as_it_is(program: Program) -> None:
    assert permute_program(program, 0) is program
