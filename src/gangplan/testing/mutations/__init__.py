"""Mutations: a good plan in, a plan (or a round) out that breaks one named rule.

They show that the verifier catches what it says it catches (decision 39). There is a file for each family of
rules, named as in :mod:`gangplan.model.constraints` and found by scanning this folder. Each mutation is
registered under the rule that it breaks and yields nothing where it does not apply; other rules may break as
well.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from gangplan.domain.plan import Plan
from gangplan.domain.round import Round
from gangplan.testing.mutations.registry import REGISTERED, Mutation


@dataclass(frozen=True, slots=True)
class Mutant:
    """A round and a plan that breaks ``rule``."""

    rule: str
    round_: Round
    plan: Plan


@cache
def mutations() -> Mapping[str, Sequence[Mutation]]:
    """All mutations by the rule that they break, family by family."""
    for module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        importlib.import_module(f"{__name__}.{module}")
    return MappingProxyType(REGISTERED)


def mutants(round_: Round, plan: Plan) -> Iterator[Mutant]:
    """All mutants of a valid ``plan`` for ``round_``."""
    for rule, known in mutations().items():
        for mutation in known:
            for mutated, broken in mutation(round_, plan):
                yield Mutant(rule, mutated, broken)
