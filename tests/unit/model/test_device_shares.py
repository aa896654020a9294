"""Parts of a device by the verifier: one ledger with whole ones, kept, stopped, started, in quotas."""

from dataclasses import replace

import pytest

from gangplan.domain.plan import ActionKind, ForcedReason
from gangplan.domain.queue import Queue
from gangplan.model.verifier.facts import round_facts
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import act, at, group, job, node, plan_of, round_of

PLACE, KEEP, EVICT = ActionKind.PLACE, ActionKind.KEEP, ActionKind.EVICT


def rules(round_, *actions):
    return {violation.rule for violation in verify(round_, plan_of(*actions)).violations}


def part(name, milli, running=None, **fields):
    return job(name, group(milli=milli), running=running, **fields)


def place(name, milli, device, where="a", **fields):
    throughput = 1.0 if milli is None else milli / 1000
    return act(PLACE, name, at(where, [device], milli=milli), scope="node", throughput=throughput, **fields)


def keep(name, milli, device):
    throughput = 1.0 if milli is None else milli / 1000
    return act(KEEP, name, at("a", [device], milli=milli), scope="node", throughput=throughput)


ROUND = round_of([node("a", "H", 2)], [part("x", 600), part("y", 400), part("z", 401), job("w")])


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        pytest.param([place("x", 600, 0), place("y", 400, 0)], set(), id="they fill one device"),
        pytest.param(
            [place("x", 600, 0), place("z", 401, 0)], {"capacity.device-shared"}, id="a thousandth too much"
        ),
        pytest.param([place("x", 600, 0), place("z", 401, 1)], set(), id="each on its own"),
        pytest.param(
            [place("x", 600, 0), place("w", None, 0)], {"capacity.device-shared"}, id="beside a whole one"
        ),
        pytest.param(
            [place("x", 600, 0), place("y", 400, 0), place("w", None, 1)], set(), id="and a whole one beside"
        ),
        pytest.param([place("x", 400, 0)], {"capacity.device-share", "structure.throughput"}, id="less"),
        pytest.param([place("w", 999, 0)], {"capacity.device-share", "structure.throughput"}, id="not asked"),
        pytest.param([place("x", 600, 2)], {"capacity.device-unusable"}, id="no such device"),
    ],
)
def test_one_ledger_per_device(actions, expected):
    assert rules(ROUND, *actions) == expected


def test_a_part_needs_a_node_that_tells_devices_apart():
    round_ = round_of([node("a", "H", 2, count_only=True)], [part("x", 600)])
    found = rules(round_, act(PLACE, "x", at("a"), scope="node", throughput=0.6))
    assert found == {"eligibility.device-reporting"}


def test_a_part_is_worth_its_part():
    found = verify(ROUND, plan_of(place("x", 600, 0), place("w", None, 1)))
    assert found.valid
    assert (found.outcomes["x"].devices, found.outcomes["x"].throughput) == (0.6, 0.6)
    assert found.worth["x"]["throughput"] == pytest.approx(0.6)
    assert found.worth["w"]["throughput"] == pytest.approx(1.0)


def test_parts_count_in_quotas_as_parts():
    one = Queue("q", device_limit=1)
    jobs = [replace(each, queue="q") for each in ROUND.jobs]
    round_ = replace(ROUND, jobs=tuple(jobs), queues=(one,))
    assert rules(round_, place("x", 600, 0), place("y", 400, 1)) == set()
    found = verify(round_, plan_of(place("x", 600, 0), place("z", 401, 1)))
    assert [violation.message for violation in found.violations] == [
        "queue q would hold 1.001 devices; its limit is 1 (0 now)"
    ]


def test_parts_that_hold_too_much_already_may_stay_but_nobody_joins():
    running = [part("x", 600, at("a", [0], milli=600)), part("z", 401, at("a", [0], milli=401))]
    round_ = round_of([node("a", "H", 1)], [*running, part("y", 100)])
    stay = keep("x", 600, 0), keep("z", 401, 0)
    assert rules(round_, *stay) == set()
    assert rules(round_, *stay, place("y", 100, 0)) == {"capacity.device-shared"}


@pytest.mark.parametrize(
    ("milli", "after", "ok"),
    [
        pytest.param(400, (), True, id="there is room beside it"),
        pytest.param(401, (), False, id="a thousandth too much while it runs"),
        pytest.param(401, ("evict:x",), True, id="once it has stopped"),
        pytest.param(1000, ("evict:x",), True, id="all of it"),
    ],
)
def test_a_start_waits_for_the_part_that_it_takes(milli, after, ok):
    round_ = round_of(
        [node("a", "H", 1)], [part("x", 600, at("a", [0], milli=600)), part("n", milli, weight=9.0)]
    )
    evict = act(EVICT, "x", good_of=["n"])
    found = rules(round_, evict, place("n", milli, 0, after=after))
    assert found == (set() if ok else {"order.device"})


def test_a_whole_device_waits_for_every_part_of_it():
    parts = [part("x", 300, at("a", [0], milli=300)), part("y", 300, at("a", [0], milli=300))]
    round_ = round_of([node("a", "H", 1)], [*parts, job("w", weight=9.0)])
    evict = [act(EVICT, name, good_of=["w"]) for name in ("x", "y")]
    assert rules(round_, *evict, place("w", None, 0, after=["evict:x"])) == {"order.device"}
    assert rules(round_, *evict, place("w", None, 0, after=["evict:x", "evict:y"])) == set()


@pytest.mark.parametrize(
    ("where", "count_only"),
    [
        pytest.param(at("a", [0], milli=500), False, id="another part"),
        pytest.param(at("a", [0]), False, id="all of it"),
        pytest.param(at("a", [0, 1], tasks=1, milli=600), False, id="of two devices"),
        pytest.param(at("a"), True, id="of nobody knows which"),
    ],
)
def test_who_holds_another_part_than_it_asks_for_is_broken(where, count_only):
    round_ = round_of([node("a", "H", 2, count_only=count_only)], [part("x", 600, where)])
    assert round_facts(round_).forced == {"x": ForcedReason.GANG_BROKEN}


def test_whole_devices_of_one_thousand_are_shared_with_nobody():
    round_ = round_of([node("a", "H", 1)], [part("x", 1000), part("y", 1)])
    assert rules(round_, place("x", 1000, 0), place("y", 1, 0)) == {"capacity.device-shared"}
