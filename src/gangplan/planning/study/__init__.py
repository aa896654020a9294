"""What-if studies: many simulations of edited clusters, loads, policies and quotas, and what they answer.

::

    gangplan: study/v1
    base: {trace: jobs.jsonl, cluster: site.yaml, policy: fifo}
    axes:
      h100: {from: 1, to: 16}
    changes:
      - nodes: {group: "h-{}", count: $h100}
    seeds: 5
    draw: resample
    find: {smallest: h100, where: {deadlines_met: {at_least: 0.95}}}

* ``schema`` and ``reader``: the file.
* ``edits``: what can be changed, one file each.
* ``draws``: what differs from seed to seed.
* ``task``: one simulation, as a process is given it.
* ``figures``: what comes out of it.
* ``runners``: where simulations run: in processes here, on a Ray cluster; with ``finished`` kept in a file.
* ``ask``: which simulations a question needs, and its answer; ``verdict`` has the statistics.

Same study, same answer, whatever the number of workers and wherever they are.
"""

from __future__ import annotations

from gangplan.planning.study.reader import Given, json_schema, load, loads
from gangplan.planning.study.schema import Study

__all__ = ["Given", "Study", "json_schema", "load", "loads"]
