"""Mutations by the rule that they break."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gangplan.domain.plan import Plan
from gangplan.domain.round import Round

Mutation = Callable[[Round, Plan], Iterator[tuple[Round, Plan]]]
"""Rounds and plans made of a valid plan for a round; nothing where it does not apply."""
REGISTERED: dict[str, list[Mutation]] = {}


def breaks(rule: str) -> Callable[[Mutation], Mutation]:
    """Register a mutation under the rule that it breaks."""

    def register(mutation: Mutation) -> Mutation:
        REGISTERED.setdefault(rule, []).append(mutation)
        return mutation

    return register
