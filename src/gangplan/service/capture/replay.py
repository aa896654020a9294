"""Plans a captured round again, by the steps that were taken then, and judges both plans.

A round whose search ended by itself gives the same plan again: same input, same seed, and no clock in
between. One that time cut short cannot be repeated by any clock. It is planned again without a limit, but
once as many candidates are there as there were then, no solver is asked any more. What may come out
otherwise, and then the replay says so, is what else depended on the clock and is not captured: the steps of
the walk to the prices when it was hurried; how finely the look-ahead divided its time, and whether it had
any; what a solver had found when its time was up; what branching, promises and other proposers had no time
for.

Counts instead of the clock would not make it exact. An answer's statistics hold the evaluations of the prices
and of branching, the candidates and the programmes, and a walk that ends at the same evaluation has the same
prices. But a solver that time cuts off stops within a node or a heuristic, where no limit of nodes or
iterations stops it: what it gave would have to be kept, a value for each column of each programme. And some
fifty places of the engine ask, in more than one thread, whether there is time for one thing more, partly by
how long the last one took: each answer would have to be kept in the order of its thread, but for those of who
only waits for another thread, which are more or fewer every time.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from gangplan.domain.plan import RoundResult, Stage, TerminationLimit
from gangplan.engine.budget import Budget
from gangplan.engine.runner import Cancellation, Runner
from gangplan.errors import FieldViolation, InvalidInputError, WorkerError
from gangplan.service.capture.differences import answer_differences, plan_differences, same_value
from gangplan.service.capture.recorder import versions
from gangplan.service.wire import read_result, read_round_request

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.program import FloatArray, Program, Solution, SolveParameters
    from gangplan.v1 import captured_round_pb2

_AFTERWARDS = frozenset({"take_back"})
"""Stages that come after the search, whatever ended it."""


class Outcome(Enum):
    """How a replay compares with what was captured."""

    SAME = "SAME"
    """The same plan."""
    SAME_VALUE = "SAME_VALUE"
    """Another plan that is worth the same."""
    TIME = "TIME"
    """Another plan: time had cut the search short then."""
    FAILURE = "FAILURE"
    """Another plan: a solver had failed then, or the caller had left."""
    VERSIONS = "VERSIONS"
    """Another plan: by another version of this program or of a library."""
    NO_ANSWER = "NO_ANSWER"
    """There was no answer then; now there is one."""
    DIFFERENT = "DIFFERENT"
    """Another plan, and nothing explains it."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the independent verifier says of a plan today.

    Attributes:
        violations: every broken rule, in words.
        objective: its value, GPU-equivalents.
        as_said: whether the answer said the same value.
    """

    violations: tuple[str, ...]
    objective: float
    as_said: bool


@dataclass(frozen=True, slots=True)
class Replayed:
    """A captured round, planned again.

    Attributes:
        outcome: how both compare.
        why: the same in a sentence.
        result: the new answer.
        recorded: the answer then; None: there was none.
        judged: the new plan by the verifier.
        judged_then: the old plan by the verifier; None: there was none.
        differences: in what both answers differ.
        versions: by name: version then and now, where they differ; empty: it is not there.
        parted: number, from 1, of the first candidate that was worth something else; None: none was.
    """

    outcome: Outcome
    why: str
    result: RoundResult
    recorded: RoundResult | None
    judged: Judgement
    judged_then: Judgement | None
    differences: tuple[str, ...] = ()
    versions: dict[str, tuple[str, str]] = field(default_factory=dict)
    parted: int | None = None


def replay(
    captured: captured_round_pb2.CapturedRound,
    runner: Runner,
    *,
    time_limit: float | None = None,
) -> Replayed:
    """Plan a captured round again.

    Args:
        captured: the round.
        runner: where solvers run.
        time_limit: seconds after which it is called off; None: never.

    Raises:
        InvalidInputError: the request is of a contract that this version does not understand, or it was
            called off.
        UnknownProposerError: it asked a proposer that is not installed here.
        UnknownSolverError: it asked a solver that cannot be used here.
    """
    from gangplan.engine.round import plan_round

    try:
        round_, parameters = read_round_request(captured.request)
    except InvalidInputError as error:
        raise error.placed(lambda path: f"request.{path}" if path else "request") from None
    recorded = read_result(captured.response) if captured.HasField("response") else None
    steps = _RecordedSteps(runner, recorded)
    cancellation = Cancellation()
    timer = None if time_limit is None else threading.Timer(time_limit, cancellation.cancel)
    if timer is not None:
        timer.daemon = True
        timer.start()
    try:
        result = plan_round(
            round_,
            parameters,
            runner=steps,
            budget=Budget(None),
            cancellation=cancellation,
            on_stage=steps.note,
        )
    finally:
        if timer is not None:
            timer.cancel()
    if cancellation.cancelled:
        why = f"was not planned again within {time_limit:g} s; give it more time"
        raise InvalidInputError([FieldViolation(captured.capture_id, why)])
    changed = _changed_versions(captured)
    outcome, why = _compare(recorded, result, changed, error=captured.error)
    return Replayed(
        outcome=outcome,
        why=why,
        result=result,
        recorded=recorded,
        judged=_judge(round_, result),
        judged_then=None if recorded is None else _judge(round_, recorded),
        differences=() if recorded is None else answer_differences(recorded, result),
        versions=changed,
        parted=None if recorded is None else _parted(recorded.stages, result.stages),
    )


class _RecordedSteps:
    """Asks solvers until there are as many candidates as there were then.

    Args:
        runner: that asks them.
        recorded: the answer then; None: ask as ever.
    """

    def __init__(self, runner: Runner, recorded: RoundResult | None) -> None:
        self._runner = runner
        cut = recorded is not None and recorded.limit not in (TerminationLimit.NONE, TerminationLimit.NODE)
        self._most = len(_candidates(recorded.stages)) if cut and recorded is not None else None
        self._seen = 0

    def note(self, stage: Stage) -> None:
        """Count a candidate."""
        self._seen += stage.name not in _AFTERWARDS

    def solve(
        self,
        backend: str,
        program: Program,
        parameters: SolveParameters,
        start: FloatArray | None,
        budget: Budget,
        cancellation: Cancellation | None = None,
    ) -> Solution:
        """See :class:`~gangplan.engine.runner.Runner`."""
        if self._most is not None and self._seen >= self._most:
            raise WorkerError("the captured round had no time for this step")
        return self._runner.solve(backend, program, parameters, start, budget, cancellation)

    def close(self) -> None:
        """Whoever made the runner ends it."""


def _candidates(stages: tuple[Stage, ...]) -> list[Stage]:
    return [stage for stage in stages if stage.name not in _AFTERWARDS]


def _parted(then: tuple[Stage, ...], now: tuple[Stage, ...]) -> int | None:
    """Where the two searches parted: the first candidate of another step or value, from 1."""
    pairs = list(zip(_candidates(then), _candidates(now), strict=False))
    for number, (a, b) in enumerate(pairs, 1):
        if a.name != b.name or (a.objective is None) is not (b.objective is None):
            return number
        if a.objective is not None and b.objective is not None and not same_value(a.objective, b.objective):
            return number
    longer = max(len(_candidates(then)), len(_candidates(now)))
    return None if len(pairs) == longer else len(pairs) + 1


def _judge(round_: Round, result: RoundResult) -> Judgement:
    from gangplan.model.verifier.verify import verify

    followed = replace(round_, outlook=result.outlook or round_.outlook)
    found = verify(followed, result.plan)
    said = same_value(found.objective, result.quality.objective)
    return Judgement(tuple(map(str, found.violations)), found.objective, said)


def _changed_versions(captured: captured_round_pb2.CapturedRound) -> dict[str, tuple[str, str]]:
    then, now = dict(captured.versions), versions()
    return {
        name: (then.get(name, ""), now.get(name, ""))
        for name in sorted({*then, *now})
        if then.get(name, "") != now.get(name, "")
    }


def _compare(
    recorded: RoundResult | None, result: RoundResult, changed: dict[str, tuple[str, str]], *, error: str
) -> tuple[Outcome, str]:
    if recorded is None:
        return Outcome.NO_ANSWER, f"there was no answer then ({error}); now there is one"
    if not plan_differences(recorded.plan, result.plan):
        return Outcome.SAME, "the same plan"
    worth = f"{recorded.quality.objective:.9g} then, {result.quality.objective:.9g} now"
    if same_value(recorded.quality.objective, result.quality.objective):
        return Outcome.SAME_VALUE, f"another plan that is worth the same: {worth}"
    if recorded.limit is TerminationLimit.TIME:
        return Outcome.TIME, f"another plan, since time had cut the search short: {worth}"
    if recorded.limit in (TerminationLimit.FAILURE, TerminationLimit.CANCELLED):
        limit = recorded.limit.value
        return Outcome.FAILURE, f"another plan; the search was stopped by {limit} then: {worth}"
    if changed:
        names = ", ".join(f"{name} {a or 'none'} / {b or 'none'}" for name, (a, b) in changed.items())
        return Outcome.VERSIONS, f"another plan, by other versions ({names}): {worth}"
    return Outcome.DIFFERENT, f"another plan, and nothing explains it: {worth}"
