"""Leaving out who is done soon: what is left of a bundle pays, and everybody else stays as planned."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from tests.engine.test_hold import begun, exchanged_for_one_that_ends

from gangplan.domain.plan import ActionKind
from gangplan.domain.round import Round
from gangplan.engine.bundles import is_chosen, poor
from gangplan.engine.leave_out import hanging_together, leave_out
from gangplan.planning.generate import generate_named
from gangplan.testing.strategies import rounds


def test_without_one_that_ends_the_rest_of_the_bundle_pays() -> None:
    holding, candidate = exchanged_for_one_that_ends()
    assert not holding.look(candidate)
    assert holding.best.name == "leave_out"
    assert {action.job: action.kind for action in holding.best.plan.actions} == {
        "gang": ActionKind.PLACE,
        "large": ActionKind.EVICT,
        "mover": ActionKind.KEEP,
    }
    assert poor(holding.judge, holding.best, holding.floor) == []


def test_who_needs_the_place_goes_back_and_who_is_stopped_for_nobody_else() -> None:
    _, candidate = exchanged_for_one_that_ends()
    of = candidate.action_of
    assert hanging_together(candidate, []) == set()
    assert hanging_together(candidate, [of["mover"]]) == {"mover", "brief"}  # large is for gang, too
    assert hanging_together(candidate, [of["large"]]) == {"large", "gang", "mover", "brief"}


def without_each(round_: Round, most: int) -> int:
    """Leave every disruption of the greedy's plan out, one after the other, up to ``most``; how many were."""
    holding, _, candidate = begun(round_)
    judge, floor = holding.judge, holding.floor
    if candidate is None:
        return 0
    instance, before = judge.instance, candidate.assignment
    chosen = [action for action in candidate.plan.actions if is_chosen(action)][:most]
    for number, soon in enumerate(chosen):
        members = hanging_together(candidate, chosen[: number + 1] if number % 2 else [soon])
        assert soon.job in members
        rejected = len(judge.rejected)
        found = leave_out(judge, candidate, floor, chosen[: number + 1] if number % 2 else [soon])
        if not instance.limits.limited:
            assert judge.rejected[rejected:] == []
        if found is None:
            continue
        indices = {instance.job_index[name] for name in members}
        after = found.assignment
        assert after.kept - indices == before.kept - indices
        assert after.kept & indices == floor.assignment.kept & indices
        assert all(after.placed[j] == where for j, where in before.placed.items() if j not in indices)
        assert not any(is_chosen(action) for name, action in found.action_of.items() if name in members)
    return len(chosen)


@settings(suppress_health_check=list(HealthCheck), max_examples=8)
@given(rounds("small"))
def test_what_is_left_is_a_plan_in_which_all_others_are_as_they_were(round_: Round) -> None:
    without_each(round_, 6)


def test_in_a_round_with_many_disruptions_each_can_be_left_out() -> None:
    assert without_each(generate_named("M/steady/85/seed0"), 6) == 6
