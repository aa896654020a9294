"""Messages between the engine and its solver process: pickles over a socket pair, arrays without a copy.

Only a process that the engine itself has started holds the other end. Every wait has a deadline, so that a
peer that hangs, stops reading or dies in the middle of a message costs no more than the time allowed.
"""

from __future__ import annotations

import math
import pickle
import select
import socket
import struct
import time
from collections.abc import Callable

_COUNT = struct.Struct("<I")
_LENGTH = struct.Struct("<Q")


class ChannelClosedError(Exception):
    """The other end is gone."""


class ChannelTimeoutError(Exception):
    """The deadline passed first."""


class Channel:
    """One end of a socket pair that carries whole Python objects."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    @property
    def descriptor(self) -> int:
        """The file descriptor, for polling."""
        return self._socket.fileno()

    def send(self, message: object, deadline: float = math.inf) -> None:
        """Send ``message``.

        Raises:
            ChannelClosedError: the other end is gone.
            ChannelTimeoutError: it did not take the whole message in time; the channel is then useless.
        """
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
        parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
        sizes = _COUNT.pack(len(parts)) + b"".join(_LENGTH.pack(part.nbytes) for part in parts)
        try:
            for part in (memoryview(sizes), *parts):
                self._socket.settimeout(_left(deadline))
                self._socket.sendall(part)
        except TimeoutError as error:
            raise ChannelTimeoutError from error
        except OSError as error:
            raise ChannelClosedError from error

    def receive(self, deadline: float = math.inf) -> object:
        """The next message.

        Raises:
            ChannelClosedError: the other end is gone.
            ChannelTimeoutError: it is not complete in time; the channel is then useless.
        """
        (count,) = _COUNT.unpack(self._take(_COUNT.size, deadline))
        lengths = self._take(_LENGTH.size * count, deadline)
        head, *buffers = [self._take(length, deadline) for (length,) in _LENGTH.iter_unpack(lengths)]
        message: object = pickle.loads(head, buffers=buffers)  # noqa: S301 (from our own process only)
        return message

    def wait(self, deadline: float, every: float = math.inf, check: Callable[[], None] | None = None) -> bool:
        """Wait until something can be received; False when the deadline passed first.

        Args:
            deadline: reading of the monotonic clock.
            every: seconds between calls of ``check``.
            check: may raise to give up.
        """
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while True:
            slice_ = min(deadline - time.monotonic(), every, 60.0)
            if poll.poll(max(0.0, slice_) * 1000):
                return True
            if check is not None:
                check()
            if time.monotonic() >= deadline:
                return False

    def shut(self) -> None:
        """Wake whoever waits on this end, in any thread; nothing passes any more."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # shut already, or the other end is gone

    def close(self) -> None:
        """Give the descriptor back; nobody may be waiting on it."""
        self._socket.close()

    def _take(self, length: int, deadline: float) -> bytearray:
        data = bytearray(length)
        view = memoryview(data)
        while view:
            try:
                self._socket.settimeout(_left(deadline))
                got = self._socket.recv_into(view)
            except TimeoutError as error:
                raise ChannelTimeoutError from error
            except OSError as error:
                raise ChannelClosedError from error
            if got == 0:
                raise ChannelClosedError
            view = view[got:]
        return data


def _left(deadline: float) -> float | None:
    """Seconds until ``deadline`` as a socket takes them: None for ever, never 0 (not to wait at all)."""
    return None if deadline == math.inf else max(1e-4, deadline - time.monotonic())
