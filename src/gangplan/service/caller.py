"""Who calls, as far as limits and memory need to know."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

CALLER = "x-gangplan-caller"
"""Metadata key under which a caller may give its name; callers on one host share a name otherwise."""
IDENTITY: ContextVar[str] = ContextVar("gangplan_identity", default="")
"""Name of the caller of this very call, proved by a token or a certificate; empty: nobody asked for proof."""
EVERYBODYS: ContextVar[bool] = ContextVar("gangplan_everybodys", default=False)
"""Whether the caller of this very call, having proved who it is, may use what belongs to others."""
_LONGEST = 128


def caller_of(context: Any) -> str:
    """The caller's name: what it has proved, else what it says of itself, else its host.

    It decides who shares a queue and a memory of requests with whom; one that was only said decides no more.
    """
    if identity := IDENTITY.get():
        return _proved(identity)
    for key, value in context.invocation_metadata() or ():
        if key == CALLER and isinstance(value, str) and value:
            return f"name:{value[:_LONGEST]}"
    peer: str = context.peer() or ""
    return peer.rpartition(":")[0] if peer.startswith(("ipv4:", "ipv6:")) else peer


def may_use(owner: str) -> bool:
    """Whether this very call may use what belongs to ``owner``, a name of :func:`caller_of`.

    Where nobody asks for proof, whoever knows of a thing may use it.
    """
    identity = IDENTITY.get()
    return not identity or EVERYBODYS.get() or owner == _proved(identity)


def _proved(identity: str) -> str:
    return f"caller:{identity}"
