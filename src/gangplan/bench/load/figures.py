"""What outcomes of a load come to: lateness, rejections, losses, quality, memory, and what was promised."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from gangplan.bench.load.drive import Outcome
from gangplan.bench.runs import Row

LATE_SECONDS = 0.05
"""An answer is late when it comes so long after its time budget; a rejection, so long after it was sent."""
REACHED_GAP_OF_GAIN = 0.2
QUALITY_OF = ("M", 0.3)
"""Size and time budget of the rounds of which :data:`MOST_REACH` must reach that gap of gain."""
MOST_REACH = 0.9
UNLIKELY = 0.05
_NOBODY: Mapping[int, float] = MappingProxyType({})
_FLAT_BYTES = 32 * 2**20
_FLAT_SHARE = 0.05


def is_rejected(outcome: Outcome) -> bool:
    """Whether it was refused for want of room, with word of when to come again."""
    return outcome.code == "RESOURCE_EXHAUSTED" and outcome.retry_after is not None


def is_late(outcome: Outcome) -> bool:
    """Whether its answer came after its budget and :data:`LATE_SECONDS`."""
    return outcome.code == "OK" and outcome.seconds > outcome.ask.budget + LATE_SECONDS


def is_lost(outcome: Outcome) -> bool:
    """Whether it was neither answered nor properly rejected."""
    return (outcome.code != "OK" or not outcome.verified) and not is_rejected(outcome)


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least ``share`` of all do not exceed; None without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def quality(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Of the answered rounds of :data:`QUALITY_OF`: how many reach the gap of gain, of how many."""
    gaps = [
        outcome.gap_of_gain
        for outcome in outcomes
        if outcome.gap_of_gain is not None and (outcome.ask.size, outcome.ask.budget) == QUALITY_OF
    ]
    return sum(gap <= REACHED_GAP_OF_GAIN for gap in gaps), len(gaps)


def reach_by_instance(outcomes: Sequence[Outcome]) -> dict[int, float]:
    """By instance of :data:`QUALITY_OF`, the share of its answered rounds that reach the gap of gain."""
    asked = {each.ask.instance for each in outcomes}
    counts = {one: quality([each for each in outcomes if each.ask.instance == one]) for one in asked}
    return {one: reached / of for one, (reached, of) in counts.items() if of}


def holds(
    outcomes: Sequence[Outcome], *, most_rejected: float = 0.02, alone: Mapping[int, float] = _NOBODY
) -> bool:
    """Whether a rate can be borne: nothing late or lost, hardly anything rejected, and quality kept.

    A rate is asked at for some twenty seconds, in which luck is large; it is refused only where so many
    rejections, or so few rounds that reach the gap of gain, are unlikely (:data:`UNLIKELY`) at what is borne.

    Args:
        outcomes: of the rate.
        most_rejected: share of them that may be.
        alone: by instance, the share of its rounds that reach the gap of gain with nobody else about; 1 where
            it is not known. :data:`MOST_REACH` of it must: what no rate reaches says nothing of a rate.
    """
    rounds = [
        each
        for each in outcomes
        if each.gap_of_gain is not None and (each.ask.size, each.ask.budget) == QUALITY_OF
    ]
    misses = [1.0 - MOST_REACH * alone.get(each.ask.instance, 1.0) for each in rounds]
    reached, answered = quality(outcomes)
    rejected = sum(map(is_rejected, outcomes))
    return (
        not any(is_late(each) or is_lost(each) for each in outcomes)
        and at_least(rejected, [most_rejected] * len(outcomes)) > UNLIKELY
        and at_least(answered - reached, misses) > UNLIKELY
    )


def at_least(count: int, chances: Sequence[float]) -> float:
    """Probability that ``count`` or more of independent events happen (Poisson binomial distribution)."""
    happened = [1.0]  # by number of events, so far
    for chance in chances:
        more = [chance * each for each in happened]
        happened = [
            (1.0 - chance) * stay + come for stay, come in zip([*happened, 0.0], [0.0, *more], strict=True)
        ]
    return sum(happened[max(0, count) :])


def row(outcomes: Sequence[Outcome], seconds: float) -> Row:
    """Figures of the outcomes of one size at one load.

    ``p50_s``, ``p99_s`` and ``p999_s`` are of answers, from when each was to be sent; ``latest_s`` is how
    long after its budget the latest came; ``rejected_latest_s`` how long the slowest rejection took.
    """
    answered = [each for each in outcomes if each.code == "OK"]
    rejected = [each for each in outcomes if is_rejected(each)]
    lost = [each for each in outcomes if is_lost(each)]
    took = [each.seconds for each in answered]
    gaps = [each.gap_of_gain for each in answered if each.gap_of_gain is not None]
    reached, of = quality(outcomes)
    return {
        "rps": len(outcomes) / seconds,
        "asked": len(outcomes),
        "answered": len(answered),
        "p50_s": percentile(took, 0.5),
        "p99_s": percentile(took, 0.99),
        "p999_s": percentile(took, 0.999),
        "late": sum(map(is_late, outcomes)),
        "latest_s": max((each.seconds - each.ask.budget for each in answered), default=None),
        "rejected": len(rejected),
        "rejected_late": sum(each.seconds > LATE_SECONDS for each in rejected),
        "rejected_latest_s": max((each.seconds for each in rejected), default=None),
        "lost": len(lost),
        "lost_because": sorted({f"{each.code} {each.detail}"[:200] for each in lost})[:5],
        "gap_of_gain_p50": statistics.median(gaps) if gaps else None,
        "reached": reached,
        "reached_of": of,
    }


def growth(looks: Sequence[int]) -> int:
    """Bytes by which memory grew from the second quarter of the looks to the last; medians of both."""
    quarter = len(looks) // 4
    if not quarter:
        return 0
    return int(statistics.median(looks[-quarter:]) - statistics.median(looks[quarter : 2 * quarter]))


def missed(figures: Row) -> list[str]:
    """What was promised of a load and not kept, one sentence each."""
    found = []
    if figures["late"]:
        found.append(
            f"{figures['late']} of {figures['answered']} answers came more than {1e3 * LATE_SECONDS:.0f} ms "
            f"after their time budget, the latest {figures['latest_s']:.3f} s"
        )
    if figures["rejected_late"]:
        found.append(
            f"{figures['rejected_late']} of {figures['rejected']} rejections took more than "
            f"{1e3 * LATE_SECONDS:.0f} ms, the slowest {figures['rejected_latest_s']:.3f} s"
        )
    if figures["lost"]:
        found.append(f"{figures['lost']} requests were lost: {'; '.join(figures['lost_because'])}")
    if figures["reached"] < MOST_REACH * figures["reached_of"]:
        size, budget = QUALITY_OF
        found.append(
            f"{figures['reached']} of {figures['reached_of']} {size} rounds with {budget:g} s reach a gap of "
            f"gain of {REACHED_GAP_OF_GAIN:.0%}"
        )
    if figures["rss_growth_bytes"] > max(_FLAT_BYTES, _FLAT_SHARE * figures["rss_bytes"]):
        found.append(f"memory grew by {figures['rss_growth_bytes'] / 2**20:.0f} MiB")
    return found
