"""Traces drawn like another: the same statistics, and nothing of its own rows."""

from __future__ import annotations

import itertools
import random
from statistics import fmean, quantiles

import pytest

from gangplan.errors import TraceError
from gangplan.planning.trace.fit import Fitted
from gangplan.planning.trace.lines import Trace, gathered, line_of
from gangplan.planning.trace.records import RECORDS, End, Group, Header, JobRecord

HOUR = 3600.0


def given(jobs: int = 4000, *, series: float = 0.5) -> Trace:
    """Arrivals ten times as fast by day as by night; long jobs on many GPUs; users in series."""
    rng = random.Random(5)
    found, now, kind = [], 0.0, (1, "u0")
    for number in range(jobs):
        by_day = 8 <= now % (24 * HOUR) // HOUR < 20
        now += rng.expovariate(1 / 60 if by_day else 1 / 600)
        if rng.random() >= series:
            kind = rng.choice([(1, "u0"), (1, "u1"), (4, "u1"), (8, "u2")])
        gpus, user = kind
        seconds = rng.lognormvariate(4 + gpus / 4, 1)
        found.append(
            JobRecord(
                id=f"j{number}",
                submit_s=now,
                groups=(Group(tasks=gpus),),
                duration_s=seconds,
                work=2 * seconds,
                work_unit="steps",
                deadline_s=now + 3 * seconds,
                user=user,
                raw={"secret": str(number)},
                line=number + 2,
            )
        )
    return Trace(Header(format="gangplan-trace/v1", name="x"), tuple(found), (), End(jobs=jobs))


@pytest.fixture(scope="module")
def pair() -> tuple[Trace, Trace]:
    one = given()
    return one, gathered(Fitted(one).draw(8000, seed=1))


def test_sizes_and_users_come_as_often_and_together(pair: tuple[Trace, Trace]) -> None:
    def shares(trace: Trace) -> dict[tuple[float, str], float]:
        keys = [(job.gpus, job.user) for job in trace.jobs]
        return {key: keys.count(key) / len(keys) for key in set(keys)}

    one, drawn = map(shares, pair)
    assert one.keys() == drawn.keys()
    assert all(drawn[key] == pytest.approx(one[key], abs=0.03) for key in one)


def test_durations_follow_the_number_of_gpus(pair: tuple[Trace, Trace]) -> None:
    for gpus in (1.0, 4.0, 8.0):
        one, drawn = ([job.duration_s or 0 for job in trace.jobs if job.gpus == gpus] for trace in pair)
        for mine, yours in zip(quantiles(one, n=10), quantiles(drawn, n=10), strict=True):
            assert yours == pytest.approx(mine, rel=0.15)
        assert min(one) <= min(drawn)
        assert max(drawn) <= max(one)
        assert len(set(drawn) & set(one)) < 0.02 * len(drawn)


def test_arrivals_are_as_fast_by_day_and_by_night(pair: tuple[Trace, Trace]) -> None:
    def gaps(trace: Trace, hours: range) -> float:
        times = [job.submit_s for job in trace.jobs]
        return fmean(b - a for a, b in itertools.pairwise(times) if a % 86_400 // HOUR in hours)

    for hours in (range(9, 19), range(21, 24)):
        one, drawn = (gaps(trace, hours) for trace in pair)
        assert drawn == pytest.approx(one, rel=0.15)


def test_jobs_come_in_series_as_often(pair: tuple[Trace, Trace]) -> None:
    def repeats(trace: Trace) -> float:
        kinds = [(job.gpus, job.user) for job in trace.jobs]
        return fmean(a == b for a, b in itertools.pairwise(kinds))

    one, drawn = map(repeats, pair)
    assert drawn == pytest.approx(one, abs=0.04)
    assert Fitted(pair[0]).series == pytest.approx(0.5, abs=0.05)


def test_work_and_deadlines_go_with_the_duration_and_nothing_raw_is_left(pair: tuple[Trace, Trace]) -> None:
    for job in pair[1].jobs:
        assert job.duration_s is not None
        assert job.deadline_s is not None
        assert job.work == pytest.approx(2 * job.duration_s)
        assert job.deadline_s - job.submit_s == pytest.approx(3 * job.duration_s, rel=1e-6, abs=1e-3)
        assert (job.raw, job.line) == ({}, 0)


def test_same_seed_same_jobs_and_each_is_a_record() -> None:
    fitted = Fitted(given(50))
    one = [line_of(record) for record in fitted.draw(20, seed=3)]
    assert one == [line_of(record) for record in fitted.draw(20, seed=3)]
    assert one != [line_of(record) for record in fitted.draw(20, seed=4)]
    assert all(RECORDS.validate_json(line) for line in one)
    assert '"jobs":20' in one[-1]


def test_too_little_is_refused() -> None:
    few = given(1)
    with pytest.raises(TraceError, match="at least two are needed"):
        Fitted(few)
