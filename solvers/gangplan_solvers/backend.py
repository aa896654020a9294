"""The one protocol of all solver backends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from gangplan.model.program import FloatArray, Program, Solution, SolveParameters


class Feature(Enum):
    """What a backend can do; a caller that needs more refuses early and says what to use instead."""

    INTEGER = "INTEGER"
    """Integral columns."""
    CONTINUOUS = "CONTINUOUS"
    """Columns without integrality."""
    RELAXATION = "RELAXATION"
    """Linear relaxation on request."""
    WARM_START = "WARM_START"
    """Takes a complete solution to start from."""
    TIME_LIMIT = "TIME_LIMIT"
    NODE_LIMIT = "NODE_LIMIT"
    REPEATABLE = "REPEATABLE"
    """Same programme, seed and one thread without a wall limit: same answer."""


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a backend can be used here, found out without taking a licence.

    Attributes:
        available: it can.
        version: of the library; empty when unknown.
        reason: when it cannot: why, and what to do about it.
    """

    available: bool
    version: str = ""
    reason: str = ""


class Backend(Protocol):
    """Program -> library -> Solution."""

    name: str
    features: frozenset[Feature]

    def availability(self) -> Availability:
        """Whether this backend can be used here."""
        ...

    def solve(
        self, program: Program, parameters: SolveParameters, start: FloatArray | None = None
    ) -> Solution:
        """Solve ``program``; ``start`` is a complete feasible solution to begin with.

        Raises:
            BackendError: the library failed; the message says how.
        """
        ...
