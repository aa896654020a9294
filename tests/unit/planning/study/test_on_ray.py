"""Studies on Ray: whose cluster is joined, and that the answer is the same as here."""

from __future__ import annotations

import importlib.machinery
import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from gangplan.errors import InvalidInputError
from gangplan.planning.study.runners.ray import connected

STUDIES = Path(__file__).parents[4] / "scenarios" / "studies"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What a Ray that connects to nobody was asked for."""
    calls: list[dict[str, Any]] = []

    def init(**how: Any) -> None:
        calls.append(how)
        if how["address"] == "nobody:1":
            raise ConnectionError("nobody is there\nat all")

    ray = types.ModuleType("ray")
    ray.__spec__ = importlib.machinery.ModuleSpec("ray", None)
    vars(ray).update(init=init, is_initialized=lambda: False)
    monkeypatch.setitem(sys.modules, "ray", ray)
    return calls


@pytest.mark.parametrize("address", ["local", "auto", "head:6379", "ray://head:10001"])
def test_it_joins_the_cluster_that_was_named_and_no_other(asked: list[dict[str, Any]], address: str) -> None:
    """Without an address Ray joins the one of RAY_ADDRESS, or the last one that was started here."""
    connected(address)
    assert [how["address"] for how in asked] == [address]


def test_where_nobody_is_there_it_says_so(asked: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        connected("nobody:1")
    (violation,) = caught.value.violations
    assert (violation.field, violation.description) == (
        "--ray",
        "no cluster at 'nobody:1': nobody is there",
    )


def answer(*more: str) -> Any:
    words = ["whatif", str(STUDIES / "lost-leaf.yaml"), "-o", "json", *more]
    done = subprocess.run(
        [sys.executable, "-m", "gangplan.cli.main", *words],
        capture_output=True,
        text=True,
        timeout=400,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.deep
@pytest.mark.timeout(900)
def test_on_a_cluster_of_two_nodes_the_answer_is_the_same() -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        there = answer("--ray", cluster.address)
    finally:
        cluster.shutdown()
    here = answer("--workers", "1")
    for part in ("answer", "findings", "points"):
        assert there[part] == here[part], part
