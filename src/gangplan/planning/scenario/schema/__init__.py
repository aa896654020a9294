"""The scenario file as types: what may be written, field by field.

Only what one field can say about itself is checked here; what concerns two fields or more is in
:mod:`gangplan.planning.scenario.checks`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gangplan.planning.scenario.quantities import Duration, Name
from gangplan.planning.scenario.schema.cluster import Accelerator, NodeGroup, TopologyPart
from gangplan.planning.scenario.schema.expected import Expected
from gangplan.planning.scenario.schema.jobs import JobClass
from gangplan.planning.scenario.schema.part import Part
from gangplan.planning.scenario.schema.policy import PolicyPart
from gangplan.planning.scenario.schema.profiles import ProfileCells
from gangplan.planning.scenario.schema.queues import QueuePart
from gangplan.planning.scenario.schema.settings import Settings, Solve
from gangplan.planning.scenario.schema.simulation import SimulationPart
from gangplan.planning.scenario.schema.source import Source


class Scenario(Part):
    """A whole scenario file.

    Attributes:
        gangplan: ``scenario/v1``; the file's first line.
        title: one line.
        about: what it shows.
        at: moments at which rounds are taken, from the start; the first by default. Later rounds see later
            arrivals; what runs is as written.
        settings: time.
        solve: how to solve.
        source: nodes and jobs from elsewhere.
        accelerators: the catalogue, speed by type.
        topology: levels and domains.
        nodes: groups of alike nodes.
        queues: the quota tree.
        profiles: measured throughput by name.
        policy: weights and limits.
        jobs: running and waiting.
        simulation: what becomes of them.
        expected: the known best answer.
    """

    gangplan: Literal["scenario/v1"]
    title: str = ""
    about: str = ""
    at: Annotated[list[Duration], Field(min_length=1)] = [0.0]
    settings: Settings = Settings()
    solve: Solve = Solve()
    source: Source | None = None
    accelerators: dict[Name, Accelerator] = {}
    topology: TopologyPart = TopologyPart()
    nodes: list[NodeGroup] = []
    queues: list[QueuePart] = []
    profiles: dict[Name, ProfileCells] = {}
    policy: PolicyPart = PolicyPart()
    jobs: list[JobClass] = []
    simulation: SimulationPart = SimulationPart()
    expected: Expected | None = None
