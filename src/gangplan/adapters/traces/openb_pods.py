"""The openb trace's pods as jobs with their times; as a scenario in which all wait at once it is
:mod:`~gangplan.adapters.traces.openb`, where the format is described.

Lists without times (``multigpu*``) have everybody come at 0. A phase is that before the deletion, so that
``Running`` does not say how a pod ended; those deleted at the trace's last second ran on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import Cells, GPUs, MaybeSeconds, Text, Whole, job, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import Group, JobRecord, Status

NAME = "openb"
ABOUT = "Alibaba openb 2023, its pods with parts of GPUs (openb_pod_list_*.csv)"
SOURCE = Source(
    name="Alibaba openb 2023",
    url="https://github.com/hkust-adsl/kubernetes-scheduler-simulator",
    licence="Apache-2.0",
    cite="Weng et al., FGD, USENIX ATC 2023",
    raw_units="seconds, thousandths of a CPU and of a GPU, MiB",
)
_STATUS: dict[str, Status] = {
    "Pending": "waiting",
    "Succeeded": "completed",
    "Failed": "failed",
}
_END = 12_902_960.0
"""The trace's last second."""


class _Row(Cells):
    name: Text
    cpu_milli: Whole
    memory_mib: Whole
    num_gpu: GPUs
    gpu_milli: Whole
    gpu_spec: str = ""
    pod_phase: str = ""
    creation_time: MaybeSeconds = None
    deletion_time: MaybeSeconds = None
    scheduled_time: MaybeSeconds = None


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        for line in rows(path, _Row, ledger):
            row = line.cells
            if not row.num_gpu and not row.cpu_milli and not row.memory_mib:
                ledger.leave_out("pods that ask for nothing")
                continue
            if row.num_gpu and (not 0 < row.gpu_milli <= 1000 or (row.num_gpu > 1 and row.gpu_milli != 1000)):
                said = (
                    f"gpu_milli: {row.gpu_milli} is not a share of each of {row.num_gpu} GPUs, in thousandths"
                )
                ledger.refuse(f"{path}:{line.number}", said)
                continue
            group = Group(
                gpus_per_task=row.num_gpu,
                gpu_milli=row.gpu_milli if row.num_gpu and row.gpu_milli < 1000 else None,
                cpu_milli=row.cpu_milli,
                memory_bytes=row.memory_mib * 2**20,
            )
            ran = None
            if row.scheduled_time is not None and row.deletion_time is not None:
                ran = row.deletion_time - row.scheduled_time
            yield from job(
                line,
                path,
                ledger,
                id=row.name,
                submit_s=row.creation_time or 0.0,
                groups=(group,),
                duration_s=ran,
                gpu_types=tuple(sorted({kind for kind in row.gpu_spec.split("|") if kind})),
                queue="",
                open_ended=ran is not None and row.deletion_time == _END,
                status=_STATUS.get(row.pod_phase, "unknown"),
                start_s=row.scheduled_time,
                end_s=row.deletion_time,
            )
