"""Seeded benchmark instances of five sizes: clusters, jobs and a present state with one known mix.

The mix: four accelerator types (speeds 1, .55, .32, .16; 40, 30, 20 and 10 % of the devices; the last in
nodes of 4 devices, the others of 8) in racks of one type; 70 % of the jobs ask for 1 device, 10 % for 2, 8
% for 4, 8 % for 8 and 4 % for 16 to 256; 40 % are elastic between half and twice their request; each (job,
type) pair is forbidden with a chance of 10 %, except on the first type; 20 % carry deadlines; priorities 1,
2 and 4; Zipf tenants with hard device limits; throughput that falls with spread; restart costs. Together
the jobs ask for two to three times the cluster.

Two present states. ``steady``: the greedy placement of the round before, from which random jobs departed
(their places in the list are taken by new arrivals) until half, or 85 %, of the devices are held.
``random``: random jobs on random types on half of the devices, which no scheduler would have left behind:
the best plan stops half of it. A hard family may be named there, too, for the steady state of another mix:
:mod:`~gangplan.planning.generate.families`.

The finish-time ratio rho (decision 11) of the jobs is log-normal with a spread of 0.5, clipped to [0.3, 4],
and moved by another 0.15 for jobs that stayed. It cannot be set: submit time, work and fair progress are
chosen so that the formula yields it (see :mod:`~gangplan.planning.generate.past`).

Same arguments, same instance, as long as numpy keeps its random streams.
"""

from gangplan.planning.generate.make import generate, generate_named
from gangplan.planning.generate.names import SIZES, STARTS, InstanceName, Size
from gangplan.planning.generate.site import TYPES

__all__ = ["SIZES", "STARTS", "TYPES", "InstanceName", "Size", "generate", "generate_named"]
