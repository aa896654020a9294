"""What is in flight after outcomes, beside the definition: one outcome after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.plan import ActionKind
from gangplan.service.sessions.in_flight import InFlight, Outcome, fits, settle

KINDS = [ActionKind.PLACE, ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE]


def entry(number: int, job: str, kind: ActionKind) -> InFlight:
    return InFlight(f"p{number}", f"{kind.value}/{job}", kind, job, b"", (), (), 0.0, 100.0)


def one_by_one(entries: Sequence[InFlight], outcomes: dict[str, Outcome]) -> list[InFlight]:
    """By the rules alone, over all entries for each outcome."""
    left = list(entries)
    for name, outcome in outcomes.items():
        if name not in [each.name for each in left]:
            continue
        at = [each.name for each in left].index(name)
        this, found = left[at], []
        for place, each in enumerate(left):
            came_to_nothing = outcome in (Outcome.REFUSED, Outcome.EXPIRED)
            if each.job != this.job:
                found.append(each)
            elif came_to_nothing:
                found += [each] if place < at and each.kind is not this.kind else []
            elif outcome is Outcome.EVICTED:
                stops_and_starts = each.kind in (ActionKind.MIGRATE, ActionKind.RESIZE)
                found += [replace(each, stopped=True)] if place >= at and stops_and_starts else []
            elif place > at:
                found.append(each)
        left = found
    return left


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(KINDS)), max_size=8),
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(list(Outcome))), max_size=6),
)
def test_outcomes_settle_the_history_of_their_job(
    told: list[tuple[str, ActionKind]], reported: list[tuple[int, Outcome]]
) -> None:
    entries = [entry(number, job, kind) for number, (job, kind) in enumerate(told)]
    outcomes = {"p0/not there": Outcome.BOUND}
    for number, outcome in reported:
        if number < len(entries) and fits(entries[number].kind, outcome):
            outcomes[entries[number].name] = outcome
    assert list(settle(entries, outcomes)) == one_by_one(entries, outcomes)
