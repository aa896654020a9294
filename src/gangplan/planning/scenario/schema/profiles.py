"""Throughput profiles."""

from __future__ import annotations

from gangplan.planning.scenario.quantities import Name, NonNegative

ProfileCells = dict[Name, dict[Name, dict[int, NonNegative]]]
"""Work per second by accelerator type, scope and number of tasks."""
