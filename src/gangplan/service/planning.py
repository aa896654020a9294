"""What the calls of PlanningService do, without a server around them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from gangplan.errors import GangplanError, OverloadedError, WorkerError
from gangplan.planning.playing import Simulated, Simulation, simulate
from gangplan.planning.pool import Pool
from gangplan.service.call import Call
from gangplan.service.parsed import parsed
from gangplan.service.wire.fields import seconds_and_nanos
from gangplan.service.wire.read_simulation import read_simulation, read_sweep
from gangplan.v1 import planning_service_pb2

PLANNING_SERVICE = "gangplan.v1.PlanningService"
_POLL_SECONDS = 0.1
"""Between two looks at whether anybody still waits."""


def parse_simulate(request: bytes) -> Simulation:
    """Decode and read a SimulateRequest.

    Raises:
        InvalidInputError: it is none, or breaks the contract.
    """
    return read_simulation(parsed(planning_service_pb2.SimulateRequest, request))


def parse_sweep(request: bytes) -> tuple[Simulation, ...]:
    """Decode and read a SweepRequest.

    Raises:
        InvalidInputError: it is none, or breaks the contract.
    """
    return read_sweep(parsed(planning_service_pb2.SweepRequest, request))


def with_jobs(request: bytes) -> tuple[bool, ...]:
    """For each simulation of a request that was read, whether its jobs are asked for."""
    sweep = planning_service_pb2.SweepRequest.FromString(request)
    return tuple(variant.with_jobs for variant in sweep.variants)


def played(
    simulations: Sequence[Simulation], listed: Sequence[bool], call: Call
) -> Iterator[tuple[int, planning_service_pb2.SimulateResponse]]:
    """Play simulations one after the other in a process that ends with the call.

    Args:
        simulations: what is played.
        listed: for each, whether its jobs are asked for.
        call: who cancels it or does not read on in time ends the process.

    Raises:
        WorkerError: the process died.
        OverloadedError: the call's deadline has passed.
        GangplanError: of a simulation.
    """
    with Pool(simulate, None, 1) as pool:
        for number, simulation in enumerate(simulations):
            pool.submit(number, simulation)
        while pool.open:
            for event in pool.events(_POLL_SECONDS):
                if isinstance(event.error, GangplanError):
                    raise event.error
                if event.error is not None:
                    raise WorkerError(f"the simulation failed: {event.error}")
                number = event.ticket
                if event.done:
                    yield number, _result(event.value, simulations[number], listed=listed[number])
                else:
                    yield number, planning_service_pb2.SimulateResponse(progress=event.value)
            if call.cancellation.cancelled:
                return
            if call.deadline is not None and time.monotonic() > call.deadline:
                raise OverloadedError("the call's deadline has passed", 0.0)


def _result(
    found: Simulated, simulation: Simulation, *, listed: bool
) -> planning_service_pb2.SimulateResponse:
    answer = planning_service_pb2.SimulateResponse(
        progress=1.0, metrics={name: value for name, value in found.figures.items() if value is not None}
    )
    start = simulation.history.template.now
    for report in found.jobs if listed else ():
        job = answer.jobs.add(name=report.name, rho=report.rho, deadline_met=report.deadline_met)
        for field, value in (
            (job.submit_time, report.submitted),
            (job.start_time, report.first_start),
            (job.end_time, report.finished),
        ):
            if value is not None:
                field.seconds, field.nanos = seconds_and_nanos(start + value)
    return answer
