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
import time
from collections.abc import Mapping
from pathlib import Path

HERE = Path(__file__).parent
_PACKAGES = ("gangplan", "gangplan_solvers")
_DRIVERS = ("cases.py", "measure.py", "prototype_instances.py", "prototype_process.py")
_STEPS, _FLOATS = 400_000, 400_000


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
    """Python's version and those of the packages that are installed."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def code() -> str:
    """Twelve hexadecimal digits that change with any line of what is measured or measures."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            for path in sorted(Path(folder).rglob("*.py")):
                digest.update(f"{package}/{path.relative_to(folder)}\0".encode() + path.read_bytes())
    for name in _DRIVERS:
        digest.update(f"{name}\0".encode() + (HERE / name).read_bytes())
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


def peak_bytes() -> dict[int, int]:
    """Peak resident size of this process and of its children, by process id.

    The kernel's figure for this program alone: what a process held before it became this program (which the
    resource usage counts as well) is left out.
    """
    mine = os.getpid()
    sizes = {mine: _peak(Path("/proc/self/status"))[1]}
    for status in Path("/proc").glob("[0-9]*/status"):
        parent, peak = _peak(status)
        if parent == mine:
            sizes[int(status.parent.name)] = peak
    return sizes


def _peak(status: Path) -> tuple[int, int]:
    """Parent's id and peak resident bytes; zeros when the process is gone."""
    try:
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0, 0
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return int(fields.get("PPid", "0")), int(fields.get("VmHWM", "0").split()[0]) * 1024
