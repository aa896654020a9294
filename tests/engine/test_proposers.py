"""Whatever a proposer hands in, or fails to, the round is answered; what is good of it is used."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gangplan.domain.job import Capabilities
from gangplan.domain.plan import Action, ActionKind, Plan, RoundResult
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.engine import proposers
from gangplan.engine.parameters import PlanParameters
from gangplan.engine.proposers import Proposal
from gangplan.engine.round import plan_round
from gangplan.engine.runner import Cancellation
from gangplan.errors import UnknownProposerError
from gangplan.model.verifier.verify import verify
from gangplan.testing.builders import act, at, group, job, node, plan_of, round_of

H = "H100"
HANG_SECONDS = 20.0
TRAP = round_of(
    [node("a", H, 4), node("b", H, 4)],
    [
        job("one", group(gpus=3)),
        job("two", group(gpus=3)),
        job("pair-1", group(gpus=2)),
        job("pair-2", group(gpus=2)),
        job("pair-3", group(gpus=2)),
        job("pair-4", group(gpus=2)),
    ],
)
"""Who begins with the large ones reaches 6, and four pairs are worth 8."""
PAIRS = plan_of(
    act(ActionKind.PLACE, "pair-1", at("a", tasks=1)),
    act(ActionKind.PLACE, "pair-2", at("a", tasks=1)),
    act(ActionKind.PLACE, "pair-3", at("b", tasks=1)),
    act(ActionKind.PLACE, "pair-4", at("b", tasks=1)),
)


class Told:
    """Proposes what it is told to."""

    def __init__(self, propose: Callable[[Round, float], object]) -> None:
        self._propose = propose
        self.asked: list[float] = []

    def propose(self, round_: Round, seconds: float) -> Proposal:
        self.asked.append(seconds)
        return self._propose(round_, seconds)  # type: ignore[return-value]


_LET_GO = threading.Event()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Told]]:
    """Installs a proposer by name for the time of a test."""
    targets: dict[str, str] = {}
    monkeypatch.setattr(proposers, "installed", lambda: targets)
    monkeypatch.setattr(proposers, "_hanging", {})

    def install(name: str, propose: Callable[[Round, float], object]) -> Told:
        proposer = Told(propose)
        monkeypatch.setattr(sys.modules[__name__], name.upper(), proposer, raising=False)
        targets[name] = f"{__name__}:{name.upper()}"
        return proposer

    _LET_GO.clear()
    yield install
    _LET_GO.set()


def planned(round_: Round = TRAP, *names: str, seconds: float = 60.0, **fields: object) -> RoundResult:
    how = PlanParameters(pipeline="greedy", time_budget_seconds=seconds, proposers=names, **fields)
    result = plan_round(round_, how)
    assert verify(round_, result.plan).violations == ()
    return result


def value_of(result: RoundResult, name: str) -> float | None:
    return next(stage.objective for stage in result.stages if stage.name == name)


def kinds(result: RoundResult) -> dict[str, str]:
    return {action.job: action.kind.value for action in result.plan.actions}


def raises(_round: Round, _seconds: float) -> object:
    raise RuntimeError("the policy has no weights")


def leaves(_round: Round, _seconds: float) -> object:
    raise SystemExit(1)


def hangs(_round: Round, _seconds: float) -> object:
    _LET_GO.wait(HANG_SECONDS)
    return Proposal(PAIRS)


NONSENSE = {
    "nothing": None,
    "a plan": PAIRS,
    "a plan of words": Proposal(plan="place everything"),  # type: ignore[arg-type]
    "actions of words": Proposal(plan=Plan(("place", "everything"))),  # type: ignore[arg-type]
    "tasks of words": Proposal(plan_of(act(ActionKind.PLACE, "one", at("a", tasks="three")))),  # type: ignore[arg-type]
    "prices below 0": Proposal(device_prices={H: -1.0}),
    "prices without end": Proposal(device_prices={H: float("inf")}),
    "prices of words": Proposal(device_prices={H: "dear"}),  # type: ignore[dict-item]
    "a price": Proposal(device_prices=3.0),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(
    "propose",
    [raises, leaves, *(pytest.param(lambda *_, x=x: x, id=what) for what, x in NONSENSE.items())],
)
def test_a_proposer_that_fails_is_a_sentence_in_the_answer(
    told: Callable[..., Told], propose: Callable[[Round, float], object]
) -> None:
    told("it", propose)
    without = planned()
    result = planned(TRAP, "it")
    assert result.plan == without.plan
    assert result.quality == without.quality
    assert without.detail == ""
    assert "it" in result.detail
    assert any(word in result.detail for word in ("failed", "cannot be read", "dropped")), result.detail


def test_a_proposer_that_hangs_is_waited_for_a_share_of_the_budget_and_not_asked_again(
    told: Callable[..., Told],
) -> None:
    planned()
    told("slow", hangs)
    began = time.monotonic()
    result = planned(TRAP, "slow", seconds=2.0)
    took = time.monotonic() - began
    assert "proposer 'slow' did not answer in time" in result.detail
    assert 2.0 * proposers.SHARE <= took < HANG_SECONDS
    again = planned(TRAP, "slow", seconds=2.0)
    assert "it is still busy with an earlier round" in again.detail
    assert proposers.installed()["slow"]
    _LET_GO.set()
    proposers._hanging["slow"].join(HANG_SECONDS)
    assert planned(TRAP, "slow", seconds=60.0).quality.objective == 8.0


def test_nobody_is_waited_for_in_a_round_that_is_called_off(told: Callable[..., Told]) -> None:
    planned()
    told("slow", hangs)
    cancellation = Cancellation()
    timer = threading.Timer(0.3, cancellation.cancel)
    timer.start()
    began = time.monotonic()
    how = PlanParameters(time_budget_seconds=60.0, proposers=("slow",))
    result = plan_round(TRAP, how, cancellation=cancellation)
    timer.join()
    assert time.monotonic() - began < 60.0 * proposers.SHARE / 2
    assert verify(TRAP, result.plan).violations == ()
    assert "proposer 'slow' did not answer in time" in result.detail


def test_a_good_plan_wins(told: Callable[..., Told]) -> None:
    told("good", lambda *_: Proposal(PAIRS))
    without, result = planned(), planned(TRAP, "good")
    assert without.quality.objective < result.quality.objective == 8.0
    assert value_of(result, "proposer:good") == 8.0
    assert kinds(result) == dict.fromkeys(("pair-1", "pair-2", "pair-3", "pair-4"), "PLACE")
    assert result.detail == ""


def test_a_plan_that_breaks_rules_is_used_as_far_as_it_goes(told: Callable[..., Told]) -> None:
    liar = plan_of(
        act(ActionKind.PLACE, "pair-1", at("a", tasks=1)),
        act(ActionKind.PLACE, "pair-1", at("b", tasks=1)),  # twice
        act(ActionKind.PLACE, "nobody", at("b", tasks=1)),  # no such job
        act(ActionKind.PLACE, "pair-2", at("c", tasks=1)),  # no such node
        act(ActionKind.PLACE, "pair-3", at("b", tasks=2)),  # no such count
        act(ActionKind.PLACE, "pair-4", at("b", tasks=1, group="other")),  # no such group
        act(ActionKind.PLACE, "one", at("a", tasks=1)),  # no room beside pair-1
        act(ActionKind.EVICT, "two"),  # does not run
    )
    told("liar", lambda *_: Proposal(liar))
    result = planned(TRAP, "liar")
    assert "proposer:liar: 7 of 8 actions were dropped" in result.detail
    assert value_of(result, "proposer:liar") is not None
    assert "rejected" not in result.detail


def test_a_partial_plan_is_completed(told: Callable[..., Told]) -> None:
    round_ = round_of(
        [node("a", H, 4), node("b", H, 4)],
        [
            job("runs", group(gpus=2), running=at("a", (0, 1), tasks=1)),
            job("small", group(gpus=2)),
            job("large", group(gpus=4)),
        ],
    )
    told("part", lambda *_: Proposal(plan_of(act(ActionKind.PLACE, "large", at("b", tasks=1)))))
    result = planned(round_, "part")
    assert value_of(result, "proposer:part") == 8.0
    assert kinds(result) == {"runs": "KEEP", "small": "PLACE", "large": "PLACE"}


CROWDED = [node("a", H, 4), node("b", H, 4)]


def crowd(*, limit: int | None = None, **can: bool) -> Round:
    """Two halves of nodes are taken, and only who makes room lets the large one in."""
    return round_of(
        CROWDED,
        [
            job("x", group(gpus=2), running=at("a", (0, 1), tasks=1), capabilities=Capabilities(**can)),
            job("y", group(gpus=2), running=at("b", (0, 1), tasks=1)),
            job("large", group(gpus=4), weight=5.0),
        ],
        policy=Policy(disruption_limit=limit),
    )


MOVE = plan_of(
    act(ActionKind.MIGRATE, "x", at("b", tasks=1)),
    act(ActionKind.PLACE, "large", at("a", tasks=1)),
)


def test_a_move_makes_room(told: Callable[..., Told]) -> None:
    told("moves", lambda *_: Proposal(MOVE))
    result = planned(crowd(), "moves")
    assert "rejected" not in result.detail
    assert "dropped" not in result.detail
    assert kinds(result) == {"x": "MIGRATE", "y": "KEEP", "large": "PLACE"}


@pytest.mark.parametrize(
    "round_", [crowd(movable=False, pausable=False), crowd(limit=0)], ids=["not movable", "limit"]
)
def test_what_may_not_be_disrupted_is_not(told: Callable[..., Told], round_: Round) -> None:
    told("moves", lambda *_: Proposal(MOVE))
    result = planned(round_, "moves")
    assert "rejected" not in result.detail
    assert "proposer:moves: " in result.detail
    assert kinds(result)["x"] == "KEEP"


def test_who_is_not_mentioned_and_may_not_stop_comes_first(told: Callable[..., Told]) -> None:
    told("rude", lambda *_: Proposal(plan_of(act(ActionKind.PLACE, "large", at("a", tasks=1)))))
    result = planned(crowd(pausable=False, movable=False), "rude")
    assert "rejected" not in result.detail
    assert "proposer:rude: 1 of 1 actions were dropped" in result.detail
    freed = planned(crowd(), "rude")
    assert "rejected" not in freed.detail
    assert "dropped" not in freed.detail


def test_nobody_is_evicted_for_nobodys_good(told: Callable[..., Told]) -> None:
    round_ = round_of(CROWDED, [job("x", group(gpus=2), running=at("a", (0, 1), tasks=1))])
    told("cruel", lambda *_: Proposal(plan_of(act(ActionKind.EVICT, "x"))))
    result = planned(round_, "cruel")
    assert kinds(result) == {"x": "KEEP"}
    assert result.detail == ""


def test_quotas_hold(told: Callable[..., Told]) -> None:
    round_ = round_of(
        CROWDED,
        [job(name, group(gpus=4), queue="lab") for name in ("one", "two")],
        queues=(Queue("lab", device_limit=4),),
    )
    both = plan_of(
        act(ActionKind.PLACE, "two", at("a", tasks=1)), act(ActionKind.PLACE, "one", at("b", tasks=1))
    )
    told("greedy", lambda *_: Proposal(both))
    result = planned(round_, "greedy")
    assert "proposer:greedy: 1 of 2 actions were dropped" in result.detail
    assert "rejected" not in result.detail


def test_good_prices_prove_and_guide(told: Callable[..., Told]) -> None:
    """At one GPU-equivalent a device every option is worth its price, so that 8 is the bound."""
    told("priced", lambda *_: Proposal(device_prices={H: 1.0, "unheard-of": 3.0}))
    result = planned(TRAP, "priced")
    assert value_of(result, "proposer:priced:prices") is not None
    assert result.quality.bound == pytest.approx(8.0)
    assert "no accelerator type is named 'unheard-of'" in result.detail


def test_proposers_are_asked_in_order_once_and_told_their_time(told: Callable[..., Told]) -> None:
    first, second = (told(name, lambda *_: Proposal(PAIRS)) for name in ("first", "second"))
    result = planned(TRAP, "second", "first", "second", seconds=40.0)
    names = [stage.name for stage in result.stages if stage.name.startswith("proposer")]
    assert names == ["proposer:second", "proposer:first"]
    assert first.asked == second.asked
    assert first.asked[0] == pytest.approx(40.0 * proposers.SHARE, rel=0.5)


def test_who_is_not_installed_is_refused_before_anything_is_planned(told: Callable[..., Told]) -> None:
    told("there", lambda *_: Proposal())
    with pytest.raises(UnknownProposerError, match="no proposer 'elsewhere'; there are: there"):
        planned(TRAP, "there", "elsewhere")


def test_the_plan_before_is_a_proposal() -> None:
    result = planned(TRAP, previous_plan=PAIRS)
    assert value_of(result, "previous_plan") == 8.0
    assert result.quality.objective == 8.0
    spoiled = planned(TRAP, previous_plan=Plan((*PAIRS.actions, act(ActionKind.KEEP, "gone", at("a", (0,))))))
    assert "previous_plan: 1 of 5 actions were dropped" in spoiled.detail
    assert spoiled.quality.objective == 8.0


def test_a_package_is_found_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "far_away.py").write_text(
        "from gangplan.domain.plan import Plan\n"
        "from gangplan.engine.proposers import Proposal\n"
        "class Policy:\n"
        "    def propose(self, round_, seconds):\n"
        "        return Proposal(plan=Plan(()))\n"
        "POLICY = Policy()\n"
    )
    info = tmp_path / "far_away-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: far-away\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[gangplan.proposers]\nfar-away = far_away:POLICY\nbroken = far_away:NONE\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    proposers.installed.cache_clear()
    try:
        assert proposers.names() == ("broken", "far-away")
        result = planned(TRAP, "far-away", "broken")
    finally:
        monkeypatch.undo()
        proposers.installed.cache_clear()
    assert value_of(result, "proposer:far-away") is not None
    assert "proposer 'broken' failed: AttributeError" in result.detail


def test_the_example_in_the_docstring_works(told: Callable[..., Told]) -> None:
    text = proposers.__doc__ or ""
    code = text[text.index("    from gangplan.domain.job") : text.index("A plan need not")]
    names: dict[str, object] = {}
    exec("\n".join(line[4:] for line in code.splitlines()), names)
    told("example", names["LARGEST_FIRST"].propose)  # type: ignore[attr-defined]
    result = planned(round_of([node("a", H, 8)], [job("wide", gpus=6), job("small", gpus=4)]), "example")
    assert value_of(result, "proposer:example") == 6.0
    assert result.detail == ""


def test_an_action_says_what_it_was_matched_to() -> None:
    action: Action = next(iter(planned(TRAP, previous_plan=PAIRS).plan.actions))
    assert action.placements[0].devices
    assert action.scope == "node"


def test_the_greedy_moves_nobody_who_may_not_move(told: Callable[..., Told]) -> None:
    """Prices at which who runs had better leave: it leaves for good, or stays."""
    elastic = group(count=2, counts=(1, 2, 3, 4), gpus=1)
    round_ = round_of(
        CROWDED,
        [
            job("x", elastic, running=at("a", (0, 1)), capabilities=Capabilities(movable=False)),
            job("large", group(gpus=4), weight=3.0),
            job("larger", group(gpus=4), weight=4.0),
        ],
    )
    told("dear", lambda *_: Proposal(device_prices={H: 2.0}))
    result = planned(round_, "dear")
    assert "rejected" not in result.detail, result.detail
    assert kinds(result) == {"x": "EVICT", "large": "PLACE", "larger": "PLACE"}
