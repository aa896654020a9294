"""Solve parameters on the wire -> :class:`~gangplan.engine.parameters.PlanParameters`."""

from __future__ import annotations

from gangplan.engine.parameters import Pipeline, PlanParameters
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
    )


def _proposers(message: parameters_pb2.SolveParameters, path: str, fields: Fields) -> tuple[str, ...]:
    seen: dict[str, str] = {}
    found = []
    for index, given in enumerate(message.proposers):
        found.append(fields.name(given, path, f"proposers[{index}]"))
        fields.unique(seen, given, f"{path}proposers[{index}]")
    return tuple(found)
