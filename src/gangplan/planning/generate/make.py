"""Make an instance: the cluster, the crowd, the present state, and from them the round."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gangplan.domain.round import Round
from gangplan.errors import FieldViolation, InvalidInputError
from gangplan.garbage import collector_held_off
from gangplan.planning.generate.as_round import as_round
from gangplan.planning.generate.columns import build_columns
from gangplan.planning.generate.crowd import draw_crowd
from gangplan.planning.generate.families import FAMILIES, PLAIN
from gangplan.planning.generate.floor import Floor
from gangplan.planning.generate.names import SIZES, STARTS, InstanceName, Size
from gangplan.planning.generate.present import depart, place_at_random, place_greedily
from gangplan.planning.generate.site import build_site


def generate(
    size: str | Size,
    *,
    start: str = "steady",
    occupancy: float = 0.5,
    seed: int = 0,
    host_limits: bool = False,
) -> Round:
    """Make the instance of that size, start, occupancy and seed.

    Args:
        size: a name of :data:`SIZES`, or a size of your own.
        start: ``steady``, ``random`` or a hard family, see the module's text.
        occupancy: share of the devices that running jobs hold at most, 0 to 1.
        seed: of the random stream, not negative.
        host_limits: whether jobs ask for CPU and memory too, a tenth of them for more than their share.

    Raises:
        InvalidInputError: an argument is out of its range.
    """
    violations = []
    if isinstance(size, str) and size not in SIZES:
        violations.append(FieldViolation("size", f"{size!r} is not one of {', '.join(SIZES)}"))
    if start not in STARTS:
        violations.append(FieldViolation("start", f"{start!r} is not one of {', '.join(STARTS)}"))
    if not 0 <= occupancy <= 1:
        violations.append(FieldViolation("occupancy", f"{occupancy} is not between 0 and 1"))
    if seed < 0:
        violations.append(FieldViolation("seed", f"{seed} is negative"))
    if violations:
        raise InvalidInputError(violations)
    rng = np.random.default_rng(seed)
    mix = FAMILIES.get(start, PLAIN)
    host_limits = host_limits or mix.host_limits
    given = SIZES[size] if isinstance(size, str) else size
    site = build_site(replace(given, nodes_per_rack=mix.nodes_per_rack or given.nodes_per_rack), mix, rng)
    crowd = draw_crowd(site, rng, host_limits=host_limits)
    if mix.any_count:
        crowd.ask(mix.spread_counts(crowd.requested, np.random.default_rng([seed, 3])), site)
    columns = build_columns(site, crowd)
    floor = Floor(site, crowd)
    if start == "random":
        place_at_random(columns, site, floor, occupancy, rng)
    else:
        place_greedily(columns, site, crowd, floor)
        depart(crowd, site, floor, occupancy, np.random.default_rng([seed, 1]))
    with collector_held_off():
        made = as_round(
            site, crowd, columns, floor, np.random.default_rng([seed, 2]), host_limits=host_limits
        )
    return made if mix.finish is None else mix.finish(made, np.random.default_rng([seed, 4]))


def generate_named(name: str | InstanceName) -> Round:
    """Make the instance named like ``L/steady/85/seed3``."""
    instance = InstanceName.parse(name) if isinstance(name, str) else name
    return generate(
        instance.size, start=instance.start, occupancy=instance.occupancy_percent / 100, seed=instance.seed
    )
