"""The openb trace: a production GPU cluster's node list and pod lists, as a scenario.

Format and facts: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation
Gradient Descent", USENIX ATC 2023; two tables with a header each:

- nodes: ``sn``, ``cpu_milli``, ``memory_mib``, ``gpu`` (number), ``model`` (empty without GPUs);
- pods: ``name``, ``cpu_milli``, ``memory_mib``, ``num_gpu``, ``gpu_milli`` (thousandths of one GPU, per
  GPU) and, not in every file, ``gpu_spec`` (models it may run on, joined by ``|``; empty is any; repeats
  occur), ``qos``, ``pod_phase``, ``creation_time``, ``deletion_time``, ``scheduled_time``.

All pods wait at once with equal weight (decision 44), each as one task on one node. Alike pods are one
class and alike nodes one group, with the members' names kept (decision 43). Every model has the same speed
unless told otherwise.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from gangplan.errors import FieldViolation, ScenarioError
from gangplan.planning.scenario.schema import Scenario

_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
_POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_WHOLE = 1000
_MOST_NAMED = 3
_MOST_VIOLATIONS = 50
_LARGEST = 2**40


_Classes = dict[tuple[int, int, int, int, tuple[str, ...]], list[str]]
"""Names of alike pods, by GPUs, thousandths of a single one (0: all of it), CPU, memory and models."""


class Fractional(StrEnum):
    """What becomes of pods that ask for part of a GPU."""

    REFUSE = "refuse"
    """The import fails and names them."""
    WHOLE = "whole"
    """Each is given a whole one."""
    SHARE = "share"
    """Each is given its part."""


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What was read, and what was left out and why.

    Attributes:
        nodes: in the node list.
        cpu_only_nodes: of them without GPUs.
        node_groups: groups of alike nodes.
        devices_by_type: GPUs by model.
        pods: in the pod list.
        cpu_only_pods: of them without GPUs.
        fractional_pods: of them, those that asked for part of a GPU.
        shared: whether these are given their part, not a whole one.
        one_gpu_pods: of them, those that asked for one GPU.
        multi_gpu_pods: of them, those that asked for two or more.
        classes: classes of alike pods.
        devices_requested: GPUs that all pods ask for; parts are rounded up where they are given whole ones.
        left_out: number of things that the scenario does not have, by reason.
    """

    nodes: int = 0
    cpu_only_nodes: int = 0
    node_groups: int = 0
    devices_by_type: Mapping[str, int] = field(default_factory=dict)
    pods: int = 0
    cpu_only_pods: int = 0
    fractional_pods: int = 0
    one_gpu_pods: int = 0
    multi_gpu_pods: int = 0
    classes: int = 0
    devices_requested: float = 0
    shared: bool = False
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def devices(self) -> int:
        """GPUs of all models."""
        return sum(self.devices_by_type.values())

    def lines(self) -> tuple[str, ...]:
        """The summary for people, one fact per line."""
        models = ", ".join(f"{name} {count:,}" for name, count in self.devices_by_type.items())
        given = "given their parts" if self.shared else "counted whole"
        pods = (
            f"{self.pods:,} pods in {self.classes:,} classes: {self.cpu_only_pods:,} without GPU, "
            f"{self.fractional_pods:,} with part of one ({given}), {self.one_gpu_pods:,} with one, "
            f"{self.multi_gpu_pods:,} with more; {self.devices_requested:,.10g} GPUs requested"
        )
        return (
            f"{self.nodes:,} nodes in {self.node_groups:,} shapes, {self.cpu_only_nodes:,} without GPUs",
            f"{self.devices:,} GPUs of {len(self.devices_by_type)} models"
            + (f": {models}" if models else ""),
            pods,
            *(f"left out: {reason} ({count:,})" for reason, count in self.left_out.items() if count),
        )


@dataclass(frozen=True, slots=True)
class Imported:
    """A scenario and where it came from."""

    scenario: Scenario
    summary: ImportSummary


def find_lists(folder: Path, *, nodes: str = "all_node", pods: str = "default") -> tuple[Path, Path]:
    """The node and the pod list in a folder with the trace's own file names.

    Args:
        folder: holds ``openb_node_list_<nodes>.csv`` and ``openb_pod_list_<pods>.csv``.
        nodes: which node list: ``all_node``, or ``gpu_node`` for the nodes with GPUs only. Where a folder has
            no list of all nodes, the one with GPUs is taken.
        pods: which pod list: ``default``, ``gpuspec33``, ...

    Raises:
        ScenarioError: a list is not there; the message names those that are.
    """
    node_list = folder / f"openb_node_list_{nodes}.csv"
    if nodes == "all_node" and not node_list.is_file():
        fallback = folder / "openb_node_list_gpu_node.csv"
        node_list = fallback if fallback.is_file() else node_list
    pod_list = folder / f"openb_pod_list_{pods}.csv"
    missing = []
    for path, kind in ((node_list, "node"), (pod_list, "pod")):
        if not path.is_file():
            prefix = f"openb_{kind}_list_"
            there = sorted(each.stem.removeprefix(prefix) for each in folder.glob(f"{prefix}*.csv"))
            hint = f"there are: {', '.join(there)}" if there else f"the folder has no {prefix}*.csv"
            missing.append(FieldViolation(str(path), f"is not there; {hint}"))
    if missing:
        raise ScenarioError(missing)
    return node_list, pod_list


def import_openb(
    nodes: Path | None,
    pods: Path | None,
    fractional: Fractional = Fractional.REFUSE,
    *,
    speeds: Mapping[str, float] | None = None,
) -> Imported:
    """Read a node list, a pod list or both into a scenario.

    Args:
        nodes: path of the node list; None: the scenario has no nodes.
        pods: path of the pod list; None: the scenario has no jobs.
        fractional: what becomes of pods that ask for part of a GPU.
        speeds: relative speed by model; a model that is not named has 1.

    Raises:
        ScenarioError: a file cannot be read, a line is wrong (all are named, with file and line), or pods ask
            for part of a GPU and may not be given a whole one.
    """
    violations: list[FieldViolation] = []
    left_out: Counter[str] = Counter()
    groups: dict[tuple[int, int, int, str], list[str]] = {}
    classes: _Classes = {}
    shares: list[str] = []
    pod_counts: Counter[str] = Counter()
    if nodes is not None:
        _read_nodes(nodes, groups, left_out, violations)
    if pods is not None:
        whole = fractional is not Fractional.SHARE
        shares = _read_pods(pods, classes, pod_counts, left_out, violations, whole=whole)
    if shares and fractional is Fractional.REFUSE:
        named = ", ".join(shares[:_MOST_NAMED]) + (", ..." if len(shares) > _MOST_NAMED else "")
        violations.append(
            FieldViolation(
                f"{pods}: gpu_milli",
                f"{len(shares):,} of {sum(pod_counts.values()):,} pods ask for part of a GPU ({named}): "
                "`--fractional share` gives each of them its part, `--fractional whole` a whole one",
            )
        )
    if violations:
        raise ScenarioError(violations)
    return _assemble(groups, classes, pod_counts, len(shares), left_out, dict(speeds or {}))


def _rows(
    path: Path, wanted: tuple[str, ...], violations: list[FieldViolation]
) -> Iterator[tuple[int, dict[str, str]]]:
    """The table's rows with their line numbers, one at a time."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = [column.strip() for column in next(reader, [])]
            missing = [column for column in wanted if column not in header]
            if missing:
                has = f"it has {', '.join(header)}" if header else "it is empty"
                violations.append(
                    FieldViolation(f"{path}:1", f"lacks the columns {', '.join(missing)}; {has}")
                )
                return
            for row in reader:
                if not row:
                    continue
                if len(row) != len(header):
                    violations.append(
                        FieldViolation(
                            f"{path}:{reader.line_num}", f"has {len(row)} fields, not {len(header)}"
                        )
                    )
                else:
                    yield reader.line_num, dict(zip(header, (cell.strip() for cell in row), strict=True))
                if len(violations) >= _MOST_VIOLATIONS:
                    violations.append(FieldViolation(str(path), "has more wrong lines; reading stops here"))
                    return
    except OSError as error:
        violations.append(FieldViolation(str(path), f"cannot be read: {error.strerror}"))
    except (UnicodeDecodeError, csv.Error) as error:
        violations.append(FieldViolation(str(path), f"is not a table of comma-separated values: {error}"))


class _Row:
    """One row: its cells as numbers, with what is wrong collected."""

    def __init__(
        self, path: Path, line: int, cells: Mapping[str, str], violations: list[FieldViolation]
    ) -> None:
        self._place = f"{path}:{line}"
        self._cells = cells
        self._violations = violations
        self.valid = True

    def refuse(self, column: str, description: str) -> None:
        self._violations.append(FieldViolation(f"{self._place}: {column}", description))
        self.valid = False

    def whole(self, column: str) -> int:
        text = self._cells[column]
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1
        if not 0 <= number <= _LARGEST:
            self.refuse(column, f"{text!r} is not a whole number from 0 on")
            return 0
        return number

    def name(self, column: str, seen: set[str]) -> str:
        text = self._cells[column]
        if not text or any(letter.isspace() for letter in text) or len(text) > 253:
            self.refuse(column, f"{text!r} is not a name")
        elif text in seen:
            self.refuse(column, f"{text!r} is there already")
        seen.add(text)
        return text


def _read_nodes(
    path: Path,
    groups: dict[tuple[int, int, int, str], list[str]],
    left_out: Counter[str],
    violations: list[FieldViolation],
) -> None:
    seen: set[str] = set()
    for line, cells in _rows(path, _NODE_COLUMNS, violations):
        row = _Row(path, line, cells, violations)
        name = row.name("sn", seen)
        cpu, memory, gpus = row.whole("cpu_milli"), row.whole("memory_mib"), row.whole("gpu")
        model = cells["model"]
        if gpus > 4096:
            row.refuse("gpu", f"{gpus} GPUs on one node are too many")
        if gpus and not model:
            row.refuse("model", f"is empty, yet the node has {gpus} GPUs")
        if not row.valid:
            continue
        if not gpus and model:
            left_out["models of nodes without GPUs"] += 1
            model = ""
        if not gpus and not cpu and not memory:
            left_out["nodes that have nothing"] += 1
            continue
        groups.setdefault((gpus, cpu, memory, model), []).append(name)


def _read_pods(
    path: Path,
    classes: _Classes,
    counts: Counter[str],
    left_out: Counter[str],
    violations: list[FieldViolation],
    *,
    whole: bool,
) -> list[str]:
    """Fill the classes; returns the names of the pods that ask for part of a GPU.

    ``whole``: they are given a whole one.
    """
    seen: set[str] = set()
    shares: list[str] = []
    timed = 0
    for line, cells in _rows(path, _POD_COLUMNS, violations):
        row = _Row(path, line, cells, violations)
        name = row.name("name", seen)
        cpu, memory = row.whole("cpu_milli"), row.whole("memory_mib")
        gpus, milli = row.whole("num_gpu"), row.whole("gpu_milli")
        if gpus > 4096:
            row.refuse("num_gpu", f"{gpus} GPUs for one pod are too many")
        elif row.valid and gpus and (not 0 < milli <= _WHOLE or (gpus > 1 and milli != _WHOLE)):
            row.refuse("gpu_milli", f"{milli} is not a share of each of {gpus} GPUs, in thousandths")
        types = tuple(sorted({kind for kind in cells.get("gpu_spec", "").split("|") if kind}))
        if any(letter.isspace() for kind in types for letter in kind):
            row.refuse("gpu_spec", "models are joined by |, without spaces")
        if not row.valid:
            continue
        if not gpus and types:
            left_out["gpu_spec of pods without GPUs"] += 1
            types = ()
        if not gpus and not cpu and not memory:
            left_out["pods that ask for nothing"] += 1
            continue
        if not gpus:
            counts["cpu"] += 1
        elif milli < _WHOLE:
            counts["share"] += 1
            shares.append(name)
        else:
            counts["one" if gpus == 1 else "many"] += 1
        part = 0 if whole or milli == _WHOLE else milli
        classes.setdefault((gpus, part if gpus else 0, cpu, memory, types), []).append(name)
        timed += bool(cells.get("creation_time"))
    if timed:
        left_out["times of pods: all wait at once"] = timed
    return shares


def _assemble(
    groups: dict[tuple[int, int, int, str], list[str]],
    classes: _Classes,
    counts: Counter[str],
    rounded: int,
    left_out: Counter[str],
    speeds: dict[str, float],
) -> Imported:
    by_type: Counter[str] = Counter()
    for (gpus, _, _, model), names in groups.items():
        if gpus:
            by_type[model] += gpus * len(names)
    models = sorted({*by_type, *(kind for *_, types in classes for kind in types)})
    node_parts = [
        _without_defaults(names=names, type=model or None, gpus=gpus, cpu=f"{cpu}m", memory=f"{memory}Mi")
        for (gpus, cpu, memory, model), names in groups.items()
    ]
    job_parts = [
        _without_defaults(
            names=names, gpus=gpus, gpu_milli=part, cpu=f"{cpu}m", memory=f"{memory}Mi", types=list(types)
        )
        for (gpus, part, cpu, memory, types), names in classes.items()
    ]
    scenario = Scenario.model_validate(
        {
            "gangplan": "scenario/v1",
            "title": "An openb cluster: all pods wait at once, with equal weight",
            "accelerators": {model: {"speed": speeds.get(model, 1.0)} for model in models},
            "nodes": node_parts,
            "jobs": job_parts,
        }
    )
    summary = ImportSummary(
        nodes=sum(map(len, groups.values())),
        cpu_only_nodes=sum(len(names) for (gpus, *_), names in groups.items() if not gpus),
        node_groups=len(groups),
        devices_by_type=dict(sorted(by_type.items(), key=lambda item: (-item[1], item[0]))),
        pods=sum(counts.values()),
        cpu_only_pods=counts["cpu"],
        fractional_pods=rounded,
        one_gpu_pods=counts["one"],
        multi_gpu_pods=counts["many"],
        classes=len(classes),
        devices_requested=sum(
            (part or gpus * _WHOLE) * len(names) for (gpus, part, *_), names in classes.items()
        )
        / _WHOLE,
        shared=any(part for _, part, *_ in classes),
        left_out=dict(left_out),
    )
    return Imported(scenario, summary)


def _without_defaults(**parts: Any) -> dict[str, Any]:
    return {key: value for key, value in parts.items() if value not in (None, 0, [], "0m", "0Mi")}
