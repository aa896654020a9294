"""Read-only mappings, which our types have as defaults, on their way to other processes.

pickle cannot write them by itself; whoever sends rounds to another process calls :func:`enable` first.
"""

from __future__ import annotations

import copyreg
from types import MappingProxyType
from typing import Any


def _read_only(mapping: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(mapping)


def _reduced(mapping: MappingProxyType[Any, Any]) -> tuple[Any, ...]:
    return _read_only, (dict(mapping),)  # the type itself has no name that pickle finds


def enable() -> None:
    """Teach pickle, once and for all; read-only mappings come out as such."""
    copyreg.pickle(MappingProxyType, _reduced)
