"""The HTTP port: metrics, probes, who may look, and the live page in a real browser."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import random
import re
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.service.certificates import Authority
from tests.service.conftest import keep_everything, round_of

from gangplan.client import AsyncClient
from gangplan.domain.cluster import NodeHealth
from gangplan.domain.plan import Verdict, VerdictKind
from gangplan.domain.round import Round
from gangplan.engine.parameters import PlanParameters
from gangplan.observe import board as bounds
from gangplan.observe import endpoint as port
from gangplan.observe.board import Board
from gangplan.observe.endpoint import HttpEndpoint
from gangplan.observe.metrics import Metrics
from gangplan.service.options import ServerOptions
from gangplan.service.placement import Placement
from gangplan.service.security.callers import digest_of
from gangplan.service.server import Server
from gangplan.v1 import placement_service_pb2

HOSTILE = '</td><img src=x onerror="document.title=1"><script>document.title=1</script>&amp;"\''


def get(
    url: str, headers: Mapping[str, str] | None = None, tls: ssl.SSLContext | None = None
) -> tuple[int, str, Any]:
    """Status, content and headers."""
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=dict(headers or {})), timeout=10, context=tls
        ) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers


def planned(round_: Round) -> Any:
    return keep_everything(round_, PlanParameters())


@contextlib.contextmanager
def page(board: Board, **settings: Any) -> Iterator[str]:
    endpoint = HttpEndpoint(
        "127.0.0.1", 0, registry=Metrics().registry, board=board, serving=lambda: True, **settings
    )
    try:
        yield f"http://127.0.0.1:{endpoint.port}"
    finally:
        endpoint.stop()


async def test_a_planned_round_is_on_the_page(instant: Any) -> None:
    options = ServerOptions(port=0, metrics_port=0)
    metrics = Metrics()
    server = Server(options, placement=Placement(instant, options, metrics), metrics=metrics)
    async with server, AsyncClient(server.address) as client:
        url = f"http://{server.http_address}"
        empty = json.loads((await asyncio.to_thread(get, f"{url}/live.json"))[1])
        await client.plan_round(round_of(jobs=3))
        edit = placement_service_pb2.RoundEdit(remove_job="job-1")
        await client.what_if(round_of(jobs=9), [edit])  # nothing that there is
        shown = json.loads((await asyncio.to_thread(get, f"{url}/live.json"))[1])
        health = await asyncio.to_thread(get, f"{url}/healthz")
        scraped = await asyncio.to_thread(get, f"{url}/metrics")
    assert empty["last"] is None
    assert [(node["name"], node["jobs"]) for node in shown["cluster"]["nodes"]] == [
        ("node-0", [{"job": "job-0", "devices": 2}]),
        ("node-1", []),
    ]
    assert (shown["cluster"]["devices_used"], shown["cluster"]["devices"]) == (2, 8)
    assert [(each["job"], each["waited_seconds"]) for each in shown["queue"]["waiting"]] == [
        ("job-1", 700.0),
        ("job-2", 700.0),
    ]
    assert shown["rounds"][0]["waiting"] == 2
    assert health[:2] == (200, "SERVING\n")
    assert 'gangplan_rounds_total{limit="NONE",pipeline="auto",reason="FEASIBLE"} 3.0' in scraped[1]
    assert "gangplan_jobs_waiting 2.0" in scraped[1]


def test_what_is_kept_and_what_is_shown_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_NODES", 3)
    monkeypatch.setattr(bounds, "MOST_WAITING", 4)
    board = Board()
    board.note(round_of(), planned(round_of()))
    assert board.document()["last"] is None  # nobody has a page open: nothing is kept
    board.watched = True
    large = round_of(jobs=10, nodes=5)
    large = replace(large, jobs=tuple(replace(job, name=job.name + "x" * 500) for job in large.jobs))
    for _ in range(bounds.MOST_ROUNDS + 10):
        board.note(large, planned(large))
    shown = board.document()
    assert set(board.document(after=shown["last"])) == {"now", "last"}  # nothing is sent twice
    assert len(shown["rounds"]) == bounds.MOST_ROUNDS
    assert (len(shown["cluster"]["nodes"]), shown["cluster"]["more_nodes"]) == (3, 2)
    assert (len(shown["queue"]["waiting"]), shown["queue"]["more"]) == (4, 5)
    assert shown["queue"]["kinds"] == {"NOT_ATTEMPTED": 9}
    assert all(len(each["job"]) == bounds.LONGEST_NAME for each in shown["queue"]["waiting"])


def test_nodes_say_what_is_wrong_with_them() -> None:
    round_ = round_of(nodes=4)
    ill, cordoned, drained, partly = round_.cluster.nodes
    nodes = (
        replace(ill, health=NodeHealth.UNHEALTHY),
        replace(cordoned, cordoned=True),
        replace(drained, drain_time=round_.now - 1),
        replace(partly, unhealthy_devices=frozenset({1}), unhealthy_device_count=1),
    )
    round_ = replace(round_, cluster=replace(round_.cluster, nodes=nodes))
    board = Board()
    board.watched = True
    board.note(round_, planned(round_))
    shown = board.document()["cluster"]["nodes"]
    assert [(each["state"], each["broken"]) for each in shown] == [
        ("unhealthy", 0),
        ("cordoned", 0),
        ("drained", 0),
        ("ready", 1),
    ]


def test_the_page_loads_nothing_from_elsewhere() -> None:
    with page(Board()) as url:
        for path in ("/", "/live.css", "/live.js"):
            status, content, headers = get(url + path)
            assert status == 200
            found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"')]*", re.sub(r"(?m)^\s*//.*$", "", content))
            assert set(found) <= {"http://www.w3.org/2000/svg"}
            assert "innerHTML" not in content
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert headers["X-Content-Type-Options"] == "nosniff"
        assert get(f"{url}/../pyproject.toml")[0] == 404
        assert get(f"{url}/nothing")[0] == 404


def test_another_name_for_this_machine_is_none() -> None:
    with page(Board()) as url:
        for name, status in (
            ("localhost", 200),
            ("[::1]:80", 200),
            ("evil.example", 421),
            ("127.0.0.1.evil.example", 421),
        ):
            assert get(f"{url}/live.json", {"Host": name})[0] == status


def test_who_may_not_call_may_not_look() -> None:
    def basic(password: str) -> dict[str, str]:
        return {"Authorization": f"Basic {base64.b64encode(f'anybody:{password}'.encode()).decode()}"}

    with page(Board(), allowed=lambda token: token == "right") as url:
        for path in ("/", "/metrics", "/live.json"):
            for headers in (
                {},
                {"Authorization": "Bearer wrong"},
                basic("wrong"),
                {"Authorization": "Basic ?"},
            ):
                status, content, told = get(url + path, headers)
                assert (status, content) == (401, "no valid credentials\n")
                assert told["WWW-Authenticate"].startswith("Basic ")
            for headers in ({"Authorization": "Bearer right"}, basic("right")):
                assert get(url + path, headers)[0] == 200
        assert get(f"{url}/healthz")[0] == 200


async def test_with_certificates_it_is_https(serving: Any, instant: Any, tmp_path: Path) -> None:
    ours = Authority(tmp_path / "c", "ours")
    pair = ours.issue("127.0.0.1")
    callers = tmp_path / "callers.yaml"
    entry = {"name": "prometheus", "scope": "read", "token_sha256": [digest_of("t")]}
    callers.write_text(json.dumps([entry]))
    trusting = ssl.create_default_context(cafile=str(ours.file))
    settings = {
        "tls_certificate": pair.certificate,
        "tls_key": pair.key,
        "callers": callers,
        "metrics_port": 0,
    }
    async with serving(instant, **settings) as server:
        url = f"https://{server.http_address}/metrics"
        assert (await asyncio.to_thread(get, url, None, trusting))[0] == 401
        status, content, _ = await asyncio.to_thread(get, url, {"Authorization": "Bearer t"}, trusting)
        before = server.http_address
        theirs = Authority(tmp_path / "c", "theirs")
        new = theirs.issue("127.0.0.1")
        pair.key.write_bytes(new.key.read_bytes())
        pair.certificate.write_bytes(new.certificate.read_bytes())
        now_trusting = ssl.create_default_context(cafile=str(theirs.file))
        replaced = await asyncio.to_thread(
            get, f"https://{before}/metrics", {"Authorization": "Bearer t"}, now_trusting
        )
    assert status == 200
    assert "gangplan_build_info" in content
    assert replaced[0] == 200


def test_who_says_nothing_keeps_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(port._Asked, "timeout", 0.5)
    with page(Board()) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        silent = [socket.create_connection(address) for _ in range(port.MOST_CONNECTIONS + 4)]
        try:
            ends = time.monotonic() + 10
            while True:
                with contextlib.suppress(OSError):
                    if get(f"{url}/healthz")[0] == 200:
                        break
                assert time.monotonic() < ends
                time.sleep(0.1)
        finally:
            for each in silent:
                each.close()


def test_what_is_no_http_harms_nobody() -> None:
    noise = random.Random(1)
    with page(Board()) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        lines = [
            b"GET /live.json?after=nan HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET / HTTP/9\r\n\r\n",
            b"\r\n",
        ]
        lines += [b"GET /" + b"a" * 100_000, b"POST / HTTP/1.1\r\nContent-Length: 9999999\r\n\r\n"]
        lines += [noise.randbytes(noise.randrange(300)) + b"\r\n\r\n" for _ in range(50)]
        for line in lines:
            with contextlib.suppress(OSError), socket.create_connection(address, timeout=5) as connection:
                connection.sendall(line)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass
        assert get(f"{url}/healthz")[0] == 200


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("there is no Chromium to look at the page with (Debian: chromium)")
    return found


def browse(chromium: str, url: str, folder: Path, *words: str) -> str:
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=3000",
        *words,
        url,
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def hostile() -> Board:
    """Rounds whose names and reasons would like to be markup."""
    round_ = round_of(jobs=3, nodes=6)
    jobs = (replace(round_.jobs[0], name=HOSTILE), *round_.jobs[1:])
    nodes = (
        round_.cluster.nodes[0],
        *(replace(node, name=HOSTILE + node.name) for node in round_.cluster.nodes[1:]),
    )
    round_ = replace(round_, jobs=jobs, cluster=replace(round_.cluster, nodes=nodes))
    result = planned(round_)
    why = Verdict(HOSTILE, VerdictKind.NO_FIT_NOW, HOSTILE, HOSTILE)
    board = Board()
    board.watched = True
    for seconds in (0.1, 0.2, 0.4):
        quality = replace(result.quality, gap_of_gain=seconds / 10)
        board.note(
            round_,
            replace(
                result, verdicts=(why, *result.verdicts), quality=quality, seconds_by_phase={"total": seconds}
            ),
        )
    return board


def test_a_browser_shows_names_as_text(chromium: str, hostile: Board, tmp_path: Path) -> None:
    with page(hostile) as url:
        shown = browse(chromium, url, tmp_path, "--dump-dom")
    assert "<title>gangplan</title>" in shown
    assert "<img" not in shown
    assert len(re.findall(r"<script", shown)) == 1
    assert shown.count("&lt;img src=x onerror=") >= 4  # a job, its code and reason, nodes
    assert 'class="point"' in shown  # both charts
    assert shown.count("<polyline") == 2
    assert shown.count('class="node ready"') == 6
    assert len(re.findall(r'class="device" style="background: light-dark\(', shown)) == 2
    assert "NO_FIT_NOW 1" in shown
    assert "2 of 24" in shown


@pytest.mark.parametrize(
    ("of_gain", "relative", "words"), [(7e-15, 2e-5, ("0", "2e-5")), (0.912, 7e-15, ("0.912", "0"))]
)
def test_gaps_are_shown_and_one_that_is_rounding_as_none(
    chromium: str, tmp_path: Path, of_gain: float, relative: float, words: tuple[str, str]
) -> None:
    board, round_ = Board(), round_of(jobs=3, nodes=2)
    board.watched = True
    result = planned(round_)
    quality = replace(result.quality, gap_of_gain=of_gain, relative_gap=relative)
    board.note(round_, replace(result, quality=quality))
    with page(board) as url:
        shown = browse(chromium, url, tmp_path, "--dump-dom")
    for word, name in zip(words, ("gap of gain", "relative gap"), strict=True):
        assert f"<b>{word}</b><span>{name}</span>" in shown


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 500)])
def test_it_is_light_or_dark_and_fits_the_window(
    chromium: str, hostile: Board, tmp_path: Path, scheme: str, width: int
) -> None:
    picture = tmp_path / "page.png"
    with page(hostile) as url:
        browse(
            chromium,
            url,
            tmp_path,
            f"--screenshot={picture}",
            f"--window-size={width},1200",
            f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
        )
    with Image.open(picture) as image:
        assert image.width == width
        grey = image.convert("L")
        corner = grey.getpixel((2, 2))
        assert grey.crop((width - 4, 0, width, 1200)).getextrema() == (corner, corner)  # nothing sticks out
    assert corner > 230 if scheme == "light" else corner < 40
