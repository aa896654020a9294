"""Seconds of the domain -> protobuf's durations and timestamps, to the nanosecond."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from gangplan.service.wire.fields import seconds_and_nanos


def to_duration(value: float) -> Duration:
    """``value`` seconds, at least 0."""
    message = Duration()
    write_seconds(value, message)
    return message


def write_seconds(value: float, message: Duration | Timestamp) -> None:
    """Set a duration or timestamp in its place; it counts as set even where it is 0."""
    message.seconds, message.nanos = seconds_and_nanos(value)
