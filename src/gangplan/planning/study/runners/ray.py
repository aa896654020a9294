"""On a Ray cluster, with the extra ``ray``.

gangplan must be installed on its nodes, with the same version of Python. The base is put into the object
store once; each simulation is one task of one CPU, and is begun again when its node is lost.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.planning import pickling
from gangplan.planning.study.task import Base, Outcome, Task, evaluate

HERE = "local"
"""Address that starts a cluster on this machine, gone when the study is done."""
_TRIES = 2
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class OnRay:
    """Tasks of a Ray cluster.

    Attributes:
        address: ``local`` starts one here, ``auto`` joins the one that runs here, ``HOST:PORT`` that of its
            head, ``ray://HOST:PORT`` through Ray's client.
        cpus: of each simulation.
    """

    address: str = HERE
    cpus: float = 1.0

    @property
    def about(self) -> str:
        """Where, in words."""
        return f"Ray at {self.address}"

    def run(
        self, base: Base, tasks: Mapping[str, Task], seconds: float | None
    ) -> Iterator[tuple[str, Outcome]]:
        """See :meth:`gangplan.planning.study.runners.local.Local.run`.

        Raises:
            InvalidInputError: Ray is not installed, or there is no cluster at the address.
        """
        pickling.enable()
        ray = connected(self.address)
        shared = ray.put(base)
        play = ray.remote(evaluate).options(num_cpus=self.cpus, max_retries=_TRIES - 1)
        keys = {play.remote(shared, task): key for key, task in tasks.items()}
        started: dict[Any, float] = {}
        waiting = list(keys)
        try:
            while waiting:
                done, waiting = ray.wait(waiting, timeout=_POLL_SECONDS)
                for reference in done:
                    yield keys[reference], _outcome(ray, reference)
                if seconds is not None:
                    for reference in _late(ray, waiting, started, seconds):
                        ray.cancel(reference, force=True)
                        waiting.remove(reference)
                        yield keys[reference], Outcome({}, {}, 0.0, "took too long")
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)


def connected(address: str) -> Any:
    """Ray, connected to the cluster at the address.

    Raises:
        InvalidInputError: it is not installed, or nobody is there.
    """
    if importlib.util.find_spec("ray") is None:
        raise InvalidInputError(
            [FieldViolation("--ray", "Ray is not installed: pip install 'gangplan[ray]'")]
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray: Any = importlib.import_module("ray")  # untyped, whether it is there or not
    if not ray.is_initialized():
        try:  # without an address it would join the one of RAY_ADDRESS, or the last one started here
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InvalidInputError(
                [FieldViolation("--ray", f"no cluster at {address!r}: {reason}")]
            ) from error
    return ray


def _outcome(ray: Any, reference: Any) -> Outcome:
    try:
        found: Outcome = ray.get(reference)
    except ray.exceptions.RayError as error:
        return Outcome({}, {}, 0.0, f"{type(error).__name__}: {str(error).splitlines()[0]}")
    return found


def _late(ray: Any, waiting: list[Any], started: dict[Any, float], seconds: float) -> list[Any]:
    """Those that have run for longer, counted from when the cluster had room for them."""
    now = time.monotonic()
    slots = max(1.0, ray.cluster_resources().get("CPU", 1.0))
    for place, reference in enumerate(waiting):
        if place < slots:
            started.setdefault(reference, now)
    return [
        reference for reference, begun in started.items() if reference in waiting and now - begun > seconds
    ]
