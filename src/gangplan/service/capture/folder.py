"""A folder of captured rounds that never takes more than it may, also with several services on it."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from datetime import UTC, datetime
from pathlib import Path

from gangplan.service.capture.bundle import SUFFIX

_HALF_WRITTEN = ".part"
_ABANDONED_SECONDS = 600.0
"""A half-written file that nobody has touched for so long was left by a service that is gone."""


def new_name(now: float) -> str:
    """A name that no other file has, by whichever service; names sort by time.

    Args:
        now: seconds since the epoch.
    """
    when = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return f"{when}-{secrets.token_hex(4)}"


class CaptureFolder:
    """Where captured rounds are kept; the oldest are deleted once there is more than there may be.

    Args:
        path: the folder; made when it is not there.
        most_bytes: of all files together. The newest stays, whatever its size.

    Raises:
        OSError: the folder can neither be found nor made, or nothing can be written there.
    """

    def __init__(self, path: str | Path, most_bytes: int) -> None:
        self.path = Path(path)
        self._most_bytes = most_bytes
        self.path.mkdir(parents=True, exist_ok=True)
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise PermissionError(13, "captured rounds cannot be written there", str(self.path))

    def add(self, name: str, content: bytes) -> Path:
        """Write a file, whole or not at all, and make room for it.

        Raises:
            OSError: it cannot be written; nothing of it is left.
        """
        target = self.path / f"{name}{SUFFIX}"
        half = self.path / f".{name}{_HALF_WRITTEN}"
        try:
            with half.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            half.rename(target)
        except OSError:
            half.unlink(missing_ok=True)
            raise
        self._rotate(target)
        return target

    def _rotate(self, newest: Path) -> None:
        """Delete the oldest files while there is too much, and what others have left half-written."""
        sizes: list[tuple[str, int]] = []
        with os.scandir(self.path) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # another service deletes, too
                    if entry.name.endswith(SUFFIX):
                        sizes.append((entry.name, entry.stat().st_size))
                    elif _is_abandoned(entry):
                        Path(entry.path).unlink()
        total = sum(size for _, size in sizes)
        for name, size in sorted(sizes):
            if total <= self._most_bytes or name == newest.name:
                break
            (self.path / name).unlink(missing_ok=True)
            total -= size


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    """Whether a file is half-written and nobody is at it any more."""
    half = entry.name.startswith(".") and entry.name.endswith(_HALF_WRITTEN)
    return half and time.time() - entry.stat().st_mtime > _ABANDONED_SECONDS


def bundles_of(path: str | Path) -> list[Path]:
    """The captured rounds of a folder, oldest first; of a file, itself.

    Raises:
        FileNotFoundError: there is neither.
    """
    path = Path(path)
    if path.is_dir():
        return sorted(path.glob(f"*{SUFFIX}"))
    path.stat()
    return [path]
