"""Instances of the peers' programmes, drawn with a seed from measured profiles or a seeded stand-in.

Each returns the programme's input, and where the profiles are from: ``folder``, else they are drawn.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gangplan.bench.formulations.peers import crowd
from gangplan.bench.formulations.peers.profiles import CLUSTERS, NODE_DEVICES
from gangplan.model.program import FloatArray, IntArray
from gangplan.planning.programmes.chronus import Leases
from gangplan.planning.programmes.finish_time import TimeShares
from gangplan.planning.programmes.shockwave import ROUNDS, Epochs
from gangplan.planning.programmes.sia import POWER, MultiChoice

_LOAD = 0.91
_SOFT_REWARD = 0.5
_SLACK_ROUNDS = 1.0
_CROWDING = 1.5
_RESTART_SECONDS = {"cifar10": 50.0, "deepspeech2": 25.0, "bert": 120.0, "yolov3": 80.0, "imagenet": 250.0}


def sia(jobs: int, devices: int, seed: int, folder: Path | None = None) -> tuple[MultiChoice, str]:
    """A round of ``jobs`` on ``devices`` (a multiple of 64); and where the profiles are from.

    Every job has a cap of 1 to 64 devices; half of them run in a random configuration within it; ages and
    restarts are drawn.
    """
    rng = np.random.default_rng(seed)
    known, source = crowd.profiles(seed, folder)
    wanted = crowd.configurations()
    applications = crowd.draw_applications(jobs, rng)
    goodput = crowd.goodputs(known, wanted, applications, crowd.draw_noise(jobs, rng))
    count = np.array([one.devices for one in wanted], dtype=np.int64)
    cap = 2 ** rng.integers(0, 7, size=jobs)
    allowed = count[None, :] <= cap[:, None]
    running = rng.random(jobs) < 0.5
    present = np.array([rng.choice(np.flatnonzero(row)) for row in allowed], dtype=np.int64)
    age, restarts = rng.uniform(600.0, 36_000.0, size=jobs), rng.integers(0, 4, size=jobs)
    seconds = np.array([_RESTART_SECONDS[name] for name in applications])
    factor = np.clip((age - restarts * seconds) / (age + seconds), 0.0, 1.0)
    relative = goodput / np.where(allowed, goodput, np.inf).min(axis=1, keepdims=True)
    stays = running[:, None] & (np.arange(len(wanted))[None, :] == present[:, None])
    relative = np.where(stays | ~running[:, None], relative, relative * factor[:, None])
    cost = np.round(np.maximum(relative, 1e-6) ** POWER, 2)
    capacity = crowd.devices_by_type(devices)
    return MultiChoice(
        cost=np.where(allowed, cost, np.inf),
        devices=count,
        type_of=np.array([list(capacity).index(one.cluster) for one in wanted], dtype=np.int64),
        capacity=np.array(list(capacity.values()), dtype=np.int64),
    ), source


def finish_time(jobs: int, seed: int, folder: Path | None = None) -> tuple[TimeShares, str]:
    """``jobs`` jobs on three types with a quarter of a device per job each; and where profiles are from."""
    rng = np.random.default_rng(seed)
    known, source = crowd.profiles(seed, folder)
    applications, gang = crowd.draw_applications(jobs, rng), crowd.draw_gangs(jobs, rng)
    sizes = sorted(crowd.GANGS)
    wanted = [
        crowd.Configuration(cluster, max(1, size // NODE_DEVICES[cluster]), size)
        for size in sizes
        for cluster in CLUSTERS
    ]
    goodput = crowd.goodputs(known, wanted, applications, crowd.draw_noise(jobs, rng))
    goodput = goodput.reshape(jobs, len(sizes), len(CLUSTERS))
    throughput = goodput[np.arange(jobs), np.searchsorted(sizes, gang)]
    duration = 10 ** rng.uniform(3.0, 5.0, size=jobs)
    work = throughput.max(axis=1) * duration
    done = rng.uniform(0.0, 0.9, size=jobs)
    shares = TimeShares(
        throughput=throughput,
        gang=gang,
        devices=np.full(len(CLUSTERS), jobs // 4, dtype=np.int64),
        elapsed=rng.uniform(0.0, 1.0, size=jobs) * duration,
        left=work * (1.0 - done),
        isolated=np.zeros(jobs),
    )
    isolated = shares.elapsed * rng.uniform(0.7, 1.1, size=jobs)
    return TimeShares(throughput, gang, shares.devices, shares.elapsed, shares.left, isolated), source


def _gangs_and_rates(
    jobs: int, seed: int, rng: np.random.Generator, folder: Path | None
) -> tuple[IntArray, FloatArray, FloatArray, str]:
    """Gangs on one `dgx-ext` node: devices, rate, the rate of one device, and where the profiles are from."""
    known, source = crowd.profiles(seed, folder)
    applications, gang = crowd.draw_applications(jobs, rng), crowd.draw_gangs(jobs, rng)
    sizes = sorted(crowd.GANGS)
    wanted = [crowd.Configuration("dgx-ext", 1, size) for size in sizes]
    goodput = crowd.goodputs(known, wanted, applications, crowd.draw_noise(jobs, rng))
    return gang, goodput[np.arange(jobs), np.searchsorted(sizes, gang)], goodput[:, 0], source


def shockwave(jobs: int, devices: int, seed: int, folder: Path | None = None) -> tuple[Epochs, str]:
    """``jobs`` jobs on ``devices``, at least 8 of them; and where the profiles are from.

    The promised finish leaves room for a plan in which jobs take turns, so that the fairness rows can be met.
    """
    rng = np.random.default_rng(seed)
    gang, rate, first, source = _gangs_and_rates(jobs, seed, rng, folder)
    epochs = rng.integers(5, 60, size=jobs).astype(np.float64)
    rounds_alone = 10 ** rng.uniform(0.8, 2.2, size=jobs)
    epoch_rounds = rounds_alone * first / rate / epochs
    done = np.floor(epochs * rng.uniform(0.0, 0.8, size=jobs))
    drawn = Epochs(epochs, done, epoch_rounds, gang, devices, np.full(jobs, np.inf))
    turns = ROUNDS * min(1.0, devices / int(gang.sum()))
    behind = np.maximum(0.0, drawn.left - np.maximum(0.0, turns / _CROWDING - _SLACK_ROUNDS))
    promised = ROUNDS + behind / drawn.share
    return Epochs(epochs, done, epoch_rounds, gang, devices, promised), source


def chronus(jobs: int, leases: int, seed: int, folder: Path | None = None) -> tuple[Leases, str]:
    """``jobs`` jobs that load so many ``leases`` to 91 %; and where the profiles are from.

    The jobs are laid out first, large ones first, each in the leases with most devices free (where that does
    not fit, the cluster gets the devices that are missing). The soft deadline is at or after
    the planted end, so that there is a solution; the hard one is anywhere from what the job needs at least.
    """
    rng = np.random.default_rng(seed)
    gang, rate, first, source = _gangs_and_rates(jobs, seed, rng, folder)
    faster = rate / first
    alone = rng.lognormal(1.6, 0.8, size=jobs) * np.sqrt(gang)
    need = np.clip(np.round(alone / faster).astype(np.int64), 1, leases // 2)
    devices = max(int(gang.max()), int(np.ceil((gang * need).sum() / _LOAD / leases)))
    free = np.full(leases, devices, dtype=np.int64)
    end = np.zeros(jobs, dtype=np.int64)
    for i in np.lexsort((rng.random(jobs), -need, -gang)).tolist():
        taken = np.argsort(-free, kind="stable")[: need[i]]
        free[taken] -= gang[i]
        end[i] = int(taken.max()) + 1
    devices += max(0, -int(free.min()))
    soft = np.minimum(leases, end + rng.integers(0, 4, size=jobs))
    hard = np.clip(need + rng.integers(0, leases // 2, size=jobs), need, soft)
    worth = gang * need * rng.uniform(0.5, 1.5, size=jobs)
    return Leases(
        gang=gang,
        need=need,
        deadline=np.stack([hard, soft], axis=1),
        reward=np.stack([worth, _SOFT_REWARD * worth], axis=1),
        free=np.full(leases, devices, dtype=np.int64),
    ), source
