"""A broken rule of a plan, as the verifier reports it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """One rule that a plan breaks.

    Attributes:
        rule: family and rule, e.g. ``capacity.cpu``; every family lists its own in ``RULES``.
        job: the job concerned; empty when none is.
        node: the node concerned; empty when none is.
        action: the id of the action concerned; empty when none is.
        message: one sentence for people, with the numbers.
    """

    rule: str
    job: str = ""
    node: str = ""
    action: str = ""
    message: str = ""

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"
