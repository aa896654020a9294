"""The same input in another order: figures and plans must not hang on how lists happen to be sorted."""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.model.program import Program

_Item = TypeVar("_Item")


def permute_round(round_: Round, seed: int) -> Round:
    """The round with all its lists in another order."""
    rng = random.Random(seed)

    def mixed(items: tuple[_Item, ...]) -> tuple[_Item, ...]:
        return tuple(rng.sample(items, len(items)))

    topology = round_.cluster.topology
    return dataclasses.replace(
        round_,
        cluster=dataclasses.replace(
            round_.cluster,
            nodes=mixed(round_.cluster.nodes),
            topology=dataclasses.replace(topology, domains=mixed(topology.domains)),
        ),
        accelerators=mixed(round_.accelerators),
        queues=mixed(round_.queues),
        jobs=mixed(round_.jobs),
        profiles=mixed(round_.profiles),
    )


def permute_program(program: Program, seed: int) -> Program:
    """The programme with rows and columns in another order, without families; seed 0 leaves it as it is."""
    if seed == 0:
        return program
    import numpy as np

    rng = np.random.default_rng(seed)
    column, row = rng.permutation(program.columns), rng.permutation(program.rows)
    place = np.empty_like(column)
    place[column] = np.arange(program.columns)
    lengths = np.diff(program.row_start)[row]
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    entries = np.repeat(program.row_start[:-1][row] - starts[:-1], lengths) + np.arange(program.nonzeros)
    return dataclasses.replace(
        program,
        objective=program.objective[column],
        lower=program.lower[column],
        upper=program.upper[column],
        integer=program.integer[column],
        row_start=starts,
        column_index=place[program.column_index[entries]],
        value=program.value[entries],
        row_lower=program.row_lower[row],
        row_upper=program.row_upper[row],
        column_families=(),
        row_families=(),
    )
