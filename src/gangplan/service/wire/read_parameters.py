"""Solve parameters on the wire -> :class:`~gangplan.engine.parameters.PlanParameters`."""

from __future__ import annotations

import math

from gangplan.engine.parameters import Pipeline, PlanParameters
from gangplan.engine.steps import MOST_FRUITLESS, MOST_PROGRAMMES, Integrality, Step, Steps
from gangplan.service.wire import limits
from gangplan.service.wire.fields import Fields
from gangplan.v1 import parameters_pb2

PIPELINES: dict[int, Pipeline] = {
    parameters_pb2.PIPELINE_AUTO: "auto",
    parameters_pb2.PIPELINE_FULL: "full",
    parameters_pb2.PIPELINE_GREEDY: "greedy",
}
_DEFAULT = PlanParameters()


def read_parameters(
    message: parameters_pb2.SolveParameters, request_id: str, path: str, fields: Fields
) -> PlanParameters:
    """The parameters; whether solver and proposers exist is for the engine to say."""
    budget = _DEFAULT.time_budget_seconds
    if message.HasField("time_budget"):
        budget = fields.duration(message.time_budget, path, "time_budget", positive=True)
    node_limit = None
    if message.HasField("node_limit"):
        node_limit = fields.integer(message.node_limit, path, "node_limit", 0, limits.NODE_LIMIT)
    gap = message.relative_gap if message.HasField("relative_gap") else _DEFAULT.relative_gap
    threads = message.threads if message.HasField("threads") else _DEFAULT.threads
    return PlanParameters(
        request_id=request_id,
        time_budget_seconds=budget,
        pipeline=PIPELINES.get(message.pipeline, _DEFAULT.pipeline),
        solver=fields.optional_name(message.solver, path, "solver") or _DEFAULT.solver,
        seed=fields.integer(message.seed, path, "seed", 0, limits.SEED),
        relative_gap=fields.real(gap, path, "relative_gap", 0.0, 1.0),
        node_limit=node_limit,
        threads=fields.integer(threads, path, "threads", 1, limits.THREADS),
        proposers=_proposers(message, path, fields),
        look_ahead_share=fields.real(message.look_ahead_share, path, "look_ahead_share", 0.0, 1.0),
        steps=_steps(message.steps, f"{path}steps.", fields),
    )


def _steps(message: parameters_pb2.Steps, path: str, fields: Fields) -> Steps:
    fruitless = None
    if message.HasField("fruitless"):
        fruitless = fields.integer(message.fruitless, path, "fruitless", 0, MOST_FRUITLESS)
    share = message.branching_share if message.HasField("branching_share") else None
    sift = message.sift_gap if message.HasField("sift_gap") else None
    enough = message.enough_gap if message.HasField("enough_gap") else None
    if len(message.programmes) > MOST_PROGRAMMES:
        fields.refuse(
            f"{path}programmes", f"at most {MOST_PROGRAMMES}, and there are {len(message.programmes)}"
        )
    return Steps(
        fruitless=fruitless,
        branching_share=_fraction(share, path, "branching_share", fields),
        sift=_fraction(sift, path, "sift_gap", fields),
        enough=_fraction(enough, path, "enough_gap", fields),
        programmes=tuple(
            _programme(each, f"{path}programmes[{index}].", fields)
            for index, each in enumerate(message.programmes[:MOST_PROGRAMMES])
        ),
    )


def _fraction(value: float | None, path: str, name: str, fields: Fields) -> float | None:
    return None if value is None else fields.real(value, path, name, 0.0, 1.0)


def _programme(message: parameters_pb2.ProgrammeStep, path: str, fields: Fields) -> Step:
    options = math.inf
    if message.HasField("options"):
        options = float(fields.integer(message.options, path, "options", 0, limits.NODE_LIMIT))
    share = message.share if message.HasField("share") else 1.0
    share = fields.real(share, path, "share", limits.SMALLEST_FACTOR, 1.0)
    return Step(options, share, Integrality.LARGE if message.large_only else Integrality.ALL)


def _proposers(message: parameters_pb2.SolveParameters, path: str, fields: Fields) -> tuple[str, ...]:
    seen: dict[str, str] = {}
    found = []
    for index, given in enumerate(message.proposers):
        found.append(fields.name(given, path, f"proposers[{index}]"))
        fields.unique(seen, given, f"{path}proposers[{index}]")
    return tuple(found)
