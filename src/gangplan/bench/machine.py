"""What a figure depends on beside the code: machine, versions, how busy it is, and a loop to compare by."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import statistics
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

HERE = Path(__file__).parent
PACKAGES = ("gangplan", "numpy", "highspy", "ortools", "pulp", "numba", "grpcio", "protobuf", "pyscipopt")
"""Whose versions stand in every row, where installed."""
_CODE = ("gangplan", "gangplan_solvers")
_UNMEASURED = ("cli", "bench/report", "observe", "testing")
"""Rooms whose code changes no figure."""
_STEPS, _FLOATS = 400_000, 400_000
_LOOK_SECONDS, _LOOKS_BETWEEN_SEARCHES = 0.1, 5


def calibrate(repeats: int = 3) -> float:
    """Seconds of a fixed piece of work, half bytecode and half numpy; the median of ``repeats``."""
    import numpy as np

    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        state = 1
        for _ in range(_STEPS):
            state = (state * 1_103_515_245 + 12_345) & 0x7FFF_FFFF
        np.sort(np.random.default_rng(state).random(_FLOATS))
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def load_average() -> float:
    """Runnable processes in the last minute."""
    return os.getloadavg()[0]


@functools.cache
def describe() -> Mapping[str, str | int]:
    """CPU model, cores and memory."""
    model = platform.processor() or platform.machine()
    memory = 0
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        pass  # another system: the name of its architecture will do
    return {"cpu": model, "cores": os.cpu_count() or 0, "memory_bytes": memory}


@functools.cache
def versions(*packages: str) -> Mapping[str, str]:
    """Python's version and those of the packages that are installed; by default of :data:`PACKAGES`."""
    found = {"python": platform.python_version()}
    for name in packages or PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def code() -> str:
    """Twelve hexadecimal digits that change with any line of what is measured or measures."""
    digest = hashlib.sha256()
    for package in _CODE:
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for path in sorted(Path(folder).rglob("*.py")):
                name = path.relative_to(folder).as_posix()
                if not name.startswith(_UNMEASURED):
                    digest.update(f"{package}/{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def revision() -> str:
    """The commit, with ``-dirty`` when files differ from it; empty outside a checkout."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=9"],
            cwd=HERE,
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


class MemoryWatch:
    """Peak memory of a process and of all below it, also of those that end meanwhile.

    Looks on every tenth of a second while it is entered. A process that is ended and another in its place are
    not added up: the sum is over those that lived at the same time.

    Args:
        root: id of the process.
    """

    def __init__(self, root: int) -> None:
        self._root = root
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self.largest = 0
        """Most that one process ever held, bytes."""
        self.together = 0
        """Largest sum of the peaks of all that lived at the same time, bytes."""

    def __enter__(self) -> Self:
        self._look(sorted(_sizes(self._root)))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look(sorted(_sizes(self._root)))

    def _look_on(self) -> None:
        known = sorted(_sizes(self._root))
        looks = 0
        while not self._over.wait(_LOOK_SECONDS):
            looks += 1
            if looks % _LOOKS_BETWEEN_SEARCHES == 0:
                known = sorted(_sizes(self._root))
            self._look(known)

    def _look(self, processes: Iterable[int]) -> None:
        peaks = [_status(Path(f"/proc/{pid}/status"))[1] for pid in processes]
        self.largest = max(self.largest, *peaks, 0)
        self.together = max(self.together, sum(peaks))


def peak_bytes(root: int | None = None) -> dict[int, int]:
    """Peak resident size of a process and of all below it, by process id.

    The kernel's figure for each program alone: what a process held before it became this program (which the
    resource usage counts as well) is left out. What has ended is not counted.

    Args:
        root: id of the process; None: this one.
    """
    return {pid: peak for pid, (peak, _) in _sizes(os.getpid() if root is None else root).items()}


def resident_bytes(root: int) -> int:
    """Present resident size of a process and of all below it, together."""
    return sum(now for _, now in _sizes(root).values())


def _sizes(root: int) -> dict[int, tuple[int, int]]:
    """Peak and present resident bytes of a process and of all below it."""
    parents: dict[int, int] = {}
    sizes: dict[int, tuple[int, int]] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        pid = int(status.parent.name)
        parents[pid], *both = _status(status)
        sizes[pid] = (both[0], both[1])
    found = {root}
    grew = True
    while grew:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grew = bool(more)
    return {pid: sizes[pid] for pid in sorted(found) if pid in sizes}


def _status(status: Path) -> tuple[int, int, int]:
    """Parent's id, peak and present resident bytes; zeros when the process is gone."""
    try:
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0, 0, 0
    fields = dict(line.split(":", 1) for line in lines if ":" in line)

    def kibibytes(name: str) -> int:
        return int(fields.get(name, "0").split()[0]) * 1024

    return int(fields.get("PPid", "0")), kibibytes("VmHWM"), kibibytes("VmRSS")


def out_of_memory_kills() -> int:
    """How many processes the system has ended for want of memory; 0 where it does not say."""
    try:
        for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except OSError:
        pass
    return 0
