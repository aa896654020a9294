"""A service that cannot listen says where, why, and which of its settings would mend it."""

from __future__ import annotations

import gc
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from gangplan.cli.main import application
from gangplan.service.listening import ListenError

PORTS = ("port", "metrics_port", "health_port")
SETTINGS = st.sampled_from([("host", "port"), ("metrics_host", "metrics_port"), ("host", "health_port")])


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of loopback on which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


@pytest.mark.parametrize("setting", PORTS)
async def test_each_taken_port_is_told_by_its_own_setting(
    setting: str, taken: int, serving: Any, instant: Any
) -> None:
    with pytest.raises(ListenError) as refused:
        async with serving(instant, **{setting: taken}):
            pass
    assert refused.value.setting == setting
    assert str(refused.value) == f"cannot listen on 127.0.0.1:{taken} ({setting}): Address already in use"


@pytest.mark.parametrize("setting", PORTS)
async def test_nothing_is_left_of_a_service_that_cannot_listen(
    setting: str, taken: int, serving: Any, instant: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """gRPC logs a server that it frees without having stopped it: who keeps that line keeps what is gone."""
    caplog.set_level(logging.DEBUG)
    with socket.create_server(("127.0.0.1", 0)) as other:
        free = other.getsockname()[1]
    bound_before = "metrics_port" if setting == "health_port" else "port"
    with pytest.raises(ListenError):
        async with serving(instant, **{bound_before: free, setting: taken}):
            pass
    gc.collect()
    assert not [record for record in caplog.records if "__dealloc__" in str(record.msg)]
    assert instant.closed
    with socket.create_server(("127.0.0.1", free)):
        pass  # nobody listens there any more


@pytest.mark.parametrize("setting", PORTS)
def test_the_verb_names_the_option_to_change(
    setting: str, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ListenError("127.0.0.1", taken, ("host", setting))

    monkeypatch.setattr("gangplan.service.server.serve", refuse)
    done = CliRunner().invoke(application("serve"), ["serve", "--port", "0", "--sessions", "memory"])
    assert done.exit_code == 3
    option = setting.replace("_", "-")
    assert f": Address already in use. Choose another with --{option}, or 0 for a free one." in done.stderr


@given(host=st.sampled_from(["198.51.100.7", "203.0.113.9", "2001:db8::1"]), settings=SETTINGS)
def test_an_address_of_another_machine_is_the_hosts_fault(host: str, settings: tuple[str, str]) -> None:
    error = ListenError(host, 0, settings)
    assert error.setting == settings[0]
    assert f"({settings[0]}): " in str(error)


def test_an_unknown_name_is_the_hosts_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = ListenError("planner.example", 50051, ("host", "port"))
    assert error.setting == "host"
    assert str(error) == "cannot listen on planner.example:50051 (host): Name or service not known"


@given(settings=SETTINGS)
def test_a_taken_port_is_the_ports_fault(settings: tuple[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert ListenError("127.0.0.1", other.getsockname()[1], settings).setting == settings[1]
