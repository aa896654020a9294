"""Telling systemd how the service is (sd_notify(3)): ready, or stopping."""

from __future__ import annotations

import contextlib
import os
import socket


def notify(state: str) -> None:
    """Tell the service manager, if one listens.

    Args:
        state: e.g. ``READY=1``.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # of Linux' abstract namespace
        address = f"\0{address[1:]}"
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(address)
        sender.sendall(state.encode())
