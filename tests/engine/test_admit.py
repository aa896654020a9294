"""Letting a job in: hand-worked answers, and what proves them (decision 32)."""

from __future__ import annotations

import pytest

from gangplan.domain.admission import Admission
from gangplan.domain.job import DeadlineKind
from gangplan.engine.admit import _Case, admit
from gangplan.errors import InvalidInputError
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, job, node, round_of

HOUR = 3600.0
ONE = [node("a", "H100", 8)]
TWO = [node("a", "H100", 8), node("b", "H100", 8)]


def due(name, gpus, share, hours=1.0, **fields):
    """A job that needs ``share`` of ``hours`` at full speed, and is strictly due at their end."""
    fields = {"deadline_kind": DeadlineKind.STRICT} | fields
    return job(name, gpus=gpus, work_left=share * hours * HOUR * gpus, deadline=hours * HOUR, **fields)


def asked(nodes, *jobs):
    """The answer for the last of the jobs, at time 0."""
    return admit(round_of(nodes, jobs, now=0.0, round_seconds=300.0), jobs[-1].name)


def test_a_job_alone_gets_a_schedule():
    found = asked(ONE, due("y", 5, 0.75))
    assert found.answer is Admission.YES
    assert found.conditions
    assert found.witness[0].round.now == 0.0
    assert found.witness[-1].until <= HOUR
    for step in found.witness:
        assert verify(step.round, step.plan).valid


def test_two_jobs_of_five_devices_cannot_share_a_node_of_eight():
    """Each needs 75 % of the hour, and both never run at once; half of one and half of the other would fit
    device by device. 2 * 45 minutes are an hour and a half.
    """
    found = asked(ONE, due("x", 5, 0.75), due("y", 5, 0.75))
    assert found.answer is Admission.NO
    assert found.earliest_deadline == pytest.approx(1.5 * HOUR, rel=0.02)


@pytest.mark.parametrize("kind", [DeadlineKind.TARGET, DeadlineKind.SOFT])
def test_deadlines_of_others_count_where_they_are_strict(kind):
    assert asked(ONE, due("x", 5, 0.75, deadline_kind=kind), due("y", 5, 0.75)).answer is Admission.YES


def test_one_after_the_other_they_fit():
    assert asked(ONE, due("x", 5, 0.45), due("y", 5, 0.45)).answer is Admission.YES


def test_side_by_side_on_two_nodes_they_fit():
    assert asked(TWO, due("x", 5, 0.75), due("y", 5, 0.75)).answer is Admission.YES


def test_what_takes_longer_than_there_is_time_is_refused_with_the_date_that_it_needs():
    found = asked(ONE, due("y", 5, 2.0))
    assert found.answer is Admission.NO
    assert found.earliest_deadline == pytest.approx(2 * HOUR, rel=0.02)


def test_deadlines_that_cannot_be_met_anyway_are_not_the_jobs_fault():
    found = asked(ONE, due("x", 5, 2.0), due("y", 1, 0.1))
    assert found.answer is Admission.NO
    assert "as it is" in found.message
    assert found.earliest_deadline is None


def test_a_deadline_that_has_passed_counts_no_more():
    late = job("x", gpus=8, work_left=8 * HOUR, deadline=0.0, deadline_kind=DeadlineKind.STRICT)
    assert asked(ONE, late, due("y", 1, 0.5)).answer is Admission.YES


def test_what_fits_nowhere_is_refused_for_good():
    found = asked(ONE, due("y", 16, 0.1, required="node"))
    assert found.answer is Admission.NO
    assert found.earliest_deadline is None


def test_who_runs_without_a_deadline_would_have_to_give_way():
    runs = job("r", gpus=8, running=at("a", range(8)), work_left=1e9)
    found = asked(ONE, runs, due("y", 5, 0.75))
    assert found.answer is Admission.YES_IF
    assert found.giving_way == ("r",)


def test_who_ends_soon_enough_need_not_give_way():
    runs = job("r", gpus=8, running=at("a", range(8)), work_left=8 * 600.0)
    found = asked(ONE, runs, due("y", 5, 0.75))
    assert found.answer is Admission.YES
    assert found.giving_way == ()


def test_a_restart_counts():
    """54 minutes of work and 10 of starting are more than an hour, which the relaxation cannot see."""
    found = asked(ONE, due("y", 5, 0.9, restart_seconds=600.0))
    assert found.answer is Admission.NOT_PROVED


def test_a_stop_throws_away_what_is_not_safe():
    """Three jobs of 3 devices, two at a time, 36 minutes each: 108 of 120 minutes, if one could be cut."""
    found = asked(ONE, *(due(name, 3, 0.6) for name in "xyz"))
    assert found.answer is Admission.NOT_PROVED


def test_who_has_no_deadline_is_not_asked_about():
    for mine in (job("y"), job("y", deadline=HOUR), due("y", 1, 0.5, running=at("a", [0]))):
        with pytest.raises(InvalidInputError):
            asked(ONE, mine)
    with pytest.raises(InvalidInputError, match="no job is named"):
        admit(round_of(ONE, [due("y", 1, 0.5)], now=0.0), "z")


@pytest.mark.parametrize("past", [1.0, 1e9])
@pytest.mark.parametrize("dates", [0, 1, 1_000])
def test_a_deadline_that_has_passed_is_refused_and_the_search_for_a_later_one_ends(past, dates, monkeypatch):
    """Also where no more than so many dates can be refuted: the time is over, or nothing shows it."""
    refuted = _Case.refuted
    asked_of = []

    def some(case, deadline):
        if deadline is None:
            return False
        asked_of.append(deadline)
        return deadline == -past or (len(asked_of) <= dates and refuted(case, deadline))

    monkeypatch.setattr(_Case, "refuted", some)
    found = asked(
        ONE, job("y", gpus=5, work_left=5 * HOUR, deadline=-past, deadline_kind=DeadlineKind.STRICT)
    )
    assert found.answer is Admission.NO
    assert found.earliest_deadline >= 0.0
    if dates > len(asked_of):
        assert found.earliest_deadline == pytest.approx(HOUR, rel=0.02)
