"""Jobs drawn from profiles: the input of the peers' programmes.

Half of it is measured (step times), half drawn with a seed: which application a job runs, how noisy its
gradients are, how far it is. Goodput is throughput times statistical efficiency ``(phi + M0) / (phi + M)``
with total batch M, initial batch M0 and gradient noise scale phi (Qiao et al., "Pollux", OSDI 2021, section
3.1), at the best batch size; phi is log-normal around ten initial batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gangplan.bench.formulations.peers.profiles import (
    APPLICATIONS,
    CLUSTERS,
    NODE_DEVICES,
    Profile,
    read_profiles,
    synthetic_profiles,
)
from gangplan.model.program import FloatArray, IntArray

MIX = {"cifar10": 0.72, "deepspeech2": 0.12, "yolov3": 0.06, "bert": 0.06, "imagenet": 0.04}
"""Share of each application, as in the instances on which the peers' own code was measured."""
GANGS = {1: 0.70, 2: 0.10, 4: 0.15, 8: 0.05}
"""Share of each gang size: Gavel's from the Philly trace (Narayanan et al., OSDI 2020)."""
TYPE_SHARES = {"quad": 24, "dgx-ext": 16, "rtx": 24}
"""Devices of each type in every 64."""

Profiles = Mapping[tuple[str, str], Profile]


@dataclass(frozen=True, slots=True)
class Configuration:
    """So many devices of one type, on so many nodes."""

    cluster: str
    nodes: int
    devices: int


def profiles(seed: int, folder: Path | None) -> tuple[Profiles, str]:
    """Those measured in ``folder``, else synthetic ones; and which it was, ``measured`` or ``synthetic``.

    Raises:
        OSError: a file of the folder is missing.
    """
    if folder is None:
        return synthetic_profiles(seed), "synthetic"
    return read_profiles(folder), "measured"


def configurations(most_devices: int = 64) -> tuple[Configuration, ...]:
    """Sia's configurations (section 3.3): powers of two within a node, whole nodes beyond.

    Nodes of 4 double beyond, nodes of 8 go one by one: 29 in all up to 64 devices.
    """
    found = []
    for cluster in CLUSTERS:
        per_node = NODE_DEVICES[cluster]
        sizes = [2**i for i in range(per_node.bit_length())]
        step = sizes[-1] * 2
        while step <= most_devices:
            sizes.append(step)
            step = step * 2 if per_node == 4 else step + per_node
        found += [
            Configuration(cluster, max(1, size // per_node), size) for size in sizes if size <= most_devices
        ]
    return tuple(found)


def devices_by_type(devices: int) -> dict[str, int]:
    """A cluster of ``devices``, a multiple of 64, in the shares of :data:`TYPE_SHARES`."""
    return {cluster: share * devices // 64 for cluster, share in TYPE_SHARES.items()}


def draw_applications(jobs: int, rng: np.random.Generator) -> list[str]:
    """An application for each job."""
    return [str(name) for name in rng.choice(list(MIX), size=jobs, p=list(MIX.values()))]


def draw_gangs(jobs: int, rng: np.random.Generator) -> IntArray:
    """A gang size for each job, shape (jobs,)."""
    drawn: IntArray = rng.choice(list(GANGS), size=jobs, p=list(GANGS.values())).astype(np.int64)
    return drawn


def throughputs(
    known: Profiles, wanted: Sequence[Configuration]
) -> dict[str, list[tuple[IntArray, FloatArray]]]:
    """By application and configuration: total batch sizes, and samples per second at each."""
    found: dict[str, list[tuple[IntArray, FloatArray]]] = {}
    for application in APPLICATIONS:
        found[application] = []
        for one in wanted:
            batch, seconds = known[application, one.cluster].step_seconds(one.nodes, one.devices)
            total = batch * one.devices
            found[application].append((total, total / seconds))
    return found


def goodputs(
    known: Profiles, wanted: Sequence[Configuration], applications: Sequence[str], noise: FloatArray
) -> FloatArray:
    """Goodput of every job in every configuration, shape (jobs, configurations), samples per second.

    Args:
        known: profiles.
        wanted: configurations.
        applications: of each job.
        noise: shape (jobs,), gradient noise scale in initial batches.
    """
    table = throughputs(known, wanted)
    smallest = {name: min(int(total.min()) for total, _ in table[name]) for name in set(applications)}
    found = np.zeros((len(applications), len(wanted)))
    for i, name in enumerate(applications):
        initial = smallest[name]
        phi = noise[i] * initial
        for k, (total, rate) in enumerate(table[name]):
            found[i, k] = (rate * (phi + initial) / (phi + total)).max()
    return found


def draw_noise(jobs: int, rng: np.random.Generator) -> FloatArray:
    """Gradient noise scale of each job in initial batches, shape (jobs,)."""
    drawn: FloatArray = 10.0 * rng.lognormal(0.0, 1.0, size=jobs)
    return drawn
