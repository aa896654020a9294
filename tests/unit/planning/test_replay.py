"""A trace on a cluster: who comes when, what it asks for, how long it takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangplan.domain.cluster import AcceleratorType, Cluster, Node, Resources
from gangplan.domain.job import DeadlineKind, DeviceShare
from gangplan.domain.policy import Policy
from gangplan.domain.queue import Queue
from gangplan.domain.round import Round
from gangplan.domain.topology import CLUSTER, NODE
from gangplan.errors import InvalidInputError
from gangplan.planning import policies
from gangplan.planning.rounds.loop import play
from gangplan.planning.trace.lines import Trace
from gangplan.planning.trace.records import DeadlineValue, End, Group, Header, JobRecord, Measurement
from gangplan.planning.trace.replay import Replay, Replayed, replay
from gangplan.planning.trace.speeds import Speeds


def site(*, hosts: bool = False, **more: Any) -> Round:
    """Two nodes of four V100, one of two K80 at a quarter of the speed."""
    resources = Resources(64_000, 2**38) if hosts else Resources()
    return Round(
        now=1000.0,
        round_seconds=60.0,
        horizon_seconds=3600.0,
        cluster=Cluster(
            nodes=(
                Node("v0", accelerator_type="V100", device_count=4, resources=resources),
                Node("v1", accelerator_type="V100", device_count=4, resources=resources),
                Node("k0", accelerator_type="K80", device_count=2, resources=resources),
            )
        ),
        accelerators=(AcceleratorType("V100", 1.0), AcceleratorType("K80", 0.25)),
        **more,
    )


def a_job(name: str = "a", submit: float = 0.0, gpus: int = 1, **more: Any) -> JobRecord:
    return JobRecord(
        **{"id": name, "submit_s": submit, "groups": (Group(tasks=gpus),), "duration_s": 600.0} | more
    )


def trace(*jobs: JobRecord, measurements: tuple[Measurement, ...] = ()) -> Trace:
    header = Header(format="gangplan-trace/v1", name="t")
    return Trace(header, jobs, measurements, End(jobs=len(jobs), measurements=len(measurements)))


def cell(gpus: int, x: float, accelerator: str = "v100", *, spread: bool = False, **more: Any) -> Measurement:
    return Measurement(
        **{
            "table": "throughput",
            "model": "m",
            "accelerator": accelerator,
            "gpus": gpus,
            "throughput": x,
            "unit": "steps",
            "spread": spread,
        }
        | more
    )


def ran(found: Replayed) -> dict[str, float]:
    """For how long each job ran, first come first served, restarts left out."""
    played = play(found.history, policies.make("fifo"))
    assert played.finished
    return {
        name: sum(span.ends - span.begins for span in job.spans) for name, job in played.state.jobs.items()
    }


def test_jobs_arrive_as_they_did_and_run_as_long_as_they_did() -> None:
    found = replay(trace(a_job("b", 5000.0, 3), a_job("a", 4000.0, 4, duration_s=250.0)), site())
    assert [(a.job.name, a.job.submit_time) for a in found.history.arrivals] == [("a", 1000.0), ("b", 2000.0)]
    assert ran(found) == {"a": 250.0, "b": 600.0}
    assert (found.left_out, found.changed) == ({}, {})


def test_a_job_traced_on_a_slow_type_takes_as_long_there_and_less_elsewhere() -> None:
    slow = a_job(traced_type="k80")
    assert ran(replay(trace(slow), site())) == {"a": 150.0}
    there = a_job(traced_type="k80", gpu_types=("k80",))
    assert ran(replay(trace(there), site())) == {"a": 600.0}


def test_run_times_by_type() -> None:
    job = a_job(duration_s=None, duration_by_type={"V100": 300.0, "K80": 450.0, "H100": 1.0})
    assert ran(replay(trace(job), site())) == {"a": 300.0}
    on_k80 = job.model_copy(update={"gpu_types": ("K80",)})
    assert ran(replay(trace(on_k80), site())) == {"a": 450.0}


def test_steps_at_measured_throughputs() -> None:
    cells = (cell(1, 2.0), cell(4, 6.0), cell(4, 3.0, spread=True), cell(4, 1.0, "k80"))
    job = a_job(gpus=4, model="m", work=1200.0, work_unit="steps")
    assert ran(replay(trace(job, measurements=cells), site())) == {"a": 200.0}
    assert replay(trace(job, measurements=cells), site()).changed == {}
    other = job.model_copy(update={"model": "unknown"})
    assert ran(replay(trace(other, measurements=cells), site())) == {"a": 600.0}
    unit = job.model_copy(update={"work_unit": "iterations"})
    assert ran(replay(trace(unit, measurements=cells), site())) == {"a": 600.0}


def test_a_number_of_gpus_that_was_not_measured_counts_in_proportion() -> None:
    job = a_job(gpus=3, model="m", work=1200.0, work_unit="steps")
    found = replay(trace(job, measurements=(cell(2, 4.0), cell(4, 1.0))), site())
    assert ran(found) == {"a": 200.0}
    assert found.changed == {"throughput in proportion to fewer GPUs": 1}


def test_scopes_of_measured_throughputs() -> None:
    cells = (cell(1, 1.0), cell(4, 3.0), cell(4, 2.0, spread=True), cell(8, 5.0), cell(8, 1.0, spread=True))
    speeds = Speeds(cells, {"v100": "V100"}, {"V100": 4})
    found = speeds.of(a_job(gpus=4, model="m", work=1.0, work_unit="steps"))
    assert found is not None
    assert found.profile.throughput == {
        ("V100", 1, CLUSTER): 1.0,
        ("V100", 4, NODE): 3.0,
        ("V100", 4, CLUSTER): 2.0,
        ("V100", 8, CLUSTER): 5.0,  # larger than a node: together means on two
    }


def test_elastic_jobs_may_have_any_measured_number() -> None:
    cells = (cell(1, 1.0), cell(2, 1.5), cell(4, 2.0))
    job = a_job(gpus=2, model="m", work=100.0, work_unit="steps")
    found = replay(trace(job, measurements=cells), site(), Replay(elastic=True)).history
    assert found.arrivals[0].job.component.task_groups[0].allowed_counts == (1, 2, 4)
    rigid = replay(trace(job, measurements=cells), site()).history
    assert rigid.arrivals[0].job.component.task_groups[0].allowed_counts == (2,)


def test_goodput_is_epochs_per_second_at_the_best_batch_size() -> None:
    """Ten epochs take 1,000 iterations at 64, 400 at 256. On one GPU a step of 64 takes 0.1 s, of 128 0.15 s:
    64 needs 100 s; 256 two steps of 128 less one exchange, 0.15 + 0.15 - 0.01, so 116 s. On two GPUs with 128
    each 400 times 0.2 s: 80 s."""
    steps = [
        Measurement(table="placement", model="m", accelerator="t4", gpus=g, nodes=n, batch_size_per_gpu=size,
                    step_s=step, sync_s=0.01)
        for g, n, size, step in ((1, 1, 64, 0.1), (1, 1, 128, 0.15), (2, 2, 128, 0.2))
    ]  # fmt: skip
    epochs = [
        Measurement(
            table="validation", model="m", batch_size=size, epoch=e, raw={"iteration": str(total * e / 10)}
        )
        for size, total in ((64, 1000), (256, 400))
        for e in (1, 10)
    ]
    speeds = Speeds([*steps, *epochs], {"t4": "T4"}, {"T4": 4})
    found = speeds.of(a_job(model="m", work=10.0, work_unit="epochs", batch_size=64))
    assert found is not None
    assert found.profile.throughput["T4", 1, CLUSTER] == pytest.approx(10 / 100)
    assert found.profile.throughput["T4", 2, CLUSTER] == pytest.approx(10 / 80)
    assert found.profile.throughput["T4", 2, NODE] == pytest.approx(10 / 80)


@pytest.mark.parametrize(
    ("job", "reason"),
    [
        (a_job(gpus=9), "jobs larger than all GPUs of any one type"),
        (a_job(groups=(Group(gpus_per_task=5),)), "jobs with tasks larger than any node"),
        (a_job(gpu_types=("H100",)), "jobs for GPU types that the cluster does not have"),
        (a_job(gpus=3, gpu_types=("K80",)), "jobs larger than all GPUs of any one type"),
        (a_job(duration_s=None), "jobs without work: their duration is unknown or 0"),
        (a_job(duration_s=0.0), "jobs without work: their duration is unknown or 0"),
        (
            a_job(groups=(Group(gpus_per_task=0, cpu_milli=1000),)),
            "jobs without GPUs, where nodes say nothing of CPU and memory",
        ),
    ],
)
def test_what_can_never_run_or_end_is_left_out_and_counted(job: JobRecord, reason: str) -> None:
    found = replay(trace(job, a_job("b")), site())
    assert [arrival.job.name for arrival in found.history.arrivals] == ["b"]
    assert found.left_out == {reason: 1}


def test_what_was_measured_only_where_it_does_not_fit_is_left_out() -> None:
    job = a_job(gpus=4, model="m", work=10.0, work_unit="steps")
    found = replay(trace(job, measurements=(cell(4, 1.0, "k80"),)), site())
    assert found.left_out == {"jobs that were measured on no type here that could hold them": 1}


def test_hosts_count_where_nodes_say_what_they_have() -> None:
    cpu = a_job("cpu", groups=(Group(tasks=2, gpus_per_task=0, cpu_milli=2000),))
    gpu = a_job("gpu", groups=(Group(cpu_milli=3000, memory_bytes=2**30),))
    found = replay(trace(cpu, gpu), site(hosts=True))
    groups = {a.job.name: a.job.component.task_groups[0] for a in found.history.arrivals}
    assert groups["gpu"].resources_per_task == Resources(3000, 2**30)
    assert ran(found) == {"cpu": 600.0, "gpu": 600.0}
    without = replay(trace(gpu), site()).history.arrivals[0].job.component.task_groups[0]
    assert without.resources_per_task == Resources()


def test_parts_of_gpus_are_shares_and_in_gangs_whole_ones() -> None:
    part = a_job("part", groups=(Group(gpu_milli=460),))
    gang = a_job("gang", groups=(Group(tasks=2, gpu_milli=500),))
    found = replay(trace(part, gang), site())
    groups = {a.job.name: a.job.component.task_groups[0] for a in found.history.arrivals}
    assert groups["part"].device_share == DeviceShare(460)
    assert groups["gang"].device_share is None
    assert found.changed == {"parts of GPUs in gangs are whole ones": 1}
    assert ran(found) == pytest.approx({"part": 600.0, "gang": 600.0})


def test_several_roles_run_together() -> None:
    roles = (Group(name="ps", gpus_per_task=0, cpu_milli=1000), Group(name="worker", tasks=2))
    assert ran(replay(trace(a_job(groups=roles)), site(hosts=True))) == {"a": 600.0}


def test_deadlines() -> None:
    soft = a_job(
        "soft",
        100.0,
        deadline_s=400.0,
        deadline_kind="soft",
        deadline_values=(DeadlineValue(by_s=400.0, value=10), DeadlineValue(by_s=900.0, value=2)),
    )
    factor = a_job("factor", 200.0, deadline_factor=1.5)
    jobs = {a.job.name: a.job for a in replay(trace(soft, factor), site(), Replay(load=2.0)).history.arrivals}
    assert (jobs["soft"].deadline, jobs["soft"].deadline_kind) == (1300.0, DeadlineKind.SOFT)
    assert jobs["soft"].deadline_decay_seconds == 500.0
    assert (jobs["factor"].submit_time, jobs["factor"].deadline) == (1050.0, 1950.0)


def test_a_window_of_one_queue() -> None:
    jobs = [a_job(f"{queue}{n}", 100.0 * n, queue=queue) for n in range(6) for queue in ("x", "y")]
    found = replay(trace(*jobs), site(), Replay(queue="x", skip=2, most_jobs=3)).history
    assert [a.job.name for a in found.arrivals] == ["x2", "x3", "x4"]
    assert [a.job.submit_time for a in found.arrivals] == [1000.0, 1100.0, 1200.0]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (Replay(queue="batsh"), "queue: no queue of the trace is named 'batsh'; did you mean 'batch'?"),
        (Replay(queue="zzz"), "queue: no queue of the trace is named 'zzz'; there are 'batch', 'lab'"),
        (Replay(skip=3), "skip: passes over 3 jobs, and the trace has 3: none is left"),
        (
            Replay(queue="lab", skip=5),
            "skip: passes over 5 jobs, and queue 'lab' of the trace has 2: none is left",
        ),
    ],
)
def test_a_window_without_jobs_is_refused(how: Replay, said: str) -> None:
    jobs = (a_job("a", queue="lab"), a_job("b", queue="batch"), a_job("c", queue="lab"))
    with pytest.raises(InvalidInputError) as refused:
        replay(trace(*jobs), site(), how)
    assert str(refused.value) == said


def test_a_trace_without_jobs_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="trace: 't' has no jobs"):
        replay(trace(), site(), Replay(queue="x", skip=1))


@given(
    st.lists(st.sampled_from(["", "x", "y"]), max_size=6),
    st.sampled_from([None, "", "x", "y", "z"]),
    st.integers(0, 7),
    st.none() | st.integers(1, 7),
)
def test_what_is_replayed_has_jobs_or_is_refused(
    queues: list[str], queue: str | None, skip: int, most: int | None
) -> None:
    jobs = [a_job(f"j{n}", float(n), queue=name) for n, name in enumerate(queues)]
    names = [job.id for job in jobs if queue is None or job.queue == queue][skip:][:most]
    try:
        found = replay(trace(*jobs), site(), Replay(queue=queue, skip=skip, most_jobs=most))
    except InvalidInputError:
        assert not names
    else:
        assert [arrival.job.name for arrival in found.history.arrivals] == names != []


def test_queues_and_priorities_that_the_cluster_knows() -> None:
    known = site(queues=(Queue("lab"),), policy=Policy(priority_weights={7: 2.0}))
    jobs = (a_job("a", queue="lab", priority=7), a_job("b", queue="other", priority=8, weight=3.0))
    one, two = (arrival.job for arrival in replay(trace(*jobs), known).history.arrivals)
    assert (one.queue, one.priority, one.user) == ("lab", 7, "lab")
    assert (two.queue, two.priority, two.weight) == (None, 0, 3.0)


def test_words_for_types_can_be_told() -> None:
    job = a_job(duration_s=None, duration_by_type={"dgx": 200.0})
    assert replay(trace(job), site()).history.arrivals == ()
    assert ran(replay(trace(job), site(), Replay(types={"dgx": "V100"}))) == {"a": 200.0}
