"""Step times of training jobs by accelerator type, batch size, nodes and devices.

Measured: the profiles of Sia's artifact (Subramanya et al., SOSP 2023), ``placements-CLUSTER.csv`` and
``scalability-CLUSTER.csv`` in ``sia/profiles/APPLICATION`` of a folder with data sets (``--data DIR``).
Without one :func:`synthetic_profiles` draws some of the same form.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gangplan.model.program import FloatArray, IntArray

APPLICATIONS = ("bert", "cifar10", "deepspeech2", "imagenet", "yolov3")
CLUSTERS = ("quad", "dgx-ext", "rtx")
"""Quadro RTX 6000 in nodes of 4; A100 in nodes of 8; RTX 2080 Ti in nodes of 8."""
NODE_DEVICES: Mapping[str, int] = {"quad": 4, "dgx-ext": 8, "rtx": 8}

_GROWTH = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What was measured of one application on one type.

    Attributes:
        nodes: shape (measurements,).
        devices: shape (measurements,), in all.
        batch: shape (measurements,), samples per device and step.
        step: shape (measurements,), seconds per step, synchronisation included.
        sync: shape (measurements,), seconds of it spent in synchronisation.
    """

    nodes: IntArray
    devices: IntArray
    batch: IntArray
    step: FloatArray
    sync: FloatArray

    def step_seconds(self, nodes: int, devices: int) -> tuple[IntArray, FloatArray]:
        """Batch sizes per device, and the seconds of a step at each of them; both of shape (batches,).

        Measured where it was. Beyond that, computing takes what it takes at the nearest measurement, and
        synchronisation, a ring all-reduce, grows as (g - 1) / g with the devices g; from one node to several
        it is that of the most devices measured on several nodes, or twice that of one node where only one
        node was measured.
        """
        across = nodes > 1
        mine = self.nodes > 1 if across else self.nodes == 1
        doubled = 1.0
        if not mine.any():
            mine, doubled = ~mine, _GROWTH if across else 1.0 / _GROWTH
        held = self.devices[mine]
        nearest = mine & (self.devices == held[np.argmin(np.abs(held - devices))])
        batch, first = np.unique(self.batch[nearest], return_index=True)
        at = np.flatnonzero(nearest)[first]
        measured = int(self.devices[at[0]])
        ring = _ring(devices) / _ring(measured) if measured > 1 else 1.0
        sync = self.sync[at] * (1.0 if measured == devices and doubled == 1.0 else doubled * ring)
        return batch, self.step[at] - self.sync[at] + sync


def _ring(devices: int) -> float:
    return (devices - 1) / devices


def read_profiles(folder: Path) -> dict[tuple[str, str], Profile]:
    """Measured profiles by (application, cluster), from ``folder/sia/profiles``.

    Raises:
        OSError: a file is missing.
    """
    found = {}
    for application in APPLICATIONS:
        for cluster in CLUSTERS:
            here = folder / "sia" / "profiles" / application
            rows = [
                *_placements(here / f"placements-{cluster}.csv"),
                *_scalability(here / f"scalability-{cluster}.csv"),
            ]
            found[application, cluster] = _profile(rows)
    return found


def _placements(path: Path) -> list[tuple[int, int, int, float, float]]:
    """Rows of a file by placement, a digit for each node (read as text: leading ones are no number)."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            (
                len(row["placement"]),
                sum(int(digit) for digit in row["placement"]),
                int(row["local_bsz"]),
                float(row["step_time"]),
                float(row["sync_time"]),
            )
            for row in csv.DictReader(file)
            if len(set(row["placement"])) == 1  # as many devices on every node, as configurations have
        ]


def _scalability(path: Path) -> list[tuple[int, int, int, float, float]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            (
                int(row["num_nodes"]),
                int(row["num_replicas"]),
                int(row["local_bsz"]),
                float(row["step_time"]),
                float(row["sync_time"]),
            )
            for row in csv.DictReader(file)
        ]


def _profile(rows: list[tuple[int, int, int, float, float]]) -> Profile:
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 5)
    whole = table[:, :3].astype(np.int64)
    return Profile(whole[:, 0], whole[:, 1], whole[:, 2], table[:, 3], table[:, 4])


def synthetic_profiles(seed: int = 0) -> dict[tuple[str, str], Profile]:
    """Profiles of the same form: a step takes a fixed time, one for each sample, and a ring all-reduce."""
    rng = np.random.default_rng(seed)
    speed = {"quad": 0.45, "dgx-ext": 1.0, "rtx": 0.35}
    found = {}
    for application in APPLICATIONS:
        fixed, per_sample = 10 ** rng.uniform(-2.3, -1.3), 10 ** rng.uniform(-3.5, -2.0)
        sync = 10 ** rng.uniform(-2.5, -1.0)
        most = int(2 ** rng.integers(4, 9))
        for cluster in CLUSTERS:
            rows = []
            taste = speed[cluster] * rng.uniform(0.8, 1.25)
            for nodes in (1, 2):
                for each in [1, 2, 4, 8][: 3 if NODE_DEVICES[cluster] == 4 else 4]:
                    devices = nodes * each
                    wait = sync * (_GROWTH if nodes > 1 else 0.3) * _ring(devices)
                    for batch in [b for b in (8, 16, 32, 64, 128, 256) if b <= max(most, 8)]:
                        compute = (fixed + per_sample * batch) / taste
                        rows.append((nodes, devices, batch, compute + wait, wait))
            found[application, cluster] = _profile(rows)
    return found
