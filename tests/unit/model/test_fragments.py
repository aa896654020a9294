"""Where parts of devices go: beside other parts, and where the least is lost to what waits."""

from gangplan.domain.job import Gate
from gangplan.domain.plan import ActionKind
from gangplan.domain.policy import Policy
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.round import plan_round
from gangplan.model.instance.instance import build_instance
from gangplan.model.packing.fragments import kinds_of
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import at, group, job, node, round_of


def placed(round_, pipeline="greedy"):
    result = plan_round(round_, PlanParameters(pipeline=pipeline))
    assert verify(round_, result.plan).valid
    return {
        action.job: (action.placements[0].node, action.placements[0].devices)
        for action in result.plan.actions
        if action.kind is ActionKind.PLACE
    }


def part(name, milli, running=None, **fields):
    return job(name, group(milli=milli, cpu=1), running=running, **fields)


def test_a_part_goes_beside_a_part_and_leaves_a_device_whole_for_who_needs_one():
    running = part("r", 500, at("b", [1], milli=500))
    to_come = [job(f"e{i}", group(gpus=1, cpu=1), gate=Gate(held=True)) for i in range(3)]
    round_ = round_of([node("a", "H", 2), node("b", "H", 2)], [running, part("x", 400), *to_come])
    assert placed(round_) == {"x": ("b", (1,))}


def test_a_part_goes_where_what_is_to_come_does_not_fit_anyway():
    """Whole devices are to come with much CPU: node a has none left for them, and both have idle devices."""
    to_come = [job(f"e{i}", group(gpus=1, cpu=8), gate=Gate(held=True)) for i in range(3)]
    nodes = [node("a", "H", 1, cpu=9), node("b", "H", 1, cpu=4)]
    round_ = round_of(nodes, [part("x", 400), *to_come])
    assert placed(round_) == {"x": ("b", (0,))}


def test_parts_fill_devices_to_the_last_thousandth():
    parts = [part(f"p{i}", milli) for i, milli in enumerate((600, 400, 700, 300, 500, 250, 250))]
    round_ = round_of([node("a", "H", 3)], parts)
    for pipeline in ("greedy", "full"):
        assert len(placed(round_, pipeline)) == 7


def test_who_must_stay_keeps_its_part_and_the_rest_is_filled():
    running = part("r", 300, at("a", [0], milli=300))
    round_ = round_of([node("a", "H", 2)], [running, part("x", 700), job("w", group(cpu=1))])
    assert placed(round_, "full") == {"x": ("a", (0,)), "w": ("a", (1,))}


def test_devices_count_as_far_as_the_cpu_beside_them_goes():
    """Devices with 4 CPUs each are to come. Node a has 2 free devices and 8 CPUs, b has 2 and 5: one of b's
    is lost as it is, so that x, who takes a device and no CPU, goes there. One task would fit on either.
    """
    to_come = [job(f"e{i}", group(gpus=1, cpu=4), gate=Gate(held=True)) for i in range(3)]
    nodes = [node("a", "H", 2, cpu=8), node("b", "H", 2, cpu=5)]
    round_ = round_of(nodes, [part("y", 300), job("x", group(gpus=1)), *to_come])
    assert placed(round_)["x"][0] == "b"


def test_nobody_waits_for_who_is_not_worth_the_rest_of_a_device():
    """Parts of 81 hundredths are to come, and halves. Who is told that those are worth nothing, since their
    rest is lost, puts a half where only those would fit; else it leaves them their room.
    """
    to_come = [job(f"e{i}", group(milli=810, cpu=1), gate=Gate(held=True)) for i in range(6)]
    kinds = {}
    for weight in (0.0, 5.0):
        round_ = round_of(
            [node("a", "H", 1)], [part("x", 500), *to_come], policy=Policy(fragmentation_weight=weight)
        )
        found = kinds_of(build_instance(round_))
        kinds[weight] = sorted(int(10 * parts) for parts in found.demand[:, 0])
    assert kinds == {0.0: [500, 810], 5.0: [500]}
