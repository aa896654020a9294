"""Options belong to the job that has them: their blocks add up to its tasks, on types that it allows."""

from __future__ import annotations

from hypothesis import given

from gangplan.domain.cluster import AcceleratorType, Cluster, Node, Resources
from gangplan.domain.job import Component, Job, TaskGroup
from gangplan.domain.round import Round
from gangplan.model.instance.instance import Instance, build_instance
from gangplan.model.instance.sites import task_vector
from gangplan.testing.strategies import rounds


def _check(instance: Instance) -> int:
    seen = 0
    for job_class in instance.classes:
        groups = instance.jobs[job_class.jobs[0]].component.task_groups
        for option in instance.options_of(job_class):
            seen += 1
            assert all(
                count in group.allowed_counts for count, group in zip(option.counts, groups, strict=True)
            )
            asked = [
                sum(
                    count * task_vector(group, instance.nodes.parts)[r]
                    for count, group in zip(option.counts, groups, strict=True)
                )
                for r in range(3)
            ]
            in_blocks = [sum(d.block.demand[r] * d.multiplicity for d in option.demands) for r in range(3)]
            assert in_blocks == asked
            allowed = {
                t for group in groups if group.devices_per_task for t in instance.speeds.allowed_types(group)
            }
            assert all(set(d.block.types) <= allowed for d in option.demands)
    return seen


@given(rounds("medium"))
def test_blocks_add_up_to_the_tasks_of_their_job(round_: Round) -> None:
    _check(build_instance(round_))


def test_many_structures_whose_types_merge_keep_their_own_demands() -> None:
    """Jobs alike in all but CPU, on types of equal speed: each keeps its own block."""
    nodes = tuple(
        Node(f"n{t}", accelerator_type=t, device_count=8, resources=Resources(96_000, 2**39)) for t in "ABC"
    )
    jobs = tuple(
        Job(
            f"j{cpu}",
            Component(
                (TaskGroup(devices_per_task=1 + cpu % 3, resources_per_task=Resources(cpu * 100, 2**30)),)
            ),
        )
        for cpu in range(1, 120)
    )
    round_ = Round(
        cluster=Cluster(nodes=nodes), accelerators=tuple(AcceleratorType(t) for t in "ABC"), jobs=jobs
    )
    assert _check(build_instance(round_)) == len(jobs)
