"""How a scenario is simulated."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gangplan.planning.scenario.quantities import Count, Duration, Name, NonNegative, PositiveDuration, Whole
from gangplan.planning.scenario.schema.part import Part


class FailurePart(Part):
    """A node that fails for a time, in a simulation.

    Attributes:
        node: its name.
        at: from the start.
        lasts: until it runs again.
    """

    node: Name
    at: Duration
    lasts: PositiveDuration


class SimulationPart(Part):
    """What becomes of the jobs, for ``gangplan simulate``.

    Attributes:
        told: what policies are told of the work left (decision 15): ``exact``; ``noisy``, off by up to
            ``noise`` either way; ``predicted``, from the jobs that have ended, by user, name and size;
            ``unknown``, nothing.
        noise: largest relative error of ``noisy``.
        seed: of these errors.
        rounds: after so many it ends, whoever is left.
        checkpoint_every: of jobs that do not say; None: they take no checkpoint, and a stop throws away all
            since their start.
        failures: nodes that fail.
    """

    told: Literal["exact", "noisy", "predicted", "unknown"] = "exact"
    noise: Annotated[NonNegative, Field(lt=1)] = 0.3
    seed: Whole = 0
    rounds: Count = 10_000
    checkpoint_every: Duration | None = None
    failures: list[FailurePart] = []
