"""What was predicted of the jobs of a played history when they came, beside what they took."""

from __future__ import annotations

from gangplan.domain.quantiles import Quantiles
from gangplan.planning.predict.errors import Foreseen
from gangplan.planning.rounds.loop import Played


def foreseen(played: Played) -> list[Foreseen]:
    """Predictions of all jobs that have ended and of which something was predicted.

    In seconds at the throughput of the request on its best type, by name.
    """
    found = []
    for arrival in sorted(played.history.arrivals, key=lambda arrival: arrival.job.name):
        state = played.state.jobs.get(arrival.job.name)
        if state is None or state.finished is None or state.foreseen is None:
            continue
        reference = played.paces.reference(arrival.job.name)
        said = tuple(work / reference for work in state.foreseen.values)
        came = (arrival.work - arrival.job.work_done) / reference
        found.append(Foreseen(Quantiles(state.foreseen.probabilities, said), came))
    return found
