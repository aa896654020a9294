"""Estimates of starts learn from how wrong earlier ones were."""

from __future__ import annotations

import pytest

from gangplan.domain.job import Running
from gangplan.domain.outlook import JobOutlook, Outlook, StartErrors
from gangplan.model.lookahead.estimates import MOST_ERRORS, estimate, kind_of, learned
from gangplan.testing.builders import group, job, node, round_of

NOW, D = 10_000.0, 300.0


def the_round(*jobs):
    return round_of([node("a", "H", 8)], jobs, now=NOW, round_seconds=D)


def outlook(*entries: JobOutlook, errors: tuple[StartErrors, ...] = ()) -> Outlook:
    return Outlook(NOW - D, D, entries, start_errors=errors)


@pytest.mark.parametrize(("gpus", "kind"), [(1, "1"), (2, "2"), (3, "2"), (7, "4"), (8, "8"), (65, "64")])
def test_classes_are_by_devices_in_powers_of_two(gpus, kind):
    assert kind_of(job("j", gpus=gpus)) == kind


def test_parts_of_a_device_and_cpus_are_below_one():
    assert kind_of(job("j", group(milli=999))) == kind_of(job("j", group(gpus=0, cpu=1))) == "0"


def test_a_start_is_held_against_what_was_told_first():
    """Told at NOW - 900 to start in 300 s; started 600 s later: (600 + 300) / (300 + 300)."""
    told = JobOutlook("j", 1.0, told_at=NOW - 900.0, told_seconds=300.0)
    runs = job("j", running=[], started=NOW - 300.0)
    assert isinstance(runs.running, Running)
    assert learned(the_round(runs), outlook(told)) == (StartErrors("1", (1.5,)),)
    assert learned(the_round(job("j")), outlook(told)) == ()
    assert learned(the_round(runs), None) == ()


def test_who_starts_at_once_teaches_nothing_of_those_who_wait():
    told = JobOutlook("j", 1.0, told_at=NOW - D, told_seconds=D)
    assert learned(the_round(job("j", running=[], started=NOW - D)), outlook(told)) == ()
    assert learned(the_round(job("j", running=[], started=NOW)), outlook(told)) == (StartErrors("1", (1.0,)),)
    assert estimate(job("j"), 0.0, the_round(), {}, {}).told_seconds == D


def test_the_latest_errors_are_kept():
    told = JobOutlook("j", 1.0, told_at=NOW - 600.0, told_seconds=0.0)
    full = StartErrors("1", tuple(float(k) for k in range(1, MOST_ERRORS + 1)))
    (found,) = learned(the_round(job("j", running=[], started=NOW)), outlook(told, errors=(full,)))
    assert found.ratios == (*full.ratios[1:], 3.0)


def test_an_estimate_allows_for_past_errors_of_its_class():
    """Ten ratios 1 to 10: 5.5 in the middle, and the ceil(.9 x 11) = 10th smallest, 10."""
    known = {"1": tuple(float(k) for k in range(1, 11)), "8": (1.0,) * 4}
    one = estimate(job("j"), 600.0, the_round(), {}, known)
    assert (one.seconds, one.by_seconds) == (900.0 * 5.5 - D, 900.0 * 10 - D)
    assert (one.told_at, one.told_seconds) == (NOW, 600.0)
    few = estimate(job("j", gpus=8), 600.0, the_round(), {}, known)
    assert (few.seconds, few.by_seconds) == (600.0, None)


def test_what_was_told_first_stays():
    last = {"j": JobOutlook("j", 1.0, told_at=NOW - 900.0, told_seconds=120.0)}
    found = estimate(job("j"), 600.0, the_round(), last, {"1": (0.5,) * 9})
    assert (found.told_at, found.told_seconds) == (NOW - 900.0, 120.0)
    assert (found.seconds, found.by_seconds) == (900.0 * 0.5 - D, 900.0 * 0.5 - D)
