"""Programmes as model files that other solvers read: free MPS and CPLEX LP out, both in.

Numbers are written so that they read back to the last bit; one limit of a row with two may be a digit wider
in MPS, which states a width in its place. What a programme calls a family gives its rows and columns their
names: ``capacity_17`` is row 17, of the family ``capacity``.
"""

from __future__ import annotations

import importlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.model.program import Family, FloatArray, Program
from gangplan_solvers.rows import row_of_entry

_LONGEST_NAME = 100
_LINE = 200
"""Characters after which a line of an LP file is broken; its readers stop at 255 to 560."""


def write_mps(program: Program, path: Path | str, *, minimise: bool = False) -> None:
    """Write ``program`` as free MPS.

    The objective is stated to be maximised (section OBJSENSE) and carries the offset as its negated
    right-hand side. Rows with two limits are RANGES; every column states both bounds, so that no reader's
    default counts. A row without limits is one more N row, which readers drop.

    Args:
        program: what to write; its bounds may be infinite here.
        path: where to.
        minimise: state the negated objective instead, for readers that do not know OBJSENSE (CBC 2.10).

    Raises:
        InvalidInputError: a number is NaN, or infinite where it has no meaning.
    """
    _refuse_nonsense(program)
    with Path(path).open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line}\n" for line in _mps_lines(program, minimise=minimise))


def write_lp(program: Program, path: Path | str) -> None:
    """Write ``program`` in CPLEX's LP format; a row with two different limits becomes two rows.

    Raises:
        InvalidInputError: as :func:`write_mps`.
    """
    _refuse_nonsense(program)
    with Path(path).open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line}\n" for line in _lp_lines(program))


@contextmanager
def memory_file() -> Iterator[str]:
    """The path of a file in memory (Linux), for this process and those that are given its descriptor.

    The descriptor is the last part of the path. The file has no name elsewhere and is gone when closed, even
    by a kill.
    """
    descriptor = os.memfd_create("gangplan")
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


@dataclass(frozen=True, slots=True, eq=False)
class ModelFile:
    """What a model file says.

    Attributes:
        program: the programme, to be maximised.
        minimise: the file asks to minimise: ``program`` has the negated objective, so negate its values.
        columns, rows: names by index.
    """

    program: Program
    minimise: bool
    columns: tuple[str, ...]
    rows: tuple[str, ...]


def read_model(path: Path | str) -> ModelFile:
    """Read a model file, MPS or LP by its suffix, maybe compressed (``.gz``), with HiGHS's own reader.

    Columns without finite bounds get those that the rows imply, since backends take finite ones only.

    Raises:
        InvalidInputError: no such file, HiGHS refuses it, it is not linear, or a column stays unbounded.
    """
    # The backend's module mutes the banner of the first instance.
    library: Any = importlib.import_module("gangplan_solvers.highs")._library()
    highs = library.Highs()
    highs.setOptionValue("output_flag", False)
    if highs.readModel(str(path)).name == "kError":
        raise _invalid(str(path), "it is missing, or not a model that HiGHS reads (.mps, .lp, maybe .gz)")
    if highs.getModel().hessian_.dim_:
        raise _invalid(str(path), "its objective is quadratic; only linear ones are solved")
    highs.ensureRowwise()
    model = highs.getLp()
    minimise = model.sense_ != library.ObjSense.kMaximize
    sign = -1.0 if minimise else 1.0
    kinds = [kind.name for kind in model.integrality_] or ["kContinuous"] * model.num_col_
    odd = [k for k, kind in enumerate(kinds) if kind not in {"kContinuous", "kInteger"}]
    if odd:
        name = model.col_names_[odd[0]]
        raise _invalid(str(path), f"column {name} is semi-continuous; only plain ones are solved")
    value = np.array(model.a_matrix_.value_, dtype=np.float64)
    kept = value != 0.0
    start = np.array(model.a_matrix_.start_, dtype=np.int64)
    of = np.repeat(np.arange(model.num_row_), start[1:] - start[:-1])[kept]
    counts = np.bincount(of, minlength=model.num_row_)
    names = tuple(model.col_names_) or tuple(f"x_{k}" for k in range(model.num_col_))
    program = Program(
        objective=sign * np.array(model.col_cost_, dtype=np.float64),
        lower=np.array(model.col_lower_, dtype=np.float64),
        upper=np.array(model.col_upper_, dtype=np.float64),
        integer=np.array([kind == "kInteger" for kind in kinds], dtype=np.bool_),
        row_start=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
        column_index=np.array(model.a_matrix_.index_, dtype=np.int64)[kept],
        value=value[kept],
        row_lower=np.array(model.row_lower_, dtype=np.float64),
        row_upper=np.array(model.row_upper_, dtype=np.float64),
        offset=sign * float(model.offset_),
        column_families=(Family("x", 0, model.num_col_),),
        row_families=(Family("r", 0, model.num_row_),),
    )
    return ModelFile(_bounded(program, str(path), names), minimise, names, tuple(model.row_names_))


def names(families: Sequence[Family], count: int, default: str) -> list[str]:
    """Names by index: family and index; ``default`` and index where no family holds it. All differ."""
    found = [f"{default}_{k}" for k in range(count)]
    for family in families:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", family.name)[:_LONGEST_NAME]
        stem = plain if re.match("[A-Za-df-z_]", plain) else f"{default}_{plain}"  # 9a and e5 read as numbers
        found[family.start : family.stop] = [f"{stem}_{k}" for k in range(family.start, family.stop)]
    return found


def _mps_lines(program: Program, *, minimise: bool) -> Iterator[str]:
    columns, rows = _names(program)
    yield "NAME gangplan FREE"
    if not minimise:
        yield from ("OBJSENSE", " MAX")
    yield from ("ROWS", " N objective")
    lower, upper = program.row_lower, program.row_upper
    equal = lower == upper
    kind = np.select([equal, np.isfinite(upper), np.isfinite(lower)], ["E", "L", "G"], "N")
    limit = np.where(np.isfinite(upper), upper, lower)
    ranged = np.isfinite(lower) & np.isfinite(upper) & ~equal
    width = np.zeros(program.rows)
    for row in np.flatnonzero(ranged).tolist():
        kind[row], limit[row], width[row] = _range(float(lower[row]), float(upper[row]))
    yield from (f" {k} {name}" for k, name in zip(kind.tolist(), rows, strict=True))
    yield "COLUMNS"
    yield from _mps_columns(program, columns, rows, -1.0 if minimise else 1.0)
    yield "RHS"
    if program.offset:
        yield f" rhs objective {float(program.offset if minimise else -program.offset)!r}"
    for row in np.flatnonzero((kind != "N") & (limit != 0.0)).tolist():
        yield f" rhs {rows[row]} {float(limit[row])!r}"
    if ranged.any():
        yield "RANGES"
        yield from (f" rng {rows[row]} {float(width[row])!r}" for row in np.flatnonzero(ranged).tolist())
    yield "BOUNDS"
    bounds = zip(program.lower.tolist(), program.upper.tolist(), columns, strict=True)
    for low, high, name in bounds:
        if low == high:
            yield f" FX bnd {name} {low!r}"
        elif low == -np.inf and high == np.inf:
            yield f" FR bnd {name}"
        else:
            ends = [
                f" MI bnd {name}" if low == -np.inf else f" LO bnd {name} {low!r}",
                f" PL bnd {name}" if high == np.inf else f" UP bnd {name} {high!r}",
            ]
            # SCIP forgets an upper bound of 1 at a later LO. Some readers take an upper bound below 0 to mean
            # no lower one where that is 0: only where the two cross.
            yield from ends if low <= high else ends[::-1]
    yield "ENDATA"


def _mps_columns(program: Program, columns: Sequence[str], rows: Sequence[str], sign: float) -> Iterator[str]:
    """Entries column by column, the objective's first, and markers around the integral ones."""
    order = np.argsort(program.column_index, kind="stable")
    start = np.searchsorted(program.column_index[order], np.arange(program.columns + 1)).tolist()
    at_row, value = row_of_entry(program)[order].tolist(), _texts(program.value[order])
    cost = _texts(sign * program.objective)
    integral = False
    for column, whole in enumerate(program.integer.tolist()):
        if whole != integral:
            integral = whole
            yield f" MARKER 'MARKER' '{'INTORG' if whole else 'INTEND'}'"
        name = columns[column]
        yield f" {name} objective {cost[column]}"
        for k in range(start[column], start[column + 1]):
            yield f" {name} {rows[at_row[k]]} {value[k]}"
    if integral:
        yield " MARKER 'MARKER' 'INTEND'"


def _range(low: float, high: float) -> tuple[str, float, float]:
    """Kind, limit and width of a row with two limits, from which a reader computes the other limit.

    ``high - (high - low)`` need not be ``low`` in floating point: another width, or the other side, often is.
    Where none is, the row is widened by the last digit.
    """
    width = high - low
    for candidate in (width, np.nextafter(width, np.inf), np.nextafter(width, 0.0)):
        if high - candidate == low:
            return "L", high, float(candidate)
        if low + candidate == high:
            return "G", low, float(candidate)
    while high - width > low:
        width = float(np.nextafter(width, np.inf))
    return "L", high, width


def _lp_lines(program: Program) -> Iterator[str]:
    columns, rows = _names(program)
    yield "\\ gangplan"
    yield "Maximize"
    used = np.flatnonzero(program.objective)
    terms = _terms(_texts(program.objective[used]), [columns[k] for k in used.tolist()])
    constant = [f"{float(program.offset):+}"] if program.offset else []
    yield from _wrapped("objective:", [*terms, *constant], columns)
    yield "Subject To"
    start, value = program.row_start.tolist(), _texts(program.value)
    index = program.column_index.tolist()
    limits = zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    for row, (low, high) in enumerate(limits):
        part = slice(start[row], start[row + 1])
        terms = _terms(value[part], [columns[k] for k in index[part]])
        sides = [("", "=", low)] if low == high else [("_lo", ">=", low), ("_up", "<=", high)]
        sides = [side for side in sides if np.isfinite(side[2])]
        for suffix, sign, limit in sides:
            name = rows[row] + (suffix if len(sides) > 1 else "")
            some = terms or _terms(["0.0"], columns[:1])
            yield from _wrapped(f"{name}:", [*some, f"{sign} {limit!r}"], columns)
    yield "Bounds"
    for low, high, name in zip(program.lower.tolist(), program.upper.tolist(), columns, strict=True):
        yield f" {name} = {low!r}" if low == high else f" {_end(low)} <= {name} <= {_end(high)}"
    integral = [columns[k] for k in np.flatnonzero(program.integer).tolist()]
    if integral:
        yield "General"
        yield from _wrapped("", integral, columns)
    yield "End"


def _end(limit: float) -> str:
    return f"{limit:+}" if np.isinf(limit) else repr(limit)


def _terms(values: Iterable[str], columns: Iterable[str]) -> list[str]:
    return [f"{v} {c}" if v[0] == "-" else f"+{v} {c}" for v, c in zip(values, columns, strict=False)]


def _wrapped(head: str, words: Iterable[str], columns: Sequence[str]) -> Iterator[str]:
    """``head`` and ``words`` on lines of bounded length; a lone head gets a zero, as readers want a term."""
    line, empty = f" {head}", True
    for word in words:
        if len(line) + len(word) >= _LINE:
            yield line
            line = " "
        line, empty = f"{line} {word}", False
    if empty and columns:
        line = f"{line} 0 {columns[0]}"
    yield line


def _names(program: Program) -> tuple[list[str], list[str]]:
    columns = names(program.column_families, program.columns, "x")
    return columns, names(program.row_families, program.rows, "r")


def _texts(values: FloatArray) -> list[str]:
    """Shortest decimals that read back the same; each distinct number is formatted once."""
    distinct, inverse = np.unique(values, return_inverse=True)
    texts = [repr(value) for value in distinct.tolist()]
    return [texts[k] for k in inverse.tolist()]


def _bounded(program: Program, path: str, columns: Sequence[str]) -> Program:
    """The programme with infinite column bounds replaced by the least that the rows imply.

    For a row ``sum a x <= u`` and every other column at its least contribution m: ``a_j x_j <= u - m``; the
    usual bound propagation, repeated while it helps. Bounds are widened by the rounding of their sums.
    """
    lower, upper = program.lower.copy(), program.upper.copy()
    index, of = program.column_index, row_of_entry(program)
    for _ in range(10):
        endless_ends = np.isinf(lower).sum() + np.isinf(upper).sum()
        if not endless_ends:
            break
        for sign, limit in ((1.0, program.row_upper), (-1.0, -program.row_lower)):
            entry = sign * program.value
            least = np.where(entry > 0, entry * lower[index], entry * upper[index])
            endless = np.isinf(least)
            finite = np.where(endless, 0.0, least)
            total, size, count = (
                np.bincount(of, weights=weights, minlength=program.rows)[of]
                for weights in (finite, np.abs(finite), endless)
            )
            room = limit[of] - (total - finite) + 1e-9 * (size + np.abs(limit[of]))
            known = (count - endless == 0) & np.isfinite(limit[of])
            for end, helps in (
                (upper, known & (entry > 0) & np.isinf(upper[index])),
                (lower, known & (entry < 0) & np.isinf(lower[index])),
            ):
                narrow = np.minimum if end is upper else np.maximum
                narrow.at(end, index[helps], room[helps] / entry[helps])
        if np.isinf(lower).sum() + np.isinf(upper).sum() == endless_ends:
            break
    left = np.flatnonzero(np.isinf(lower) | np.isinf(upper)).tolist()
    if left:
        some = ", ".join(columns[k] for k in left[:3])
        raise _invalid(path, f"{len(left)} columns have no finite bounds ({some}, ...): state some")
    return replace(program, lower=lower, upper=upper)


def _refuse_nonsense(program: Program) -> None:
    """Refuse numbers that no model file can hold."""
    rules: tuple[tuple[str, FloatArray, Any], ...] = (
        ("objective", program.objective, np.isfinite),
        ("value", program.value, np.isfinite),
        ("lower", program.lower, lambda x: x < np.inf),
        ("upper", program.upper, lambda x: x > -np.inf),
        ("row_lower", program.row_lower, lambda x: x < np.inf),
        ("row_upper", program.row_upper, lambda x: x > -np.inf),
        ("offset", np.array([program.offset]), np.isfinite),
    )
    wrong = [
        FieldViolation(f"{name}[{k}]", f"is {array[k]}, which no model file can hold")
        for name, array, right in rules
        for k in itertools.islice(np.flatnonzero(~right(array)).tolist(), 3)
    ]
    if wrong:
        raise InvalidInputError(wrong)


def _invalid(field: str, description: str) -> InvalidInputError:
    return InvalidInputError([FieldViolation(field, description)])
