"""Shapes: how fast alike components run under their options, many jobs at a time.

Components that are alike in all but their throughput profiles have one **structure**, enumerated once; each
set of profiles is a row. Everything that depends on throughput is then an array of shape (rows, options):
which options exist, at which narrower scopes a job would run slower (so that its tasks must lie apart),
which options another one contains, and which differ in the accelerator type only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gangplan.domain.job import WHOLE_DEVICE, Component, TaskGroup
from gangplan.kept import Kept
from gangplan.model.instance.kinds import Kinds
from gangplan.model.instance.options import (
    Choice,
    Demand,
    Option,
    Site,
    choice_options,
    choices,
    contains,
    devices_by_type,
    merge_key,
    merged,
)
from gangplan.model.instance.sites import CPU_ONLY
from gangplan.model.instance.throughput import Speeds
from gangplan.model.program import BoolArray, FloatArray, IntArray
from gangplan.twins import twin_maker

_option = twin_maker(Option)

_Entries = tuple[IntArray, IntArray, FloatArray, FloatArray, FloatArray]
"""Row, option, relative throughput and throughput, one entry per kept option of every row; and the throughput
at every scope."""


@dataclass(frozen=True, slots=True, eq=False)
class ShapeTable:
    """Options of every shape, flat, shape by shape.

    Attributes:
        shape_of_job: shape (jobs,), the job's shape.
        start: shape (shapes + 1,), where each shape's entries begin.
        option: shape (entries,), index into ``options``.
        relative: shape (entries,), X / X_ref of the slowest group.
        throughput: shape (entries,), work units per second.
        throughput_at: shape (entries, scopes), the same at every scope; NaN where that hangs on which of
            several types it gets.
        options: distinct options.
        fair_rate: shape (jobs,), x_iso: work units per second of the job's fair self (decision 11).
        reference: shape (jobs,), work units per second at relative throughput 1.
        alike: jobs of one structure together.
    """

    shape_of_job: IntArray
    start: IntArray
    option: IntArray
    relative: FloatArray
    throughput: FloatArray
    throughput_at: FloatArray
    options: tuple[Option, ...]
    fair_rate: FloatArray
    reference: FloatArray
    alike: tuple[Alike, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """What alike components share.

    Attributes:
        component: one of them.
        choices: all choices on types that are there.
        options: their options.
        choice: shape (options,), the choice of each.
        scope: shape (options,).
        contained: shape (pairs, 2), the narrow and the wide option of each pair.
        mergeable: sets of options that differ in the type only.
        isolated: choices on catalogued types, for the fair self.
    """

    component: Component
    choices: tuple[Choice, ...]
    options: tuple[Option, ...]
    choice: IntArray
    scope: IntArray
    contained: IntArray
    mergeable: tuple[tuple[int, ...], ...]
    isolated: tuple[Choice, ...]


def _no_entries(scopes: int) -> _Entries:
    none = np.zeros(0, dtype=np.int64)
    return none, none, np.zeros(0), np.zeros(0), np.zeros((0, scopes))


def build_shapes(
    kinds: Kinds,
    speeds: Speeds,
    site: Site,
    shares: FloatArray,
    fleet: Mapping[int, int],
    kept: Kept,
) -> ShapeTable:
    """Evaluate all components.

    Args:
        kinds: of the components, by job.
        speeds: throughput of any group anywhere.
        site: what is there.
        shares: shape (jobs,), each job's fair share of every type, as a fraction.
        fleet: usable devices by type.
        kept: of an earlier round.
    """
    table = kept.once("shapes", (speeds, site, kinds), lambda: _evaluated(kinds, speeds, site))
    fair_rate = np.zeros(len(kinds.of_job), dtype=np.float64)
    for alike in table.alike:
        fair_rate[alike.jobs] = _fair_rates(
            alike.structure, alike.curves, alike.packed, alike.row_of, shares[alike.jobs], fleet
        )
    return replace(table, fair_rate=fair_rate)


def _evaluated(kinds: Kinds, speeds: Speeds, site: Site) -> ShapeTable:
    """All of the table but what hangs on shares."""
    register = _Register()
    shape_of_job = np.zeros(len(kinds.of_job), dtype=np.int64)
    reference = np.zeros(len(kinds.of_job), dtype=np.float64)
    entries: list[_Entries] = []
    groups: list[Alike] = []
    shapes = 0
    for component, filters, jobs in zip(kinds.components, kinds.filters, kinds.jobs(), strict=True):
        structure = _structure(component, filters, speeds, site)
        names = [kinds.profiles[j] for j in jobs.tolist()]
        rows = {name: row for row, name in enumerate(dict.fromkeys(names))}
        row_of = np.arange(len(names))
        if len(rows) < len(names):
            row_of = np.array([rows[name] for name in names], dtype=np.int64)
        curves = _curves(structure, list(rows), speeds)
        by_choice = _relative(structure, curves, structure.choices, len(speeds.scopes))
        alone = by_choice
        if structure.isolated != structure.choices:
            alone = _relative(structure, curves, structure.isolated, len(speeds.scopes))
        row, option, relative, throughput, everywhere = _rows(structure, curves, by_choice, site, register)
        entries.append((row + shapes, option, relative, throughput, everywhere))
        shape_of_job[jobs] = row_of + shapes
        reference[jobs] = _work_rate(structure, curves)[row_of if curves.reference else 0]
        groups.append(Alike(structure, curves, alone[:, :, -1], jobs, row_of))
        shapes += len(rows)
    parts = zip(_no_entries(len(speeds.scopes)), *entries, strict=True)
    row, option, relative, throughput, everywhere = (np.concatenate(part) for part in parts)
    return ShapeTable(
        shape_of_job=shape_of_job,
        start=np.searchsorted(row, np.arange(shapes + 1)),
        option=option,
        relative=relative,
        throughput=throughput,
        throughput_at=everywhere,
        options=register.options,
        fair_rate=np.zeros(len(kinds.of_job)),
        reference=reference,
        alike=tuple(groups),
    )


def _structure(component: Component, filters: tuple[int, ...], speeds: Speeds, site: Site) -> Structure:
    required = 0 if component.required_level is None else speeds.scopes.index(component.required_level)
    preferred = 0 if component.preferred_level is None else speeds.scopes.index(component.preferred_level)
    here = [
        [t for t in _types(g, speeds) if t == CPU_ONLY or t in site.node_sizes] for g in component.task_groups
    ]
    found = tuple(choices(component, here))
    options: list[Option] = []
    choice: list[int] = []
    for c, one in enumerate(found):
        for option in choice_options(component, one, site, filters, required=required, preferred=preferred):
            options.append(option)
            choice.append(c)
    by_choice: dict[int, list[int]] = {}
    for o, c in enumerate(choice):
        by_choice.setdefault(c, []).append(o)
    alike: dict[object, list[int]] = {}
    if site.merge_types:
        for o, option in enumerate(options):
            key = merge_key(option)
            if key is not None:
                alike.setdefault(key, []).append(o)
    return Structure(
        component=component,
        choices=found,
        options=tuple(options),
        choice=np.array(choice, dtype=np.int64),
        scope=np.array([option.scope for option in options], dtype=np.int64),
        contained=np.array(
            [
                (narrow, wide)
                for members in by_choice.values()
                for narrow in members
                for wide in members
                if contains(options[wide], options[narrow], component, site)
            ],
            dtype=np.int64,
        ).reshape(-1, 2),
        mergeable=tuple(tuple(members) for members in alike.values() if len(members) > 1),
        isolated=_isolated(component, speeds),
    )


def _isolated(component: Component, speeds: Speeds) -> tuple[Choice, ...]:
    """How the fair self may run (decision 11); a CPU-only component at its requested counts."""
    found = choices(component, [_types(g, speeds) for g in component.task_groups])
    if any(g.devices_per_task for g in component.task_groups):
        return tuple(found)
    requested = tuple(g.count for g in component.task_groups)
    return tuple(choice for choice in found if choice.counts == requested)


def _types(group: TaskGroup, speeds: Speeds) -> tuple[int, ...]:
    return speeds.allowed_types(group) if group.devices_per_task else (CPU_ONLY,)


@dataclass(frozen=True, slots=True, eq=False)
class _Curves:
    """X of every device group, by row.

    Attributes:
        pairs: by group: position of (type, count).
        values: by group: shape (rows, pairs, scopes), work units per second.
        reference: by group: shape (rows,), X_ref.
    """

    pairs: Mapping[int, Mapping[tuple[int, int], int]]
    values: Mapping[int, FloatArray]
    reference: Mapping[int, FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Jobs of one structure.

    Attributes:
        structure, curves: theirs.
        packed: shape (rows, choices), relative throughput on one node of each choice of the fair self.
        jobs: their indices.
        row_of: the row of each.
    """

    structure: Structure
    curves: _Curves
    packed: FloatArray
    jobs: IntArray
    row_of: IntArray

    def speed_at(
        self, row: IntArray, counts: IntArray, types: IntArray, scope: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Relative and absolute throughput, shape (jobs,) each, as some of these jobs run now.

        NaN for who runs with a count or on a type that it may not start with.

        Args:
            row: shape (jobs,), the row of each.
            counts: shape (jobs, groups), tasks.
            types: shape (jobs, groups), accelerator type; -1: none.
            scope: shape (jobs,).
        """
        groups = self.structure.component.task_groups
        rate = _work_rate(self.structure, self.curves)[row if self.curves.reference else 0]
        if not self.curves.reference:
            asked = np.array([group.count for group in groups])
            least = (counts[:, : len(groups)] / asked).min(axis=1)
            return least, least * rate
        least = np.full(len(row), np.inf)
        for g, reference in self.curves.reference.items():
            pairs, values = self.curves.pairs[g], self.curves.values[g]
            held = zip(types[:, g].tolist(), counts[:, g].tolist(), strict=True)
            pair = np.array([pairs.get(one, -1) for one in held], dtype=np.int64)
            known = (pair >= 0) & (reference[row] > 0.0)
            at = row[known]
            ratio = np.where((pair < 0) & (types[:, g] >= 0), np.nan, 0.0)
            ratio[known] = values[at, pair[known], scope[known]] / reference[at]
            least = np.minimum(least, ratio)
        return least, least * rate


def _curves(structure: Structure, rows: Sequence[tuple[str | None, ...]], speeds: Speeds) -> _Curves:
    pairs: dict[int, dict[tuple[int, int], int]] = {}
    values: dict[int, FloatArray] = {}
    reference: dict[int, FloatArray] = {}
    for g, group in enumerate(structure.component.task_groups):
        if not group.devices_per_task:
            continue
        counts = sorted({*group.allowed_counts, group.count})
        keys = [(t, c) for t in speeds.allowed_types(group) for c in counts]
        pairs[g] = {key: i for i, key in enumerate(keys)}
        values[g] = speeds.curves(group, [row[g] for row in rows], keys)
        asked = [pairs[g][t, group.count] for t in speeds.allowed_types(group)]
        reference[g] = values[g][:, asked, -1].max(axis=1, initial=0.0)
    return _Curves(pairs, values, reference)


def _relative(structure: Structure, curves: _Curves, choices_: Sequence[Choice], scopes: int) -> FloatArray:
    """X / X_ref of the slowest group, shape (rows, choices, scopes); 0 where there is no such option."""
    groups = structure.component.task_groups
    rows = len(next(iter(curves.reference.values()))) if curves.reference else 1
    if not curves.reference:
        shares = [min(n / g.count for n, g in zip(c.counts, groups, strict=True)) for c in choices_]
        return np.broadcast_to(np.array(shares).reshape(1, -1, 1), (rows, len(shares), scopes)).copy()
    least = np.full((rows, len(choices_), scopes), np.inf)
    for g, known in curves.reference.items():
        at = [curves.pairs[g][choice.types[g], choice.counts[g]] for choice in choices_]
        safe = np.where(known > 0.0, known, 1.0)[:, None, None]
        ratio = np.where(known[:, None, None] > 0.0, curves.values[g][:, at, :] / safe, 0.0)
        least = np.minimum(least, ratio)
    return least


def _work_rate(structure: Structure, curves: _Curves) -> FloatArray:
    """X_ref of the group that work is counted in, shape (rows,): the first with devices, else its tasks."""
    if curves.reference:
        return curves.reference[min(curves.reference)]
    return np.array([float(structure.component.task_groups[0].count)])


def _rows(
    structure: Structure, curves: _Curves, by_choice: FloatArray, site: Site, register: _Register
) -> _Entries:
    """Row, option, relative throughput and throughput of every option that is worth keeping.

    ``by_choice`` is the relative throughput of all choices, shape (rows, choices, scopes).
    """
    if not structure.options:
        return _no_entries(by_choice.shape[2])
    relative = by_choice[:, structure.choice, structure.scope]
    apart = _apart(by_choice, structure, site.levels)
    alive = relative > 0.0
    keep = alive.copy()
    if len(structure.contained):
        narrow, wide = structure.contained.T
        same = alive[:, wide] & (relative[:, wide] == relative[:, narrow])
        same &= (apart[:, wide] & ~apart[:, narrow]) == 0
        row, pair = np.nonzero(same)
        keep[row, narrow[pair]] = False
    index = register.add(structure, apart, keep)
    together = _merge(structure, relative, keep, index, register)
    row, option = np.nonzero(keep)
    rate = _work_rate(structure, curves)
    chosen = relative[row, option]
    throughput = chosen * rate[row]
    everywhere = by_choice[row, structure.choice[option]] * rate[row, None]
    several = np.flatnonzero(together[row, option])
    everywhere[several] = np.nan
    everywhere[several, structure.scope[option[several]]] = throughput[several]
    return row, index[row, option], chosen, throughput, everywhere


def _apart(by_choice: FloatArray, structure: Structure, levels: Sequence[int]) -> IntArray:
    """Bit s is set where the job would run slower at the narrower scope s, shape (rows, options)."""
    mask = np.zeros((by_choice.shape[0], len(structure.options)), dtype=np.int64)
    own = by_choice[:, structure.choice, structure.scope]
    for s in levels:
        slower = (s > structure.scope)[None, :] & (by_choice[:, structure.choice, s] < own)
        mask |= np.where(slower, 1 << s, 0)
    return mask


def _merge(
    structure: Structure, relative: FloatArray, keep: BoolArray, index: IntArray, register: _Register
) -> BoolArray:
    """Make one of options that differ in the type only, in the rows in which they are worth the same.

    Returns which options became such a one, shape (rows, options).
    """
    several = np.zeros_like(keep)
    for members in structure.mergeable:
        values = np.where(keep[:, members], relative[:, members], -np.arange(1.0, len(members) + 1.0))
        ordered = np.sort(values, axis=1)
        for row in np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)).tolist():
            equal: dict[float, list[int]] = {}
            for o in members:
                if keep[row, o]:
                    equal.setdefault(float(relative[row, o]), []).append(o)
            for same in equal.values():
                index[row, same[0]] = register.merged(structure, tuple(same))
                several[row, same[0]] = len(same) > 1
                keep[row, same[1:]] = False
    return several


class _Register:
    """Distinct options of all structures."""

    def __init__(self) -> None:
        self._index: dict[object, int] = {}
        self._options: list[Option] = []
        self._demands: dict[tuple[Demand, ...], tuple[Demand, ...]] = {}
        self._seen: dict[int, tuple[tuple[Demand, ...], tuple[Demand, ...]]] = {}
        """By identity: demands, beside which they stay alive, and the first ones that are equal."""
        self._merged: dict[tuple[Option, ...], int] = {}

    @property
    def options(self) -> tuple[Option, ...]:
        return tuple(self._options)

    def add(self, structure: Structure, apart: IntArray, keep: BoolArray) -> IntArray:
        """Index of every kept option, shape (rows, options); -1 elsewhere."""
        index = np.full(apart.shape, -1, dtype=np.int64)
        row, option = np.nonzero(keep)
        scopes = int(apart.max(initial=0)).bit_length()
        found, which = np.unique((option << scopes) | apart[row, option], return_inverse=True)
        numbers = [
            self._number(structure.options[code >> scopes], code & ((1 << scopes) - 1))
            for code in found.tolist()
        ]
        index[row, option] = np.array(numbers, dtype=np.int64)[which]
        return index

    def merged(self, structure: Structure, members: tuple[int, ...]) -> int:
        options = tuple(structure.options[o] for o in members)
        if options not in self._merged:
            self._merged[options] = self._number(merged(options))
        return self._merged[options]

    def _number(self, option: Option, mask: int = 0) -> int:
        """Number of the option that lies apart at the scopes in ``mask``.

        Demands take long to hash and to compare: each is looked at once, and known by its identity then.
        """
        seen = self._seen.get(id(option.demands))
        if seen is None:
            first = self._demands.setdefault(option.demands, option.demands)
            seen = self._seen[id(option.demands)] = option.demands, first
        demands = seen[1]
        key = (
            id(demands),
            option.counts,
            option.scope,
            option.devices,
            option.devices_by_type,
            option.wider_than_preferred,
            mask,
        )
        number = self._index.setdefault(key, len(self._options))
        if number == len(self._options):
            scopes = tuple([s for s in range(mask.bit_length()) if mask >> s & 1])
            self._options.append(
                _option(
                    option.counts,
                    option.scope,
                    demands,
                    option.devices,
                    option.devices_by_type,
                    option.wider_than_preferred,
                    scopes,
                )
            )
        return number


def _fair_rates(
    structure: Structure,
    curves: _Curves,
    packed: FloatArray,
    row_of: IntArray,
    shares: FloatArray,
    fleet: Mapping[int, int],
) -> FloatArray:
    """x_iso, shape (jobs,): the best way to run on its share, time-shared if that is too small.

    ``packed`` is the relative throughput of the isolated choices on one node, shape (rows, choices).
    """
    if not structure.isolated:
        return np.zeros(len(row_of))
    rate = packed * _work_rate(structure, curves)[:, None]
    most = np.array([_share_needed(structure.component, c, fleet) for c in structure.isolated])
    fraction = np.minimum(1.0, most[None, :] * shares[:, None])
    best: FloatArray = (rate[row_of] * fraction).max(axis=1, initial=0.0)
    return best


def _share_needed(component: Component, choice: Choice, fleet: Mapping[int, int]) -> float:
    """How many gangs of ``choice`` the whole fleet holds, by its scarcest type; infinite without devices."""
    fits: Iterable[float] = (
        fleet.get(type_, 0) * WHOLE_DEVICE / milli
        for type_, milli in devices_by_type(component, choice, WHOLE_DEVICE)
    )
    return min(fits, default=float("inf"))
