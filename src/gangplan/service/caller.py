"""Who calls, as far as limits and memory need to know."""

from __future__ import annotations

from typing import Any

CALLER = "x-gangplan-caller"
"""Metadata key under which a caller may give its name; callers on one host share a name otherwise."""
_LONGEST = 128


def caller_of(context: Any) -> str:
    """The caller's name: what it says of itself, else its host.

    It decides who shares a queue and a memory of requests with whom, and nothing that needs to be proved.
    """
    for key, value in context.invocation_metadata() or ():
        if key == CALLER and isinstance(value, str) and value:
            return f"name:{value[:_LONGEST]}"
    peer: str = context.peer() or ""
    return peer.rpartition(":")[0] if peer.startswith(("ipv4:", "ipv6:")) else peer
