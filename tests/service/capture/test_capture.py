"""What a service keeps of the rounds that it plans, and what becomes of it in bad times."""

from __future__ import annotations

import asyncio
import gzip
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from gangplan.client import AsyncClient, Client
from gangplan.client.transport import InProcessTransport
from gangplan.errors import InvalidInputError, NoVerifiedPlanError, ServiceError
from gangplan.observe.metrics import Metrics
from gangplan.service.capture.bundle import encode_bundle, read_bundle
from gangplan.service.capture.folder import CaptureFolder, bundles_of, new_name
from gangplan.service.capture.recorder import Recorder
from gangplan.service.capture.wanted import Wanted, share_of
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.server import Server
from gangplan.service.wire import read_round_request, write_round
from gangplan.v1 import captured_round_pb2, quality_pb2, round_pb2

Captured = captured_round_pb2.CapturedRound
SHARE = captured_round_pb2.CAPTURE_REASON_SHARE
SLOW = captured_round_pb2.CAPTURE_REASON_SLOW
FAILED = captured_round_pb2.CAPTURE_REASON_FAILED
FALLEN_BACK = captured_round_pb2.CAPTURE_REASON_FALLEN_BACK


def placement_with(planner, folder: Path, which: str = "all", metrics: Metrics | None = None) -> Placement:
    options = ServerOptions(capture=str(folder), capture_rounds=which)
    return Placement(planner, options, metrics, recorder=Recorder.of(options, metrics))


def outcomes(metrics: Metrics) -> dict[str, float]:
    return {
        sample.labels["outcome"]: sample.value
        for metric in metrics.registry.collect()
        if metric.name == "gangplan_captures"
        for sample in metric.samples
        if sample.name.endswith("_total")
    }


def kept(folder: Path) -> list[Captured]:
    return [read_bundle(path) for path in bundles_of(folder)]


def test_a_captured_round_is_complete(tmp_path, instant, make_round):
    round_ = make_round()
    with Client(transport=InProcessTransport(placement_with(instant, tmp_path))) as client:
        client.plan_round(round_, seed=7, request_id="r-1", time_budget=30.0)
    (captured,) = kept(tmp_path)
    read, parameters = read_round_request(captured.request)
    assert read == round_
    assert (parameters.seed, parameters.request_id, parameters.time_budget_seconds) == (7, "r-1", 30.0)
    assert captured.response.plan.actions
    assert list(captured.reasons) == [SHARE]
    assert captured.allowed.ToSeconds() == 30
    assert 0 < captured.elapsed.ToNanoseconds() < 30e9
    assert {"gangplan", "python", "highspy", "ortools"} <= set(captured.versions)


def test_a_round_on_a_session_is_captured_whole_and_without_the_session(tmp_path, instant, make_round):
    round_ = make_round(jobs=3)
    with (
        Client(transport=InProcessTransport(placement_with(instant, tmp_path))) as client,
        client.session() as session,
    ):
        session.plan_round(round_)
    (captured,) = kept(tmp_path)
    read, _ = read_round_request(captured.request)
    assert {job.name for job in read.jobs} == {job.name for job in round_.jobs}
    assert read.cluster == round_.cluster
    assert captured.on_session
    assert not captured.response.HasField("session")


async def test_no_metadata_and_no_token_is_captured(tmp_path, instant, make_round):
    options = ServerOptions(port=0, capture=str(tmp_path))
    server = Server(options, placement=placement_with(instant, tmp_path))
    async with server:
        import grpc.aio

        async with grpc.aio.insecure_channel(server.address) as channel:
            call = channel.unary_unary("/gangplan.v1.PlacementService/PlanRound")
            metadata = (("authorization", "Bearer SECRET-TOKEN"), ("x-request-id", "SECRET-ID"))
            await call(write_round(make_round()).SerializeToString(), metadata=metadata)
    (path,) = bundles_of(tmp_path)
    content = gzip.decompress(path.read_bytes())
    assert b"job-0" in content
    assert b"SECRET" not in content
    assert b"127.0.0.1" not in content


@pytest.mark.parametrize(
    ("which", "rounds", "expected"),
    [("all", 4, 4), ("notable", 4, 0), ("0.5", 4, 2), ("0", 3, 0), ("1", 3, 3)],
)
def test_the_share_of_rounds_that_is_asked_for_is_kept(
    tmp_path, instant, make_round, which, rounds, expected
):
    with Client(transport=InProcessTransport(placement_with(instant, tmp_path, which))) as client:
        for _ in range(rounds):
            client.plan_round(make_round(), time_budget=60.0)
    assert len(kept(tmp_path)) == expected


def test_slow_rounds_are_notable(tmp_path, slow, make_round):
    with Client(transport=InProcessTransport(placement_with(slow, tmp_path, "notable"))) as client:
        client.plan_round(make_round(), time_budget=0.1)
    (captured,) = kept(tmp_path)
    assert list(captured.reasons) == [SLOW]


def test_a_round_without_an_answer_is_notable(tmp_path, failing, make_round):
    placement = placement_with(failing(NoVerifiedPlanError("a bug")), tmp_path, "notable")
    with (
        Client(transport=InProcessTransport(placement)) as client,
        pytest.raises((ServiceError, NoVerifiedPlanError)),
    ):
        client.plan_round(make_round())
    (captured,) = kept(tmp_path)
    assert list(captured.reasons) == [FAILED]
    assert not captured.HasField("response")
    assert "a bug" in captured.error


def test_what_is_wrong_with_a_request_is_not_captured(tmp_path, instant):
    placement = placement_with(instant, tmp_path)
    with (
        Client(transport=InProcessTransport(placement)) as client,
        pytest.raises((ServiceError, InvalidInputError)),
    ):
        client.send_round(round_pb2.PlanRoundRequest())
    assert kept(tmp_path) == []


def test_fallen_back_rounds_are_notable():
    wanted = Wanted(0.0)
    answer = round_pb2.PlanRoundResponse()
    answer.termination.limit = quality_pb2.TERMINATION_LIMIT_FAILURE
    assert wanted.answered(answer, 0.1, 1.0, greedy=False) == [FALLEN_BACK]
    answer.termination.limit = quality_pb2.TERMINATION_LIMIT_TIME
    assert wanted.answered(answer, 0.1, 1.0, greedy=False) == [FALLEN_BACK]
    assert wanted.answered(answer, 0.1, 1.0, greedy=True) == []
    answer.solver = "highs"
    assert wanted.answered(answer, 0.1, 1.0, greedy=False) == []


@pytest.mark.parametrize("text", ["most", "-0.1", "1.5", "nan", ""])
def test_a_share_that_is_none_is_refused(text):
    with pytest.raises(InvalidInputError, match="capture_rounds"):
        share_of(text)


def bundle(size: int = 10) -> bytes:
    captured = Captured(capture_id="c")
    captured.request.request_id = "r"
    captured.request.warm_start = os.urandom(size)
    return encode_bundle(captured)


def test_the_oldest_are_deleted_when_there_is_too_much(tmp_path):
    one = bundle(1000)
    folder = CaptureFolder(tmp_path, most_bytes=3 * len(one) + 50)
    names = [new_name(1000.0 + n) for n in range(6)]
    for name in names:
        folder.add(name, one)
    assert [path.stem for path in bundles_of(tmp_path)] == names[3:]


def test_the_newest_stays_whatever_its_size(tmp_path):
    folder = CaptureFolder(tmp_path, most_bytes=1)
    folder.add("a", bundle())
    folder.add("b", bundle())
    assert [path.stem for path in bundles_of(tmp_path)] == ["b"]


def test_what_a_dead_service_left_half_written_is_cleared_away_and_never_read(tmp_path):
    half, fresh = tmp_path / ".dead.part", tmp_path / ".alive.part"
    for path in (half, fresh):
        path.write_bytes(bundle()[:20])
    os.utime(half, (time.time() - 3600,) * 2)
    CaptureFolder(tmp_path, 10**6).add("a", bundle())
    assert not half.exists()
    assert fresh.exists()  # somebody may be at it
    assert len(kept(tmp_path)) == 1


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        pytest.param(lambda content: content[:-9], "cut short|damaged", id="cut short"),
        pytest.param(lambda content: content[:40] + b"\0\0\0\0" + content[44:], "damaged", id="overwritten"),
        pytest.param(lambda _: b"", "no captured round|cut short", id="empty"),
        pytest.param(lambda _: b"{}", "damaged, or no captured round", id="no gzip"),
        pytest.param(lambda _: gzip.compress(b"\xff\xff"), "holds no captured round", id="no message"),
        pytest.param(lambda _: gzip.compress(b""), "has no request", id="no request"),
    ],
)
def test_a_damaged_file_is_told_from_a_whole_one(tmp_path, damage, says):
    path = tmp_path / "x.capture"
    path.write_bytes(damage(bundle(200)))
    with pytest.raises(InvalidInputError, match=says):
        read_bundle(path)


def test_a_call_never_waits_for_a_slow_disk(tmp_path, instant, make_round, monkeypatch):
    metrics = Metrics()
    held = threading.Event()
    add = CaptureFolder.add

    def slow_add(self: CaptureFolder, name: str, content: bytes) -> Path:
        held.wait(30)
        return add(self, name, content)

    monkeypatch.setattr(CaptureFolder, "add", slow_add)
    placement = placement_with(instant, tmp_path, metrics=metrics)
    with Client(transport=InProcessTransport(placement)) as client:
        for _ in range(25):
            assert client.plan_round(make_round()).verified
        held.set()
    found = outcomes(metrics)
    assert found["written"] + found["queue_full"] == 25
    assert found["queue_full"] >= 25 - 17
    assert len(kept(tmp_path)) == found["written"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small tmpfs")
def test_a_full_disk_costs_the_capture_and_not_the_round(tmp_path, instant, make_round):
    disk, metrics = tmp_path / "disk", Metrics()
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode()}")
    try:
        (disk / "ballast").write_bytes(b"x" * 8192)
        placement = placement_with(instant, disk, metrics=metrics)
        with Client(transport=InProcessTransport(placement)) as client:
            for _ in range(6):
                assert client.plan_round(make_round(jobs=200)).verified
        found = outcomes(metrics)
        assert found["not_written"] > 0
        assert sum(found.values()) == 6
        assert len(kept(disk)) == found.get("written", 0)
        assert not list(disk.glob(".*"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_services_on_one_folder_do_not_disturb_each_other(tmp_path):
    """Four writers that all delete the oldest: no error, nothing half, and not too much."""
    one = bundle(2000)
    failed: list[Exception] = []

    def write() -> None:
        folder = CaptureFolder(tmp_path, most_bytes=5 * len(one) + 100)
        try:
            for _ in range(40):
                folder.add(new_name(time.time()), one)
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    CaptureFolder(tmp_path, 5 * len(one) + 100).add(new_name(time.time()), one)
    assert len(kept(tmp_path)) == 5


def test_kill_9_while_writing_leaves_whole_files_only(tmp_path):
    program = textwrap.dedent(f"""
        import os, time
        from gangplan.service.capture.bundle import encode_bundle
        from gangplan.service.capture.folder import CaptureFolder, new_name
        from gangplan.v1.captured_round_pb2 import CapturedRound
        captured = CapturedRound(capture_id="c")
        captured.request.warm_start = os.urandom(300_000)
        content = encode_bundle(captured)
        folder = CaptureFolder({str(tmp_path)!r}, 10**9)
        print("ready", flush=True)
        while True:
            folder.add(new_name(time.time()), content)
    """)
    for wait in (0.05, 0.11, 0.23):
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(wait)
            writer.send_signal(signal.SIGKILL)
    found = kept(tmp_path)
    assert found
    assert all(len(captured.request.warm_start) == 300_000 for captured in found)


def test_a_folder_that_cannot_be_written_is_said_at_once(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        Recorder.of(ServerOptions(capture=str(tmp_path / "file" / "rounds")))


async def test_streamed_rounds_are_captured_once(tmp_path, instant, make_round):
    options = ServerOptions(port=0)
    server = Server(options, placement=placement_with(instant, tmp_path))
    async with server, AsyncClient(server.address) as client:
        async for _ in client.stream_round(make_round()):
            await asyncio.sleep(0)
    assert len(kept(tmp_path)) == 1
