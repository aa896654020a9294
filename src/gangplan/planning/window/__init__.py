"""The exact window programme: what somebody who knows all could have decided over many rounds at once.

The yardstick for small histories. An integer programme over (job, way to run, round) with the capacity of
every node, or of every type for a looser and smaller one; progress, restarts and arrivals as the loop has
them, and either the total weighted completion time, the worst rho, or the deadlines met as its objective.

* ``ways``: how each job can run: which tasks on which nodes, how fast.
* ``programme``: the integer programme.
* ``solve``: its solution as a schedule, with a proven bound.
* ``judge``: what was played in the programme's own measures.
* ``follow``: a policy that follows a schedule, so that it is measured in the same loop as the others.

Nothing that a policy can do is better than the bound: what the programme leaves out (quotas, tiers, limits on
disruptions, work lost since the last checkpoint, restarts beyond one round) only ever makes things worse.
"""

from gangplan.planning.window.follow import Follow
from gangplan.planning.window.judge import Judged, judge
from gangplan.planning.window.programme import Goal
from gangplan.planning.window.solve import Schedule, plan_window
from gangplan.planning.window.ways import Grain, Window, window_of

__all__ = ["Follow", "Goal", "Grain", "Judged", "Schedule", "Window", "judge", "plan_window", "window_of"]
