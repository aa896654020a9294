"""Seconds of the domain -> protobuf's durations and timestamps, to the nanosecond."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from gangplan.service.wire.fields import seconds_and_nanos


def to_duration(value: float) -> Duration:
    """``value`` seconds, at least 0."""
    seconds, nanos = seconds_and_nanos(value)
    return Duration(seconds=seconds, nanos=nanos)


def to_timestamp(value: float) -> Timestamp:
    """``value`` seconds since the epoch."""
    seconds, nanos = seconds_and_nanos(value)
    return Timestamp(seconds=seconds, nanos=nanos)
