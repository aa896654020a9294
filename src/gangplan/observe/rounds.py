"""What is told of a planned round: to the metrics, the live page, the traces and the log."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gangplan.domain.plan import RoundResult
    from gangplan.domain.round import Round
    from gangplan.observe.metrics import Metrics


def note_round(metrics: Metrics, request_id: str, round_: Round, result: RoundResult, *, real: bool) -> None:
    """Tell all who follow the rounds of a server.

    Args:
        metrics: of the server.
        request_id: the caller's.
        round_: the round.
        result: its answer.
        real: it is of a cluster that there is, and not of one that somebody only asks about.
    """
    metrics.observe_round(result)
    if real:
        metrics.jobs_waiting.set(len(result.verdicts))
        metrics.board.note(round_, result)
    metrics.tracing.phases(result)
    log_round(request_id, round_, result)


def log_round(request_id: str, round_: Round, result: RoundResult) -> None:
    """Log the size of a round, what was decided, and how good it is: what an operator asks first.

    Args:
        request_id: the caller's.
        round_: the round.
        result: its answer.
    """
    from gangplan.observe.logs import get_logger

    kinds = Counter(action.kind.value.lower() for action in result.plan.actions)
    get_logger(__name__).info(
        "round",
        request_id=request_id,
        nodes=len(round_.cluster.nodes),
        jobs=len(round_.jobs),
        **kinds,
        waiting=len(result.verdicts),
        reason=result.reason.value,
        limit=result.limit.value,
        detail=result.detail,
        objective=result.quality.objective,
        bound=result.quality.bound,
        relative_gap=result.quality.relative_gap,
        gap_of_gain=result.quality.gap_of_gain,
        pipeline=result.pipeline,
        solver=result.solver,
    )
