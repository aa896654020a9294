"""Compiled loops: numba, cached on disk where that can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

_F = TypeVar("_F", bound=Callable[..., object])


def compiled(function: _F) -> _F:
    """``function`` as machine code, which holds no lock of the interpreter while it runs.

    It is compiled at its first call and kept beside the source, or in the user's cache folder, or in the
    folder that ``NUMBA_CACHE_DIR`` names; where none of them can be written, every process compiles anew.
    """
    try:
        return cast("_F", njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast("_F", njit(nogil=True)(function))
