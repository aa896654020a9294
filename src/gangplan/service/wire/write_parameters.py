""":class:`~gangplan.engine.parameters.PlanParameters` -> the wire, every value written out."""

from __future__ import annotations

import math

from gangplan.engine.parameters import PlanParameters
from gangplan.engine.steps import UNCHANGED, Integrality, Steps
from gangplan.service.wire.read_parameters import PIPELINES
from gangplan.service.wire.times import to_duration
from gangplan.v1 import parameters_pb2

PIPELINE_NUMBERS = {name: number for number, name in PIPELINES.items()}


def write_parameters(parameters: PlanParameters) -> parameters_pb2.SolveParameters:
    """The parameters but for what the request itself carries: its id, warm start and plan before."""
    message = parameters_pb2.SolveParameters(
        time_budget=to_duration(parameters.time_budget_seconds),
        solver=parameters.solver,
        seed=parameters.seed,
        relative_gap=parameters.relative_gap,
        node_limit=parameters.node_limit,
        threads=parameters.threads,
        proposers=parameters.proposers,
        look_ahead_share=parameters.look_ahead_share,
    )
    if parameters.steps != UNCHANGED:
        message.steps.CopyFrom(_steps(parameters.steps))
    message.pipeline = PIPELINE_NUMBERS[parameters.pipeline]  # type: ignore[assignment]
    return message


def _steps(steps: Steps) -> parameters_pb2.Steps:
    return parameters_pb2.Steps(
        fruitless=steps.fruitless,
        branching_share=steps.branching_share,
        sift_gap=steps.sift,
        enough_gap=steps.enough,
        programmes=[
            parameters_pb2.ProgrammeStep(
                options=None if math.isinf(step.options) else int(step.options),
                share=step.share,
                large_only=step.integrality is Integrality.LARGE,
            )
            for step in steps.programmes
        ],
    )
