"""Who takes the place that a job would have had, if what it has instead were taken back.

Two plans, before and after. A job that starts in both, elsewhere, would be back at its former place, and who
came there would have to go. Where that is such a job itself, it would be back at its own former place, where
again somebody came, and so on, up to the nearest that start in the later plan only. The walks of different
jobs run along the same chains; here every node is walked through once, however many jobs are asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from gangplan.model.packing.assignment import Placed


class Successors:
    """Who is in the later plan where a job is in the earlier one that starts in both, elsewhere.

    Attributes:
        elsewhere: those jobs, ascending.
    """

    def __init__(self, before: Mapping[int, Placed], after: Mapping[int, Placed]) -> None:
        self.elsewhere: list[int] = []
        self._gaining: dict[int, list[int]] = defaultdict(list)
        leaving: dict[int, list[int]] = defaultdict(list)
        for j, placed in sorted(after.items()):
            known = before.get(j)
            if known is None:
                for node, _ in placed.spots:
                    self._gaining[node].append(j)
            elif known.spots != placed.spots:
                self.elsewhere.append(j)
                for node, _ in known.spots:
                    leaving[node].append(j)
        self._one = {node: jobs[0] for node, jobs in self._gaining.items()}
        self._back: dict[int, list[int]] = {}
        self._through: dict[int, list[int]] = {}
        self._walked: set[int] = set()
        self._walk_back(leaving, after)

    def _walk_back(self, leaving: Mapping[int, list[int]], after: Mapping[int, Placed]) -> None:
        """From the nodes at which somebody gains back to whom that concerns, the nearest first.

        ``_back`` holds, by job, the nodes of its former place from which a gain is nearest; ``_through``, by
        node at which nobody gains, those who came there and from whose former places one is nearest;
        ``_one``, by node, one of those who gain.
        """
        level = list(self._one)
        while level:
            jobs: dict[int, list[int]] = defaultdict(list)
            for node in level:
                for j in leaving.get(node, ()):
                    if j not in self._back:
                        jobs[j].append(node)
            self._back.update(jobs)
            reached: dict[int, list[int]] = defaultdict(list)
            for j in jobs:
                for node, _ in after[j].spots:
                    if node not in self._one:
                        reached[node].append(j)
            for node, through in reached.items():
                self._one[node] = self._one[jobs[through[0]][0]]
            self._through.update(reached)
            level = list(reached)

    def of(self, j: int) -> list[int]:
        """Who takes the place of ``j``: the nearest that start in the later plan only.

        Behind a node that an earlier call walked through, one stands for all that that call named there:
        where everybody named is put together with the job asked for, the same are together as if all were
        named each time.
        """
        found: list[int] = []
        nodes = list(self._back.get(j, ()))
        while nodes:
            node = nodes.pop()
            if node in self._walked:
                found.append(self._one[node])
            elif node in self._gaining:
                found += self._gaining[node]
            else:
                nodes += [n for i in self._through[node] for n in self._back[i]]
            self._walked.add(node)
        return found
