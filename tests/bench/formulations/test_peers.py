"""The peers' programmes: small ones solved by hand or by trying all, and what rounding may not break."""

import itertools
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.bench import others
from gangplan.bench.formulations.peers import crowd, draws, profiles
from gangplan.bench.formulations.peers.measure import is_peer, run_peer
from gangplan.bench.formulations.peers.published import FIGURES, beside
from gangplan.bench.formulations.rival import Limits
from gangplan.bench.runs import Run, Status
from gangplan.bench.selection import Selection
from gangplan.errors import BackendError, InvalidInputError
from gangplan.model.program import Program, Solution, SolveParameters, SolveStatus
from gangplan.planning.programmes import chronus, finish_time, shockwave, sia
from gangplan_solvers import catalog

LIMITS = Limits(time_limit_seconds=None)


def solve(program: Program, *, relax: bool = False, solver: str = "highs") -> Solution:
    return catalog.usable(solver).solve(program, SolveParameters(relax=relax))


def rounded_within(program: Program, values: np.ndarray, best: float) -> None:
    """A rounded solution breaks nothing and is worth at most the optimum."""
    assert program.worst_violation(values) <= 1e-6
    assert program.evaluate(values) <= best + 1e-6 * max(1.0, abs(best))


# Sia


def choices(cost, devices, type_of, capacity) -> sia.MultiChoice:
    return sia.MultiChoice(*(np.array(a) for a in (cost, devices, type_of, capacity)))


def test_two_jobs_share_two_types():
    # One device of each type. Both like type 0 best; the second loses less by type 1.
    chosen = choices([[0.4, 0.9], [0.5, 0.6]], [1, 1], [0, 1], [1, 1])
    solution = solve(sia.formulate(chosen))
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.objective == pytest.approx(-1.0)
    assert solution.values.tolist() == [1.0, 0.0, 0.0, 1.0]


def test_a_job_waits_where_a_configuration_costs_more():
    chosen = choices([[1.2, 1.1], [0.7, 1.3]], [1, 1], [0, 1], [1, 1])
    assert [part.tolist() for part in chosen.picks] == [[1], [0]]
    assert solve(sia.formulate(chosen)).objective == pytest.approx(-1.1 - 0.7)


@st.composite
def small_choices(draw) -> sia.MultiChoice:
    jobs, kinds = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    cost = [[draw(st.sampled_from([0.1, 0.4, 0.7, 1.0, 2.0])) for _ in range(kinds)] for _ in range(jobs)]
    devices = [draw(st.sampled_from([1, 2, 4])) for _ in range(kinds)]
    type_of = [draw(st.integers(0, 1)) for _ in range(kinds)]
    return choices(cost, devices, type_of, [draw(st.integers(0, 6)) for _ in range(2)])


def cheapest(chosen: sia.MultiChoice) -> float:
    best = np.inf
    jobs, kinds = chosen.cost.shape
    for picks in itertools.product(range(-1, kinds), repeat=jobs):
        held = np.zeros(len(chosen.capacity))
        for k in picks:
            if k >= 0:
                held[chosen.type_of[k]] += chosen.devices[k]
        if (held <= chosen.capacity).all():
            cost = sum(chosen.waiting_cost if k < 0 else chosen.cost[i, k] for i, k in enumerate(picks))
            best = min(best, cost)
    return best


@given(small_choices())
def test_multi_choice_against_trying_everything(chosen):
    program = sia.formulate(chosen)
    best = -cheapest(chosen)
    assert solve(program).objective == pytest.approx(best)
    relaxed = solve(program, relax=True)
    assert relaxed.objective >= best - 1e-9
    rounded_within(program, sia.round_picks(chosen, relaxed.values), best)


def test_twenty_nine_configurations():
    wanted = crowd.configurations()
    assert len(wanted) == 29
    assert [c.devices for c in wanted if c.cluster == "quad"] == [1, 2, 4, 8, 16, 32, 64]
    assert [c.devices for c in wanted if c.cluster == "rtx"] == [1, 2, 4, *range(8, 65, 8)]
    assert {c.nodes for c in wanted if c.devices == 64} == {16, 8}
    assert sum(crowd.devices_by_type(2048).values()) == 2048


# Finish-time fairness


def shares_of(throughput, gang, devices, elapsed, left, isolated) -> finish_time.TimeShares:
    arrays = [np.array(a, dtype=np.float64) for a in (throughput, elapsed, left, isolated)]
    whole = [np.array(a, dtype=np.int64) for a in (gang, devices)]
    return finish_time.TimeShares(arrays[0], *whole, *arrays[1:])


def test_equal_jobs_share_one_device_equally():
    shares = shares_of([[1.0], [1.0]], [1, 1], [1], [0.0, 0.0], [10.0, 10.0], [0.0, 0.0])
    fairest = finish_time.bisect(shares, solve)
    assert fairest.rho == pytest.approx(1.0, rel=2e-3)
    assert fairest.shares[:, 0] == pytest.approx([0.5, 0.5], abs=2e-3)


def test_jobs_that_like_different_types_do_better_than_isolated():
    # An equal share of both types is worth 0.5 * (2 + 1); the liked type alone 2: rho = 1.5 / 2.
    shares = shares_of([[2.0, 1.0], [1.0, 2.0]], [1, 1], [1, 1], [0.0, 0.0], [6.0, 6.0], [0.0, 0.0])
    fairest = finish_time.bisect(shares, solve)
    assert fairest.rho == pytest.approx(0.75, rel=2e-3)
    assert fairest.rho - fairest.below <= finish_time.TOLERANCE * fairest.rho


def test_one_job_has_one_times_its_time():
    # Two types for one job: all of its time on the faster, never on both at once. An equal share makes 1.5.
    fairest = finish_time.bisect(shares_of([[2.0, 1.0]], [1], [1, 1], [0.0], [6.0], [0.0]), solve)
    assert fairest.rho == pytest.approx(1.5 / 2.0, rel=2e-3)
    assert fairest.shares.sum() == pytest.approx(1.0)


def test_a_job_that_is_late_already_sets_the_ratio():
    # The first has waited 30 s for 10 s of work at a fair rate of 1/2: (30 + 10 / T) / 20 with T at most 1.
    shares = shares_of([[1.0], [1.0]], [1, 1], [1], [30.0, 0.0], [10.0, 10.0], [0.0, 0.0])
    fairest = finish_time.bisect(shares, solve)
    first = (30.0 + 10.0 / fairest.shares[0, 0]) / 20.0
    second = (10.0 / fairest.shares[1, 0]) / 20.0
    assert max(first, second) == pytest.approx(fairest.rho, rel=1e-6)
    assert first == pytest.approx(second, rel=5e-3)


def test_nothing_is_left_idle_at_the_end():
    shares = shares_of([[1.0], [1.0]], [1, 1], [5], [0.0, 9.0], [1.0, 1.0], [5.0, 5.0])
    assert finish_time.bisect(shares, solve).shares[:, 0] == pytest.approx([1.0, 1.0])


# Shockwave


def epochs_of(epochs, done, epoch_rounds, gang, devices, promised=np.inf, **more) -> shockwave.Epochs:
    n = len(gang)
    whole = [np.array(a, dtype=np.float64) for a in (epochs, done, epoch_rounds)]
    promises = np.broadcast_to(np.array(promised, dtype=np.float64), (n,)).copy()
    return shockwave.Epochs(*whole, np.array(gang, dtype=np.int64), devices, promises, **more)


def test_one_job_runs_until_it_is_done():
    jobs = epochs_of([4], [0], [1], [1], 1, rounds=5, makespan_weight=1.0)
    solution = solve(shockwave.formulate(jobs))
    assert solution.objective == pytest.approx(0.0, abs=1e-6)  # ln 1, and nothing left
    assert solution.values[:5].sum() >= 4.0


def test_two_jobs_take_turns_for_welfare():
    # Two rounds, one device, jobs of two rounds: one each gives 2 ln-ish(1/2); both to one gives ln(0.01).
    jobs = epochs_of([2, 2], [0, 0], [1, 1], [1, 1], 1, rounds=2, makespan_weight=0.0)
    solution = solve(shockwave.formulate(jobs))
    half = np.interp(0.5, shockwave.BASES, shockwave.HEIGHTS)
    assert solution.objective == pytest.approx(2.0 * half / 4.0)
    assert solution.values[:4].reshape(2, 2).sum(axis=1).tolist() == [1.0, 1.0]


def test_a_promise_outweighs_welfare():
    # The first must do both rounds to finish in time: 2 + (2 - p) / share <= 2.
    jobs = epochs_of([2, 2], [0, 0], [1, 1], [1, 1], 1, promised=[2.0, np.inf], rounds=2, makespan_weight=0.0)
    plan = solve(shockwave.formulate(jobs)).values[:4].reshape(2, 2)
    assert plan.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    late = replace(jobs, promised=np.array([1.0, np.inf]))
    assert solve(shockwave.formulate(late)).status is SolveStatus.INFEASIBLE


@given(st.integers(0, 10_000))
def test_rounds_against_trying_everything(seed):
    rng = np.random.default_rng(seed)
    n, rounds = 3, 2
    epochs = rng.integers(1, 5, size=n)
    jobs = epochs_of(
        epochs,
        rng.integers(0, epochs),
        rng.choice([0.5, 1.0, 1.5], size=n),
        rng.integers(1, 4, size=n),
        3,
        rounds=rounds,
        makespan_weight=0.1,
    )
    program = shockwave.formulate(jobs)
    best = -np.inf
    for bits in itertools.product((0, 1), repeat=n * rounds):
        plan = np.array(bits).reshape(n, rounds)
        if (plan.T @ jobs.gang <= jobs.devices).all():
            values = shockwave.values_of(jobs, plan)
            assert program.worst_violation(values) <= 1e-9
            best = max(best, program.evaluate(values))
    assert solve(program).objective == pytest.approx(best, abs=1e-6)
    assert solve(shockwave.formulate(jobs, lean=True)).objective == pytest.approx(best, abs=1e-6)
    relaxed = solve(program, relax=True)
    rounded_within(program, shockwave.round_plan(jobs, relaxed.values), best)


def test_thirty_three_columns_a_job():
    jobs, _ = draws.shockwave(16, 8, 0)
    program = shockwave.formulate(jobs)
    assert program.columns == 33 * 16 + 1
    assert shockwave.formulate(jobs, lean=True).columns == 27 * 16 + 1
    rows = {family.name: family.stop - family.start for family in program.row_families}
    # At most two bases, each with its binary, and ten pairs that are not neighbours: true of any optimum of a
    # concave curve anyhow, but the public programme has them.
    assert rows["neighbours"] == (1 + 6 + 10) * 16


# Chronus


def leases_of(gang, need, deadline, reward, free) -> chronus.Leases:
    whole = [np.array(a, dtype=np.int64) for a in (gang, need, deadline)]
    return chronus.Leases(*whole, np.array(reward, dtype=np.float64), np.array(free, dtype=np.int64))


def test_only_one_of_two_jobs_meets_its_hard_deadline():
    # One device, four leases, two jobs of two leases: the one that earns more for it is done by lease 2.
    leases = leases_of([1, 1], [2, 2], [[2, 4], [2, 4]], [[6.0, 1.0], [9.0, 1.0]], [1, 1, 1, 1])
    solution = solve(chronus.formulate(leases))
    assert solution.values[:4].tolist() == [0.0, 1.0, 1.0, 0.0]
    assert solution.objective == pytest.approx(9.0 + 1.0 - 1.0)


def test_the_first_lease_is_left_free_where_it_costs_nothing():
    leases = leases_of([1], [1], [[3, 3]], [[5.0, 1.0]], [1, 1, 1])
    assert solve(chronus.formulate(leases)).objective == pytest.approx(5.0)


def test_too_many_jobs_have_no_solution():
    leases = leases_of([1, 1], [2, 1], [[2, 2], [2, 2]], [[1.0, 1.0], [1.0, 1.0]], [1, 1])
    program = chronus.formulate(leases)
    assert solve(program).status is SolveStatus.INFEASIBLE
    assert chronus.round_leases(leases, np.zeros(program.columns)) is None


@given(st.integers(0, 10_000))
def test_rounded_leases_break_nothing(seed):
    leases, _ = draws.chronus(6, 6, seed)
    program = chronus.formulate(leases)
    exact = solve(program)
    assert exact.status is SolveStatus.OPTIMAL  # the planted plan is one
    relaxed = solve(program, relax=True)
    assert relaxed.objective >= exact.objective - 1e-6
    values = chronus.round_leases(leases, relaxed.values)
    if values is not None:
        rounded_within(program, values, exact.objective)
        assert chronus._worth(leases, values) == pytest.approx(program.evaluate(values))


def test_who_got_less_than_it_likes_goes_earlier_until_the_plan_is_better():
    # One device, two leases: both want lease 0; the first in line is worth less, and comes first by its gang.
    leases = leases_of([1, 1], [1, 1], [[1, 2], [1, 2]], [[3.0, 1.0], [9.0, 1.0]], [1, 1])
    both = np.zeros(12)
    both[[0, 2]] = 1.0
    assert chronus.formulate(leases).evaluate(chronus.round_leases(leases, both)) == pytest.approx(9.0)


# Profiles, rows, figures


@pytest.fixture(params=["measured", "synthetic"])
def known(request):
    if request.param == "synthetic":
        return profiles.synthetic_profiles(3)
    folder = Path(os.environ.get("GANGPLAN_DATA", "none"))
    if not (folder / "sia" / "profiles").is_dir():
        pytest.skip("needs the profiles of sia in the folder that GANGPLAN_DATA names")
    return profiles.read_profiles(folder)


def test_profiles_are_whole(known):
    assert set(known) == set(itertools.product(profiles.APPLICATIONS, profiles.CLUSTERS))
    for profile in known.values():
        assert (profile.step > 0).all()
        assert (profile.sync >= 0).all()
        assert (profile.nodes == 1).any()
        batch, seconds = profile.step_seconds(1, 1)
        assert len(batch) == len(set(batch.tolist())) == len(seconds)


def test_goodput_is_finite_and_grows_with_devices_within_a_node(known):
    wanted = crowd.configurations()
    names = list(profiles.APPLICATIONS)
    goodput = crowd.goodputs(known, wanted, names, np.full(len(names), 100.0))
    assert np.isfinite(goodput).all()
    assert (goodput > 0.0).all()
    one, eight = (
        next(k for k, c in enumerate(wanted) if (c.cluster, c.devices) == ("dgx-ext", n)) for n in (1, 8)
    )
    assert (goodput[:, eight] > goodput[:, one]).all()


def test_beyond_what_was_measured_only_the_ring_grows():
    rows = [(1, 1, 32, 0.5, 0.0), (1, 2, 32, 0.6, 0.1), (2, 4, 32, 0.9, 0.4)]
    profile = profiles._profile(rows)
    assert profile.step_seconds(1, 2)[1] == pytest.approx([0.6])
    assert profile.step_seconds(2, 4)[1] == pytest.approx([0.9])
    assert profile.step_seconds(4, 16)[1] == pytest.approx([0.5 + 0.4 * (15 / 16) / (3 / 4)])


def test_without_data_profiles_are_drawn():
    known, source = crowd.profiles(0, None)
    assert source == "synthetic"
    again, _ = crowd.profiles(0, None)
    assert all((known[key].step == again[key].step).all() for key in known)


def test_profiles_are_read_from_the_folder_that_is_named(tmp_path):
    for name in profiles.APPLICATIONS:
        here = tmp_path / "sia" / "profiles" / name
        here.mkdir(parents=True)
        for cluster in profiles.CLUSTERS:
            (here / f"placements-{cluster}.csv").write_text(
                "placement,local_bsz,step_time,sync_time\n1,8,0.5,0\n"
            )
            (here / f"scalability-{cluster}.csv").write_text(
                "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
            )
    row = run_peer("sia/16x64/seed0", "rounding", "highs", LIMITS, tmp_path)
    assert (row["profiles"], row["violations"]) == ("measured", [])
    with pytest.raises(FileNotFoundError):
        run_peer("sia/16x64/seed0", "rounding", "highs", LIMITS, tmp_path / "sia")
    chosen = Selection(suite="formulations", only=("chronus/* rounding highs",), data=tmp_path)
    assert {(run.source, run.who, run.solver) for run in chosen.runs()} == {
        (str(tmp_path), "rounding", "highs")
    }
    assert {run.source for run in replace(chosen, data=None).runs()} == {""}


@pytest.mark.parametrize(
    ("instance", "how"),
    [
        ("sia/32x64/seed0", "exact"),
        ("sia/32x64/seed0", "rounding"),
        ("finish-time/16/seed1", "bisection"),
        ("shockwave/8x8/seed0", "exact"),
        ("shockwave/8x8/seed0", "lean"),
        ("shockwave/8x8/seed0", "rounding"),
        ("chronus/8x12/seed0", "exact"),
        ("chronus/8x12/seed0", "rounding"),
    ],
)
def test_a_row_of_each(instance, how):
    row = run_peer(instance, how, "highs", LIMITS)
    assert row["status"] in {Status.OPTIMAL.value, Status.FEASIBLE.value}
    assert row["objective"] <= row["bound"] + 1e-6
    assert row["columns"] > 0
    if how != "rounding":
        assert row["status"] == Status.OPTIMAL.value


@pytest.mark.parametrize("solver", ["cbc", "cpsat", "scip"])
@pytest.mark.parametrize("instance", ["sia/32x64/seed1", "chronus/8x12/seed1", "shockwave/8x8/seed1"])
def test_backends_agree(instance, solver):
    if not catalog.load(solver).availability().available:
        pytest.skip(f"{solver} is not installed")
    truth = run_peer(instance, "exact", "highs", LIMITS)["objective"]
    if solver == "cpsat" and instance.startswith("shockwave"):
        with pytest.raises(BackendError, match="continuous"):
            run_peer(instance, "exact", solver, LIMITS)
    else:
        assert run_peer(instance, "exact", solver, LIMITS)["objective"] == pytest.approx(truth, rel=1e-5)


def test_names():
    assert is_peer("sia/64x64/seed0")
    assert not is_peer("S/steady/50/seed0")
    for instance, how in (("sia/64/seed0", "exact"), ("finish-time/64x64/seed0", "bisection")):
        with pytest.raises(InvalidInputError, match="not FORM/SIZE/seedN"):
            run_peer(instance, how, "highs", LIMITS)
    with pytest.raises(InvalidInputError, match="cannot be solved by 'rounding'"):
        run_peer("finish-time/64/seed0", "rounding", "highs", LIMITS)
    with pytest.raises(InvalidInputError, match="multiples of 64"):
        run_peer("sia/64x100/seed0", "exact", "highs", LIMITS)


def test_figures_stand_beside_with_their_source():
    assert all(figure.source and (figure.seconds or figure.note) for figure in FIGURES)
    assert [f.seconds for f in beside("sia", "512x2048")] == [0.043, 0.644, 0.671, 0.938, None]
    assert beside("sia", "1x1") == ()


def test_a_peers_run_is_a_row():
    task = Run("formulations", "formulations", "sia/32x64/seed0", who="exact", time_limit_s=20.0)
    [row] = others.measure(task)
    assert (row["solver_taken"], row["paper_gap"], row["relative_gap_asked"]) == ("highs", 1e-4, 1e-6)
    assert row["bound_holds"]
    [sooner] = others.measure(replace(task, who="paper-gap"))
    assert sooner["relative_gap_asked"] == 1e-4
    assert sooner["gap"] <= 1e-4
    with pytest.raises(BackendError, match="no linear relaxation"):
        others.measure(replace(task, who="rounding", solver="cpsat"))


def test_the_report_shows_figures_of_others_once():
    from gangplan.bench.report.document import document

    task = Run("formulations", "formulations", "sia/64x64/seed0", who="rounding", time_limit_s=20.0)
    rows = [task.head() | row for row in others.measure(task)] * 2
    sections = {section.title: section.table for section in document(rows).sections}
    lines = sections["Figures of others for the same programmes"].lines
    assert [line[2] for line in lines] == ["0.012", "0.050", "0.096"]
    assert all(line[0] == "sia/64x64" and line[4] for line in lines)
    assert len(sections["Formulations"].lines) == 1
