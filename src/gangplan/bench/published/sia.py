"""160 jobs of Philly on Sia's mixed cluster of 64: completion times of Sia and of Gavel.

Jayaram Subramanya et al., *Sia* (SOSP 2023), table 3; its simulator re-run on ``workload-1`` alone, which is
what stands here: the table has means over eight workloads. Instances are ``sia/pollux-N``. Sia's jobs may
have any measured number of GPUs, and their batch sizes are at most those that they ask for; Gavel's (most
throughput, in samples) have the GPUs and batch sizes that they ask for. Restarts by application, slowdowns of
the tables as in the simulator (:mod:`gangplan.bench.policies.workloads`).

What differs: there the goodput of a job changes from epoch to epoch, by the noise of its gradients, and is
what a model fitted to few measurements says; here one batch size is best throughout, from the tables. So
jobs are moved less than half as often, and the short ones end sooner. Gavel's rounds here leave no device
idle that a job without a share could use, so that nobody starves as long as there. Rigid jobs that ask for
more than 24 GPUs, which no type has, get 24.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gangplan.bench.policies.workloads import workload
from gangplan.bench.published.protocol import Prepared
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning.metrics import JobReport, Metrics
from gangplan.planning.rounds.loop import Settings

NAME = "sia"
PAPER = "Sia, SOSP 2023, table 3; re-run on workload 1"
_COLUMNS = ("mean_jct_h", "p99_jct_h", "makespan_h", "restarts_per_job")
FIGURES = {
    policy: dict(zip(_COLUMNS, figures, strict=True))
    for policy, figures in {
        "sia": (0.554, 8.04, 15.4, 4.3),
        "gavel-total-throughput": (1.67, 28.2, 35.7, 6.4),
    }.items()
}
RIGID = frozenset({"gavel-total-throughput", "gavel-max-min", "gavel-finish-time"})
"""Policies whose jobs have the GPUs and the batch sizes that they ask for."""
GAVEL_ROUND_SECONDS = 360.0
"""Gavel decides every six minutes there, as in its own paper; Sia every minute."""
_MOST_ROUNDS = 20_000


def prepare(data: Path, parts: Sequence[str], policy: str) -> Prepared:
    """See :meth:`gangplan.bench.published.protocol.Setting.prepare`."""
    if len(parts) != 1:
        raise InvalidInputError([FieldViolation("instance", "instances are sia/WORKLOAD, e.g. sia/pollux-1")])
    rigid = policy in RIGID
    found = workload(f"{'sia-rigid' if rigid else 'sia'}/{parts[0]}", data)
    jobs = "GPUs and batch sizes asked for" if rigid else "any measured number of GPUs, bounded batch sizes"
    seconds = GAVEL_ROUND_SECONDS if rigid else found.history.template.round_seconds
    template = replace(found.history.template, round_seconds=seconds)
    return Prepared(
        replace(found.history, template=template),
        Settings(most_rounds=_MOST_ROUNDS),
        f"{parts[0]}, 24 T4, 24 RTX, 16 A100, rounds of {seconds:g} s, restarts of 15 to 250 s, {jobs}",
    )


def measures(metrics: Metrics, reports: Sequence[JobReport]) -> Mapping[str, float | None]:
    """Completion times in hours, and restarts."""
    del reports
    hours = [metrics.completion_mean, metrics.completion_p99, metrics.makespan]
    restarts = metrics.evictions + metrics.moves + metrics.resizes + metrics.forced
    figures = [None if one is None else one / 3600 for one in hours]
    return dict(zip(_COLUMNS, [*figures, restarts / max(1, metrics.jobs)], strict=True))
