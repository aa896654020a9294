"""Plans without any regard for the rules."""

from __future__ import annotations

from hypothesis import strategies as st

from gangplan.domain.job import DeviceShare, TaskPlacement
from gangplan.domain.plan import Action, ActionKind, ForcedReason, Plan, Precondition
from gangplan.domain.round import Round


@st.composite
def plans(draw: st.DrawFn, round_: Round) -> Plan:
    """Any plan for ``round_``, sensible or not: unknown names, duplicates, wrong counts and indices, odd
    numbers.
    """
    jobs = [*(job.name for job in round_.jobs), "nobody", ""]
    nodes = [*(node.name for node in round_.cluster.nodes), "nowhere", ""]
    groups = [*(group.name for job in round_.jobs for group in job.component.task_groups), "nothing"]
    ids = st.sampled_from(["a", "b", "c", "d", "e", ""])
    numbers = st.one_of(st.integers(-3, 9), st.sampled_from([-(2**63), 2**63, 10**30]))
    placements = st.builds(
        TaskPlacement,
        group=st.sampled_from(groups),
        node=st.sampled_from(nodes),
        tasks=numbers,
        devices=st.lists(numbers, max_size=6).map(tuple),
        shares=st.lists(st.builds(DeviceShare, numbers), max_size=2).map(tuple),
    )
    present = [job.running.placements for job in round_.jobs if job.running]
    names = st.sampled_from(jobs)
    actions = st.builds(
        Action,
        id=ids,
        kind=st.sampled_from(ActionKind),
        job=names,
        placements=st.one_of(
            st.lists(placements, max_size=4).map(tuple), *(st.just(held) for held in present)
        ),
        scope=st.sampled_from([*round_.cluster.topology.scopes, "", "galaxy"]),
        throughput=st.floats(),
        depends_on=st.lists(ids, max_size=3).map(tuple),
        beneficiaries=st.lists(names, max_size=3).map(tuple),
        forced=st.one_of(st.none(), st.sampled_from(ForcedReason)),
        cost_by_term=st.dictionaries(
            st.sampled_from(["throughput", "switching", "luck"]), st.floats(), max_size=2
        ),
        preconditions=st.lists(
            st.builds(Precondition, st.sampled_from(["job", "node", "queue"]), names, st.just("r0")),
            max_size=2,
        ).map(tuple),
    )
    return Plan(tuple(draw(st.lists(actions, max_size=8))))
