"""What of a plan from outside becomes ours: options, room, rights and limits, one by one."""

from __future__ import annotations

import numpy as np

from gangplan.domain.job import Capabilities, TaskSplit
from gangplan.domain.plan import ActionKind, Plan
from gangplan.domain.round import Round
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.adopt import Adopted, adopt
from gangplan.model.packing.order import make_plan
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import act, at, group, job, node, plan_of, round_of, topology

H = "H100"
PLACE, EVICT, MIGRATE, RESIZE = ActionKind.PLACE, ActionKind.EVICT, ActionKind.MIGRATE, ActionKind.RESIZE


def adopted(round_: Round, plan: Plan, *, every_option: bool = False) -> tuple[dict[str, str], Adopted]:
    """What is done to whom by the adopted plan, which breaks no rule."""
    instance = build_instance(round_)
    found = adopt(instance, plan, np.arange(len(instance.option)) if every_option else None)
    ours = make_plan(instance, found.assignment)
    assert verify(round_, ours).violations == ()
    return {action.job: action.kind.value for action in ours.actions}, found


ROOTED = Capabilities(movable=False)
ELASTIC = group(count=2, counts=(1, 2, 3, 4), gpus=1)
NODES = [node("a", H, 4), node("b", H, 4)]


def test_who_may_not_move_is_resized_in_place_or_not_at_all() -> None:
    round_ = round_of(NODES, [job("x", ELASTIC, running=at("a", (0, 1)), capabilities=ROOTED)])
    kinds, found = adopted(round_, plan_of(act(RESIZE, "x", at("a", tasks=3), at("b", tasks=1))))
    assert (kinds, found.dropped) == ({"x": "RESIZE"}, 0)
    for elsewhere in ((at("b", tasks=4),), (at("a", tasks=1), at("b", tasks=3))):
        kinds, found = adopted(round_, plan_of(act(RESIZE, "x", *elsewhere)))
        assert (kinds, found.dropped) == ({"x": "KEEP"}, 1)


def test_who_is_evicted_and_may_not_move_is_not_filled_in_elsewhere() -> None:
    round_ = round_of(
        NODES,
        [
            job("x", ELASTIC, running=at("a", (0, 1)), capabilities=ROOTED),
            job("large", group(gpus=4), weight=3.0),
        ],
    )
    plan = plan_of(act(EVICT, "x"), act(PLACE, "large", at("a", tasks=1)))
    kinds, found = adopted(round_, plan, every_option=True)
    assert (kinds, found.dropped) == ({"x": "EVICT", "large": "PLACE"}, 0)


def test_who_may_not_stop_keeps_its_place_when_its_move_finds_no_room() -> None:
    round_ = round_of(
        NODES,
        [
            job("x", gpus=2, running=at("a", (0, 1)), capabilities=Capabilities(pausable=False)),
            job("y", gpus=3, running=at("b", (0, 1, 2))),
            job("large", group(gpus=4), weight=3.0),
        ],
    )
    plan = plan_of(
        act(MIGRATE, "x", at("b", tasks=2)),
        act(PLACE, "large", at("a", tasks=1)),
        act(ActionKind.KEEP, "y", at("b", (0, 1, 2))),
    )
    kinds, found = adopted(round_, plan)
    assert kinds == {"x": "KEEP", "y": "KEEP"}
    assert found.dropped == 2


def test_who_may_not_stop_is_not_evicted() -> None:
    round_ = round_of(NODES, [job("x", running=at("a", (0,)), capabilities=Capabilities(pausable=False))])
    kinds, found = adopted(round_, plan_of(act(EVICT, "x")))
    assert (kinds, found.dropped) == ({"x": "KEEP"}, 1)


def test_a_required_level_holds() -> None:
    round_ = round_of(
        [node(name, H, 4, domain=rack) for name, rack in (("a", "r1"), ("b", "r1"), ("c", "r2"))],
        [job("gang", group(count=2, gpus=4), required="rack")],
        topology=topology("rack", r1="rack", r2="rack"),
    )
    kinds, found = adopted(round_, plan_of(act(PLACE, "gang", at("a", tasks=1), at("c", tasks=1))))
    assert (kinds, found.dropped) == ({"gang": "PLACE"}, 1)  # filled in, within a rack
    kinds, found = adopted(round_, plan_of(act(PLACE, "gang", at("a", tasks=1), at("b", tasks=1))))
    assert (kinds, found.dropped) == ({"gang": "PLACE"}, 0)


def test_together_is_not_taken_for_apart() -> None:
    """A gang that is faster on two nodes is worth what it is on the one where it is put."""
    profile = {(H, 2, "cluster"): 2.0, (H, 2, "node"): 1.0}
    round_ = round_of(NODES, [job("gang", group(count=2, profile="p"))], profiles={"p": profile})
    instance = build_instance(round_)
    for places, most in (((at("a", tasks=2),), 1), ((at("a", tasks=1), at("b", tasks=1)), 2)):
        found = adopt(instance, plan_of(act(PLACE, "gang", *places)))
        placed = found.assignment.placed[0]
        assert len(placed.spots) == most
        assert bool(instance.option_at(placed.option).apart) == (most == 2)


def test_whole_nodes_are_whole() -> None:
    gang = job("gang", group(count=8, split=TaskSplit.WHOLE_NODES))
    round_ = round_of([*NODES, node("c", H, 4)], [gang])
    halves = (at("a", tasks=4), at("b", tasks=2), at("c", tasks=2))
    kinds, found = adopted(round_, plan_of(act(PLACE, "gang", *halves)))
    assert (kinds, found.dropped) == ({"gang": "PLACE"}, 1)
    kinds, found = adopted(round_, plan_of(act(PLACE, "gang", at("a", tasks=4), at("c", tasks=4))))
    assert found.dropped == 0
    assert {spot for spot, _ in found.assignment.placed[0].spots} == {0, 2}


def test_two_groups_are_one_gang() -> None:
    pair = job("pair", group("leader", gpus=0, cpu=1), group("worker", count=2))
    plan = plan_of(act(PLACE, "pair", at("b", tasks=1, group="leader"), at("a", tasks=2)))
    kinds, found = adopted(round_of(NODES, [pair]), plan)
    assert (kinds, found.dropped) == ({"pair": "PLACE"}, 0)
    assert found.assignment.placed[0].spots == ((0, (0, 2)), (1, (1, 0)))
    half = plan_of(act(PLACE, "pair", at("a", tasks=2)))
    assert adopted(round_of(NODES, [pair]), half)[1].dropped == 1


def test_nodes_that_take_nobody_new() -> None:
    round_ = round_of(
        [*NODES, node("closed", H, 4, cordoned=True)],
        [job("new"), job("old", running=at("closed", (0,)))],
    )
    kinds, found = adopted(round_, plan_of(act(PLACE, "new", at("closed", tasks=1))))
    assert (kinds, found.dropped) == ({"new": "PLACE", "old": "KEEP"}, 1)
