"""Which version of a library is installed; looked up once, since that reads the metadata of its package."""

from __future__ import annotations

import functools
import importlib.metadata


@functools.cache
def version(package: str) -> str:
    """The version of ``package`` as this process found it first; empty: it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
