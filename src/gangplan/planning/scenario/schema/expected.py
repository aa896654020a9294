"""What is known of the answer."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from gangplan.planning.scenario.quantities import Count, Name, Positive, Whole
from gangplan.planning.scenario.schema.jobs import Where
from gangplan.planning.scenario.schema.part import Part


class Statement(Part):
    """What holds for a job in every best plan; a bare word is its action.

    Attributes:
        action: what is done to it; WAIT: it goes on waiting.
        tasks: of its first group.
        type: accelerator type of its first group.
        scope: narrowest level that holds all its tasks.
        nodes: exactly the nodes it is on.
        domain: one domain that holds it.
        forced: why, where the planner had no choice.
        verdict: kind of reason for waiting.
    """

    action: Literal["KEEP", "PLACE", "MIGRATE", "RESIZE", "EVICT", "WAIT"] | None = None
    tasks: Count | None = None
    type: Name | None = None
    scope: Name | None = None
    nodes: list[Name] | None = None
    domain: Name | None = None
    forced: Name | None = None
    verdict: Name | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: Any) -> Any:
        return {"action": value} if isinstance(value, str) else value

    @model_serializer(mode="wrap")
    def _to_word(self, handler: SerializerFunctionWrapHandler) -> Any:
        written = handler(self)
        return written["action"] if set(written) == {"action"} else written


class Expected(Part):
    """The known best answer of the first round (decision 40).

    Attributes:
        argument: why it is the best, by hand.
        objective: value of the best plans.
        tolerance: relative; absolute below 1.
        taken_back: another plan has a better objective for this round alone, and decision 14 takes it back.
        plan: one best plan: where each job runs afterwards; jobs that are not listed do not run.
        jobs: statements that hold in every best plan.
        placed: number of jobs that run afterwards, by name pattern such as ``small-*``.
    """

    argument: Annotated[str, Field(min_length=40)]
    objective: float | None = None
    tolerance: Positive = 1e-6
    taken_back: bool = False
    plan: dict[Name, Where] | None = None
    jobs: dict[Name, Statement] = {}
    placed: dict[Name, Whole] = {}
