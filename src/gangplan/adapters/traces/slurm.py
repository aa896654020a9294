"""Slurm's accounting: what ``sacct --parsable2`` prints.

Format: Slurm's manual of ``sacct``. The columns may be any and in any order, those named here are read::

    sacct --allusers --allocations --parsable2 --starttime=2026-01-01 --format=JobID,User,Account,Partition,\
State,Submit,Start,End,Elapsed,ReqTRES,AllocTRES,NNodes,Priority

``JobID`` and ``Submit`` have to be there, and one of ``ReqTRES`` and ``AllocTRES`` for the GPUs
(``gres/gpu=8``, ``gres/gpu:a100=8``). What a pending job asks for is its request; of others it is what they
were given. Steps (``1234.batch``) are left out, and so are further runs of the same job (``--duplicates``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator

from gangplan.adapters.traces.protocol import Source
from gangplan.adapters.traces.slurm_states import status_of
from gangplan.adapters.traces.table import Cells, Instant, MaybeInstant, MaybeWhole, Text, Whole, job, rows
from gangplan.errors import FieldViolation, TraceError
from gangplan.planning.scenario.quantities import parse_duration
from gangplan.planning.trace.ledger import Ledger
from gangplan.planning.trace.records import Group, JobRecord

NAME = "slurm"
ABOUT = "Slurm's accounting, what sacct --parsable2 prints"
SOURCE = Source(
    name="Slurm accounting",
    url="https://slurm.schedmd.com/sacct.html",
    licence="the cluster's owner's",
    time_zero="1970-01-01, local wall clock read as UTC",
    raw_units="as sacct prints them",
)
_POWERS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


def _elapsed(value: object) -> object:
    """Seconds of ``[days-]hours:minutes:seconds``, or of a number as in ``ElapsedRaw``."""
    return (parse_duration(value) if ":" in value else value or None) if isinstance(value, str) else value


class _Row(Cells):
    JobID: Text
    Submit: Instant
    Start: MaybeInstant = None
    End: MaybeInstant = None
    State: str = ""
    Elapsed: Annotated[float | None, BeforeValidator(_elapsed)] = None
    ElapsedRaw: Annotated[float | None, BeforeValidator(_elapsed)] = None
    User: str = ""
    Partition: str = ""
    ReqTRES: str = ""
    AllocTRES: str = ""
    NNodes: MaybeWhole = None
    Priority: MaybeWhole = None


class _Tres(Cells):
    """Trackable resources of a job; all of it."""

    cpu: Whole = 0
    mem: Whole = 0
    node: Whole = 1
    gpus: Whole = 0
    type: str = ""


def read(paths: Sequence[Path], ledger: Ledger) -> Iterator[JobRecord]:
    """See :meth:`gangplan.adapters.traces.protocol.Reader.read`."""
    for path in paths:
        for line in rows(path, _Row, ledger, delimiter="|", quoted=False):
            row = line.cells
            if "ReqTRES" not in line.raw and "AllocTRES" not in line.raw:
                raise TraceError([FieldViolation(f"{path}:1", "has neither a column ReqTRES nor AllocTRES")])
            if "." in row.JobID:
                ledger.leave_out("steps of jobs")
                continue
            if ledger.has(row.JobID):
                ledger.leave_out("further runs of a job")
                continue
            try:
                tres = _tres(row.AllocTRES or row.ReqTRES)
            except ValueError as error:
                ledger.refuse(f"{path}:{line.number}", f"ReqTRES, AllocTRES: {error}")
                continue
            if not tres.gpus and not tres.cpu:
                ledger.leave_out("jobs that ask for nothing")
                continue
            started = row.Start is not None
            ran = row.Elapsed if row.ElapsedRaw is None else row.ElapsedRaw
            status = status_of(row.State)
            yield from job(
                line,
                path,
                ledger,
                id=row.JobID,
                submit_s=row.Submit,
                groups=_groups(tres, row.NNodes or tres.node),
                duration_s=ran if started else None,
                traced_type=tres.type if started else "",
                open_ended=status == "running",
                priority=row.Priority,
                user=row.User,
                queue=row.Partition,
                status=status,
                start_s=row.Start,
                end_s=row.End,
            )


def _groups(tres: _Tres, nodes: int) -> tuple[Group, ...]:
    tasks = nodes if nodes and tres.gpus % nodes == 0 else max(1, tres.gpus)
    return (
        Group(
            tasks=tasks,
            gpus_per_task=tres.gpus // tasks,
            cpu_milli=-(-1000 * tres.cpu // tasks),
            memory_bytes=-(-tres.mem // tasks),
        ),
    )


def _tres(text: str) -> _Tres:
    """``billing=8,cpu=8,gres/gpu:a100=4,gres/gpu=4,mem=64G,node=1``; untyped GPUs count typed ones, too.

    Raises:
        ValueError: it has another form.
    """
    found: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part!r} has no =")
        found[name] = value
    typed = {
        name.partition(":")[2]: int(value) for name, value in found.items() if name.startswith("gres/gpu:")
    }
    return _Tres(
        cpu=int(found.get("cpu", 0)),
        mem=_bytes(found.get("mem", "0")),
        node=int(found.get("node", 1)),
        gpus=int(found.get("gres/gpu", sum(typed.values()))),
        type=next(iter(typed)) if len(typed) == 1 else "",
    )


def _bytes(text: str) -> int:
    """Bytes of an amount with a unit, without one megabytes, as Slurm has them."""
    unit = text[-1:].upper()
    amount = float(text[:-1] if unit in _POWERS else text)
    return round(amount * _POWERS.get(unit, 2**20))
