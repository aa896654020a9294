"""What may be done to a job, on the wire -> :class:`~gangplan.domain.job.Capabilities`."""

from __future__ import annotations

from gangplan.domain.job import Capabilities
from gangplan.v1 import job_pb2


def read_capabilities(message: job_pb2.Capabilities) -> Capabilities:
    """What is not said may be done."""
    return Capabilities(
        pausable=message.pausable if message.HasField("pausable") else True,
        movable=message.movable if message.HasField("movable") else True,
        resizable=message.resizable if message.HasField("resizable") else True,
    )
