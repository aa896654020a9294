"""Sia: Pollux' jobs and others on clusters of several GPU types.

Source: Jayaram Subramanya et al., *Sia: Heterogeneity-aware, goodput-optimized ML-cluster scheduling*, SOSP
2023. Workloads and tables are Pollux' (:mod:`~gangplan.adapters.traces.pollux`), with a table for each
cluster and perhaps a column ``category``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces import pollux
from gangplan.adapters.traces.protocol import Source
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import JobRecord, Measurement

NAME = "sia"
ABOUT = "Sia's elastic jobs (workload-N.csv), and its folder of profiles by cluster"
SOURCE = Source(
    name="Sia",
    url="https://github.com/siasosp23/artifacts",
    licence="no licence file; its code's headers say Apache-2.0",
    cite="Jayaram Subramanya et al., Sia, SOSP 2023",
    raw_units="seconds",
)


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord | Measurement]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    return pollux.read(paths, ledger)
