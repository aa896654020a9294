"""Writes captured rounds beside the calls: a bounded queue and one thread. A call never waits for it.

When the queue is full, or the disk, the round is answered all the same, and its capture is dropped and
counted.
"""

from __future__ import annotations

import functools
import importlib.metadata
import platform
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gangplan import __version__
from gangplan.observe.logs import get_logger
from gangplan.service.capture.bundle import encode_bundle
from gangplan.service.capture.folder import CaptureFolder, new_name
from gangplan.service.capture.wanted import Wanted, share_of
from gangplan.service.wire.write_round import write_round
from gangplan.v1 import captured_round_pb2, round_pb2

if TYPE_CHECKING:
    from gangplan.domain.round import Round
    from gangplan.engine.parameters import PlanParameters
    from gangplan.observe.metrics import Metrics
    from gangplan.service.options import ServerOptions

_MOST_WAITING = 16
_CLOSING_SECONDS = 5.0
_QUIET_SECONDS = 60.0
_DEPENDED_ON = ("grpcio", "highspy", "numba", "numpy", "ortools", "protobuf", "pulp")
_LOG = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Planned:
    """A round as it was planned.

    Attributes:
        round: the whole round.
        parameters: how it was planned, with the warm state.
        request: that it was read from, which nobody changes any more.
        elapsed: seconds from when the call came in to now.
        allowed: seconds that the answer could take.
    """

    round: Round
    parameters: PlanParameters
    request: round_pb2.PlanRoundRequest
    elapsed: float
    allowed: float


@dataclass(frozen=True, slots=True)
class _Job:
    name: str
    at: float
    reasons: list[captured_round_pb2.CaptureReason.ValueType]
    planned: Planned
    response: bytes | None
    error: str


class Recorder:
    """Keeps rounds of one service. May be called from several threads at once.

    Args:
        folder: where.
        wanted: which.
        metrics: where captures are counted; None: nowhere.
    """

    def __init__(self, folder: CaptureFolder, wanted: Wanted, metrics: Metrics | None = None) -> None:
        self._folder, self._wanted, self._metrics = folder, wanted, metrics
        self._queue: queue.Queue[_Job | None] = queue.Queue(_MOST_WAITING)
        self._told = float("-inf")
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="gangplan-capture", daemon=True)
        self._thread.start()

    @classmethod
    def of(cls, options: ServerOptions, metrics: Metrics | None = None) -> Recorder | None:
        """The recorder of a server; None: it keeps no rounds.

        Raises:
            InvalidInputError: the options do not say which rounds.
            OSError: nothing can be written where they are to be kept.
        """
        if options.capture is None:
            return None
        folder = CaptureFolder(options.capture, options.capture_bytes)
        return cls(folder, Wanted(share_of(options.capture_rounds)), metrics)

    def answered(self, planned: Planned, response: round_pb2.PlanRoundResponse) -> None:
        """Keep a round with its answer, if it is wanted; the answer may be changed afterwards."""
        greedy = planned.parameters.pipeline == "greedy"
        reasons = self._wanted.answered(response, planned.elapsed, planned.allowed, greedy=greedy)
        if reasons:
            self._put(reasons, planned, response.SerializeToString(), "")

    def failed(self, planned: Planned, error: Exception) -> None:
        """Keep a round that has no answer."""
        reason = getattr(error, "reason", type(error).__name__)
        self._put(self._wanted.failed(), planned, None, f"{reason}: {error}")

    def close(self) -> None:
        """Write what waits, for some seconds at most, and stop."""
        if self._closed:
            return
        self._closed = True
        try:
            self._queue.put(None, timeout=_CLOSING_SECONDS)
        except queue.Full:
            return
        self._thread.join(_CLOSING_SECONDS)

    def _put(
        self,
        reasons: list[captured_round_pb2.CaptureReason.ValueType],
        planned: Planned,
        response: bytes | None,
        error: str,
    ) -> None:
        now = time.time()
        try:
            self._queue.put_nowait(_Job(new_name(now), now, reasons, planned, response, error))
        except queue.Full:
            self._count("queue_full")

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            try:
                self._folder.add(job.name, encode_bundle(_captured(job)))
            except OSError as error:
                self._count("not_written")
                self._complain(error)
            except Exception as error:  # noqa: BLE001 - a round that cannot be kept costs no other one
                self._count("not_written")
                self._complain(error)
            else:
                self._count("written")

    def _count(self, outcome: str) -> None:
        if self._metrics is not None:
            self._metrics.captures.labels(outcome).inc()

    def _complain(self, error: Exception) -> None:
        """Log why a round could not be kept, once a minute at most."""
        now = time.monotonic()
        if now - self._told >= _QUIET_SECONDS:
            self._told = now
            _LOG.warning("round not captured", folder=str(self._folder.path), error=str(error))


def _captured(job: _Job) -> captured_round_pb2.CapturedRound:
    planned = job.planned
    on_session = planned.request.HasField("session")
    message = captured_round_pb2.CapturedRound(
        capture_id=job.name,
        reasons=job.reasons,
        error=job.error,
        versions=versions(),
        on_session=on_session,
    )
    message.captured_at.FromNanoseconds(round(job.at * 1e9))
    message.elapsed.FromNanoseconds(round(planned.elapsed * 1e9))
    message.allowed.FromNanoseconds(round(max(0.0, planned.allowed) * 1e9))
    if on_session:
        message.request.CopyFrom(write_round(planned.round, planned.parameters, compact=True))
    else:
        message.request.CopyFrom(planned.request)
    if job.response is not None:
        message.response.ParseFromString(job.response)
        message.response.ClearField("session")
    return message


@functools.cache
def versions() -> Mapping[str, str]:
    """Versions of this program, of Python, and of the libraries that a plan depends on."""
    found = {"gangplan": __version__, "python": platform.python_version()}
    for name in _DEPENDED_ON:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
