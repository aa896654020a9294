"""Parts of devices on the wire -> :class:`~gangplan.domain.job.DeviceShare`."""

from __future__ import annotations

from gangplan.domain.job import WHOLE_DEVICE, DeviceShare
from gangplan.service.wire.fields import Fields
from gangplan.v1 import accelerator_pb2


def read_share(message: accelerator_pb2.DeviceShare, path: str, fields: Fields) -> DeviceShare | None:
    """A part of a device; None for all of it."""
    if message.mode == accelerator_pb2.SHARING_MODE_EXCLUSIVE:
        fields.refuse(f"{path}.mode", "a part of a device is never EXCLUSIVE; leave device_share unset")
    milli = fields.integer(message.compute_milli, path, ".compute_milli", 1, WHOLE_DEVICE)
    return None if milli == WHOLE_DEVICE else DeviceShare(milli)
