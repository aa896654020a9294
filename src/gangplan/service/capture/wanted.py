"""Which rounds a service keeps."""

from __future__ import annotations

import threading

from gangplan.domain.plan import TerminationLimit
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.v1 import captured_round_pb2, quality_pb2, round_pb2

ALL, NOTABLE = "all", "notable"
_SLOW = 0.9
"""Part of its time from which on a round counts as slow."""


def share_of(text: str) -> float:
    """The share of rounds that are kept beside the notable ones: ``all``, ``notable``, or 0 to 1 itself.

    Raises:
        InvalidInputError: it is none of these.
    """
    if text in (ALL, NOTABLE):
        return 1.0 if text == ALL else 0.0
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        why = f"{text!r} is neither {ALL}, {NOTABLE} nor a share from 0 to 1"
        raise InvalidInputError([FieldViolation("capture_rounds", why)])
    return share


class Wanted:
    """Says of every round whether to keep it, and why: the notable ones all, of the others a share.

    Args:
        share: of the rounds, 0 to 1; evenly, as in every third one for a third.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._lock = threading.Lock()
        self._owed = 0.0

    def answered(
        self, response: round_pb2.PlanRoundResponse, elapsed: float, allowed: float, *, greedy: bool
    ) -> list[captured_round_pb2.CaptureReason.ValueType]:
        """Why to keep an answered round; nothing: not at all.

        Args:
            response: the answer.
            elapsed: seconds that it took.
            allowed: seconds that it could take.
            greedy: no solver was wanted.
        """
        reasons = self._turn()
        if elapsed >= _SLOW * allowed:
            reasons.append(captured_round_pb2.CAPTURE_REASON_SLOW)
        if _fell_back(response, greedy=greedy):
            reasons.append(captured_round_pb2.CAPTURE_REASON_FALLEN_BACK)
        return reasons

    def failed(self) -> list[captured_round_pb2.CaptureReason.ValueType]:
        """Why to keep a round without an answer."""
        return [*self._turn(), captured_round_pb2.CAPTURE_REASON_FAILED]

    def _turn(self) -> list[captured_round_pb2.CaptureReason.ValueType]:
        with self._lock:
            self._owed += self._share
            if self._owed < 1.0 - 1e-9:
                return []
            self._owed -= 1.0
            return [captured_round_pb2.CAPTURE_REASON_SHARE]


def _fell_back(response: round_pb2.PlanRoundResponse, *, greedy: bool) -> bool:
    """Whether a solver failed, or was wanted and never got its turn."""
    limit = quality_pb2.TerminationLimit.Name(response.termination.limit).removeprefix("TERMINATION_LIMIT_")
    if limit == TerminationLimit.FAILURE.value:
        return True
    cut = limit == TerminationLimit.TIME.value
    return cut and not greedy and not response.solver
