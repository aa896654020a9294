"""Whether anything can still happen: nobody runs or comes, and who waits was told that it never starts."""

from __future__ import annotations

from collections.abc import Mapping

from gangplan.domain.plan import RoundResult, Verdict, VerdictKind
from gangplan.planning.rounds.state import State

FINAL_CODES = frozenset({"DEADLINE_LOST"})
"""Codes of verdicts that hold for ever on a cluster where nobody runs: time only makes them truer."""


def stands_still(state: State) -> bool:
    """Whether all who wait after a round were told for good, and nobody is left who could change it.

    Of a policy that answers with a bare plan, or has another reason for one of them, nothing is known.

    Args:
        state: the world after the round; whoever plays it knows that nobody comes and no node turns any more.
    """
    if not isinstance(state.answer, RoundResult) or state.promises:
        return False
    if any(job.running is not None for job in state.live.values()):
        return False
    told: Mapping[str, Verdict] = {verdict.job: verdict for verdict in state.answer.verdicts}
    return all(name in told and _final(told[name]) for name in state.live)


def _final(verdict: Verdict) -> bool:
    return verdict.kind is VerdictKind.NEVER_FITS or verdict.code in FINAL_CODES
