"""What is measured: one run, which becomes one row."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from types import MappingProxyType
from typing import Any

Row = dict[str, Any]
"""One line of a file of rows: what JSON can say."""

_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


class Status(Enum):
    """What became of a run, judged by our own verifier and never by what a solver says of itself."""

    OPTIMAL = "OPTIMAL"
    """Verified, and within a relative gap of 1e-6 of a proven bound (decision 23)."""
    FEASIBLE = "FEASIBLE"
    """Verified; not proved best within the limit."""
    NO_SOLUTION = "NO_SOLUTION"
    """The limit came before any solution, or there is none."""
    WRONG = "WRONG"
    """An answer that the verifier refuses, or that claims what cannot be."""
    TIMEOUT = "TIMEOUT"
    """No answer in time: the process was ended."""
    OOM = "OOM"
    """Ended for its memory, by the limit of the run or by the system."""
    ERROR = "ERROR"
    """Any other failure; the row says which."""


SOLVED = frozenset({Status.OPTIMAL.value})
ANSWERED = frozenset({Status.OPTIMAL.value, Status.FEASIBLE.value})


class Kind(Enum):
    """What a suite measures."""

    ROUNDS = "rounds"
    """Whole rounds, by the service or by the planner in this process."""
    MODELS = "models"
    """Programmes, each by one backend."""
    FORMULATIONS = "formulations"
    """Other programmes of the same round, and those of others."""
    CHURN = "churn"
    """Many rounds of one cluster, with noise."""
    FILL = "fill"
    """A cluster filled by arrivals that never leave."""
    GROWTH = "growth"
    """Rounds whose work is counted by phase."""
    HISTORIES = "histories"
    """Whole histories, round by round, under one policy."""
    LOAD = "load"
    """A service under open-loop load."""
    PUBLISHED = "published"
    """Settings of papers, a row for each figure that they publish."""
    POLICIES = "policies"
    """Published workloads under one policy."""
    DELTAS = "deltas"
    """Rounds on a session beside whole ones."""


@dataclass(frozen=True, slots=True)
class Run:
    """One process's work.

    Attributes:
        suite: name of the suite.
        kind: a :class:`Kind`'s value.
        instance: e.g. ``M/steady/50/seed0``; of a model file its name.
        who: ``gangplan``, a prototype with its settings (``prototype-pipeline``), or a formulation's name.
        solver: backend, or ``auto``.
        pipeline: ``auto``, ``full`` or ``greedy`` (decision 36).
        transport: ``grpc`` (a service in its own process) or ``in_process``; for rounds.
        seed: of the instance; input is permuted by it, too.
        time_limit_s: time budget of the round or the solve.
        threads: of the solver.
        node_limit: most branch-and-bound nodes; None: no limit.
        memory_limit_bytes: most resident bytes of all processes of the run; 0: no limit.
        check_permuted: plan the round once more with another order of its lists; the plan must be the same.
        source: a file or folder that the instance is read from; empty for generated ones.
        options: more for the kind: what a suite's group says under ``options``.
    """

    suite: str
    kind: str
    instance: str
    who: str = "gangplan"
    solver: str = "auto"
    pipeline: str = "auto"
    transport: str = "grpc"
    seed: int = 0
    time_limit_s: float = 5.0
    threads: int = 1
    node_limit: int | None = None
    memory_limit_bytes: int = 0
    check_permuted: bool = False
    source: str = ""
    options: Mapping[str, Any] = field(default_factory=lambda: _NO_OPTIONS)

    def head(self) -> Row:
        """The run as the first columns of its row."""
        return {f.name: getattr(self, f.name) for f in fields(self)} | {"options": dict(self.options)}

    def matches(self, patterns: tuple[str, ...]) -> bool:
        """Whether one of the patterns names this run; no pattern names every run.

        A pattern is a size (``L``) or a glob over the instance's name (``L/steady/85/*``), over ``who``, or
        over all that :func:`named` says (``sia/* rounding highs``).
        """
        if not patterns:
            return True
        size = self.instance.partition("/")[0]
        return any(
            pattern == size or fnmatch.fnmatchcase(text, pattern)
            for pattern in patterns
            for text in (self.instance, self.who, named(self))
        )


def named(run: Run | Row) -> str:
    """A run in words: instance, who, solver, pipeline where they say anything; as ``--list`` prints it."""
    head = run.head() if isinstance(run, Run) else run
    words = [head["instance"]]
    words += [head["who"]] if head.get("who", "gangplan") != "gangplan" else []
    words += [head[name] for name in ("solver", "pipeline") if head.get(name, "auto") != "auto"]
    return " ".join(words)


def from_document(document: Mapping[str, Any]) -> Run:
    """The run that :meth:`Run.head` was made of; other names are passed over."""
    known = {f.name for f in fields(Run)}
    return Run(**{name: value for name, value in document.items() if name in known})


KEY = (
    "suite kind who instance solver pipeline transport seed time_limit_s threads node_limit source options"
).split()
"""What makes two rows the same run (beside the digest of the code)."""


def key(row: Mapping[str, Any]) -> tuple[object, ...]:
    """What tells a run of the same code from others."""
    return (*(_plain(row.get(name)) for name in KEY), row.get("code"))


def _plain(value: object) -> object:
    return repr(sorted(value.items())) if isinstance(value, Mapping) else value


def group_of(instance: str) -> str:
    """The instance without its seed: ``L/steady/85/seed3`` is of the group ``L/steady/85``."""
    return re.sub(r"/seed\d+$", "", instance)
