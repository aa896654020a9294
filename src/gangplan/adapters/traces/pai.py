"""Alibaba PAI 2020: training and inference jobs of several roles, with parts of GPUs.

Format: the README of ``cluster-trace-gpu-v2020`` (Weng et al., *MLaaS in the Wild*, NSDI 2022). The path is
the folder with the tables, which have no header: ``pai_task_table.csv`` (``job_name``, ``task_name``,
``inst_num``, ``status``, ``start_time``, ``end_time``, ``plan_cpu`` and ``plan_gpu`` in percent of one,
``plan_mem`` in GB, ``gpu_type``), and where they are there ``pai_job_table.csv`` (``job_name``, ``inst_id``,
``user``, ``status``, ``start_time``: its submission, ``end_time``) and ``pai_group_tag_table.csv``
(``inst_id``, ``user``, ``gpu_type_spec``, ``group``, ``workload``).

A job is all its tasks, one group of instances each. It ran from the first start to the last end. Without a
job table, it was submitted when it started.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.table import Cells, Line, MaybeNumber, MaybeText, Number, Text, gib, job, rows
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import Group, JobRecord, Status

NAME = "pai"
ABOUT = "Alibaba PAI 2020: the folder with pai_task_table.csv (and pai_job_table, pai_group_tag_table)"
SOURCE = Source(
    name="Alibaba PAI 2020",
    url="https://github.com/alibaba/clusterdata/tree/master/cluster-trace-gpu-v2020",
    licence="CC BY 4.0",
    cite="Weng et al., MLaaS in the Wild, NSDI 2022",
    time_zero="shifted by the publisher; time of day and day of week as they were, UTC+8",
    raw_units="seconds, percent of a CPU and of a GPU, GB",
)
_TASKS = (
    "job_name",
    "task_name",
    "inst_num",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
    "plan_gpu",
    "gpu_type",
)
_JOBS = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
_TAGS = ("inst_id", "user", "gpu_type_spec", "group", "workload")
_STATUS: dict[str, Status] = {
    "Terminated": "completed",
    "Failed": "failed",
    "Running": "running",
    "Waiting": "waiting",
}


class _Task(Cells):
    job_name: Text
    task_name: Text
    inst_num: MaybeNumber
    status: str
    start_time: MaybeNumber
    end_time: MaybeNumber
    plan_cpu: MaybeNumber
    plan_mem: MaybeNumber
    plan_gpu: MaybeNumber
    gpu_type: MaybeText


class _Job(Cells):
    job_name: Text
    inst_id: Text
    user: str
    status: str
    start_time: Number
    end_time: MaybeNumber


class _Tag(Cells):
    inst_id: Text
    gpu_type_spec: MaybeText
    workload: MaybeText


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`.

    Two passes over the tasks: the first counts them by job, so that the second can let go of each job with
    its last task.
    """
    for folder in paths:
        table = folder / "pai_task_table.csv"
        jobs = {
            line.cells.job_name: line for line in _table(folder / "pai_job_table.csv", _Job, _JOBS, ledger)
        }
        tags = {
            line.cells.inst_id: line
            for line in _table(folder / "pai_group_tag_table.csv", _Tag, _TAGS, ledger)
        }
        left = Counter(
            line.cells.job_name for line in rows(table, _Task, Ledger(skip_wrong=True), columns=_TASKS)
        )
        open_: dict[str, list[Line[_Task]]] = {}
        for line in rows(table, _Task, ledger, columns=_TASKS):
            name = line.cells.job_name
            open_.setdefault(name, []).append(line)
            left[name] -= 1
            if not left[name]:
                mine = jobs.get(name)
                tag = None if mine is None else tags.get(mine.cells.inst_id)
                yield from _job(open_.pop(name), mine, tag, table, ledger)


def _table(path: Path, model: type[Cells], columns: Sequence[str], ledger: Ledger) -> Iterator[Line]:  # type: ignore[type-arg]
    if path.is_file():
        yield from rows(path, model, ledger, columns=columns)


def _job(
    tasks: list[Line[_Task]], mine: Line[_Job] | None, tag: Line[_Tag] | None, path: Path, ledger: Ledger
) -> Iterator[JobRecord]:
    groups = [group for line in tasks for group in _group(line.cells)]
    if not groups:
        ledger.leave_out("jobs that ask for nothing")
        return
    starts = [line.cells.start_time for line in tasks if line.cells.start_time]
    ends = [line.cells.end_time for line in tasks if line.cells.end_time]
    submitted = mine.cells.start_time if mine else min(starts, default=None)
    if submitted is None:
        ledger.leave_out("jobs without any time")
        return
    # "End: 0" stands for: none.
    ended = len(ends) == len(tasks)
    ran = max(0.0, max(ends) - min(starts)) if starts and ended else None
    status = mine.cells.status if mine else tasks[0].cells.status
    types = {line.cells.gpu_type for line in tasks if line.cells.gpu_type and line.cells.plan_gpu}
    wanted = tag.cells.gpu_type_spec if tag else None
    raw = {
        "pai_task_table": [line.raw for line in tasks],
        **({"pai_job_table": mine.raw} if mine else {}),
        **({"pai_group_tag_table": tag.raw} if tag else {}),
    }
    yield from job(
        Line(tasks[-1].number, tasks[-1].cells, raw),
        path,
        ledger,
        id=tasks[0].cells.job_name,
        submit_s=submitted,
        groups=tuple(groups),
        duration_s=ran,
        traced_type=next(iter(types)) if len(types) == 1 else "",
        open_ended=not ended and bool(starts),
        model=(tag.cells.workload or "") if tag else "",
        gpu_types=(wanted,) if wanted else (),
        user=mine.cells.user if mine else "",
        status=_STATUS.get(status, "unknown"),
        start_s=min(starts, default=None),
        end_s=max(ends) if ended else None,
    )


def _group(task: _Task) -> Iterator[Group]:
    """Its instances; more than one GPU each is rounded up to whole ones."""
    percent = task.plan_gpu or 0.0
    if not percent and not task.plan_cpu and not task.plan_mem:
        return
    part = max(1, round(10 * percent)) if 0 < percent < 100 else None
    yield Group(
        name=task.task_name,
        tasks=max(1, round(task.inst_num or 1)),
        gpus_per_task=math.ceil(percent / 100),
        gpu_milli=part if part is not None and part < 1000 else None,
        cpu_milli=None if task.plan_cpu is None else round(10 * task.plan_cpu),
        memory_bytes=gib(task.plan_mem),
    )
