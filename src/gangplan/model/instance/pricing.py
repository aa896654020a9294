"""What options, staying and not running are worth, term by term."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from gangplan.columns import Columns
from gangplan.domain.job import Job
from gangplan.domain.round import Round
from gangplan.model.instance.as_placed import AsPlaced
from gangplan.model.instance.deadlines import Deadlines
from gangplan.model.instance.kinds import Kinds
from gangplan.model.instance.left import all_left
from gangplan.model.instance.shapes import ShapeTable
from gangplan.model.instance.sites import Nodes
from gangplan.model.instance.start_share import start_share
from gangplan.model.instance.stranding import stranded
from gangplan.model.instance.switching import horizon_seconds, lost_seconds
from gangplan.model.instance.table import OptionTable
from gangplan.model.instance.throughput import Speeds, size
from gangplan.model.instance.weights import Weights
from gangplan.model.program import BoolArray, FloatArray, IntArray
from gangplan.model.terms import terms


class Pricing:
    """Values of options, of staying and of not running; ``first`` has a job of every class."""

    def __init__(
        self,
        round_: Round,
        jobs: Columns[Job],
        first: IntArray,
        speeds: Speeds,
        now_placed: Mapping[int, AsPlaced],
        weights: Weights,
        nodes: Nodes,
        kinds: Kinds,
    ) -> None:
        self._round = round_
        self._policy = round_.policy
        catalogue = sorted(round_.accelerators, key=lambda entry: entry.name)
        self._prices = [entry.price_micros_per_hour or 0 for entry in catalogue]
        self._nodes = nodes
        self._placed = now_placed
        self._kept = np.array(sorted(now_placed), dtype=np.int64)
        self._first = first
        running = jobs.has("running")[first]
        self._runs = running[self._kept]
        sizes = [size(component, round_.policy.reference_host) for component in kinds.components]
        self._size = np.array(sizes, dtype=np.float64)[kinds.of_job[first]]
        self._weights = weights
        outlook = round_.outlook
        self._need, self._target_worth = np.zeros(len(first)), np.ones(len(first))
        if outlook is not None:
            names = [jobs.things[j].name for j in first.tolist()]
            self._need[:] = list(map(outlook.need, names))
            self._target_worth[:] = list(map(outlook.worth, names))
        self._stranded = np.zeros(len(jobs))
        if self._policy.fragmentation_weight and nodes.parts > 1:
            self._stranded = stranded(jobs.things)
        self._start_share = np.zeros(len(first))
        for c in np.flatnonzero(jobs.has("interactive")[first]).tolist():
            self._start_share[c] = start_share(jobs.things[first[c]], round_.now)
        self._deadlines = Deadlines(round_, jobs, first, speeds)
        restart = jobs.numbers("restart_seconds")[first]
        self._restarting = np.where(running, restart, 0.0)
        self._restart = np.zeros(len(first))
        self._lost = np.zeros(len(first))
        self._held = np.zeros(len(first))
        self._horizon = np.full(len(first), round_.round_seconds)
        kept, places = self._kept, [now_placed[c] for c in self._kept.tolist()]
        if len(kept):
            held = np.array([placed.devices for placed in places], dtype=np.float64)
            self._restart[kept] = restart[kept]
            self._lost[kept] = lost_seconds(jobs, round_)[first[kept]]
            held = np.where(held > 0.0, held, self._size[kept])
            self._held[kept] = np.where(self._deadlines.doomed[kept], 0.0, held)
            left = all_left(jobs, round_.policy.fairness_quantile)
            self._horizon[kept] = horizon_seconds(
                left[first[kept]], round_, np.array([placed.throughput for placed in places])
            )

    def gains(
        self,
        shapes: ShapeTable,
        entries: IntArray,
        option_class: IntArray,
        option: IntArray,
    ) -> tuple[FloatArray, FloatArray, float]:
        """Gain (u) of every option and of KEEP over not running, and the value of running nothing."""
        wide = np.array([o.wider_than_preferred for o in shapes.options], dtype=np.bool_)[option]
        price = self._prices_of([o.devices_by_type for o in shapes.options])[option]
        leaving = (self._lost + self._restart) * self._held
        running = self._worth(
            option_class,
            shapes.relative[entries],
            shapes.throughput[entries],
            self._restarting[option_class],
            wide,
            price,
            leaving[option_class],
        )
        kept = self._kept
        placed = [self._placed[c] for c in kept.tolist()]
        nothing = np.zeros(len(kept))
        staying = self._worth(
            kept,
            np.array([p.relative for p in placed]),
            np.array([p.throughput for p in placed]),
            nothing,
            np.array([p.wider_than_preferred for p in placed], dtype=np.bool_),
            self._prices_of([self._held_by_type(p) for p in placed]) if self._policy.cost_weight else nothing,
            np.zeros(len(kept)),
            self._runs,
        )
        idle = np.zeros(len(self._size))
        idle[kept] = self._worth(
            kept,
            nothing,
            nothing,
            nothing,
            np.zeros(len(kept), dtype=np.bool_),
            nothing,
            leaving[kept],
        )
        keep_gain = np.zeros(len(self._size))
        keep_gain[kept] = staying - idle[kept]
        return running - idle[option_class], keep_gain, float(idle.sum())

    def _prices_of(self, devices: Sequence[Iterable[tuple[int, int]]]) -> FloatArray:
        """Prices of some ``(type, device parts)`` each, millionths of the currency for an hour.

        0 without a weight.
        """
        if not self._policy.cost_weight:
            return np.zeros(len(devices))
        return np.array(
            [
                sum(self._prices[type_] * count for type_, count in each) / self._nodes.parts
                for each in devices
            ],
            dtype=np.float64,
        )

    def _held_by_type(self, placed: AsPlaced) -> Iterator[tuple[int, int]]:
        return ((int(self._nodes.type_of[node]), use[0]) for node, use in placed.use.items() if use[0])

    def _worth(
        self,
        classes: IntArray,
        relative: FloatArray,
        throughput: FloatArray,
        delay: FloatArray,
        wider_than_preferred: BoolArray,
        price: FloatArray,
        lost_device_seconds: FloatArray,
        stays: BoolArray | None = None,
    ) -> FloatArray:
        jobs = self._first[classes]
        rests = np.where(relative > 0.0, self._stranded[jobs], 0.0)
        if stays is not None:
            rests[stays] = 0.0
        full_value = self._size[classes] ** self._policy.size_exponent
        fair_value = full_value * self._weights.earned(jobs, relative)
        most_paid = np.full(len(classes), np.inf)
        if stays is not None and self._policy.cost_weight:
            with np.errstate(over="ignore"):  # where next to nothing is charged, nothing is too much
                most_paid[stays] = fair_value[stays] / self._policy.cost_weight
        table = OptionTable(
            value=full_value * relative,
            fair_value=fair_value,
            needed_value=full_value * self._need[classes],
            target_worth=self._target_worth[classes],
            size=self._size[classes],
            base=self._weights.base[jobs],
            weight=self._weights.weight[jobs],
            throughput=throughput,
            rate_needed=self._deadlines.rate_needed(classes, delay),
            urgency=self._deadlines.urgency[classes],
            lateness_seconds=self._deadlines.lateness(classes, throughput, delay),
            decay_seconds=self._deadlines.decay[classes],
            wider_than_preferred=wider_than_preferred,
            price=price,
            most_paid=most_paid,
            stranded=rests,
            start_share=self._start_share[classes],
            lost_device_seconds=lost_device_seconds,
            horizon_seconds=self._horizon[classes],
        )
        lost = self._deadlines.lost(classes, throughput, delay)
        total = np.zeros(len(classes), dtype=np.float64)
        for term in terms():
            weight = term.weight(self._round)
            if not weight:
                continue
            worth = weight * term.coefficients(table)
            total += worth if term.SPREAD_OVER_HORIZON else np.where(lost, 0.0, worth)
        return total
