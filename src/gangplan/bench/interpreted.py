"""Compiled loops as Python again, so that their lines can be counted.

A function that numba compiled hangs on to its Python source (``py_func``). Within :func:`interpreted` every
name in gangplan's loaded modules that means such a function means its source instead, so that calls from one
to another stay in Python too. What they compute does not change, only how long it takes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.registry import CPUDispatcher


@contextmanager
def interpreted(package: str) -> Iterator[None]:
    """While within, the compiled loops of ``package`` and of what lies below it run as Python."""
    swapped: list[tuple[dict[str, Any], str, Any]] = []
    for name, module in list(sys.modules.items()):
        if not name.startswith("gangplan."):
            continue
        names = vars(module)
        for symbol, value in list(names.items()):
            if isinstance(value, CPUDispatcher) and _lies_in(value.py_func.__module__, package):
                swapped.append((names, symbol, value))
                names[symbol] = value.py_func
    try:
        yield
    finally:
        for names, symbol, value in swapped:
            names[symbol] = value


def _lies_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
