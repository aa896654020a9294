"""How fast a trace's models are on a cluster's types: its measurements as throughput profiles.

Tables of steps or iterations per second (Gavel, ElasticFlow) are taken as they are: together on as few nodes
as can be is the scope ``node``, spread the scope ``cluster``; a gang larger than the largest node of a type
is spread whatever one does, so that its figure together counts for it there. A number of GPUs that was not
measured counts as the largest measured one below it, in proportion (Gavel's traces of Philly have such jobs).

Tables of step times and of validation (Pollux, Sia) make epochs per second, with the batch size that is best
on so many GPUs: where training to the last of ``E`` epochs takes ``I(M)`` iterations at the batch size
``M``, and an iteration takes ``t``, that is ``E / (I(M) t)``. With ``k`` further steps of accumulation,
``t = step + k (step - sync)`` (Qiao et al., *Pollux*, OSDI 2021, section 3; one batch size for all epochs is
our simplification). Where the batch size that a job asks for is a ceiling, only those up to it are looked at;
where it is fixed, the work is ``I(M) M`` samples, ``M / t`` of them a second.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from gangplan.domain.job import ThroughputProfile
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.planning.trace.records import JobRecord, Measurement

MOST_ACCUMULATION = 15
"""Most further steps before gradients are exchanged."""

Batches = Literal["any", "ceiling", "fixed"]
"""What the batch size that a job asks for means where tables have several."""
_Cells = dict[tuple[str, int, str], float]
_Steps = Mapping[tuple[str, int, int], Mapping[float, tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Found:
    """How fast one job is where.

    Attributes:
        profile: work units per second.
        work: all its work, in that unit.
        by_gpu: the counts in the profile are GPUs, whatever tasks they are in; otherwise they are tasks.
        extrapolated: its number of GPUs was not measured.
    """

    profile: ThroughputProfile
    work: float
    by_gpu: bool = True
    extrapolated: bool = False


class Speeds:
    """The measurements of a trace, looked up.

    Args:
        measurements: of the trace.
        types: the cluster's type by the trace's word for it; others are not looked at.
        largest: GPUs of the largest node, by the cluster's type.
        batches: what the batch size that a job asks for means where tables of step times have several.
    """

    def __init__(
        self,
        measurements: Iterable[Measurement],
        types: Mapping[str, str],
        largest: Mapping[str, int],
        batches: Batches = "any",
    ) -> None:
        self._largest, self._batches = largest, batches
        self._tables: dict[str, tuple[_Steps, Mapping[float, tuple[int, float]]]] = {}
        self._cells: dict[tuple[str, float | None], _Cells] = defaultdict(dict)
        self._units: dict[tuple[str, float | None], str] = {}
        self._made: dict[tuple[str, float | None, int], tuple[ThroughputProfile, bool]] = {}
        steps: dict[str, dict[tuple[str, int, int], dict[float, tuple[float, float]]]] = {}
        iterations: dict[str, dict[float, tuple[int, float]]] = {}
        for cell in measurements:
            kind = types.get(cell.accelerator)
            if cell.table == "validation" and cell.batch_size and cell.epoch:
                known = iterations.setdefault(cell.model, {})
                if cell.epoch > known.get(cell.batch_size, (0, 0.0))[0]:
                    known[cell.batch_size] = cell.epoch, float(str(cell.raw["iteration"]))
            elif kind is None or not cell.gpus:
                continue
            elif cell.table == "throughput" and cell.throughput:
                key = cell.model, cell.batch_size
                self._units[key] = cell.unit
                self._cells[key][kind, cell.gpus, CLUSTER if cell.spread else NODE] = cell.throughput
            elif cell.table in ("placement", "scalability") and cell.nodes and cell.batch_size_per_gpu:
                times = steps.setdefault(cell.model, {}).setdefault((kind, cell.gpus, cell.nodes), {})
                times.setdefault(cell.batch_size_per_gpu, (cell.step_s or 0.0, cell.sync_s or 0.0))
        for model, by_place in steps.items():
            if model in iterations:
                self._units[model, None] = "epochs"
                self._tables[model] = by_place, iterations[model]
                self._cells[model, None] = _goodput(by_place, iterations[model])

    def of(self, job: JobRecord) -> Found | None:
        """How fast the job is where; None where its model, batch size, unit or size were not measured."""
        gpus = round(job.gpus)
        if self._batches != "any" and job.model in self._tables and job.batch_size:
            return self._of_batch(job, job.batch_size, gpus)
        for key in ((job.model, job.batch_size), (job.model, None)):
            if self._units.get(key) == job.work_unit and job.work and gpus == job.gpus and gpus:
                break
        else:
            return None
        made = self._made.get((*key, gpus))
        if made is None:
            made = self._made[*key, gpus] = self._make(key, gpus)
        profile, extrapolated = made
        if not any(count == gpus for _, count, _ in profile.throughput):
            return None
        return Found(profile, job.work, extrapolated=extrapolated)

    def _of_batch(self, job: JobRecord, asked: float, gpus: int) -> Found | None:
        """How fast a job is whose batch size is bounded or fixed; None where nothing like it was measured."""
        by_place, iterations = self._tables[job.model]
        fixed = self._batches == "fixed"
        some = {size: it for size, it in iterations.items() if (size == asked if fixed else size <= asked)}
        if not some or not job.work or job.work_unit != "epochs":
            return None
        key, work = (job.model, asked), job.work
        if key not in self._cells:
            self._units[key] = "epochs"
            self._cells[key] = _goodput(by_place, some)
        if fixed:  # from epochs to samples: E / (I t) becomes M / t
            epochs, needed = some[asked]
            each = needed * asked / epochs
            work *= each
            self._cells.setdefault((f"{job.model} in samples", asked), {}).update(
                {cell: x * each for cell, x in self._cells[key].items()}
            )
            key = f"{job.model} in samples", asked
            self._units[key] = "epochs"
        made = self._made.get((*key, gpus))
        if made is None:
            made = self._made[*key, gpus] = self._make(key, gpus)
        if not any(count == gpus for _, count, _ in made[0].throughput):
            return None
        return Found(made[0], work, extrapolated=made[1])

    def _make(self, key: tuple[str, float | None], gpus: int) -> tuple[ThroughputProfile, bool]:
        cells, extrapolated = dict(self._cells[key]), False
        for kind in {kind for kind, _, _ in cells}:
            counts = [count for k, count, scope in cells if k == kind and scope == NODE]
            below = max((count for count in counts if count < gpus), default=0)
            if gpus not in counts and below and self._units[key] != "epochs":
                cells[kind, gpus, NODE] = cells[kind, below, NODE] * gpus / below
                extrapolated = True
        found: _Cells = {}
        for (kind, count, scope), x in cells.items():
            wide = count > self._largest.get(kind, 0)
            if scope == NODE and (count == 1 or wide):
                found[kind, count, CLUSTER] = x
            elif scope == NODE or not wide:
                found[kind, count, scope] = x
        model, batch_size = key
        name = f"{model}" if batch_size is None else f"{model} at {batch_size:g}"
        return ThroughputProfile(f"{name} of {gpus}" if extrapolated else name, found), extrapolated


def _goodput(
    by_place: _Steps,
    iterations: Mapping[float, tuple[int, float]],
) -> _Cells:
    """Epochs per second by type, GPUs and scope; on several nodes the fewest that were measured."""
    found: _Cells = {}
    fewest: dict[tuple[str, int], int] = {}
    for (kind, gpus, nodes), times in sorted(by_place.items(), key=lambda item: item[0][2]):
        rate = max(
            (
                epochs / (needed * seconds)
                for batch_size, (epochs, needed) in iterations.items()
                for k in range(MOST_ACCUMULATION + 1)
                if (seconds := _iteration(times, batch_size / gpus / (k + 1), k)) is not None
            ),
            default=0.0,
        )
        if rate <= 0:
            continue
        if nodes == 1:
            found[kind, gpus, NODE] = rate
        elif fewest.setdefault((kind, gpus), nodes) == nodes:
            found[kind, gpus, CLUSTER] = rate
    for kind, gpus in fewest:  # what is on no single node has no other figure
        found.setdefault((kind, gpus, NODE), found[kind, gpus, CLUSTER])
    return found


def _iteration(times: Mapping[float, tuple[float, float]], local: float, k: int) -> float | None:
    """Seconds of an iteration with ``k`` further steps, linear between batch sizes; None: outside them."""
    known = sorted(times)
    if not known or not known[0] <= local <= known[-1]:
        return None
    above = next(size for size in known if size >= local)
    below = max((size for size in known if size <= local), default=above)
    part = 0.0 if above == below else (local - below) / (above - below)
    step = times[below][0] + part * (times[above][0] - times[below][0])
    sync = times[below][1] + part * (times[above][1] - times[below][1])
    return step + k * max(0.0, step - sync)
