"""Small rounds with a best plan each, in which everything happens that a mutation may need."""

from gangplan.domain.cluster import Node
from gangplan.domain.round import Round
from gangplan.testing.builders import at, group, job, node, round_of

IDLE = {"checkpoint_age": 0.0}


def swap(host: Node) -> Round:
    """A light job is evicted for a heavy one on the same node."""
    devices = () if host.device_reporting.value == "COUNT_ONLY" else range(4)
    light = job("light", gpus=4, weight=0.5, cpu=2, memory=2, running=at("a", devices, tasks=4), **IDLE)
    return round_of([host], [light, job("heavy", gpus=4, weight=4.0, cpu=2, memory=2)])


def gang() -> Round:
    """A leader and workers start over two nodes, beside a node of another type."""
    team = job("team", group("leader", gpus=0, cpu=1), group("worker", 3, types=["H"]))
    nodes = [node("a", "H", 2), node("b", "H", 2), node("c", "V", 2)]
    return round_of(nodes, [team])


def make_room() -> Round:
    """A job is moved aside, and another shrinks, so that a large one fits on one node."""
    jobs = [
        job("aside", weight=3.0, running=at("a", [0]), **IDLE),
        job("elastic", group(count=2, counts=[1, 2]), running=at("b", [0, 1]), **IDLE),
        job("large", gpus=3, weight=8.0, required="node"),
    ]
    return round_of([node("a", "H", 3), node("b", "H", 2)], jobs)


def beside() -> Round:
    """A job starts beside one that goes on."""
    return round_of([node("a", "H", 3)], [job("there", running=at("a", [0]), **IDLE), job("new", gpus=2)])


def grow() -> Round:
    """An elastic job grows in place."""
    return round_of(
        [node("a", "H", 3)], [job("elastic", group(count=3, counts=[1, 3]), running=at("a", [0]), **IDLE)]
    )


def broken() -> Round:
    """A job on a node that is gone starts again elsewhere, by a forced move."""
    return round_of([node("a", "H", 2)], [job("lost", gpus=2, running=at("gone", [0, 1]), **IDLE)])


CORPUS: dict[str, Round] = {
    "swap, pinned devices": swap(node("a", "H", 4, cpu=8, memory=8)),
    "swap, counted devices": swap(node("a", "H", 4, cpu=8, memory=8, count_only=True)),
    "gang": gang(),
    "make room": make_room(),
    "beside": beside(),
    "grow": grow(),
    "broken": broken(),
}
