"""The scenario file: the compact form of a round that people write, in YAML.

::

    gangplan: scenario/v1
    accelerators: {H100: 1.0}
    nodes:
      - {name: "node-{}", count: 2, type: H100, gpus: 8, cpu: 96, memory: 1Ti}
    jobs:
      - {name: "train-{}", count: 3, tasks: 4, gpus: 2, cpu: 8, memory: 64Gi}

``load`` reads it, ``expand`` makes the round that the engine takes, ``history`` all that happens later,
``dumps`` writes it, ``json_schema`` describes it to editors. Alike nodes are one entry with a count, and so
are alike jobs.
"""

from __future__ import annotations

from typing import Any

from gangplan.planning.scenario.expand import expand, resolve
from gangplan.planning.scenario.happens import history
from gangplan.planning.scenario.reader import load, loads
from gangplan.planning.scenario.schema import Scenario
from gangplan.planning.scenario.writer import dumps

__all__ = ["Scenario", "dumps", "expand", "history", "json_schema", "load", "loads", "resolve"]


def json_schema() -> dict[str, Any]:
    """The JSON schema of a scenario file, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gangplan scenario",
        **Scenario.model_json_schema(mode="validation"),
    }
