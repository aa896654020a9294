"""From a decision with blocks that are left free to what its plan says (``instance/free_blocks.py``)."""

from __future__ import annotations

from dataclasses import replace

from gangplan.model.instance.instance import Instance
from gangplan.model.packing.assignment import Assignment
from gangplan.model.packing.fill import stay_where_free
from gangplan.model.packing.occupancy import Occupancy


def without_free_blocks(instance: Instance, assignment: Assignment) -> Assignment:
    """The same without the blocks, and who was to leave for nothing else stays.

    A block that is left free is nobody's good for which a job may be stopped (property P5).
    """
    placed = {j: each for j, each in assignment.placed.items() if j < instance.free_from}
    if len(placed) == len(assignment.placed):
        return assignment
    class_of = instance.class_of_job
    staying = {int(class_of[j]) for j in assignment.kept}
    if len(staying) + sum(j in instance.placements for j in placed) == len(instance.placements):
        return replace(assignment, placed=placed)
    occupancy = Occupancy(instance, staying)
    placed = {j: occupancy.take_placed(j, each) for j, each in sorted(placed.items())}
    staying |= stay_where_free(occupancy, staying, placed)
    kept = frozenset(instance.classes[c].jobs[0] for c in staying)
    return replace(assignment, kept=kept, placed=placed)
