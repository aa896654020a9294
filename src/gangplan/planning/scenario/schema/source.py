"""Where clusters and jobs come from that are not written out."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gangplan.planning.scenario.quantities import Whole
from gangplan.planning.scenario.schema.part import Part


class GeneratedSource(Part):
    """The whole round from the generator of benchmark instances."""

    format: Literal["generated"]
    size: Literal["S", "M", "L", "XL", "XXL"]
    start: Literal["steady", "random"] = "steady"
    occupancy: Annotated[float, Field(ge=0, le=1)] = 0.5
    seed: Whole = 0
    host_limits: bool = False


class OpenbSource(Part):
    """Nodes, jobs or both from files in the format of the openb trace.

    Attributes:
        nodes: node list; a path relative to the scenario file.
        pods: pod list; likewise.
        fractional: ``refuse`` pods that ask for part of a GPU, count each as a ``whole`` one, or give
            each its ``share``.
    """

    format: Literal["openb"]
    nodes: str | None = None
    pods: str | None = None
    fractional: Literal["refuse", "whole", "share"] = "refuse"

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.nodes is None and self.pods is None:
            raise ValueError("name `nodes`, `pods` or both")
        return self


Source = Annotated[GeneratedSource | OpenbSource, Field(discriminator="format")]
