"""Cells are a mapping as any other, whichever way they are held."""

from __future__ import annotations

import copy
import pickle
from array import array
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.cells import Cell, Cells, figures, listed

CELLS: tuple[Cell, ...] = (("H100", 1, "node"), ("H100", 2, "rack"), ("A100", 1, "cluster"))


def cells_of(plain: dict[Cell, float]) -> Cells:
    return Cells({cell: at for at, cell in enumerate(plain)}, array("d", plain.values()))


@given(st.dictionaries(st.sampled_from(CELLS), st.floats(0.0, 1e15)))
def test_they_say_what_a_dict_says(plain: dict[Cell, float]) -> None:
    cells = cells_of(plain)
    assert cells == plain
    assert plain == cells
    assert dict(cells) == plain
    assert list(cells.items()) == list(plain.items())
    assert repr(cells) == repr(plain)
    for cell in CELLS:
        assert (cell in cells) == (cell in plain)
        assert cells.get(cell) == plain.get(cell)
        assert cells.get(cell, -1.0) == plain.get(cell, -1.0)
    assert copy.deepcopy(cells) == plain
    assert pickle.loads(pickle.dumps(cells)) == plain


def test_a_cell_that_is_not_listed_is_an_error() -> None:
    with pytest.raises(KeyError):
        cells_of({CELLS[0]: 1.0})[CELLS[1]]


@given(st.lists(st.lists(st.floats(0.0, 1e15), min_size=2, max_size=2), max_size=4))
def test_rows_of_figures_are_the_same_however_they_are_held(rows: list[list[float]]) -> None:
    plain = [dict(zip(CELLS, row, strict=False)) for row in rows]
    place = {cell: at for at, cell in enumerate(CELLS[:2])}
    shared = [Cells(place, array("d", row)) for row in rows]
    assert figures(shared) == figures(plain) == array("d", chain.from_iterable(rows)).tobytes()


def test_those_that_list_the_same_are_known_by_it() -> None:
    place = {cell: at for at, cell in enumerate(CELLS[:2])}
    one, two = Cells(place, array("d", [1.0, 2.0])), Cells(place, array("d", [3.0, 4.0]))
    other = Cells({CELLS[2]: 0}, array("d", [1.0]))
    assert listed(one) == listed(two) != listed(other)
    assert listed({CELLS[0]: 1.0}) == listed({CELLS[0]: 2.0}) != listed({CELLS[1]: 1.0})
